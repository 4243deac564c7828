"""Sums of products of narrow ints, several steps at once: a word holds the numbers of two steps, or of four.

    C[i, j] = sum((cast(a[i, k], int32) - z) * cast(b[k, j], int32) for k)
-->
    S[j] = sum(cast(b[k, j], int32) for k)
    D[i, j] = sum(dot4(a[i, 4*k] | a[i, 4*k + 1] << 8 | .., b[4*k, j] | ..) for k); C[i, j] = D[i, j] - z * S[j]

Four numbers of a word are uint8 and int8, which any ints of 8 bits are, less 128 or more; two are int16.  As int32
wraps, it is exact.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Final

from ....base.arith import (
    Binary,
    Cast,
    Const,
    Expr,
    Select,
    Var,
    bit_or,
    bit_xor,
    call,
    cast,
    const,
    free_vars,
    lt,
    post_order,
    rewrite,
    select,
    shift_left,
    substitute,
)
from ....base.errors import ScheduleError
from ....base.vocabulary import INDEX, INT8, INT16, INT32, UINT8, UINT16, dataclass
from ....compute.te.tensor import Compute, IterVar, Read, Reduce, Tensor
from ..stages.extents import ceil_div
from ..stages.stage import Stage
from .residues import pushed

_WORD_BITS: Final = INT32.bits
_SHORTS_PER_WORD: Final = _WORD_BITS // INT16.bits  # of a word
_BYTES_PER_WORD: Final = _WORD_BITS // INT8.bits
_SIGN_OFFSET: Final = -int(INT8.lowest)  # what an int8 is less than an uint8 of the same bits but the first
_SIGN_BITS: Final = int.from_bytes(
    bytes([_SIGN_OFFSET] * _BYTES_PER_WORD), "big", signed=True
)  # the first bit of each byte


@dataclass(frozen=True, slots=True)
class NarrowInt:
    """An int32 that is `cast(value, int32) - less`: `value` is of 8 bits, `less` does not move with the sum.

    If `sign_flipped`, words hold it with the sign bit of each byte flipped: `value + 128`, or less 128.
    """

    value: Expr
    less: Expr
    sign_flipped: bool = False

    @property
    def is_signed(self) -> bool:
        """Whether the bytes of a word have a sign."""
        return self.value.dtype.is_signed != self.sign_flipped

    @property
    def more(self) -> int:
        """What a byte of a word is more than the value."""
        return 0 if not self.sign_flipped else _SIGN_OFFSET if self.value.dtype.is_signed else -_SIGN_OFFSET

    @property
    def zero(self) -> Expr:
        """What the int32 is less than a byte of a word."""
        return self.less + self.more


def why_not_dot(stage: Stage, axis: IterVar, steps: int, sign_flipped: int, before: int | None) -> str | None:
    """Why a stage cannot be summed in words of so many steps; None if it can."""
    try:
        dotted(stage, axis, steps, sign_flipped, before)
    except ScheduleError as error:
        return str(error)
    return None


def dotted(
    stage: Stage, axis: IterVar, steps: int, sign_flipped: int, before: int | None
) -> tuple[Tensor, tuple[Tensor, ...], Expr]:
    """The sum of words of `steps`, the tensors that are needed beside, and the stage's new body.

    They are the words of the factor `before`, if any, and sums that take out what is subtracted.
    """
    body = _sum_of(stage, axis)
    factors = _factors(body)
    if steps == _SHORTS_PER_WORD and all(fits_short(each) for each in factors):
        short = [_Factor(each, const(0, INT32), n == before) for n, each in enumerate(factors)]
        made, tensors = _summed(stage, body, axis, steps, short)
        return made, tensors, _own(stage, made)
    moving = {each.var for each in body.axes}
    found = [narrow for each in factors if (narrow := narrow_int_of(each, moving)) is not None]
    if steps != _BYTES_PER_WORD or len(found) != len(factors):
        raise ScheduleError(
            f"dot on stage {stage.name}: its factors are no ints of {_WORD_BITS // steps} bits"
        )
    if found[0].is_signed == found[1].is_signed:
        found[sign_flipped] = replace(found[sign_flipped], sign_flipped=True)
    bytes_ = [
        _Factor(each.value, const(_SIGN_BITS if each.sign_flipped else 0, INT32), n == before)
        for n, each in enumerate(found)
    ]
    made, tensors = _summed(stage, body, axis, steps, bytes_[::-1] if found[0].is_signed else bytes_)
    # (u - x) * (v - y) = u * v - x * (v - y) - y * u
    first = 0 if _is_zero(found[1].zero) else 1
    plain = cast(found[first].value, INT32) + found[first].more
    result = _own(stage, made)
    for less, factor in ((found[first].zero, factors[1 - first]), (found[1 - first].zero, plain)):
        if not _is_zero(less):
            total, read = _total(stage, body, factor)
            tensors = (*tensors, total)
            result = result - less * read
    return made, tensors, result


@dataclass(frozen=True, slots=True)
class _Factor:
    """Of which words are made, and which sign bits are flipped; `before`: of all that it reads, once."""

    value: Expr
    sign_flipped: Expr
    before: bool


def _summed(
    stage: Stage, body: Reduce, axis: IterVar, steps: int, factors: Sequence[_Factor]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The tensor of the sums of words, and those of words that are made before."""
    word = IterVar(Var(INDEX, axis.var.name), ceil_div(axis.extent, steps), "reduce")
    whole = isinstance(axis.extent, int) and axis.extent % steps == 0
    words, tensors = [], []
    for factor in factors:
        if factor.before:
            if not whole:
                raise ScheduleError(f"dot on stage {stage.name}: words that are made before have to be whole")
            made, found = _before(stage, factor.value, axis, word.var, steps)
            tensors.append(made)
        else:
            places = [word.var * steps + step for step in range(steps)]
            parts = [substitute(factor.value, {axis.var: place}) for place in places]
            if not whole:
                zero = const(0, factor.value.dtype)
                parts = [
                    select(lt(place, axis.extent), part, zero)
                    for place, part in zip(places, parts, strict=True)
                ]
            found = _joined(parts)
        words.append(found if _is_zero(factor.sign_flipped) else bit_xor(found, factor.sign_flipped))
    axes = tuple([word if each is axis else each for each in body.axes])
    total = Reduce(INT32, "sum", axes, call(f"dot{steps}", *words))
    return _tensor(f"{stage.name}_dots", stage.axes, total), tuple(tensors)


