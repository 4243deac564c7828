"""One fused segment, a function of the graph IR, as tensor expressions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ... import ir
from ...base import Target
from ...base.arith import literal
from ...base.arith.expr import AnyDim, Expr, Shape, Var
from ...base.contract import is_own
from ...base.errors import CodegenError
from ...base.kernel_options import DEFAULTS, Options
from ...base.vocabulary import DType, OpPattern, dataclass, is_float_array
from ...compute import te
from ...compute.te.complex_parts import real_tensors
from ...compute.te.tensor import Tensor
from ...declaration import compute_call, pattern_of, stated
from ...operator import Binding, Op, TensorType, TupleType, Type
from ..schedule import Specialisation
from .strategy import Selection, StrategyCall, choose

Value = Tensor | tuple["Value", ...]
OperandTensors = Tensor | tuple[Tensor, ...] | None


@dataclass(frozen=True, slots=True)
class Count:
    """A data-dependent dim: axis `axis` of result `result` has the length that tensor `source` holds."""

    result: int
    axis: int
    source: int


@dataclass(frozen=True, slots=True)
class ChosenCall:
    """A call of the segment with the implementation that its strategy chose; `tensors`: its results."""

    op: Op
    pattern: OpPattern
    selection: Selection
    tensors: tuple[Tensor, ...] = ()

    @property
    def rank(self) -> OpPattern:
        """How restrictive the pattern is; of several results none is reduced."""
        return OpPattern.INJECTIVE if self.pattern == OpPattern.TUPLE else self.pattern

    @property
    def is_own(self) -> bool:
        """Whether compute and schedule are the runtime's or generated of it, so that they were checked with it."""
        chosen = self.selection.implementation
        return is_own(chosen.compute or self.op.get_attr("compute")) and is_own(chosen.schedule)


