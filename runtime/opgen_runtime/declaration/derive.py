"""The derivative of one call of an op: the adjoint of one operand, as tensor expressions over placeholders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from ..base.arith import Expr, Shape, literal, lt, select
from ..base.errors import AttrError, DTypeError, LanguageError, ShapeError
from ..base.lru_cache import LRUCache
from ..base.vocabulary import OpPattern, dataclass
from ..compute.lang import build
from ..compute.lang.separate import SeparateCall, SeparateCalls
from ..compute.te import (
    Compute,
    Read,
    data_axes,
    derive_pattern,
    evaluate,
    placeholder,
    tensor_order,
    to_text,
)
from ..compute.te.derivative import kind_of, pullback, rebuilt, zeros
from ..compute.te.tensor import Tensor
from ..operator import (
    Attrs,
    Binding,
    Op,
    TensorType,
    TupleType,
    Type,
    certainly_different,
)
from .called_gradients import Parts, pullback_through, type_of_operand
from .compute import OperandTensors
from .declaration import OpDeclaration
from .evaluate import CallTensors, call_tensors

UNIT: Final = TupleType(())
_WHOLE: Final = frozenset({"none", "ties"})  # what is stated of the gradient of all that an op computes


@dataclass(frozen=True, slots=True)
class Derived:
    """`output` over `inputs`, the operands' tensors in line: those of the op, its outputs, their cotangents.

    `reads`: the positions of the operands that are read, of the derived op.  `is_zero`: nothing is.
    """

    inputs: tuple[Tensor, ...]
    output: Tensor
    reads: frozenset[int]
    is_zero: bool
    pattern: OpPattern

    @property
    def kind(self) -> str:
        """How it is computed: `zero`, `gather`, or `update` where data decides what is added where."""
        return kind_of(None if self.is_zero else self.output)

    def text(self) -> str:
        """The tensor expression, for people."""
        return to_text([self.output])

    def value(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The adjoint by numpy, where the inputs have the values `arrays`."""
        return evaluate([self.output], dict(zip(self.inputs, arrays, strict=True)))[0]


_derived: Final[LRUCache[Derived]] = LRUCache(1024)


def derived(base: OpDeclaration, attrs: Attrs | None, types: Sequence[Type], wrt: str) -> Derived:
    """The adjoint of the operand `wrt` of a call of `base`, made once and kept.

    `types`: one a declared input, then one an output and one a cotangent, the unit where absent.  Raises AttrError
    for a `wrt` that names no operand that is there, LanguageError for what has no derivative.
    """
    key = (base, attrs, tuple(types), wrt)
    found = _derived.get(key)
    return _derived.put(key, _derive(base, attrs, types, wrt)) if found is None else found


def _derive(base: OpDeclaration, attrs: Attrs | None, types: Sequence[Type], wrt: str) -> Derived:
    signature = base.signature
    count, results = len(signature.inputs), len(signature.outputs)
    made = call_tensors(Op.get(base.full_name), attrs, types[:count])
    results_of = made.outputs[: len(made.binding.outputs)]
    position, element = operand_named(base, wrt)
    operand = made.operands[position]
    target = operand[element] if isinstance(operand, tuple) and element < len(operand) else operand
    if not isinstance(target, Tensor):
        raise AttrError(f"vjp.{base.full_name}: attr 'wrt' is {wrt!r}, an operand that is absent")
    if not target.dtype.is_inexact:
        raise LanguageError(
            f"vjp.{base.full_name}: {wrt} is {target.dtype}, and only floats and complex numbers have a gradient"
        )
    reason = _stated(base).get("none")
    if reason is not None:
        raise LanguageError(f"vjp.{base.full_name}: {reason}")
    owners: dict[Tensor, int] = {}
    for k, operands in enumerate(made.operands):
        for tensor in operands if isinstance(operands, tuple) else (operands,):
            if isinstance(tensor, Tensor):
                owners[tensor] = k
    saved = _held(base, types[count : count + results], made.binding, "", owners, count)
    cotangents = _held(base, types[count + results :], made.binding, "grad_", owners, count + results)
    first = ties_of(base) == "first"
    try:
        parts = _parts(base, made)
        if parts.calls:
            found = pullback_through(parts, cotangents, target, saved, first, _derived_of_call)
        else:
            found = pullback(results_of, cotangents, target, saved, first)
    except LanguageError as error:
        raise LanguageError(f"vjp.{base.full_name}: {error}") from error
    output = zeros(target) if found is None else found
    inputs = tuple(owners)
    read = frozenset([owners[tensor] for tensor in tensor_order([output]) if tensor in owners])
    pattern, _ = derive_pattern([output], inputs)
    return Derived(inputs, output, read, found is None, pattern)


def _parts(base: OpDeclaration, made: CallTensors) -> Parts:
    """What a call computes, with the calls of ops apart that state how they are differentiated."""
    if not base.calls:
        return Parts(made.results, ())
    separate = SeparateCalls(_states_its_gradient)
    results = build(base, made.binding, made.operands, separate=separate)
    return Parts(results[: len(made.results)], separate.made)


