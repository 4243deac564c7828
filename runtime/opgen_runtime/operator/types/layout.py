"""Layout strings: `NCHW`, `NHWC`, blocked `NCHW16c`; permuting shapes and index positions between them.

An upper-case letter is an axis; a factor with the lower-case letter is the inner part of that axis, so that
`NCHW16c` stores channel `c` at outer position `c // 16`, inner position `c % 16`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from ...base.arith.expr import Const, Dim, Expr, Shape
from ...base.errors import AttrError, ShapeError
from ...base.vocabulary import dataclass
from .shapes import certainly_different, prefer

_PART: Final = re.compile(r"([A-Z])|([1-9][0-9]*)([a-z])")


@dataclass(frozen=True, slots=True)
class LayoutAxis:
    """One stored axis: `name` in upper case; `factor` is 0 for an outer axis, else the size of an inner one."""

    name: str
    factor: int = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """A parsed layout."""

    text: str
    axes: tuple[LayoutAxis, ...]

    @property
    def ndim(self) -> int:
        return len(self.axes)

    @property
    def is_blocked(self) -> bool:
        return any(axis.factor for axis in self.axes)

    @property
    def canonical_names(self) -> str:
        """The names of the outer axes, in stored order."""
        return "".join(axis.name for axis in self.axes if not axis.factor)

    def outer(self, name: str) -> int:
        """The stored position of axis `name`."""
        return self.axes.index(LayoutAxis(name))

    def factor(self, name: str) -> int:
        """The product of the inner factors of axis `name`; 1 if it is not blocked."""
        product = 1
        for axis in self.axes:
            if axis.name == name and axis.factor:
                product *= axis.factor
        return product

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=256)
def parse_layout(text: str) -> Layout:
    """The parsed layout. Raises AttrError for text that is none: a repeated axis, a factor without its axis."""
    axes: list[LayoutAxis] = []
    position = 0
    while position < len(text):
        found = _PART.match(text, position)
        if found is None:
            raise AttrError(
                f"layout {text!r}: expected an axis letter or a factor such as 16c at {text[position:]!r}"
            )
        name, factor, inner = found.groups()
        axes.append(LayoutAxis(name) if name else LayoutAxis(inner.upper(), int(factor)))
        position = found.end()
    outer = [axis.name for axis in axes if not axis.factor]
    if len(set(outer)) != len(outer):
        raise AttrError(f"layout {text!r} names an axis twice")
    for axis in axes:
        if axis.factor and axis.name not in outer:
            raise AttrError(
                f"layout {text!r} has the factor {axis.factor}{axis.name.lower()} but no axis {axis.name}"
            )
    return Layout(text, tuple(axes))


def check_layouts(stored: Layout, canonical: Layout) -> None:
    """Raises AttrError unless both have the same axes and the canonical one is not blocked."""
    if canonical.is_blocked:
        raise AttrError(f"a canonical layout cannot be blocked: {canonical}")
    if sorted(stored.canonical_names) != sorted(canonical.canonical_names):
        raise AttrError(f"layout {stored} does not have the axes of {canonical}")


def to_canonical(shape: Sequence[Dim], stored: Layout, canonical: Layout) -> Shape:
    """The canonical shape of a tensor that is stored as `shape` in the layout `stored`.

    Raises ShapeError for a rank or an inner dim that the layout does not have.
    """
    if len(shape) != stored.ndim:
        raise ShapeError(f"layout {stored} has {stored.ndim} dims, the shape has {len(shape)}")
    dims: dict[str, Dim] = {}
    for axis, d in zip(stored.axes, shape, strict=True):
        if axis.factor:
            if certainly_different(d, axis.factor):
                raise ShapeError(
                    f"layout {stored} has {axis.factor} of {axis.name.lower()}, the shape has {d}"
                )
            dims[axis.name] = _times(dims.get(axis.name, 1), axis.factor)
        else:
            dims[axis.name] = _times(dims.get(axis.name, 1), d)
    return tuple(dims[axis.name] for axis in canonical.axes)


def to_stored(shape: Sequence[Dim], stored: Layout, canonical: Layout) -> Shape:
    """The shape in the layout `stored` of a tensor whose canonical shape is `shape`.

    Raises ShapeError for a rank that is not the canonical layout's, or an axis that its factors do not divide.
    """
    if len(shape) != canonical.ndim:
        raise ShapeError(f"layout {canonical} has {canonical.ndim} dims, the shape has {len(shape)}")
    dims = {axis.name: d for axis, d in zip(canonical.axes, shape, strict=True)}
    result: list[Dim] = []
    for axis in stored.axes:
        if axis.factor:
            result.append(axis.factor)
            continue
        factor, d = stored.factor(axis.name), dims[axis.name]
        if isinstance(d, int):
            if d % factor:
                raise ShapeError(f"layout {stored} blocks {axis.name} by {factor}, which does not divide {d}")
            result.append(d // factor)
        else:
            result.append(d if factor == 1 else _dim(d // factor))
    return tuple(result)


def stored_indices(indices: Sequence[Dim], stored: Layout, canonical: Layout) -> Shape:
    """The stored position of the element at the canonical position `indices` (ints or expressions)."""
    at = {axis.name: i for axis, i in zip(canonical.axes, indices, strict=True)}
    inner = {axis.name: stored.factor(axis.name) for axis in stored.axes}
    result: list[Dim] = []
    remaining = dict(inner)
    for axis in stored.axes:
        i = at[axis.name]
        if not axis.factor:
            result.append(i if inner[axis.name] == 1 else _dim(i // inner[axis.name]))
            continue
        within = _dim(i % remaining[axis.name])
        remaining[axis.name] //= axis.factor
        result.append(within if remaining[axis.name] == 1 else _dim(within // remaining[axis.name]))
    return tuple(result)


def canonical_indices(indices: Sequence[Dim], stored: Layout, canonical: Layout) -> Shape:
    """The canonical position of the element at the stored position `indices`: the inverse of `stored_indices`."""
    at: dict[str, Dim] = {}
    for axis, i in zip(stored.axes, indices, strict=True):
        at[axis.name] = at[axis.name] * (axis.factor or 1) + i if axis.name in at else i
    return tuple(at[axis.name] for axis in canonical.axes)


def _times(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    return b if isinstance(a, int) and a == 1 else a if isinstance(b, int) and b == 1 else _dim(a * b)


def _dim(value: Dim) -> Dim:
    return int(value.value) if isinstance(value, Const) else value


__all__ = [
    "Expr",
    "Layout",
    "LayoutAxis",
    "check_layouts",
    "parse_layout",
    "prefer",
    "stored_indices",
    "to_canonical",
    "to_stored",
]