def _before(stage: Stage, value: Expr, axis: IterVar, word: Var, steps: int) -> tuple[Tensor, Expr]:
    """The words of all that a factor reads, and the factor's own.  Raises ScheduleError where it reads otherwise."""
    choices: list[Select] = []
    inner = value
    while isinstance(inner, Select) and axis.var not in (
        *free_vars(inner.condition),
        *free_vars(inner.otherwise),
    ):
        choices.append(inner)
        inner = inner.then
    own = {each.var for each in (*stage.axes, *stage.reduce_axes)}
    reads = [e for e in post_order(inner) if isinstance(e, Read) and not own.isdisjoint(free_vars(e))]
    read = reads[0] if len(reads) == 1 else None
    held = None if read is None else _with(inner, read, const(0, read.dtype))
    if (
        read is None
        or held is None
        or not own.isdisjoint(free_vars(held))
        or [n for n in read.indices if axis.var in free_vars(n)] != [axis.var]
        or axis.extent != read.tensor.shape[read.indices.index(axis.var)]
    ):
        raise ScheduleError(f"dot on stage {stage.name}: words of `{value}` are not made of one tensor alone")
    dim = read.indices.index(axis.var)
    extents = [axis.extent // steps if n == dim else extent for n, extent in enumerate(read.tensor.shape)]
    axes = tuple([IterVar(Var(INDEX, f"a{n}"), extent) for n, extent in enumerate(extents)])
    parts = []
    for step in range(steps):
        places = tuple([each.var * steps + step if n == dim else each.var for n, each in enumerate(axes)])
        element = Read(read.dtype, read.tensor, places)
        parts.append(_with(inner, read, element))
    made = _tensor(f"{stage.name}_words", axes, _joined(parts))
    indices = tuple([word if n == dim else index for n, index in enumerate(read.indices)])
    found: Expr = Read(INT32, made, indices)
    for choice in reversed(choices):
        found = select(choice.condition, found, _joined([choice.otherwise] * steps))
    return made, found


def _with(e: Expr, part: Expr, other: Expr) -> Expr:
    return rewrite(e, lambda node: other if node is part else None)


def _joined(parts: Sequence[Expr]) -> Expr:
    """The word that holds these numbers, the first in its lowest bits."""
    bits = _WORD_BITS // len(parts)
    found = _bits(parts[0], bits)
    for n, part in enumerate(parts[1:], 1):
        found = bit_or(found, shift_left(_bits(part, bits), bits * n))
    return found


def _bits(value: Expr, bits: int) -> Expr:
    """The lowest bits of an int, as int32."""
    return cast(cast(value, UINT8 if bits < UINT16.bits else UINT16), INT32)


def _total(stage: Stage, body: Reduce, factor: Expr) -> tuple[Tensor, Expr]:
    """The sum of a factor alone over all steps, and how the stage reads it."""
    mine = set(free_vars(factor))
    axes = tuple([axis for axis in stage.axes if axis.var in mine])
    total = _tensor(f"{stage.name}_total", axes, Reduce(INT32, "sum", body.axes, factor))
    return total, Read(INT32, total, tuple([axis.var for axis in axes]))


def _tensor(name: str, axes: Sequence[IterVar], body: Expr) -> Tensor:
    own = tuple([IterVar(Var(INDEX, axis.var.name), axis.extent) for axis in axes])
    values: dict[Var, Expr] = {old.var: new.var for old, new in zip(axes, own, strict=True)}
    made = substitute(body, values)
    return Tensor(name, tuple([axis.extent for axis in own]), body.dtype, Compute(own, made))


def _own(stage: Stage, tensor: Tensor) -> Expr:
    """The element of a tensor at the stage's own position."""
    return Read(tensor.dtype, tensor, tuple([axis.var for axis in stage.axes]))


def narrow_int_of(e: Expr, moving: Set[Var]) -> NarrowInt | None:
    """How an int32 is of 8 bits, less what moves with none of the variables of a sum; None where it is not."""
    if isinstance(e, Cast) and e.dtype is INT32 and e.a.dtype in (INT8, UINT8):
        return NarrowInt(e.a, const(0, INT32))
    if isinstance(e, Binary) and e.op in ("add", "sub"):
        found = narrow_int_of(e.a, moving)
        if found is None or not moving.isdisjoint(free_vars(e.b)):
            return None
        return NarrowInt(found.value, found.less - e.b if e.op == "add" else found.less + e.b)
    if isinstance(e, Select) and _is_zero(e.otherwise):
        found = narrow_int_of(e.then, moving)
        zero = None if found is None else _zero_of(found)
        if found is None or zero is None:
            return None
        return NarrowInt(select(e.condition, found.value, zero), found.less)
    return None


def fits_short(e: Expr) -> bool:
    """Whether an int32 fits into int16 for certain."""
    found = _range(e)
    return found is not None and INT16.lowest <= found[0] and found[1] <= INT16.highest


def _range(e: Expr) -> tuple[float, float] | None:
    """The least and the greatest value of an int, as far as its parts tell."""
    if isinstance(e, Const):
        return float(e.value), float(e.value)
    if isinstance(e, Cast) and e.a.dtype.is_int and e.a.dtype.bits < e.dtype.bits:
        return float(e.a.dtype.lowest), float(e.a.dtype.highest)
    if isinstance(e, Binary) and e.op in ("add", "sub"):
        a, b = _range(e.a), _range(e.b)
        if a is None or b is None:
            return None
        return (a[0] + b[0], a[1] + b[1]) if e.op == "add" else (a[0] - b[1], a[1] - b[0])
    if isinstance(e, Select):
        a, b = _range(e.then), _range(e.otherwise)
        return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))
    return None


