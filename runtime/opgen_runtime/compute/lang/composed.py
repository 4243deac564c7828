"""Types of compositions of ops, told before anything is computed: `where(x > 0, x, alpha * expm1(x))`.

The type of what an op gives is that of a call with operands of the types given; numbers among them are scalars of the
dtype of the others.  What the ops leave to be checked with the values is collected.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ...base import arith
from ...base.arith.expr import Dim, Expr, Shape
from ...base.errors import CallError, LanguageError, UndecidedError
from ...base.vocabulary import BOOL, DType, dataclass
from ...operator import Assumption, TensorType, binding_of, broadcast
from .expand import Callee, refusals_of
from .scalars import is_scalar, with_scalars
from .weak import Value, describe


@dataclass(frozen=True, slots=True)
class ResultType:
    """The type of a part of a composition, with what was assumed to tell it."""

    type: TensorType
    assumed: tuple[Assumption, ...]

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @property
    def ndim(self) -> int:
        return len(self.type.shape)

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def holds(self) -> bool | Expr:
        """What was assumed, as one condition.  Raises UndecidedError for what only the values decide."""
        conditions: list[Expr] = []
        for each in self.assumed:
            if each.condition is None:
                raise UndecidedError(each.text)
            conditions.append(each.condition)
        return reduce(arith.logical_and, conditions) if conditions else True


Typed = TensorType | ResultType


def result_type(callee: Callee, count: int, /, *operands: Value, **attrs: object) -> Value:
    """The type of what the op gives for operands of these types, of several results a tuple; there are to be `count`.

    Raises LanguageError naming the op for operands and attrs that it refuses.
    """
    name = callee.full_name
    given = with_scalars(name, callee.signature, operands, _dtype_of, _scalar)
    with refusals_of(name):
        kind = callee.attrs
        if kind is None and attrs:
            raise CallError(f"{name}: takes no attrs, found {', '.join(attrs)}")
        made = None if kind is None else kind(**attrs)
        types = tuple([_plain(each) for each in given])
        binding = binding_of(callee.signature, name, made, types, site="the declaration")
    if len(binding.outputs) != count:
        raise LanguageError(f"`{name}` gives {len(binding.outputs)} results here, not {count}", "op-call")
    assumed = (*_assumed(given), *binding.undecided)
    results = tuple([ResultType(each, assumed) for each in binding.outputs])
    return results[0] if count == 1 else results


def operator_type(*operands: Value) -> ResultType:
    """The type of arithmetic: the operands' dtype, their shapes broadcast."""
    return _elementwise(operands, None)


def predicate_type(*operands: Value) -> ResultType:
    """The type of a comparison, or of `and`, `or`, `not`."""
    return _elementwise(operands, BOOL)


def _elementwise(operands: Sequence[Value], dtype: DType | None) -> ResultType:
    tensors = [each for each in operands if isinstance(each, Typed)]
    for each in operands:
        if not isinstance(each, Typed) and not is_scalar(each):
            raise LanguageError(
                f"an operand of an operator is {describe(each)}, expected a tensor or a number", "value"
            )
    dtypes = {each.dtype for each in tensors}
    if len(dtypes) > 1:
        shown = " and ".join(sorted(dtypes))
        raise LanguageError(f"{shown} meet in an operator: dtypes never mix silently; use cast(...)", "dtype")
    shape: tuple[Dim, ...] = reduce(broadcast, [each.shape for each in tensors])
    return ResultType(TensorType(shape, dtypes.pop() if dtype is None else dtype), _assumed(tensors))


def _dtype_of(tensor: Typed) -> DType:
    return tensor.dtype


def _scalar(_: Value, dtype: DType) -> TensorType:
    return TensorType((), dtype)


def _plain(operand: Value) -> Value:
    if isinstance(operand, tuple):
        return tuple([_plain(each) for each in operand])
    return operand.type if isinstance(operand, ResultType) else operand


def _assumed(operands: Sequence[Value]) -> tuple[Assumption, ...]:
    flat = [one for each in operands for one in (each if isinstance(each, tuple) else (each,))]
    return tuple([assumption for each in flat if isinstance(each, ResultType) for assumption in each.assumed])
