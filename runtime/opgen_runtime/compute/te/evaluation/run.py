"""Tensors by numpy, one after the other: what the `debug` executor runs, without LLVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from ....base.arith import Expr, Var, evaluate_scalar
from ....base.errors import ExecutorError, LoweringError
from ..extern import call_extern, fitting_result
from ..graph import tensor_order
from ..tensor import Compute, Extern, IterVar, Placeholder, Scan, Sort, State, Tensor, Update
from .frame import Axis, Frame
from .operations import Array
from .reduction import LIMIT, reduce
from .sorting import sort
from .update import update


def evaluated(outputs: Sequence[Tensor], feeds: Mapping[Tensor, Array]) -> list[Array]:
    """As `evaluate` says."""
    return _Evaluation(feeds).run(outputs)


class _Evaluation:
    def __init__(self, feeds: Mapping[Tensor, Array]) -> None:
        self.feeds = feeds
        self.arrays: dict[Tensor, Array] = {}
        self.dims: dict[Var, int] = {}
        self.called: dict[object, tuple[Array, ...]] = {}

    def run(self, outputs: Sequence[Tensor]) -> list[Array]:
        order = tensor_order(outputs)
        for tensor in order:
            if isinstance(tensor.op, Placeholder):
                self.arrays[tensor] = self._feed(tensor)
        for tensor in order:
            if tensor not in self.arrays:
                self._define(tensor)
        return [self.arrays[t] for t in outputs]

    def _feed(self, tensor: Tensor) -> Array:
        if tensor not in self.feeds:
            raise ExecutorError(f"no value is given for the input {tensor.name}")
        array = np.asarray(self.feeds[tensor])
        if array.dtype != tensor.dtype.numpy:
            raise ExecutorError(f"{tensor.name}: expected {tensor.dtype}, found {array.dtype}")
        if array.ndim != tensor.ndim:
            raise ExecutorError(f"{tensor.name}: expected {tensor.ndim} dims, found {array.ndim}")
        for d, (dim, size) in enumerate(zip(tensor.shape, array.shape, strict=True)):
            expected = self.dims.setdefault(dim, size) if isinstance(dim, Var) else dim
            if isinstance(expected, int) and expected != size:
                raise ExecutorError(f"{tensor.name}: dim {d} is {size}, expected {expected}")
        return array

    def _size(self, dim: int | Expr) -> int:
        return dim if isinstance(dim, int) else int(evaluate_scalar(dim, self.dims))

    def _define(self, tensor: Tensor) -> None:
        op = tensor.op
        if isinstance(op, Compute):
            shape = tuple(self._size(d) for d in tensor.shape)
            array = np.zeros(shape, tensor.dtype.numpy)
            self._fill(array, op.axes, op.body, [(0, s) for s in shape])
            self.arrays[tensor] = array
        elif isinstance(op, Scan):
            self._scan(op)
        elif isinstance(op, Update):
            self.arrays[tensor] = update(tensor, op, self.arrays[op.base], self._frame)
        elif isinstance(op, Sort):
            shape = tuple(self._size(d) for d in tensor.shape)
            self.arrays[tensor] = sort(tensor, op, self.arrays[op.source], shape[op.axis])
        elif isinstance(op, Extern):
            self.arrays[tensor] = self._extern(tensor, op)
        else:
            raise LoweringError(f"{tensor.name}: cannot evaluate a {type(op).__name__}")

    def _frame(self, axes: Mapping[Var, Axis], rank: int) -> Frame:
        return Frame(dict(axes), self.dims, self.arrays, rank, reduce)

    def _fill(self, array: Array, axes: Sequence[IterVar], body: Expr, ranges: list[tuple[int, int]]) -> None:
        """array[ranges] = body, in blocks of bounded size."""
        rank = len(ranges)
        if any(start >= stop for start, stop in ranges):
            return
        count = prod(stop - start for start, stop in ranges)
        if count > LIMIT:
            widest = next(d for d, (start, stop) in enumerate(ranges) if stop - start > 1)
            start, stop = ranges[widest]
            step = max(1, (stop - start) * LIMIT // count)
            for low in range(start, stop, step):
                part = [*ranges]
                part[widest] = (low, min(low + step, stop))
                self._fill(array, axes, body, part)
            return
        named = {
            axis.var: Axis(start, stop, rank - 1 - d)
            for d, (axis, (start, stop)) in enumerate(zip(axes, ranges, strict=True))
        }
        value = self._frame(named, rank).value(body)
        array[tuple(slice(start, stop) for start, stop in ranges)] = value

    def _scan(self, scan: Scan) -> None:
        extent = self._size(scan.extent)
        arrays: list[tuple[State, Array]] = []
        for state in scan.states:
            assert state.tensor is not None
            shape = tuple(self._size(d) for d in state.tensor.shape)
            array = np.zeros(shape, state.tensor.dtype.numpy)
            self.arrays[state.tensor] = array
            arrays.append((state, array))
        for row in range(extent) if scan.direction > 0 else range(extent - 1, -1, -1):
            for state, array in arrays:
                assert state.body is not None
                ranges = [(0, s) for s in array.shape]
                ranges[state.scan_axis] = (row, row + 1)
                self._fill(array, state.axes, state.body, ranges)

    def _extern(self, tensor: Tensor, op: Extern) -> Array:
        key = (id(op.function), tuple(id(t) for t in op.operands), op.attrs)
        results = self.called.get(key)
        if results is None:
            results = self.called[key] = call_extern(op, self.arrays)
        return fitting_result(tensor, results[op.output])