def _zero_of(found: NarrowInt) -> Expr | None:
    """The value of 8 bits that stands for 0; None where there may be none."""
    dtype, less = found.value.dtype, found.less
    if isinstance(less, Const) and dtype.lowest <= less.value <= dtype.highest:
        return const(int(less.value), dtype)
    return less.a if isinstance(less, Cast) and less.a.dtype is dtype else None


def _is_zero(e: Expr) -> bool:
    return isinstance(e, Const) and e.value == 0


def _sum_of(stage: Stage, axis: IterVar) -> Reduce:
    """The sum of products of a stage, without conditions.  Raises ScheduleError for other stages."""
    body = stage.body
    if not isinstance(body, Reduce) or body.combiner != "sum" or body.dtype is not INT32:
        raise ScheduleError(f"dot on stage {stage.name}: it is no sum in int32")
    if not any(axis is each for each in body.axes):
        raise ScheduleError(f"dot on stage {stage.name}: {axis.var.name} is none of its reduce axes")
    if not isinstance(body.value, Binary) or body.value.op != "mul":
        raise ScheduleError(f"dot on stage {stage.name}: its elements are no products")
    return body if body.condition is None else pushed(body)


def _factors(body: Reduce) -> tuple[Expr, Expr]:
    assert isinstance(body.value, Binary)
    return body.value.a, body.value.b
