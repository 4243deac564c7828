"""The axes of a scan's states along which parts of them are independent of each other.

s[t, n, i] = s[t - 1, n, i] + sum(w[i, k] * c[t - 1, n, k] for k),   c[t, n, i] = tanh(s[t, n, i])

Axis n of both is one group: a part of the rows n is computed of those rows alone.  Axis i is none, nor is t.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ...base.arith import Cast, Expr, post_order
from .tensor import Read, Scan, Tensor

Spans: TypeAlias = tuple[tuple[int, int], ...]
Groups: TypeAlias = Mapping[Tensor, tuple[int | None, ...]]
"""For each state, the group of each of its axes; None where no part is computed alone."""


def axis_groups(scan: Scan) -> Groups:
    """The groups of axes at which the states read each other at the same place."""
    states = {state.tensor: state for state in scan.states if state.tensor is not None}
    places = [(tensor, k) for tensor, state in states.items() for k in range(len(state.axes))]
    group = {place: number for number, place in enumerate(places)}
    serial = {(tensor, state.scan_axis) for tensor, state in states.items()}
    for tensor, state in states.items():
        assert state.body is not None
        own = {id(axis.var): (tensor, k) for k, axis in enumerate(state.axes)}
        for node in post_order(state.body):
            if not isinstance(node, Read) or node.tensor not in states:
                continue
            for k, index in enumerate(node.indices):
                read, mine = (node.tensor, k), own.get(id(_plain(index)))
                if mine is None:
                    serial.add(read)
                else:
                    joined, left = group[mine], group[read]
                    group = {place: joined if number == left else number for place, number in group.items()}
    members: dict[int, list[tuple[Tensor, int]]] = {}
    for place, number in group.items():
        members.setdefault(number, []).append(place)
    free = {number for number, each in members.items() if _is_free(each) and serial.isdisjoint(each)}
    return {
        tensor: tuple(
            [group[tensor, k] if group[tensor, k] in free else None for k in range(len(state.axes))]
        )
        for tensor, state in states.items()
    }


def state_regions(scan: Scan, asked: Mapping[Tensor, Spans]) -> dict[Tensor, Spans]:
    """The region of each state that is computed where regions of some are asked for."""
    groups = axis_groups(scan)
    shared = set.intersection(*[set(groups[tensor]) - {None} for tensor in asked])
    spans: dict[int | None, tuple[int, int]] = {}
    for tensor, region in asked.items():
        for number, (first, behind) in zip(groups[tensor], region, strict=True):
            if number in shared:
                least, most = spans.get(number, (first, behind))
                spans[number] = (min(least, first), max(most, behind))
    return {
        tensor: tuple([spans.get(number, (0, _extent(tensor, k))) for k, number in enumerate(own)])
        for tensor, own in groups.items()
    }


def axis_names(state: Tensor) -> list[tuple[str, int]]:
    """For each axis of a state what it shares with axes of others: its group, or that steps are along it."""
    scan = state.op
    assert isinstance(scan, Scan)
    axis = next(each.scan_axis for each in scan.states if each.tensor is state)
    return [
        ("steps", 0) if k == axis else ("own", k) if group is None else ("group", group)
        for k, group in enumerate(axis_groups(scan)[state])
    ]


def _is_free(places: list[tuple[Tensor, int]]) -> bool:
    """Whether the axes of a group are one of each tensor, of one extent."""
    return len({tensor for tensor, _ in places}) == len(places) and len({t.shape[k] for t, k in places}) == 1


def _extent(tensor: Tensor, axis: int) -> int:
    extent = tensor.shape[axis]
    assert isinstance(extent, int)
    return extent


def _plain(e: Expr) -> Expr:
    while isinstance(e, Cast):
        e = e.a
    return e