@dataclass(frozen=True, slots=True)
class Segment:
    """Tensor expressions of a function for a target, or a part of them.

    `inputs`: one placeholder a tensor parameter, then one a constant array (`bound_constants`).  Complex numbers are
    a last axis of two parts (`te.complex_parts`).  `outputs`: the
    results in storage, then the rank-0 tensors of data-dependent dims, which `counts` refers to by position.
    A part takes only the parameters' tensors at `operands`, and after them what was `precomputed`.  Where one of the
    `specialisations` holds of the dims, the tensors are others.  `broadcast_number`: the number that a dim meets
    in broadcasts, and the dim; in the tensors they are one.  `options`: of the phases.  `requested`: the function
    before its dims said the least they are, which says what is to be checked of them.
    """

    function: ir.Function
    target: Target
    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    results: int
    counts: tuple[Count, ...]
    calls: tuple[ChosenCall, ...]
    operands: tuple[int, ...] = ()
    precomputed: tuple[Tensor, ...] = ()
    specialisations: tuple[Specialisation, ...] = ()
    broadcast_number: tuple[Expr, Var] | None = None
    runs_once: bool = False
    options: Options = DEFAULTS
    requested: ir.Function | None = None

    @property
    def original(self) -> ir.Function:
        """What was requested."""
        return self.function if self.requested is None else self.requested

    @property
    def anchor(self) -> ChosenCall | None:
        """The call whose schedule the segment follows: the last of the most restrictive pattern."""
        best: ChosenCall | None = None
        for call in self.calls:
            if best is None or call.rank >= best.rank:
                best = call
        return best

    @property
    def is_own(self) -> bool:
        """Whether users have no part in it; see `ChosenCall.is_own`."""
        return all(call.is_own for call in self.calls)

    def texts(self) -> Iterator[tuple[str, str]]:
        """The tensor expressions, and which implementations were chosen."""
        yield "tensor expressions", te.to_text(self.outputs)
        yield "strategy", "\n".join(call.selection.explain() for call in self.calls)

    def feeds(self, arrays: Sequence[np.ndarray]) -> dict[Tensor, np.ndarray]:
        """The values of all inputs where the parameters' tensors have `arrays`; complex ones by parts."""
        given = [array_by_parts(array) for array in [*arrays, *constant_arrays(self.function)]]
        return dict(zip(self.inputs, given, strict=True))

    def results_of(self, outputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results of what computed `outputs`, flat or not: those of data-dependent size cut."""
        results = [
            np.asarray(array).reshape([int(dim) for dim in tensor.shape if isinstance(dim, int)])
            for array, tensor in zip(outputs, self.outputs, strict=True)
        ]
        for count in self.counts:
            length = int(results[count.source])
            results[count.result] = results[count.result][(slice(None),) * count.axis + (slice(length),)]
        return [
            array_of_parts(array, dtype) if dtype.is_complex else array
            for array, (_, dtype) in zip(results, self.stored(), strict=False)
        ]

    def stored(self) -> list[tuple[Shape, DType]]:
        """The shape in storage and the dtype of each result: of complex numbers, not of their parts."""
        tensors = self.outputs[: self.results]
        if self.runs_once:
            return [(tensor.shape, tensor.dtype) for tensor in tensors]
        types = flat_types(self.function.body.checked_type, "the result")
        return [
            (tensor.shape[:-1] if type_.dtype.is_complex else tensor.shape, type_.dtype)
            for tensor, type_ in zip(tensors, types, strict=True)
        ]

    def evaluate(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results by numpy, where the parameters' tensors have `arrays`."""
        return self.results_of(te.evaluate(self.outputs, self.feeds(arrays)))


def flat_types(type_: Type, what: str) -> tuple[TensorType, ...]:
    """The tensor types of a value, tuples spread.  Raises CodegenError where a type is not known."""
    if isinstance(type_, TensorType):
        return (type_,)
    if isinstance(type_, TupleType):
        return tuple([t for part in type_.fields for t in flat_types(part, what)])
    raise CodegenError(f"{what} has type {type_}; a kernel needs tensors of known type (run InferType first)")


def known_shape(type_: TensorType, what: str) -> Shape:
    """The shape, of ints and expressions of symbolic dims.  Raises CodegenError for unknown dims."""
    for dim in type_.shape:
        if isinstance(dim, AnyDim):
            raise CodegenError(
                f"{what} has type {type_}; its dims must be bound to values before compilation"
            )
    return type_.shape


def bound_constants(function: ir.Function) -> list[ir.Constant]:
    """The constants of a segment that are operands of the kernel; those of equal elements are part of its code."""
    return [
        node
        for node in ir.post_order(function.body)
        if isinstance(node, ir.Constant) and not is_uniform(node)
    ]


def is_uniform(constant: ir.Constant) -> bool:
    """Whether a constant is one element, so that it is written into the expression."""
    return constant.data.size == 1


def kernel_name(function: ir.Function) -> str:
    """A readable symbol: the names of the ops in order, a few of them where there are many."""
    ops = [
        node.op.name
        for node in ir.post_order(function.body)
        if isinstance(node, ir.Call) and isinstance(node.op, Op)
    ]
    shown = ops if len(ops) <= 6 else [*ops[:3], f"and_{len(ops) - 5}_more", *ops[-2:]]
    name = "_".join(shown) or "copy"
    return "opgen_" + "".join(c if c.isalnum() or c == "_" else "_" for c in name)


def segment_of(function: ir.Function, target: Target, constant: Collection[int] = ()) -> Segment:
    """The tensor expressions of `function`, with the implementation chosen for each call.

    The parameters' tensors at the positions `constant`, tuples spread, have the same value in all runs.  Raises
    CodegenError for a function that is no segment (control flow, types that are not static), and what strategies and
    compute expressions raise.
    """
    return _Translation(function, target, constant).run()


class _Translation:
    def __init__(self, function: ir.Function, target: Target, constant: Collection[int]) -> None:
        self.function = function
        self.target = target
        self.constant = constant
        self.values: dict[int, Value] = {}
        self.inputs: list[Tensor] = []
        self.calls: list[ChosenCall] = []
        self.counts: dict[int, list[tuple[int, int, Tensor]]] = {}  # of a call: (result, axis, length)

    def run(self) -> Segment:
        function = self.function
        for position, param in enumerate(function.params):
            self.values[id(param)] = self._placeholders(param.checked_type, param.name_hint, position)
        parameters = list(self.inputs)
        for node in ir.post_order(function.body):
            if id(node) not in self.values:
                self.values[id(node)] = self._value(node)
        constants = self.inputs[len(parameters) :]
        results = tuple(_flat(self.values[id(function.body)]))
        counts = tuple(self._counts(results))
        lengths = tuple(dict.fromkeys(tensor for _, _, tensor in counts))
        inputs, outputs = (*parameters, *constants), (*results, *lengths)
        real = real_tensors((*inputs, *outputs))
        return Segment(
            function,
            self.target,
            kernel_name(function),
            tuple([real.get(tensor, tensor) for tensor in inputs]),
            tuple([real.get(tensor, tensor) for tensor in outputs]),
            len(results),
            tuple(Count(r, axis, len(results) + lengths.index(tensor)) for r, axis, tensor in counts),
            tuple([replace(c, tensors=tuple([real.get(t, t) for t in c.tensors])) for c in self.calls]),
            tuple(range(len(parameters))),
        )

    def _counts(self, results: Sequence[Tensor]) -> Iterator[tuple[int, int, Tensor]]:
        body = self.function.body
        for call in ir.post_order(body):
            for result, axis, length in self.counts.get(id(call), ()):
                tensor = tuple(_flat(self.values[id(call)]))[result]
                places = [k for k, t in enumerate(results) if t is tensor]
                if not places:
                    raise CodegenError(
                        f"{self._op_name(call)}: a result of data-dependent size must leave the kernel"
                    )
                yield from ((place, axis, length) for place in places)

    @staticmethod
    def _op_name(node: ir.Expr) -> str:
        return node.op.name if isinstance(node, ir.Call) and isinstance(node.op, Op) else type(node).__name__

    def _placeholders(self, type_: Type, name: str, position: int) -> Value:
        if isinstance(type_, TupleType):
            return tuple(
                [self._placeholders(part, f"{name}_{k}", position) for k, part in enumerate(type_.fields)]
            )
        what = f"parameter {name} ({position})"
        (tensor_type,) = flat_types(type_, what)
        return self._input(name, known_shape(tensor_type, what), str(tensor_type.dtype))

    def _input(self, name: str, shape: Shape, dtype: str) -> Tensor:
        tensor = te.placeholder(name, shape, dtype, len(self.inputs) in self.constant)
        self.inputs.append(tensor)
        return tensor

    def _value(self, node: ir.Expr) -> Value:
        match node:
            case ir.Constant():
                return self._constant(node)
            case ir.Call() if isinstance(node.op, Op):
                return self._call(node, node.op)
            case ir.Tuple():
                return tuple([self.values[id(part)] for part in node.fields])
            case ir.TupleGetItem():
                whole = self.values[id(node.tuple_value)]
                assert isinstance(whole, tuple)
                return whole[node.index]
            case ir.Var():
                raise CodegenError(f"variable {node.name_hint} is not a parameter of the segment")
        raise CodegenError(
            f"{type(node).__name__} cannot be part of a kernel; only calls, constants and tuples can"
        )

    def _constant(self, node: ir.Constant) -> Tensor:
        data = node.data
        name = f"constant{len(self.values)}"
        if not is_uniform(node):
            return self._input(name, data.shape, data.dtype.name)
        value = literal(float(data.item()) if is_float_array(data.dtype) else data.item(), data.dtype.name)
        return te.compute(name, data.shape, data.dtype.name, lambda *_: value)

    def _call(self, node: ir.Call, op: Op) -> Value:
        what_is = stated(op, node.attrs, [arg.checked_type for arg in node.args], node.span)
        if what_is is None:
            raise CodegenError(f"op {op.name} has no compute expression")
        binding, lengths = what_is.binding, what_is.lengths
        values = [self.values[id(arg)] for arg in node.args]
        inputs = tuple([tensor for value in values for tensor in _flat(value)])
        pattern = pattern_of(op, node.attrs, [arg.checked_type for arg in node.args])
        asked = StrategyCall(node.attrs, inputs, binding.result_type, binding.names, pattern)
        selection = choose(op, asked, self.target)
        results = len(binding.outputs)
        own = selection.implementation.compute
        what = (
            f"{op.name}: the compute of {selection.implementation.name}" if own else f"{op.name}: its compute"
        )
        operands = _operands([variadic for _, variadic in what_is.inputs], values)
        tensors = compute_call(own or what_is.compute, what, binding, operands, lengths)
        self.calls.append(ChosenCall(op, pattern, selection, tensors[:results]))
        if lengths:
            self.counts[id(node)] = list(_dynamic_axes(binding, tensors[results:]))
        return tensors[:results] if binding.is_tuple else tensors[0]


def array_by_parts(array: np.ndarray) -> np.ndarray:
    """A complex array as one of its parts, with a last axis of two; any other as it is."""
    if array.dtype.kind != "c":
        return array
    return np.asarray(array, order="C").reshape(*array.shape, 1).view(DType(array.dtype.name).part.numpy)


def array_of_parts(array: np.ndarray, dtype: DType) -> np.ndarray:
    """The complex numbers whose parts lie along the last axis."""
    return np.asarray(array, order="C").view(dtype.numpy).reshape(array.shape[:-1])


def _operands(variadic: Sequence[bool], values: Sequence[Value]) -> list[OperandTensors]:
    """One entry a declared input: a tensor, a tuple of them if it is variadic, None if it is absent."""
    operands: list[OperandTensors] = []
    for several, value in zip(variadic, values, strict=False):
        if isinstance(value, Tensor):
            operands.append((value,) if several else value)
        elif several:
            operands.append(tuple(_flat(value)))
        else:
            operands.append(None)
    missing = len(variadic) - len(operands)
    return [*operands, *[None] * missing]


def _dynamic_axes(binding: Binding, lengths: Sequence[Tensor]) -> Iterator[tuple[int, int, Tensor]]:
    """(result, axis, tensor of the length) of each data-dependent dim of the results."""
    by_name = dict(zip(binding.dynamic, lengths, strict=True))
    for result, axes in enumerate(binding.dynamic_axes):
        for axis, name in axes:
            yield result, axis, by_name[name]


def _flat(value: Value) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    else:
        for part in value:
            yield from _flat(part)


def is_empty(shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether no shape has an element."""
    return all(math.prod(shape) == 0 for shape in shapes)


def constant_arrays(function: ir.Function) -> list[np.ndarray]:
    """The arrays of `bound_constants`, contiguous."""
    return [np.ascontiguousarray(node.data) for node in bound_constants(function)]
