"""Updates (scatter): statements in row-major order, taken together where their order cannot be seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from ....base.arith import Expr, Var
from ....base.errors import AccessError
from ....base.vocabulary import DType, dataclass
from ..tensor import Guard, IterVar, Loop, Put, Tensor, Update
from .frame import Axis, Frame, Mask
from .operations import Array, binary

Statement = Loop | Guard | Put
MakeFrame = Callable[[dict[Var, Axis], int], Frame]

_AT: Final[dict[str, Any]] = {
    "add": np.add,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "min": np.minimum,
    "max": np.maximum,
}


@dataclass(frozen=True, slots=True, eq=False)
class _Path:
    """A put with the loops and conditions around it, outermost first."""

    steps: tuple[Loop | Guard, ...]
    put: Put

    @property
    def loops(self) -> tuple[IterVar, ...]:
        return tuple(s.axis for s in self.steps if isinstance(s, Loop))


def update(tensor: Tensor, op: Update, base: Array, make_frame: MakeFrame) -> Array:
    """The tensor after all statements.  Raises AccessError for a write out of range."""
    array = base.copy()
    for statement in op.body:
        paths = list(_paths(statement, ()))
        if _together(paths):
            _run_together(tensor, paths, array, make_frame)
        else:
            _run(tensor, statement, array, make_frame, {})
    return array


def _paths(statement: Statement, steps: tuple[Loop | Guard, ...]) -> Iterator[_Path]:
    if isinstance(statement, Put):
        yield _Path(steps, statement)
        return
    for inner in statement.body:
        yield from _paths(inner, (*steps, statement))


def _together(paths: list[_Path]) -> bool:
    """Whether all iterations of all puts may be computed first and then be written in order."""
    if len({p.put.op for p in paths}) != 1:
        return False
    if paths[0].put.op != "=":
        return True
    loops = paths[0].loops
    return all(p.loops == loops for p in paths)


def _run_together(tensor: Tensor, paths: list[_Path], array: Array, make_frame: MakeFrame) -> None:
    targets: list[Array] = []
    values: list[Array] = []
    for path in paths:
        found = _block(tensor, path, array, make_frame)
        if found is None:
            targets.append(np.zeros(0, np.int64))
            values.append(np.zeros(0, array.dtype))
            continue
        where, flat, value = found
        if paths[0].put.op == "=" and len(paths) > 1:
            flat = np.where(where, flat, -1)
        else:
            flat, value = flat[where], value[where]
        targets.append(flat.reshape(-1))
        values.append(value.reshape(-1))
    if len({t.size for t in targets}) == 1 and paths[0].put.op == "=":
        order = np.stack(targets, axis=-1).reshape(-1)  # the puts of one iteration follow each other
        written = np.stack(values, axis=-1).reshape(-1)
    else:
        order, written = np.concatenate(targets), np.concatenate(values)
    _write(array, paths[0].put.op, order, written)


def _write(array: Array, op: str, order: Array, written: Array) -> None:
    flat = array.reshape(-1)
    if op == "=":
        written, order = written[order >= 0], order[order >= 0]
        last, position = np.unique(order[::-1], return_index=True)
        flat[last] = written[::-1][position]
        return
    with np.errstate(all="ignore"):
        if DType(array.dtype.name).is_storage:
            wide = flat.astype(np.float32)
            _AT[op].at(wide, order, written.astype(np.float32))
            flat[:] = wide.astype(array.dtype)
        else:
            _AT[op].at(flat, order, written)


def _block(
    tensor: Tensor, path: _Path, array: Array, make_frame: MakeFrame
) -> tuple[Array, Array, Array] | None:
    """For all iterations at once: whether the put runs, the flat position and the value."""
    axes: dict[Var, Axis] = {}
    loops = path.loops
    rank = len(loops)
    masks: list[tuple[IterVar, Expr]] = []
    for depth, axis in enumerate(loops):
        extent = axis.extent
        if isinstance(extent, Expr):
            frame = make_frame(axes, rank)
            bound = frame.value(extent)
            size = max(0, int(bound.max(initial=0)))
            if bound.size > 1:
                masks.append((axis, extent))
        else:
            size = extent
        if size == 0:
            return None
        axes[axis.var] = Axis(0, size, rank - 1 - depth)
    frame = make_frame(axes, rank)
    shape = tuple(a.stop for a in axes.values())
    mask: Mask | None = None
    for axis, extent in masks:
        here = axes[axis.var].values() < frame.value(extent, mask)
        mask = Mask(here if mask is None else here & mask.where, mask)
    for step in path.steps:
        if isinstance(step, Guard):
            here = frame.value(step.condition, mask)
            mask = Mask(here if mask is None else here & mask.where, mask)
    flat = _position(tensor, path.put, array, frame, mask)
    value = frame.value(path.put.value, mask)
    where = np.ones((), bool) if mask is None else mask.where
    return (
        np.broadcast_to(where, shape),
        np.broadcast_to(flat, shape),
        np.broadcast_to(value.astype(array.dtype, copy=False), shape),
    )


def _position(tensor: Tensor, put: Put, array: Array, frame: Frame, mask: Mask | None) -> Array:
    flat: Array = np.asarray(0, np.int64)
    for d, index in enumerate(put.indices):
        value = frame.value(index, mask).astype(np.int64, copy=False)
        outside = (value < 0) | (value >= array.shape[d])
        wrong = outside if mask is None else outside & mask.where
        if wrong.any():
            first = int(np.broadcast_to(value, wrong.shape)[wrong].flat[0])
            raise AccessError(
                f"write of {tensor.name} (dim {d}): index {first} is outside 0 <= index < {array.shape[d]}"
            )
        flat = flat * array.shape[d] + np.where(outside, 0, value)
    return flat


def _run(
    tensor: Tensor, statement: Statement, array: Array, make_frame: MakeFrame, axes: dict[Var, Axis]
) -> None:
    """One statement, iteration by iteration."""
    frame = make_frame(axes, 0)
    if isinstance(statement, Put):
        flat = int(_position(tensor, statement, array, frame, None).item())  # one loop variable: shape (1,)
        value = frame.value(statement.value).astype(array.dtype, copy=False).reshape(())
        cells = array.reshape(-1)
        if statement.op == "=":
            cells[flat] = value
        else:
            with np.errstate(all="ignore"):
                cells[flat] = binary(statement.op, tensor.dtype, cells[flat : flat + 1], value.reshape(1))[0]
    elif isinstance(statement, Guard):
        if bool(frame.value(statement.condition).item()):
            for inner in statement.body:
                _run(tensor, inner, array, make_frame, axes)
    else:
        extent = statement.axis.extent
        count = extent if isinstance(extent, int) else int(frame.value(extent).item())
        for k in range(count):
            here = {**axes, statement.axis.var: Axis(k, k + 1, 0)}
            for inner in statement.body:
                _run(tensor, inner, array, make_frame, here)
