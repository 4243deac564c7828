"""Branches, loops, and sequences of tensors.

Branches and loops are blocks of the program (`blocks.py`).  What cannot be one is decided while the model is
converted: a branch is the one that its condition's value takes, a loop is unrolled.  The program is then good for
inputs that give the same conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ....ir import Constant, Expr, const
from .. import blocks
from ..emit import op
from ..errors import ModelError, NotSupported, UnsupportedOperatorError, shown
from ..graph import Graph
from ..rules import Flag, converts
from ._tools import axis_of, concatenate, extent, index, ndim, take_slice
from .slicing import split_parts

if TYPE_CHECKING:
    from ..convert import NodeView

Scalar = Any
Array = np.ndarray


@converts("If")
def branch(condition: Expr, *, then_branch: Graph, else_branch: Graph, node: NodeView) -> tuple[Any, ...]:
    if not isinstance(condition, Constant):
        # ModelError: a side may not fit inputs for which it is never taken
        with suppress(NotSupported, UnsupportedOperatorError, ModelError):
            return tuple(blocks.branch(node, blocks.flag(condition), then_branch, else_branch))
    return tuple(node.subgraph(then_branch if node.truth(condition) else else_branch, []))


@converts("Loop")
def loop(
    trips: object = None, condition: object = None, *state: object, body: Graph, node: NodeView
) -> tuple[Any, ...]:
    """Unrolled where it cannot be a block: each step's condition decides whether there is another."""
    refused = ""
    try:
        return tuple(_loop_block(trips, condition, state, body, node))
    except (NotSupported, UnsupportedOperatorError) as error:
        refused = str(error)
    with blocks.also(refused):
        return _unrolled(trips, condition, state, body, node)


def _loop_block(
    trips: object, condition: object, state: Sequence[object], body: Graph, node: NodeView
) -> list[Expr]:
    count = None
    limit: Expr = const(np.array(np.iinfo(np.int64).max))
    if isinstance(trips, Expr):
        limit = blocks.scalar(trips)
        count = _count(node, trips) if isinstance(trips, Constant) else None
    going = blocks.flag(condition) if isinstance(condition, Expr) else const(np.array(True))
    return blocks.repeat(
        node,
        body,
        blocks.Steps(limit, going, count),
        state,  # type: ignore[arg-type]  # values
        lambda step, again, carried: [step, again, *carried],
        tells=True,
    )


def _unrolled(
    trips: object, condition: object, state: Sequence[object], body: Graph, node: NodeView
) -> tuple[Any, ...]:
    most = _count(node, trips) if isinstance(trips, Expr) else None
    going = node.truth(condition) if isinstance(condition, Expr) else True
    carried: list[Any] = list(state)
    scanned: list[list[Expr]] = [[] for _ in range(_scanned(body, 1 + len(carried)))]
    step = 0

    def run(number: int) -> list[Any]:
        return node.subgraph(body, [const(np.array(number, np.int64)), const(np.array(True)), *carried])

    while going and (most is None or step < most):
        node.step(step)
        again, *results = run(step)
        carried = results[: len(carried)]
        for rows, value in zip(scanned, results[len(carried) :], strict=True):
            rows.append(_tensor(value))
        going = node.truth(again)
        step += 1
    if step:
        return (*carried, *[op.stack(rows, axis=0) for rows in scanned])
    given = (
        run(0)[1 + len(carried) :] if scanned else []
    )  # a step that is never done tells what rows would be
    return (*carried, *[take_slice(op.stack([_tensor(value)], axis=0), 0, 0, 0) for value in given])


def _count(node: NodeView, trips: Expr) -> int:
    array = node.value(trips)
    if array.size != 1:
        raise ModelError(f"the trip count must be one number, its shape is {list(array.shape)}")
    return int(array.reshape(())[()])


def _scanned(body: Graph, before: int) -> int:
    """How many outputs of a body are collected, after `before` others."""
    count = len(body.outputs) - before
    if count < 0:
        raise ModelError(
            f"its graph {shown(body.name)!r} has {len(body.outputs)} outputs, expected at least {before}"
        )
    return count


def _tensor(value: object) -> Expr:
    if not isinstance(value, Expr):
        raise ModelError("its graph gives a sequence where a tensor is expected")
    return value


