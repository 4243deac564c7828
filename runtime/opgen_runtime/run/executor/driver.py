"""`build_program`: a program compiled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...base import Target
from ...base.errors import AccessError, ExecutorError, did_you_mean
from ...base.forks import importing
from ...base.garbage import rare_collections
from ...base.lru_cache import Footprint
from ...ir import Call, Constant, Expr, Function, IRModule, Var, post_order, substitute
from ...ir.visitor import free_vars, rewrite_leaves
from ...operator import TensorType, TupleType, is_narrower
from ...transform import Evaluator, PassContext
from ..compile import Kernel, Slot
from ..compile.interpret import Arrays, as_array, bind, check_value, run
from ..compile.kernel.bound_dims import with_dims_bound
from ..compile.kernel.constant_cache import Digests, cached_constants
from ..compile.kernel.dims import declared_of, dims_in
from ..compile.kernel.footprint import footprint_of
from ..compile.kernel.lazy_kernel import LazyKernel, is_dynamic, is_lazy, lazy_parts
from ..compile.kernel.multiversioning import opened
from ..compile.kernel.parts import Parts, evaluated, sites_of
from ..compile.kernel.segments import Site, is_segment, segments_of
from ..compile.kernel.shared import shared_out
from ..compile.pipeline import compile_parts, compile_segment, optimise
from ..compile.program.program import driver_image, program_of
from .executable import Executable, Native
from .nesting import copy_into

if TYPE_CHECKING:
    from ...ir.drawing import Drawing
    from ..compile.store.artifact import Contents


@rare_collections()
def build_program(
    module: IRModule | Function,
    params: Mapping[str, object] | Mapping[Var, object] | None = None,
    target: Target | str | None = None,
    opt_level: int | None = None,
    *,
    context: PassContext | None = None,
) -> Executable:
    """Optimise a module's main, or a function, partition it and compile its segments.

    `params`: values of parameters, by name or variable, which become constants of the program; `run` takes the others.
    `target`: this machine by default.  `opt_level`: that of the current PassContext by default, which is 2; `context`
    says more.  Types must be known, dims need not be: a segment on the dims of what depends on data is compiled when
    it runs first.  Raises what the passes and the compilation raise;
    ExecutorError for a value of no parameter, or one that does not fit, and for a variable that nothing binds.
    """
    context = context or PassContext.current()
    if opt_level is not None:
        context = context.at_level(opt_level)
    chosen = Target.host() if target is None else Target.parse(target)
    module = module_given(module, params)
    _check_closed(module)
    if any([is_dynamic(node) for function in module.functions.values() for node in post_order(function)]):
        with importing:
            from .data_dependent import in_parts

        found = in_parts(module, context, lambda part: build_program(part, None, chosen, context=context))
        if found is not None:
            return found
    module = partitioned(module, None, chosen, context)
    function = module["main"]
    segments = segments_of(*module.functions.values())
    functions, digests = list(segments.functions), list(segments.digests)
    is_one = _is_one_kernel(function)
    if not is_one:
        functions = [opened(segment) for segment in functions]
        same = zip(functions, segments.functions, digests, strict=True)
        digests = [digest if new is old else "" for new, old, digest in same]

    def compiled(segment: Function, digest: str, constant: Collection[int]) -> Parts:
        late = lazy_parts(segment, lambda narrowed: compile_parts(narrowed, (), chosen, context).main)
        try:
            return late if is_lazy(segment) else compile_parts(segment, constant, chosen, context, digest)
        except AccessError:
            if not dims_in(segment):
                raise
            return late  # it is inside for some sizes only, as where dims meet several numbers in broadcasts

    each = zip(functions, digests, segments.constant, strict=True)
    parts = _compiled([partial(compiled, *one) for one in each], chosen, context)
    kernels = [part.main for part in parts]
    sites, precompute = sites_of(segments, parts)
    inputs = [param.name_hint for param in function.params]
    if is_one and not isinstance(kernels[0], LazyKernel):
        count = len(kernels[0].outputs)
        result = tuple(range(count)) if isinstance(function.body.checked_type, TupleType) else 0
        return Native(inputs, kernels, kernels[0], result, str(chosen))
    waiting = [kernel.name for kernel in kernels if isinstance(kernel, LazyKernel)]
    if waiting:
        reason = f"the dims that {waiting[0]} runs on are known when it runs"
        return Interpreted(module, kernels, sites, precompute, reason)
    with importing:  # first calls of single ops need neither plans nor files
        from ..compile.program.planning import make_plan

    plan = make_plan(module, sites, kernels)
    if isinstance(plan, str):
        return Interpreted(module, kernels, sites, precompute, plan)
    whole = program_of(plan, kernels, driver_image(plan, kernels, inputs, chosen))
    return Native(inputs, kernels, whole, plan.result, str(chosen), precompute)


def _compiled(tasks: Sequence[Callable[[], Parts]], target: Target, context: PassContext) -> list[Parts]:
    """What the tasks compile, on two threads where there are as many; in turn where users' functions watch."""
    if len(tasks) < 2 or target.num_threads < 2 or context.hooks or context.instruments:
        return [task() for task in tasks]
    return shared_out(tasks)


