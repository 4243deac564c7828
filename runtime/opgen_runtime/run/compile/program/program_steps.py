"""The work of the stages of a program that is not that of another table (`pipeline.py` has those)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ....base.contract import Contract, handed_in
from ....base.errors import ExecutorError, did_you_mean
from ....base.forks import importing
from ....ir import Call, Constant, Function, IRModule, Var, post_order, substitute
from ....ir.visitor import free_vars
from ....operator import TupleType, is_narrower
from ..interpret import as_array
from ..kernel.bound_dims import with_dims_bound
from ..kernel.dims import declared_of
from ..kernel.lazy_kernel import LazyKernel, is_dynamic
from ..kernel.multiversioning import opened
from ..kernel.parts import sites_of
from ..kernel.segments import is_segment, segments_of
from ..kernel.shared_kernels import share_kernels
from .plan import Plan
from .program import driver_image, program_of
from .program_records import Asked, Built, Closed, Cut, Linked, Planned, Prepared, Specialised, Values


def bind(asked: Asked) -> Closed:
    """A module whose main has constants for the params that have values, and all of whose functions are closed."""
    module = module_given(asked.module, asked.params)
    check_closed(module)
    return Closed(module, asked.target, asked.context, asked.donations)


def check_closed(module: IRModule, known: Collection[Var] = ()) -> None:
    """Raises ExecutorError for variables that nothing binds, by name; but for those that are `known`."""
    for name, function in module.functions.items():
        free = dict.fromkeys([var.name_hint for var in free_vars(function) if var not in known])
        if free:
            params = ", ".join([param.name_hint for param in function.params]) or "none"
            raise ExecutorError(
                f"{name.name} reads {', '.join(free)}, which nothing in it binds; its parameters are: {params}"
            )


def module_given(module: IRModule | Function, params: Values | None) -> IRModule:
    """A module whose main has constants for some parameters."""
    module = as_module(module)
    return with_constants(module, constants_of(module["main"], params)) if params else module


def as_module(module: IRModule | Function) -> IRModule:
    """What is to be compiled as a module, which has a main.  Raises ExecutorError for anything else."""
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
    return module


def constants_of(main: Function, params: Values) -> dict[Var, Constant]:
    """The values of some parameters, by variable.  Raises ExecutorError for names and values that do not fit."""
    by_name = {param.name_hint: param for param in main.params}
    values: dict[Var, Constant] = {}
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
    return values


def with_constants(module: IRModule, values: Mapping[Var, Constant]) -> IRModule:
    """The module whose main has constants for some variables, which are no parameters any more."""
    main = module["main"]
    rest = tuple([param for param in main.params if param not in values])
    body = substitute(main.body, dict(values))
    return module.with_functions({"main": Function(rest, body, main.ret_type, main.type_params, main.attrs)})


def cut(closed: Closed) -> Cut:
    """In sections where what depends on data decides sizes that are read; whole where results are donated memory."""
    functions = closed.module.functions.values()
    if closed.donations or not any(
        [is_dynamic(node) for function in functions for node in post_order(function)]
    ):
        return Cut(closed)
    with importing:
        from .cut import sections_of

    return Cut(closed, *sections_of(closed.module, closed.context))


def specialise(closed: Closed) -> Specialised:
    """What kernels are compiled from: segments are told their dims, and sizes become dims of their own."""
    functions = {var.name: with_dims_bound(function) for var, function in closed.module.functions.items()}
    closed = closed.with_functions(functions)
    segments = segments_of(*closed.module.functions.values())
    is_one = _is_one_kernel(closed.main) and not closed.donations  # a plan says what lies where
    if is_one:
        return Specialised(closed, segments, segments.functions, segments.digests, is_one)
    made = share_kernels(
        [opened(segment) for segment in segments.functions], segments.constant, closed.target
    )
    served = segments.served(made.numbers)
    same = zip(made.functions, served.functions, served.digests, strict=True)
    digests = tuple([digest if new is old else "" for new, old, digest in same])
    return Specialised(closed, served, made.functions, digests, is_one)


def _is_one_kernel(function: Function) -> bool:
    """Whether a function only passes its parameters to one segment, in order, and declares no more than that gives."""
    body = function.body
    if not isinstance(body, Call) or not is_segment(body.op):
        return False
    if is_narrower(declared_of(function), body.checked_type):
        return False
    same = len(body.args) == len(function.params)
    return same and all([arg is param for arg, param in zip(body.args, function.params, strict=True)])


def prepare(built: Built) -> Prepared:
    """What constants alone decide is computed, now."""
    sites, names = sites_of(built.specialised.segments, built.parts)
    return Prepared(built, sites, tuple(names))


def plan(prepared: Prepared) -> Planned:
    """In which order kernels run, and where their results lie; one kernel needs no plan.

    Raises ExecutorError where there is none, and results take the memory of parameters.
    """
    kernels = prepared.kernels
    donations = prepared.closed.donations
    waiting = [kernel.name for kernel in kernels if isinstance(kernel, LazyKernel)]
    if prepared.built.specialised.is_one and not waiting:
        return Planned(prepared, None)
    found: Plan | str
    if waiting:
        found = f"the dims that {waiting[0]} runs on are known when it runs"
    else:
        with importing:  # first calls of single ops need neither plans nor files
            from .planning import make_plan

        found = make_plan(prepared.closed.module, prepared.sites, kernels, donations)
    if isinstance(found, Plan):
        return Planned(prepared, found)
    if donations:
        raise ExecutorError(f"no result of the program can take the memory of a parameter: {found}")
    return Planned(prepared, None, found)


def hooked_plan(planned: Planned, stage: str, hook: object, contract: Contract[Any]) -> Planned:
    """The plan that a user's function makes of a plan."""
    if planned.plan is None:
        return planned
    assert callable(hook)
    what = f"the hook after {stage}"
    with handed_in(what, ExecutorError):
        made = hook(planned.plan)
    if not isinstance(made, Plan):
        raise ExecutorError(f"{what} gave {made!r:.80}, expected a Plan")
    hooked = Planned(planned.prepared, made)
    for thing in hooked.things():
        contract.check(thing, what, own=False)
    return hooked


def link(planned: Planned) -> Linked:
    """One native function: the only kernel, or the driver of the plan."""
    prepared = planned.prepared
    if planned.plan is not None:
        kernels = prepared.kernels
        image = driver_image(planned.plan, kernels, prepared.inputs, prepared.closed.target)
        return Linked(planned, program_of(planned.plan, kernels, image), planned.plan.result)
    if planned.why_not is not None:
        return Linked(planned, None, ())
    (kernel,) = prepared.kernels
    is_tuple = isinstance(prepared.closed.main.body.checked_type, TupleType)
    return Linked(planned, kernel, tuple(range(len(kernel.outputs))) if is_tuple else 0)
