"""Running the compute of an op for one call, and holding what it gives to the call's binding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..base.arith import structural_equal
from ..base.arith.expr import Dim, Expr, Shape
from ..base.contract import Contract, Rule, When, handed_in, is_own
from ..base.errors import LanguageError
from ..base.vocabulary import INT64, DType, dataclass
from ..compute.te.contract import verify_tensors
from ..compute.te.tensor import Tensor
from ..operator import Binding
from .compute import Compute, OperandTensors


@dataclass(frozen=True, slots=True)
class Computed:
    """What a compute gave, and what its binding asks for: each result's shape in storage and its dtype."""

    tensors: tuple[Tensor, ...]
    shapes: tuple[Shape, ...]
    dtypes: tuple[DType, ...]


def compute_call(
    compute: Compute, what: str, binding: Binding, operands: Sequence[OperandTensors], lengths: int = 0
) -> tuple[Tensor, ...]:
    """The tensors that `compute` gives for a call: its results, then `lengths` of data-dependent dims.

    `what` names the compute.  Raises LanguageError where count, shape or dtype do not fit the binding; of a compute
    that users wrote whatever it raises names it, and its tensors are held to the rules of `te.contract`.
    """
    own = is_own(compute)
    if own:
        found: object = compute(binding, operands)
    else:
        with handed_in(what, LanguageError):
            found = compute(binding, operands)
    if isinstance(found, list):
        found = tuple(found)
    if not isinstance(found, tuple) or not all(isinstance(tensor, Tensor) for tensor in found):
        raise LanguageError(f"{what} gave {found!r:.80}, expected a tuple of tensors")
    shapes = binding.storage or tuple([output.shape for output in binding.outputs])
    dtypes = tuple([output.dtype for output in binding.outputs])
    computed = Computed(
        found, (*shapes, *[() for _ in range(lengths)]), (*dtypes, *[INT64 for _ in range(lengths)])
    )
    COMPUTED.check(computed, what, own)
    if not own:  # `lang` proves its own, with what it knows beside
        with handed_in(what, LanguageError):  # nodes that users make check nothing
            verify_tensors(found, what, frozenset(_flat(operands)))
    return found


def _flat(operands: Sequence[OperandTensors]) -> list[Tensor]:
    flat: list[Tensor] = []
    for operand in operands:
        flat.extend(operand if isinstance(operand, tuple) else () if operand is None else (operand,))
    return flat


def _why_not_count(made: Computed) -> str | None:
    if len(made.tensors) == len(made.shapes):
        return None
    return f"it gave {len(made.tensors)} tensors, expected {len(made.shapes)}"


def _why_not_shape(made: Computed) -> str | None:
    for position, (tensor, shape) in enumerate(zip(made.tensors, made.shapes, strict=True)):
        same = len(tensor.shape) == len(shape) and all(map(_same, tensor.shape, shape))
        if not same:
            return (
                f"result {position}, {tensor.name}, has the shape {_text(tensor.shape)}, "
                f"expected {_text(shape)}"
            )
    return None


def _why_not_dtype(made: Computed) -> str | None:
    for position, (tensor, dtype) in enumerate(zip(made.tensors, made.dtypes, strict=True)):
        if tensor.dtype != dtype:
            return f"result {position}, {tensor.name}, is {tensor.dtype}, expected {dtype}"
    return None


def _same(found: Dim, wanted: Dim) -> bool:
    if isinstance(found, Expr) and isinstance(wanted, Expr):
        return found is wanted or structural_equal(found, wanted)
    return not isinstance(found, Expr) and not isinstance(wanted, Expr) and found == wanted


def _text(shape: Shape) -> str:
    return f"({', '.join(map(str, shape))})"


COMPUTED: Final = Contract(
    "what a compute gives",
    LanguageError,
    When.ALWAYS,
    (
        Rule("as many results as outputs", _why_not_count),
        Rule("results have the outputs' shapes", _why_not_shape),
        Rule("results have the outputs' dtypes", _why_not_dtype),
    ),
)
