"""The static library: functions of shapes, dims, attrs and dtypes, computed when a kernel is built."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...base import arith
from ...base.arith.expr import Dim, Expr, Shape
from ...base.errors import LanguageError, shown
from ...base.vocabulary import DTYPES, DType
from ...operator import broadcast as broadcast_shapes
from .conditions import both, greater, greater_equal, less, select
from .element import checked_add, floordiv
from .ranges import MAX_UNROLLED, Range
from .reduce import max_, min_
from .weak import Value, Weak, describe, is_static, is_text


def _static_number(name: str, value: Value) -> None:
    if isinstance(value, Weak | bool) or not isinstance(value, int | float | Expr):
        raise LanguageError(f"{name} takes static numbers, found {describe(value)}", "stage")


def len_(values: Value) -> int:
    """The number of entries of a tuple, a text, a range or a variadic input."""
    if isinstance(values, (tuple, list, Range)) or is_text(values):
        return len(values)
    raise LanguageError(f"len takes a tuple or a text, found {describe(values)}", "value")


def tuple_(values: Value = ()) -> tuple[Value, ...]:
    """`tuple(values)` of a range, an ndindex, a tuple, zip or enumerate."""
    if isinstance(values, (Expr, Weak, int, float, DType)) or values is None:
        raise LanguageError(f"tuple takes a sequence, found {describe(values)}", "value")
    entries = tuple(values)
    if len(entries) > MAX_UNROLLED:
        raise LanguageError(f"a tuple of {len(entries)} entries; the limit is {MAX_UNROLLED}", "too-large")
    return entries


def sorted_(values: Value) -> tuple[Value, ...]:
    """The static entries in growing order."""
    entries = tuple_(values)
    if not is_static(entries):
        raise LanguageError("sorted takes static entries", "stage")
    try:
        return tuple(sorted(entries))
    except TypeError as error:
        raise LanguageError(f"sorted: {error}", "value") from None


def zip_(*sequences: Value) -> tuple[tuple[Value, ...], ...]:
    """Entries side by side; the sequences have one length."""
    rows = [tuple_(s) for s in sequences]
    lengths = [len(r) for r in rows]
    if len(set(lengths)) > 1:
        raise LanguageError(f"zip takes sequences of one length, found lengths {lengths}", "rank")
    return tuple(zip(*rows, strict=True))


def enumerate_(values: Value) -> tuple[tuple[int, Value], ...]:
    """Entries with their position."""
    return tuple(enumerate(tuple_(values)))


def prefix_sums(values: Value) -> tuple[Value, ...]:
    """(0, values[0], values[0] + values[1], ...): where parts of these sizes begin, and where the last ends."""
    sums: list[Value] = [0]
    for value in tuple_(values):
        _static_number("prefix_sums", value)
        sums.append(checked_add(sums[-1], value))
    return tuple(sums)


# ------------------------------------------------------------------ dtypes


def dtype(name: str) -> DType:
    """The dtype of that name."""
    return DType(name)


def isfloat(d: Value) -> bool:
    """True for float dtypes."""
    return _dtype(d).is_float


def isint(d: Value) -> bool:
    """True for signed and unsigned integer dtypes."""
    return _dtype(d).is_int


def iscomplex(d: Value) -> bool:
    """True for complex dtypes."""
    return _dtype(d).is_complex


def part_dtype(d: Value) -> DType:
    """The float dtype of the parts of a complex dtype; any other dtype as it is."""
    return _dtype(d).part


def bits(d: Value) -> int:
    """The width of one element in bits."""
    return _dtype(d).bits


def lowest(d: Value) -> int | float | bool:
    """The least value of a dtype; -inf for floats."""
    return _dtype(d).lowest


def highest(d: Value) -> int | float | bool:
    """The greatest value of a dtype; inf for floats."""
    return _dtype(d).highest


def promote(*dtypes: Value) -> DType:
    """The dtype that numpy's promotion gives the operands together, for those of ml_dtypes what that gives.

    Raises LanguageError if there is none, as for bfloat16 and float16.
    """
    given = [_dtype(d) for d in dtypes]
    others = [d for d in given if not d.is_extension]
    extensions = {d for d in given if d.is_extension}
    common = DType(np.result_type(*(d.numpy for d in others)).name) if others else None
    if common is not None and (not extensions or (common.is_float and not common.is_storage)):
        return common
    if len(extensions) == 1 and (common is None or common.bits <= 8):
        return extensions.pop()
    raise LanguageError(f"no dtype holds {' and '.join(given)} together; use cast", "dtype")


def _dtype(value: Value) -> DType:
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and value in DTYPES:
        return DType(value)
    raise LanguageError(f"expected a dtype, found {describe(value)}", "dtype")


# ------------------------------------------------------------------ shapes


def norm_axes(axis: Value, ndim: int, exclude: bool = False) -> tuple[int, ...]:
    """The axes named by `axis` (None: all; an int; several), counted from 0 and sorted; the others if
    `exclude`.

    Raises LanguageError for an axis out of range or named twice.
    """
    given = tuple(range(ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    found: list[int] = []
    for entry in given:
        if not isinstance(entry, int) or not -ndim <= entry < ndim:
            raise LanguageError(
                f"axis {entry} is out of range for {ndim} dims (expected {-ndim}..{ndim - 1})", "value"
            )
        found.append(entry % ndim)
    if len(set(found)) != len(found):
        raise LanguageError(f"an axis is named twice in {given}", "value")
    if exclude:
        return tuple(k for k in range(ndim) if k not in found)
    return tuple(sorted(found))


def broadcast(*shapes: Value) -> Shape:
    """The shape that numpy's broadcasting gives `shapes` together; one tuple of shapes stands for its entries.

    Raises ShapeError where two dims differ and neither is 1.
    """
    if len(shapes) == 1 and isinstance(shapes[0], tuple) and all(isinstance(s, tuple) for s in shapes[0]):
        shapes = shapes[0]
    for shape in shapes:
        if not isinstance(shape, tuple):
            raise LanguageError(f"broadcast takes shapes, found {describe(shape)}", "value")
    return broadcast_shapes(*shapes)


def ceil_div(a: Value, b: Value) -> Value:
    """`a / b` rounded up."""
    _static_number("ceil_div", a)
    return -floordiv(a, -b) if isinstance(b, int) and b < 0 else -floordiv(-a, b)


def window_out(
    extent: Dim,
    kernel: Dim,
    stride: int = 1,
    dilation: int = 1,
    low: Dim = 0,
    high: Dim = 0,
    ceil: bool = False,
) -> Value:
    """The number of window positions along a dim of `extent` padded by `low` and `high`.

    floor((extent + low + high - (dilation * (kernel - 1) + 1)) / stride) + 1, at least 0; with `ceil` rounded
    up, but a last window that would start in the upper padding is dropped (as ONNX and PyTorch do).
    """
    span = extent + low + high - (dilation * (kernel - 1) + 1)
    if not ceil:
        return max_(floordiv(span, stride) + 1, 0)
    count = max_(ceil_div(span, stride) + 1, 0)
    is_beyond = both(greater(count, 0), lambda: greater_equal((count - 1) * stride, extent + low))
    return select(is_beyond, lambda: count - 1, lambda: count)


def same_pads(
    extent: Value, kernel: Value, stride: int = 1, dilation: int = 1, lower: bool = False
) -> tuple[Value, Value]:
    """The (low, high) padding for which the output has ceil(extent / stride) positions; odd ones go high."""
    total = max_((ceil_div(extent, stride) - 1) * stride + dilation * (kernel - 1) + 1 - extent, 0)
    small = floordiv(total, 2)
    return (total - small, small) if lower else (small, total - small)


def slice_indices(start: Value, stop: Value, step: int, extent: Value) -> tuple[Value, Value, int]:
    """Python's `slice(start, stop, step).indices(extent)`: start, stop and step with every index in range."""
    if not isinstance(step, int) or step == 0:
        raise LanguageError(
            f"the step of a slice must be a static int that is not 0, found {describe(step)}", "value"
        )
    if isinstance(extent, int) and all(v is None or isinstance(v, int) for v in (start, stop)):
        return slice(start, stop, step).indices(extent)
    if not isinstance(extent, int | Expr):
        raise LanguageError("slice_indices takes an extent that is a dim or an int", "value")
    first, last = (0, extent) if step > 0 else (-1, extent - 1)

    def place(value: Value, default: Value) -> Value:
        if value is None:
            return default
        if isinstance(value, Expr):
            return select(less(value, 0), lambda: max_(value + extent, first), lambda: min_(value, last))
        shifted = value + extent if value < 0 else value
        if isinstance(shifted, int) and shifted <= first:
            return first
        return arith.minimum(arith.maximum(shifted, first), last)

    return place(start, first if step > 0 else last), place(stop, last if step > 0 else first), step