def _states_its_gradient(callee: OpDeclaration) -> bool:
    return bool(callee.gradients or _stated(callee).keys() & _WHOLE)


def _derived_of_call(call: SeparateCall, wrt: str, cotangents: Sequence[OperandTensors]) -> Tensor | None:
    """The adjoint of an operand of a call, derived from what the called op computes; None where it is zero."""
    given = (*call.operands, *call.results, *cotangents)
    found = derived(call.callee, call.attrs, [type_of_operand(each) for each in given], wrt)
    return None if found.is_zero else over_operands(found, given)[0]


def ties_of(base: OpDeclaration) -> str:
    """Which of equal extrema get the gradient: `shared`, in equal parts, or the `first`."""
    return str(_stated(base).get("ties", "shared"))


def _stated(base: OpDeclaration) -> Mapping[str, object]:
    """What the declaration says of the derived gradient."""
    found = base.traits.get("gradient")
    return found if isinstance(found, dict) else {}


def _held(
    base: OpDeclaration,
    types: Sequence[Type],
    binding: Binding,
    prefix: str,
    owners: dict[Tensor, int],
    start: int,
) -> list[Tensor | None]:
    """A placeholder for each result that an operand of the derived op holds, None for the others."""
    found: list[Tensor | None] = []
    shapes = binding.storage or tuple([output.shape for output in binding.outputs])
    for k, (output, type_, count) in enumerate(
        zip(base.signature.outputs, types, binding.counts, strict=True)
    ):
        fields = type_.fields if isinstance(type_, TupleType) else (type_,)
        for j in range(count):
            own = fields[j] if j < len(fields) else None
            if not isinstance(own, TensorType):
                found.append(None)
                continue
            held = placeholder(f"{prefix}{output.name}", own.shape, own.dtype)
            owners[held] = start + k
            found.append(_up_to_bounds(held, shapes[len(found)]))
    return found


def _up_to_bounds(held: Tensor, shape: Shape) -> Tensor:
    """A result of data-dependent size as great as it can be, zeros beyond its end."""
    if held.shape == shape or not all([isinstance(dim, int) for dim in (*held.shape, *shape)]):
        return held
    axes = data_axes(shape)
    element: Expr = Read(held.dtype, held, tuple([axis.var for axis in axes]))
    for axis, extent in zip(axes, held.shape, strict=True):
        if axis.extent != extent:
            element = select(lt(axis.var, extent), element, literal(0.0, held.dtype))
    return Tensor(f"{held.name}_whole", shape, held.dtype, Compute(axes, element))


def operand_named(base: OpDeclaration, wrt: str) -> tuple[int, int]:
    """The declared input that `wrt` names, and which of its tensors: `data`, or `data[1]` of a variadic one.

    Raises AttrError where it names none.
    """
    name, bracket, rest = wrt.partition("[")
    for position, declared in enumerate(base.signature.inputs):
        if declared.name == name and declared.variadic == bool(bracket):
            element = rest.removesuffix("]") if bracket else "0"
            if element.isdecimal():
                return position, int(element)
    known = ", ".join(f"{i.name}[k]" if i.variadic else i.name for i in base.signature.inputs)
    raise AttrError(f"vjp.{base.full_name}: attr 'wrt' is {wrt!r}, expected one of {known}")


def check_operands(base: OpDeclaration, binding: Binding, types: Sequence[Type], site: object) -> None:
    """Outputs and cotangents have the types of the results, or are absent.  Raises DTypeError, ShapeError."""
    start, results = len(base.signature.inputs), len(base.signature.outputs)
    for offset, what in ((0, "the output"), (results, "the cotangent of")):
        at = 0
        for k, (output, count) in enumerate(zip(base.signature.outputs, binding.counts, strict=True)):
            found = types[start + offset + k]
            fields = found.fields if isinstance(found, TupleType) else (found,)
            for own, wanted in zip(fields, binding.outputs[at : at + count], strict=False):
                if isinstance(own, TensorType) and not _fits(own, wanted):
                    error = DTypeError if own.dtype is not wanted.dtype else ShapeError
                    raise error(
                        f"vjp.{base.full_name}: {what} {output.name} is {own}, expected {wanted}\n  at {site}"
                    )
            at += count


def _fits(own: TensorType, wanted: TensorType) -> bool:
    return (
        own.dtype is wanted.dtype
        and own.ndim == wanted.ndim
        and not any(certainly_different(a, b) for a, b in zip(own.shape, wanted.shape, strict=True))
    )


def over_operands(found: Derived, operands: Sequence[OperandTensors]) -> tuple[Tensor, ...]:
    """The derived tensor over the operands of a call."""
    flat: list[Tensor] = []
    for operand in operands:
        flat.extend(operand if isinstance(operand, tuple) else () if operand is None else (operand,))
    return rebuilt([found.output], dict(zip(found.inputs, flat, strict=True)))
