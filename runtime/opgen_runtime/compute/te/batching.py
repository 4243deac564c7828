"""Tensor expressions with one more axis: what a computation gives for each element of a batch.

    b[i] = exp(a[i]) * w[i]   where a has a batch of n   -->   b[r, i] = exp(a[r, i]) * w[i]

The new axis comes first, on every tensor that depends on an operand that has it; others stay as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from ...base.arith import Dim, Expr, Var, rewrite
from ...base.errors import LanguageError
from ...base.vocabulary import INDEX
from .construct import data_axes
from .graph import Statement, tensor_order
from .loop_ir import LoopIRFunction
from .tensor import (
    Compute,
    Extern,
    Guard,
    IterVar,
    Loop,
    Operation,
    Put,
    Read,
    Scan,
    Sort,
    State,
    Tensor,
    Update,
    tensors_read,
)

_AXIS: Final = "row"


def batched(
    outputs: Sequence[Tensor], given: Mapping[Tensor, Tensor], extent: Dim
) -> tuple[tuple[Tensor, ...], tuple[bool, ...]]:
    """The outputs over other placeholders, `given`, which have a leading axis of `extent`; and which have it, too.

    Raises LanguageError for what has no such form: a scan whose number of steps is an element of the batch, a
    hand-written function whose results have sizes of their own.
    """
    batch = _Batch(given, extent)
    for tensor in tensor_order(outputs, given):
        if tensor not in batch.made and any(each in batch.made for each in tensor.op.inputs()):
            batch.add(tensor)
    made = batch.made
    return tuple([made.get(each, each) for each in outputs]), tuple([each in made for each in outputs])


class _Batch:
    """`made`: tensors by those that they stand for, which are theirs without the axis."""

    def __init__(self, given: Mapping[Tensor, Tensor], extent: Dim) -> None:
        self.made = dict(given)
        self.extent = extent
        self.functions: dict[object, Callable[..., np.ndarray | tuple[np.ndarray, ...]]] = {}

    def add(self, tensor: Tensor) -> None:
        """Makes the tensor, whose inputs are made; of a scan all of its tensors."""
        op = tensor.op
        if isinstance(op, Scan):
            self._add_scan(tensor, op)
        elif isinstance(op, Compute):
            axis = self._axis()
            self.made[tensor] = self._wide(tensor, Compute((axis, *op.axes), self._at(axis.var, op.body)))
        elif isinstance(op, Update):
            self.made[tensor] = self._wide(tensor, self._update(op))
        elif isinstance(op, Sort):
            source = self.made[op.source]
            self.made[tensor] = self._wide(tensor, replace(op, source=source, axis=op.axis + 1))
        else:
            assert isinstance(op, Extern)
            self.made[tensor] = self._wide(tensor, self._extern(tensor, op))

    def _axis(self) -> IterVar:
        return IterVar(Var(INDEX, _AXIS), self.extent)

    def _wide(self, tensor: Tensor, op: Operation) -> Tensor:
        return Tensor(tensor.name, (self.extent, *tensor.shape), tensor.dtype, op)

    def _at(self, row: Expr, e: Expr) -> Expr:
        """The expression, which reads the row of what has the axis."""

        def swapped(node: Expr) -> Expr | None:
            if isinstance(node, Read) and node.tensor in self.made:
                return Read(node.dtype, self.made[node.tensor], (row, *node.indices))
            return None

        return rewrite(e, swapped)

    def _add_scan(self, tensor: Tensor, scan: Scan) -> None:
        if isinstance(scan.extent, Expr) and any(each in self.made for each in tensors_read(scan.extent)):
            raise LanguageError(
                f"{tensor.name}: the number of its steps is an element of the batch, and each would have its own"
            )
        rows = [self._axis() for _ in scan.states]
        states = tuple(
            [State((row, *s.axes), s.scan_axis + 1) for row, s in zip(rows, scan.states, strict=True)]
        )
        wide = Scan(states, scan.extent, scan.direction)
        for old, new in zip(scan.states, states, strict=True):
            assert old.tensor is not None
            new.tensor = self.made[old.tensor] = self._wide(old.tensor, wide)
        for old, new, row in zip(scan.states, states, rows, strict=True):
            assert old.body is not None
            new.body = self._at(row.var, old.body)

    def _update(self, op: Update) -> Update:
        axis = self._axis()
        body = (Loop(axis, self._statements(op.body, axis.var)),)
        base = self.made[op.base] if op.base in self.made else self._repeated(op.base)
        return Update(base, body, tuple([self.made.get(each, each) for each in op.reads]))

    def _repeated(self, tensor: Tensor) -> Tensor:
        """The same for each element of the batch."""
        axes = data_axes((self.extent, *tensor.shape))
        return self._wide(
            tensor, Compute(axes, Read(tensor.dtype, tensor, tuple([axis.var for axis in axes[1:]])))
        )

    def _statements(self, body: Sequence[Statement], row: Expr) -> tuple[Statement, ...]:
        """The statements of an update for one row of its tensor."""
        found: list[Statement] = []
        for statement in body:
            if isinstance(statement, Put):
                indices = tuple([self._at(row, index) for index in statement.indices])
                found.append(Put((row, *indices), statement.op, self._at(row, statement.value)))
            elif isinstance(statement, Guard):
                found.append(Guard(self._at(row, statement.condition), self._statements(statement.body, row)))
            else:
                axis = statement.axis
                if isinstance(axis.extent, Expr):
                    axis = replace(axis, extent=self._at(row, axis.extent))
                found.append(Loop(axis, self._statements(statement.body, row)))
        return tuple(found)

    def _extern(self, tensor: Tensor, op: Extern) -> Extern:
        """A hand-written function, once a row."""
        if op.free:
            raise LanguageError(f"{tensor.name}: its size depends on data, and each row would have its own")
        wide = tuple([each in self.made for each in op.operands])
        key = id(op.function), op.operands, op.attrs
        if key not in self.functions:  # all results of one function are those of one call
            function = op.function
            if isinstance(function, LoopIRFunction):
                self.functions[key] = function.by_rows(wide)
            else:
                self.functions[key] = _by_rows(function, wide)
        operands = tuple([self.made.get(each, each) for each in op.operands])
        return replace(op, operands=operands, function=self.functions[key])


def _by_rows(
    function: Callable[..., np.ndarray | tuple[np.ndarray, ...]], wide: Sequence[bool]
) -> Callable[..., tuple[np.ndarray, ...]]:
    """A function of arrays for each row of those that are `wide`."""

    @functools.wraps(function)
    def rows(*arrays: np.ndarray, **attrs: object) -> tuple[np.ndarray, ...]:
        found: list[tuple[np.ndarray, ...]] = []
        for k in range(next(len(array) for array, has in zip(arrays, wide, strict=True) if has)):
            own = [array[k] if has else array for array, has in zip(arrays, wide, strict=True)]
            made = function(*own, **attrs)
            found.append(made if isinstance(made, tuple) else (made,))
        return tuple([np.stack(column) for column in zip(*found, strict=True)])

    return rows