def partitioned(
    module: IRModule | Function,
    params: Mapping[str, object] | Mapping[Var, object] | None,
    target: Target,
    context: PassContext,
) -> IRModule:
    """A module in segments, as `build` compiles them: optimised, with the values of what takes constants alone."""
    context = context.evaluating_by(CompilingEvaluator).for_target(target)
    module = optimise(module_given(module, params), context)
    known = {
        var.name: evaluated(function, lambda segment: compile_segment(segment, target, context))
        for var, function in module.functions.items()
    }
    return module.with_functions({name: with_dims_bound(function) for name, function in known.items()})


def module_given(
    module: IRModule | Function, params: Mapping[str, object] | Mapping[Var, object] | None
) -> IRModule:
    """A module whose main has constants for some parameters."""
    if isinstance(module, Function):
        module = IRModule.from_expr(module)
    if not isinstance(module, IRModule):
        raise ExecutorError(
            f"build takes an IRModule, a Function or a Schedule, found {module!r:.80} of {type(module).__name__}"
        )
    if "main" not in module:
        raise ExecutorError(
            f"the module has no main; it has {', '.join(v.name for v in module) or 'no function'}"
        )
    return module.with_functions({"main": _bound(module["main"], params)}) if params else module


def _check_closed(module: IRModule) -> None:
    """Raises ExecutorError for a function that reads variables which it does not bind."""
    for name, function in module.functions.items():
        free = dict.fromkeys([var.name_hint for var in free_vars(function)])
        if free:
            known = ", ".join([param.name_hint for param in function.params]) or "none"
            raise ExecutorError(
                f"{name.name} reads {', '.join(free)}, which nothing in it binds; its parameters are: {known}"
            )


def _bound(main: Function, params: Mapping[str, object] | Mapping[Var, object]) -> Function:
    """The function with constants for some parameters."""
    by_name = {param.name_hint: param for param in main.params}
    values: dict[Var, Expr] = {}
    for given, value in params.items():
        param = by_name.get(given) if isinstance(given, str) else given
        if param is None or param not in main.params:
            name = given if isinstance(given, str) else given.name_hint
            raise ExecutorError(
                f"main has no parameter {name!r}{did_you_mean(name, by_name)} (it has {', '.join(by_name) or 'none'})"
            )
        constant = Constant(as_array(param, value))
        if param.checked_type.is_complete and constant.checked_type != param.checked_type:
            raise ExecutorError(
                f"parameter {param.name_hint!r}: expected {param.checked_type}, found {constant.checked_type}"
            )
        values[param] = constant
    rest = tuple([param for param in main.params if param not in values])
    return Function(rest, substitute(main.body, values), main.ret_type, main.type_params, main.attrs)


def _is_one_kernel(function: Function) -> bool:
    """Whether a function only passes its parameters to one segment, in order, and declares no more than that gives."""
    body = function.body
    if not isinstance(body, Call) or not is_segment(body.op):
        return False
    if is_narrower(declared_of(function), body.checked_type):
        return False
    same = len(body.args) == len(function.params)
    return same and all([arg is param for arg, param in zip(body.args, function.params, strict=True)])