def einsum_plan(
    equation: str, ranks: Sequence[int]
) -> tuple[tuple[tuple[int, ...], ...], int, tuple[tuple[int, int], ...]]:
    """Read an einsum equation over operands of the given ranks.

    Labels are numbered: those of the output first, in its order, then those summed over.  Gives for each
    operand the label of each dim; the number of output labels; and for each label the (operand, dim) that
    has its extent.
    """
    if not isinstance(equation, str):
        raise LanguageError(f"einsum_plan takes an equation, found {describe(equation)}", "value")
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise LanguageError(
            f"the equation {equation!r} has {len(terms)} operands, found {len(ranks)}", "rank"
        )
    spread = [_labels(term, rank, equation) for term, rank in zip(terms, ranks, strict=True)]
    dots = max((sum(isinstance(x, int) for x in labels) for labels in spread), default=0)
    every = [label for labels in spread for label in labels]
    if arrow:
        output = _output_labels(right, dots, every, equation)
    else:
        output = [*range(-dots, 0), *sorted({x for x in every if isinstance(x, str) and every.count(x) == 1})]
    order = [*output, *dict.fromkeys(x for x in every if x not in output)]
    number = {label: position for position, label in enumerate(order)}
    first: dict[int, tuple[int, int]] = {}
    for operand, labels in enumerate(spread):
        for position, label in enumerate(labels):
            first.setdefault(number[label], (operand, position))
    sources = tuple(first[k] for k in range(len(order)))
    return tuple(tuple(number[x] for x in labels) for labels in spread), len(output), sources


