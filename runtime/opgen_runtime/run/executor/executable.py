"""`Executable`: a function with its segments compiled for the types at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...base.errors import ExecutorError
from ...base.target import Target
from ...ir import Call, Constant, Expr, Function, IRModule, Var, post_order, structural_digest
from ...ir.visitor import rewrite_leaves
from ...operator.types import TupleType
from ...transform import Evaluator, PassContext
from ..compile import Entry, Kernel
from ..compile.plan import Plan, Slots, make_plan
from ..interpret import Arrays, run
from ..pipeline import compile_segment, optimise


def build(function: Function, target: Target | None = None, context: PassContext | None = None) -> Executable:
    """Optimise `function`, partition it and compile its segments.

    Its types must be known and its dims ints.  Raises what the passes and the compilation raise.
    """
    context = (context or PassContext.current()).evaluating_by(CompilingEvaluator)
    module = optimise(IRModule.from_expr(function), context)
    return Executable(module["main"], target or Target.host(), context)


class Executable:
    """A compiled function: `run(arrays)` gives new arrays.  It may be run by several threads at once."""

    def __init__(self, function: Function, target: Target, context: PassContext | None = None) -> None:
        self.function = function
        self.target = target
        self.context = (
            context or PassContext.current()
        )  # also for segments that are compiled when they are met
        self.plan: Plan | None = make_plan(function)
        self._kernels: dict[str, Kernel] = {}
        self._spare: list[list[np.ndarray]] = []  # sets of buffers that no run is using
        self._steps = [] if self.plan is None else [self.kernel(step.segment) for step in self.plan.steps]
        segment = _direct_segment(function)
        self._direct = None if segment is None else self.kernel(segment)
        self._single = not isinstance(function.body.checked_type, TupleType)

    def kernel(self, segment: Function) -> Kernel:
        """The compiled segment; equal segments share one."""
        digest = structural_digest(segment)
        found = self._kernels.get(digest)
        if found is None:
            found = self._kernels[digest] = compile_segment(segment, self.target, self.context)
        return found

    def entry(self) -> Entry | None:
        """Built-in functions of the parameters, if the function is one segment over them; see `run.compile.entry`."""
        return self._direct.entry() if self._direct is not None and self._single else None

    def run(self, arrays: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None = None) -> Arrays:
        """The value for the parameters' arrays, which must fit the parameters' types exactly.

        `outputs`: arrays to hold the result, one a tensor of it in order, of its shapes and dtypes.
        """
        if self._direct is not None:
            found = self._direct.run(arrays, outputs)
            return found[0] if self._single else tuple(found)
        if self.plan is None:
            return _copy_into(self._interpret(arrays), outputs)
        return _copy_into(self._run_plan(self.plan, arrays), outputs)

    def _run_plan(self, plan: Plan, arrays: Sequence[np.ndarray]) -> Arrays:
        values: dict[int, np.ndarray] = dict(enumerate(arrays))
        values.update(plan.constants)
        try:
            buffers = self._spare.pop()
        except IndexError:
            buffers = [np.empty(size, np.uint8) for size in plan.buffers]
        for slot, place in plan.buffered.items():
            values[slot] = np.ndarray(place.shape, place.dtype, buffers[place.buffer])
        for kernel, step in zip(self._steps, plan.steps, strict=True):
            inputs = [values[slot] for slot in step.inputs]
            into = [values[slot] for slot in step.outputs if slot in values]
            if len(into) < len(
                step.outputs
            ):  # the result's tensors are new; a step's tensors are kept all or none
                into = [self._new(values, slot) for slot in step.outputs]
            kernel.run(inputs, into)
        self._spare.append(buffers)
        given = frozenset(range(plan.num_params)).union(plan.constants)
        return _collect(plan.result, values, given)

    def _new(self, values: dict[int, np.ndarray], slot: int) -> np.ndarray:
        assert self.plan is not None
        if slot not in values:
            shape, dtype = self.plan.results[slot]
            values[slot] = np.empty(shape, dtype)
        return values[slot]

    def _interpret(self, arrays: Sequence[np.ndarray]) -> Arrays:
        function = self.function
        result = run(function.body, dict(zip(function.params, arrays, strict=True)), self)
        return result  # type: ignore[return-value]  # a program that gives a function was refused by its type

    def run_op(self, call: Call, args: Sequence[Arrays]) -> Arrays:
        raise ExecutorError(f"a call was left out of all segments: {call}")

    def run_segment(self, function: Function, args: Sequence[Arrays]) -> Arrays:
        flat = [array for arg in args for array in (arg if isinstance(arg, tuple) else (arg,))]
        found = self.kernel(function).run(flat, None)  # type: ignore[arg-type]  # operands nest one level deep
        return tuple(found) if isinstance(function.body.checked_type, TupleType) else found[0]


def _direct_segment(function: Function) -> Function | None:
    """The segment of a function that only passes its parameters to it, in order."""
    body = function.body
    if isinstance(body, Call) and isinstance(body.op, Function) and "Primitive" in body.op.attrs:
        same = len(body.args) == len(function.params)
        if same and all([arg is param for arg, param in zip(body.args, function.params, strict=True)]):
            return body.op
    return None


def _collect(result: Slots, values: Mapping[int, np.ndarray], given: frozenset[int]) -> Arrays:
    """The arrays of the result; what is an argument or a constant is copied."""
    if isinstance(result, int):
        return values[result].copy() if result in given else values[result]
    return tuple([_collect(part, values, given) for part in result])


def _copy_into(result: Arrays, outputs: Sequence[np.ndarray] | None) -> Arrays:
    if outputs is None:
        return result
    flat = list(_flat(result))
    if len(flat) != len(outputs):
        raise ExecutorError(f"the program has {len(flat)} results, found {len(outputs)} arrays for them")
    for position, (source, target) in enumerate(zip(flat, outputs, strict=True)):
        why = _why_not_into(source, target)
        if why:
            raise ExecutorError(f"the array for result {position} {why}")
    for source, target in zip(flat, outputs, strict=True):
        np.copyto(target, source, casting="equiv")
    return outputs[0] if isinstance(result, np.ndarray) else tuple(outputs)


def _why_not_into(source: np.ndarray, target: object) -> str | None:
    """Why `target` cannot hold the result; it may have any layout and byte order."""
    if not isinstance(target, np.ndarray):
        return f"must be an array, found {type(target).__name__}"
    if target.shape != source.shape or target.dtype.newbyteorder("=") != source.dtype:
        return f"must be {source.dtype}{list(source.shape)}, found {target.dtype}{list(target.shape)}"
    return None if target.flags.writeable else "is read-only"


def _flat(arrays: Arrays) -> Iterator[np.ndarray]:
    if isinstance(arrays, tuple):
        for part in arrays:
            yield from _flat(part)
    else:
        yield arrays


class CompilingEvaluator(Evaluator):
    """Finds the values of expressions of many elements by compiling them.

    Their arrays are arguments, so that expressions of one structure share their kernels.
    """

    def compiled(self, expr: Expr) -> Arrays | None:
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
        return build(function, context=PassContext(opt_level=1)).run(arrays)  # nothing is left to fold
