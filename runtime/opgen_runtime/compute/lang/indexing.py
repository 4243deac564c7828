"""Index functions of the library; each takes static and element integers alike."""

from __future__ import annotations

from functools import partial

from ...base import arith
from ...base.arith.expr import Expr, Shape, Table
from ...base.errors import LanguageError
from ...base.vocabulary import BOOL, INDEX, DType
from ...operator import Attrs
from .conditions import equal, less, select
from .element import floordiv, floormod
from .reduce import max_, min_
from .scope import current
from .tensors import Defined, Operand
from .weak import Value, Weak, as_index, describe, is_text


def bcast(index: Value, shape: Value) -> tuple[Value, ...]:
    """The indices into `shape` for `index` into a shape that it broadcasts to: 0 where its dim is 1."""
    if not isinstance(index, tuple) or not isinstance(shape, tuple):
        raise LanguageError(
            f"bcast takes an index tuple and a shape, found {describe(index)} and {describe(shape)}", "value"
        )
    if len(shape) > len(index):
        raise LanguageError(
            f"bcast: a shape of {len(shape)} dims does not broadcast to {len(index)} dims", "rank"
        )
    tail = index[len(index) - len(shape) :]
    return tuple(
        select(equal(extent, 1), partial(_same, 0), partial(_same, position))
        for position, extent in zip(tail, shape, strict=True)
    )


def _same(value: Value) -> Value:
    return value


def ravel(index: Value, shape: Value) -> Value:
    """The row-major position of `index` in `shape`."""
    if not isinstance(index, tuple) or not isinstance(shape, tuple) or len(index) != len(shape):
        raise LanguageError("ravel takes an index tuple and a shape of the same length", "rank")
    position: Value = 0
    for entry, extent in zip(index, shape, strict=True):
        position = position * extent + entry
    return position


def unravel(position: Value, shape: Value) -> tuple[Value, ...]:
    """The index tuple at a row-major `position` of `shape`."""
    if not isinstance(shape, tuple):
        raise LanguageError(f"unravel takes a shape, found {describe(shape)}", "value")
    entries: list[Value] = []
    for extent in reversed(shape[1:]):
        entries.append(floormod(position, extent))
        position = floordiv(position, extent)
    if shape:
        entries.append(position)
    return tuple(reversed(entries))


def reflect(position: Value, extent: Value) -> Value:
    """`position` mirrored into 0..extent-1, the edge not repeated (numpy's pad mode "reflect")."""
    period = max_(2 * extent - 2, 1)
    folded = floormod(position, period)
    return select(less(folded, extent), lambda: folded, lambda: period - folded)


def clip(x: Value, low: Value, high: Value) -> Value:
    """`min(max(x, low), high)`."""
    return min_(max_(x, low), high)


def item(values: Value, key: Value) -> Value:
    """`values[key]`: of a tensor, of a tuple or text at a static place, a constant table at an element place, or a
    field of attrs by its name."""
    if isinstance(values, (Operand, Defined)):
        return values[key]
    if isinstance(values, Attrs):
        if key not in values.as_dict():
            known = ", ".join(values.keys())
            raise LanguageError(f"{values.type_key} has the fields {known}; found {describe(key)}", "value")
        return values[key]
    if isinstance(values, (tuple, list)) or is_text(values):
        kind = "text" if isinstance(values, str) else "tuple"
        if isinstance(key, bool) or not isinstance(key, (int, slice, Expr, Weak)):
            raise LanguageError(f"a {kind} is indexed by an integer, found {describe(key)}", "value")
        if isinstance(key, (int, slice)):
            try:
                return values[key]
            except IndexError:
                raise LanguageError(f"index {key} is outside a {kind} of {len(values)}", "rank") from None
        if isinstance(values, str):
            raise LanguageError(f"a text is indexed by a static integer, found {describe(key)}", "stage")
        return _table(tuple(values), key)
    raise LanguageError(f"{describe(values)} cannot be indexed", "value")


def _table(values: tuple[Value, ...], key: Value) -> Value:
    """A constant table; where an entry is symbolic, the select over the entries."""
    index = as_index(key, "an index of a table")
    if not values:
        current().prove_access("an empty tuple", 0, index, 0)  # right where the domain is empty, too
        return 0
    if not all(isinstance(v, (int, float)) for v in values):
        result: Value = values[-1]
        for position in range(len(values) - 2, -1, -1):
            result = select(equal(index, position), partial(_same, values[position]), partial(_same, result))
        return result
    current().prove_access("a constant table", 0, index, len(values))
    if all(isinstance(v, bool) for v in values):
        return Table(BOOL, values, index)
    if any(isinstance(v, float) for v in values):
        floats = tuple(float(v) for v in values)
        return Weak("float", lambda dtype: Table(dtype, floats, index))

    def make(dtype: DType) -> Expr:
        entries = tuple(arith.const(v, dtype).value for v in values)
        return Table(dtype, entries, index)

    return Weak("int", make)


def static_shape(shape: Value) -> Shape:
    """A shape written in a declaration: a dim, or a tuple of dims."""
    entries = shape if isinstance(shape, tuple) else (shape,)
    for entry in entries:
        if isinstance(entry, bool) or not (
            isinstance(entry, int) or (isinstance(entry, Expr) and entry.dtype == INDEX)
        ):
            raise LanguageError(f"a shape is made of static ints, found {describe(entry)}", "stage")
        if isinstance(entry, int) and entry < 0:
            raise LanguageError(f"a shape has a negative dim: {entry}", "shape")
    return entries