def _labels(term: str, rank: int, equation: str) -> list[str | int]:
    """The labels of one operand; the dims under `...` are numbered from the right: ..., -2, -1."""
    before, dots, after = term.partition("...")
    if not all(c.isalpha() for c in before + after):
        raise LanguageError(f"{equation!r}: labels are letters, found {term!r}", "value")
    hidden = rank - len(before) - len(after)
    if hidden < 0 or (hidden and not dots):
        raise LanguageError(
            f"{equation!r}: {term!r} names {len(before + after)} dims, the operand has {rank}", "rank"
        )
    return [*before, *range(-hidden, 0), *after]


def _output_labels(right: str, dots: int, every: list[str | int], equation: str) -> list[str | int]:
    before, found, after = right.partition("...")
    if dots and not found:
        raise LanguageError(f"{equation!r}: the output lacks the `...` of the operands", "rank")
    output: list[str | int] = [*before, *(range(-dots, 0) if found else ()), *after]
    for label in output:
        if output.count(label) > 1 or label not in every:
            raise LanguageError(
                f"{equation!r}: the output's label {label!r} is repeated or not in any operand", "value"
            )
    return output


def index_of(values: Value, x: Value) -> int:
    """`values.index(x)` of a static tuple or text."""
    if not isinstance(values, tuple | list) and not (is_text(values) and is_text(x)):
        raise LanguageError(
            f"`.index` asks a tuple, or a text for a text, found {describe(values)} and {describe(x)}",
            "value",
        )
    try:
        return int(values.index(x))
    except ValueError:
        raise LanguageError(f"{shown(x)} is not in {shown(values)}", "value") from None