class Interpreted(Executable):
    """A program without a plan, for a reason: its calls run node by node, each a kernel."""

    def __init__(
        self,
        module: IRModule,
        kernels: Sequence[Kernel],
        sites: Mapping[int, Site],
        precompute: Sequence[str],
        reason: str,
    ) -> None:
        super().__init__([param.name_hint for param in module["main"].params], kernels, precompute)
        self._reason = reason
        self._module = module
        self._sites = sites

    def footprint(self) -> Footprint:
        yield from super().footprint()
        for site in self._sites.values():
            yield from footprint_of(site.precomputed)
        nodes = [node for function in self._module.functions.values() for node in post_order(function)]
        yield from footprint_of([node.data for node in nodes if isinstance(node, Constant)])

    @property
    def why_interpreted(self) -> str:
        return self._reason

    def _run(self, arrays: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None) -> Arrays:
        function = self._module["main"]
        values, dims = bind(function.params, dict(zip(function.params, arrays, strict=True)))
        result = run(function.body, values, self, self._module)
        check_value("the result", function.ret_type, result, dims)
        return copy_into(result, outputs)  # type: ignore[arg-type]  # a function as result was refused by its type

    @property
    def takes(self) -> tuple[Slot, ...]:
        found: list[Slot] = []
        for param in self._module["main"].params:
            type_ = param.checked_type
            if not isinstance(type_, TensorType) or not type_.is_static:
                return super().takes
            found.append(Slot(param.name_hint, type_.concrete_shape, type_.dtype.numpy))
        return tuple(found)

    def drawing(self) -> Drawing:
        return self._module.drawing()

    def _contents(self) -> Contents:
        by_hand = [kernel.why_of_python for kernel in self.compiled if kernel.why_of_python is not None]
        reason = f"{by_hand[0]}, which no artifact can hold" if by_hand else self._reason
        raise ExecutorError(f"the program cannot be saved: {reason}")

    def run_op(self, call: Call, args: Sequence[Arrays]) -> Arrays:
        raise ExecutorError(f"a call was left out of all segments: {call}")

    def run_segment(self, function: Function, args: Sequence[Arrays]) -> Arrays:
        flat = [array for arg in args for array in (arg if isinstance(arg, tuple) else (arg,))]
        site = self._sites[id(function)]
        taken = [*[flat[k] for k in site.operands], *site.precomputed]
        found = self.compiled[site.kernel].run(taken, None)  # type: ignore[arg-type]  # operands nest one level deep
        return tuple(found) if isinstance(function.body.checked_type, TupleType) else found[0]


class CompilingEvaluator(Evaluator):
    """Finds the values of expressions of many elements by compiling them; those of constants alone once a process.

    Their arrays are arguments, so that expressions of one structure share their kernels.
    """

    def __init__(self, arrays: Mapping[Var, np.ndarray] | None = None) -> None:
        super().__init__(arrays)
        self._digests = Digests()

    def made(self, expr: Expr) -> Arrays:
        if not self.is_constant(expr):
            return super().made(expr)
        return cached_constants(*self._digests.key(expr), lambda: super(CompilingEvaluator, self).made(expr))

    def module(self, function: Function) -> IRModule:
        """The program whose main is the function."""
        return IRModule.from_expr(function)

    def compiled(self, expr: Expr) -> Arrays:
        leaves: dict[Expr, Var] = {}
        arrays: list[np.ndarray] = []
        for node in post_order(expr):
            if isinstance(node, Var):
                leaves[node] = node
                arrays.append(np.ascontiguousarray(self.arrays[node]))
            elif isinstance(node, Constant) and not node.is_scalar:
                leaves[node] = Var(f"constant{len(leaves)}", node.checked_type)
                arrays.append(np.ascontiguousarray(node.data))
        function = Function(tuple(leaves.values()), rewrite_leaves(expr, leaves))
        module = self.module(function)
        return build_program(module, context=PassContext(opt_level=1)).run(arrays)  # nothing is left to fold