@converts("Scan", since=9)
def scan(
    *values: object,
    body: Graph,
    num_scan_inputs: int,
    scan_input_axes: Sequence[int] | None = None,
    scan_input_directions: Sequence[int] | None = None,
    scan_output_axes: Sequence[int] | None = None,
    scan_output_directions: Sequence[int] | None = None,
    node: NodeView,
) -> tuple[Any, ...]:
    """A loop over the scanned axis, unrolled where it cannot be a block."""
    num_state = len(values) - num_scan_inputs
    if num_scan_inputs < 1 or num_state < 0:
        raise ModelError(f"num_scan_inputs is {num_scan_inputs}, of {len(values)} inputs")
    state: list[Any] = list(values[:num_state])
    scanned = [_tensor(v) for v in values[num_state:]]
    in_axes = _one_each("scan_input_axes", scan_input_axes, num_scan_inputs)
    axes = [axis_of(a, ndim(x)) for a, x in zip(in_axes, scanned, strict=True)]
    reverse = _one_each("scan_input_directions", scan_input_directions, num_scan_inputs)
    lengths = {extent(x, a) for x, a in zip(scanned, axes, strict=True)}
    if len(lengths) != 1:
        raise ModelError(f"the scanned axes have the extents {sorted(lengths)}, expected one extent")
    steps = lengths.pop()
    collected = _scanned(body, num_state)
    out_axes = _one_each("scan_output_axes", scan_output_axes, collected)
    out_reverse = _one_each("scan_output_directions", scan_output_directions, collected)
    with suppress(NotSupported, UnsupportedOperatorError):
        found = _scan_block(node, body, state, scanned, axes, reverse, steps, out_reverse)
        stacked = [_moved(rows, axis) for rows, axis in zip(found[num_state:], out_axes, strict=True)]
        return (*found[:num_state], *stacked)
    rows: list[list[Expr]] = [[] for _ in range(collected)]
    for step in range(steps):
        node.step(step)
        parts = [
            index(x, a, steps - 1 - step if back else step)
            for x, a, back in zip(scanned, axes, reverse, strict=True)
        ]
        results = node.subgraph(body, [*state, *parts])
        state = results[:num_state]
        for row, value in zip(rows, results[num_state:], strict=True):
            row.append(_tensor(value))
    if rows and not steps:
        raise NotSupported("a scan over an empty axis")
    stacked = []
    for row, axis, back in zip(rows, out_axes, out_reverse, strict=True):
        stacked.append(op.stack(row[::-1] if back else row, axis=axis_of(axis, ndim(row[0]) + 1)))
    return (*state, *stacked)


def _scan_block(
    node: NodeView,
    body: Graph,
    state: Sequence[Any],
    scanned: Sequence[Expr],
    axes: Sequence[int],
    reverse: Sequence[int],
    steps: int,
    out_reverse: Sequence[int],
) -> list[Expr]:
    def inputs(step: Expr, going: Expr, carried: Sequence[Expr]) -> list[Expr]:
        parts = []
        for x, axis, back in zip(scanned, axes, reverse, strict=True):
            place = op.subtract(const(np.array(steps - 1)), step) if back else step
            parts.append(op.take(node.captured(x), place, axis=axis))
        return [*carried, *parts]

    how = blocks.Steps(const(np.array(steps)), const(np.array(True)), steps, [bool(b) for b in out_reverse])
    return blocks.repeat(node, body, how, state, inputs, tells=False)


def _moved(rows: Expr, axis: int) -> Expr:
    """Rows along the first axis, with that axis at another place."""
    rank = ndim(rows)
    place = axis_of(axis, rank)
    order = [*range(1, place + 1), 0, *range(place + 1, rank)]
    return rows if place == 0 else op.transpose(rows, axes=tuple(order))


def _one_each(name: str, given: Sequence[int] | None, count: int) -> Sequence[int]:
    """An attribute of one number for each of `count` tensors, zeros where it is absent."""
    if given and len(given) != count:
        raise ModelError(f"attribute {name!r} has {len(given)} numbers, expected {count}")
    return given or (0,) * count


