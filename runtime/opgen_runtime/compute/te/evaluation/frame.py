"""Expressions over a block of indices, as numpy arrays.

The axes of the block are the trailing dims of every value; the axes of reductions are put before them, so that numpy's
broadcasting aligns values from outside a reduction with those inside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final

import numpy as np

from ....base.arith import (
    AnyDim,
    Binary,
    Bitcast,
    Call,
    Cast,
    Compare,
    Complex,
    Const,
    Expr,
    Not,
    Part,
    Select,
    Table,
    Var,
)
from ....base.errors import AccessError, LoweringError
from ....base.vocabulary import BOOL, dataclass
from ..guards import fixed_parts
from ..tensor import Read, Reduce, Tensor
from . import operations
from .operations import Array

_AGAIN: Final = 4  # evaluations of a shared node under different masks before it is evaluated for all


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """A var that runs over start <= var < stop along a dim, counted from the last one."""

    start: int
    stop: int
    position: int

    def values(self) -> Array:
        return np.arange(self.start, self.stop, dtype=np.int64).reshape((-1,) + (1,) * self.position)


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """Where values are needed; each lies inside its `outer` one."""

    where: Array
    outer: Mask | None


@dataclass(slots=True, eq=False)
class Frame:
    """One block: its axes, the dims' values, the tensors, and what was evaluated already."""

    axes: Mapping[Var, Axis]
    scalars: Mapping[Var, int]
    arrays: Mapping[Tensor, Array]
    rank: int
    reduce: Callable[[Frame, Reduce, Mask | None], Array]
    lenient: bool = False  # reads out of range give 0: the values are known not to be chosen
    outer: Frame | None = None  # of the reduction around, whose values are those of all elements
    shared: Frame | None = None
    masks: dict[tuple[int, int], tuple[Mask, Mask]] = field(default_factory=dict)
    done: dict[int, list[tuple[Mask | None, Array]]] = field(default_factory=dict)
    fixed: dict[int, list[Expr]] = field(default_factory=dict)

    def value(self, e: Expr, mask: Mask | None = None) -> Array:
        """The value of `e` where `mask` holds, anything elsewhere.  Iterative: expressions may be deep."""
        stack: list[tuple[Expr, Mask | None]] = [(e, mask)]
        while stack:
            node, under = stack[-1]
            if self.known(node, under) is not None:
                stack.pop()
                continue
            missing = self._missing(node, under)
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            results = self.done.setdefault(id(node), [])
            if under is not None and len(results) >= _AGAIN and not isinstance(node, Reduce):
                results.append((None, self.for_all(node)))
            else:
                results.append(self._result(node, under))
        found = self.known(e, mask)
        assert found is not None
        return found

    def for_all(self, node: Expr) -> Array:
        """The value of a node that many choices share, with 0 for what is read out of range."""
        if self.shared is None:
            self.shared = Frame(self.axes, self.scalars, self.arrays, self.rank, self.reduce, lenient=True)
        return self.shared.value(node)

    def known(self, node: Expr, mask: Mask | None) -> Array | None:
        """The value of `node` under `mask` or one around it, if it has been evaluated."""
        for under, value in self.done.get(id(node), ()):
            if under is None:
                return value
            m = mask
            while m is not None:
                if m is under:
                    return value
                m = m.outer
        return None if self.outer is None else self.outer.known(node, mask)

    def _missing(self, node: Expr, mask: Mask | None) -> list[tuple[Expr, Mask | None]]:
        if isinstance(node, Select):
            condition = self.known(node.condition, mask)
            if condition is None:
                return [(node.condition, mask)]
            then, otherwise = self._branches(node, mask, condition)
            wanted = [(node.then, then), (node.otherwise, otherwise)]
        elif isinstance(node, Reduce):
            wanted = [(part, mask) for part in self._fixed_parts(node)]
        else:
            wanted = [(c, mask) for c in node.children()]
        return [(c, m) for c, m in wanted if self.known(c, m) is None]

    def _fixed_parts(self, node: Reduce) -> list[Expr]:
        """What is the same for all elements, and is evaluated once for them."""
        found = self.fixed.get(id(node))
        if found is None:
            found = self.fixed[id(node)] = fixed_parts(node)
        return found

    def _branches(self, node: Select, mask: Mask | None, condition: Array) -> tuple[Mask | None, Mask | None]:
        """The masks of both sides: one object each, so that what is known under them is found again."""
        if self.lenient:
            return None, None
        key = (id(node), id(mask))
        found = self.masks.get(key)
        if found is None:
            here = condition if mask is None else condition & mask.where
            there = ~condition if mask is None else ~condition & mask.where
            found = self.masks[key] = Mask(here, mask), Mask(there, mask)
        return found

    def _result(self, node: Expr, mask: Mask | None) -> tuple[Mask | None, Array]:
        with np.errstate(all="ignore"):
            return mask, self._evaluated(node, mask)

    def _child(self, node: Expr, mask: Mask | None) -> Array:
        found = self.known(node, mask)
        assert found is not None
        return found

    def _evaluated(self, node: Expr, mask: Mask | None) -> Array:
        if isinstance(node, Const):
            return np.asarray(node.value, dtype=node.dtype.numpy)
        if isinstance(node, Var):
            return self._var(node)
        if isinstance(node, Binary):
            a, b = self._child(node.a, mask), self._child(node.b, mask)
            return operations.binary(node.op, node.dtype, a, b)
        if isinstance(node, Compare):
            a, b = self._child(node.a, mask), self._child(node.b, mask)
            return np.asarray(operations.COMPARE[node.op](a, b))
        if isinstance(node, Select):
            return self._select(node, mask)
        if isinstance(node, Read):
            return self._read(node, mask)
        if isinstance(node, Cast):
            return operations.cast(self._child(node.a, mask), node.a.dtype, node.dtype)
        if isinstance(node, Call):
            args = [self._child(a, mask) for a in node.args]
            return operations.call(node.name, node.args[0].dtype, args)
        if isinstance(node, Reduce):
            return self.reduce(self, node, mask)
        if isinstance(node, Not):
            a = self._child(node.a, mask)
            return np.asarray(np.logical_not(a) if node.dtype is BOOL else np.bitwise_not(a))
        if isinstance(node, Table):
            return self._table(node, mask)
        if isinstance(node, Complex | Part):
            return self._complex(node, mask)
        if isinstance(node, Bitcast):
            return operations.bitcast(self._child(node.a, mask), node.dtype)
        what = "an unknown dim" if isinstance(node, AnyDim) else type(node).__name__
        raise LoweringError(f"cannot evaluate {what} ({node})")

    def _complex(self, node: Complex | Part, mask: Mask | None) -> Array:
        first, *rest = [self._child(child, mask) for child in node.children()]
        if isinstance(node, Complex):
            return operations.complex_number(first, *rest)
        return np.asarray(first.imag if node.which else first.real)

    def _var(self, node: Var) -> Array:
        axis = self.axes.get(node)
        if axis is not None:
            return axis.values()
        if node in self.scalars:
            return np.asarray(self.scalars[node], dtype=node.dtype.numpy)
        raise LoweringError(f"no value is known for {node.name}")

    def _select(self, node: Select, mask: Mask | None) -> Array:
        condition = self._child(node.condition, mask)
        then, otherwise = self._branches(node, mask, condition)
        return np.where(condition, self._child(node.then, then), self._child(node.otherwise, otherwise))

    def _table(self, node: Table, mask: Mask | None) -> Array:
        values = np.asarray(node.values, dtype=node.dtype.numpy)
        index = self._checked(self._child(node.index, mask), len(values), mask, node)
        if not len(values):
            return np.zeros(index.shape, node.dtype.numpy)
        return np.asarray(values[index])

    # Reads

    def _read(self, node: Read, mask: Mask | None) -> Array:
        array = self.arrays.get(node.tensor)
        if array is None:
            raise LoweringError(f"no value is known for the tensor {node.tensor.name}")
        view = self._view(node, array)
        if view is not None:
            return view
        indices = tuple(
            self._checked(self._child(i, mask), array.shape[d], mask, node, d)
            for d, i in enumerate(node.indices)
        )
        if array.size == 0:
            shape = np.broadcast_shapes(*(i.shape for i in indices))
            return np.zeros(shape, array.dtype)
        return np.asarray(array[indices])

    def _view(self, node: Read, array: Array) -> Array | None:
        """The read as a view, where each index is a literal or an axis of its own."""
        picked: list[int | slice] = []
        positions: list[int] = []
        for d, index in enumerate(node.indices):
            if isinstance(index, Const):
                if not 0 <= index.value < array.shape[d]:
                    return None
                picked.append(int(index.value))
                continue
            axis = self.axes.get(index) if isinstance(index, Var) else None
            if axis is None or axis.position in positions or axis.start < 0 or axis.stop > array.shape[d]:
                return None
            picked.append(slice(axis.start, axis.stop))
            positions.append(axis.position)
        view = array[tuple(picked)]
        if not positions:
            return np.asarray(view)
        order = sorted(range(len(positions)), key=lambda d: -positions[d])
        view = view.transpose(order)
        shape = [1] * (max(positions) + 1)
        for d, size in zip(order, view.shape, strict=True):
            shape[len(shape) - 1 - positions[d]] = size
        return np.asarray(view.reshape(shape))

    def _checked(
        self, index: Array, size: int, mask: Mask | None, node: Read | Table, dim: int | None = None
    ) -> Array:
        """The index with what is not needed set to 0.  Raises AccessError for one out of range."""
        outside = (index < 0) | (index >= size)
        if outside.any():
            wrong = outside if mask is None else outside & mask.where
            if not self.lenient and wrong.any():
                value = np.broadcast_to(index, wrong.shape)[wrong].flat[0]
                what = f"the table {node}" if dim is None else f"{node} (dim {dim})"
                raise AccessError(f"{what}: index {int(value)} is outside 0 <= index < {size}")
            index = np.where(outside, index.dtype.type(0), index)
        return index.astype(np.intp, copy=False)