@converts("Scan", since=8)
def scan_8(
    *values: object,
    body: Graph,
    num_scan_inputs: int,
    directions: Sequence[int] | None = None,
    node: NodeView,
) -> tuple[Any, ...]:
    """With a batch axis in front of everything: each batch is a scan of its own."""
    lengths, *rest = values
    if lengths is not None:
        raise NotSupported("lengths of sequences")
    tensors = [_tensor(v) for v in rest]
    batches = []
    for b in range(extent(tensors[0], 0)):
        batches.append(
            scan(
                *[index(t, 0, b) for t in tensors],
                body=body,
                num_scan_inputs=num_scan_inputs,
                scan_input_directions=directions,
                node=node,
            )
        )
    return tuple([op.stack(list(results), axis=0) for results in zip(*batches, strict=True)])


@converts("SequenceConstruct", since=11)
def sequence_construct(*values: object) -> list[object]:
    return list(values)


@converts("SequenceEmpty", since=11)
def sequence_empty(*, dtype: int = 1) -> list[object]:
    return []


@converts("SequenceLength", since=11)
def sequence_length(values: Sequence[Any]) -> Expr:
    return const(np.array(len(values), np.int64))


def _position(values: Sequence[object], position: Scalar, last: int) -> int:
    """A position counted from the first; negative ones count from the end."""
    at, size = int(position), len(values)
    if not -size <= at <= last:
        raise ModelError(f"position {at} of a sequence of {size}")
    return at + size if at < 0 else at


@converts("SequenceAt", since=11)
def sequence_at(values: Sequence[Any], position: Scalar) -> object:
    return values[_position(values, position, len(values) - 1)]


@converts("SequenceErase", since=11)
def sequence_erase(values: Sequence[Any], position: Scalar | None = None) -> list[object]:
    at = _position(values, -1 if position is None else position, len(values) - 1)
    return [v for k, v in enumerate(values) if k != at]


@converts("SequenceInsert", since=11)
def sequence_insert(values: Sequence[Any], value: object, position: Scalar | None = None) -> list[object]:
    at = len(values) if position is None else _position(values, position, len(values))
    return [*values[:at], value, *values[at:]]


@converts("ConcatFromSequence", since=11)
def concat_from_sequence(values: Sequence[Any], *, axis: int, new_axis: Flag = 0) -> Expr:
    return op.stack(list(values), axis=axis) if new_axis else concatenate(values, axis)


@converts("SplitToSequence", since=11)
def split_to_sequence(
    x: Expr, split: Array | None = None, *, axis: int = 0, keepdims: Flag = 1
) -> list[Expr]:
    at = axis_of(axis, ndim(x))
    length = extent(x, at)
    if split is None:
        return [p if keepdims else index(x, at, k) for k, p in enumerate(split_parts(x, at, [1] * length))]
    if split.ndim > 1 or (split.ndim == 0 and split < 1):
        raise ModelError(f"split is {split.tolist()}, expected the length of each part, or one of at least 1")
    if split.ndim == 0:
        size = int(split)
        sizes = [min(size, length - begin) for begin in range(0, length, size)]
    else:
        sizes = [int(n) for n in split]
    return list(split_parts(x, at, sizes))


@converts("SequenceMap", since=17)
def sequence_map(
    values: Sequence[Any], *others: object, body: Graph, node: NodeView
) -> tuple[list[Any], ...]:
    """The body for each element; other sequences give theirs in turn, tensors are the same each time."""
    rows = []
    for other in others:
        if isinstance(other, list) and len(other) != len(values):
            raise ModelError(f"a sequence of {len(other)} beside one of {len(values)}")
    for k, value in enumerate(values):
        given = [value, *[other[k] if isinstance(other, list) else other for other in others]]
        node.step(k)
        rows.append(node.subgraph(body, given))
    return tuple([[row[k] for row in rows] for k in range(len(body.outputs))])


@converts("Optional", since=15)
def optional(value: object = None, *, type: object = None) -> object:
    return value


@converts("OptionalHasElement", since=15)
def optional_has_element(value: object = None) -> Expr:
    return const(np.array(value is not None))


@converts("OptionalGetElement", since=15)
def optional_get_element(value: object) -> object:
    if value is None:
        raise ModelError("the optional value is absent")
    return value
