"""The graph of tensors: order, and the same tensors over other inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ...base.arith import Expr, rewrite
from .tensor import (
    Compute,
    Extern,
    Guard,
    Loop,
    Operation,
    Placeholder,
    Put,
    Read,
    Scan,
    Sort,
    State,
    Tensor,
    Update,
)

Statement = Loop | Guard | Put


def tensor_order(outputs: Iterable[Tensor], given: Iterable[Tensor] = ()) -> list[Tensor]:
    """Every tensor that the outputs need, each once, producers first; without those `given` and what only they need."""
    order: list[Tensor] = []
    seen: set[int] = set(map(id, given))
    stack: list[tuple[Tensor, bool]] = [(t, False) for t in reversed(list(outputs))]
    while stack:
        tensor, ready = stack.pop()
        if ready:
            order.append(tensor)
            continue
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        stack.append((tensor, True))
        stack.extend((t, False) for t in reversed(tensor.op.inputs()))
    return order


def replace_tensors(e: Expr, mapping: Mapping[Tensor, Tensor]) -> Expr:
    """`e` with reads of other tensors."""
    if not mapping:
        return e

    def swap(node: Expr) -> Expr | None:
        if isinstance(node, Read):
            other = mapping.get(node.tensor)
            if other is not None and other is not node.tensor:
                return Read(other.dtype, other, node.indices)
        return None

    return rewrite(e, swap)


def replace_inputs(op: Operation, mapping: Mapping[Tensor, Tensor]) -> Operation:
    """`op` over other inputs; the same object where none changes.  Scans are made anew by `replace_scan`."""
    changed = {t: mapping[t] for t in op.inputs() if mapping.get(t, t) is not t}
    if not changed or isinstance(op, Placeholder):
        return op
    if isinstance(op, Compute):
        return replace(op, body=replace_tensors(op.body, changed))
    if isinstance(op, Update):
        return Update(
            changed.get(op.base, op.base),
            replace_statements(op.body, changed),
            tuple(changed.get(t, t) for t in op.reads),
        )
    if isinstance(op, Sort):
        return replace(op, source=changed[op.source])
    assert isinstance(op, Extern)
    return replace(op, operands=tuple(changed.get(t, t) for t in op.operands))


def expressions(body: tuple[Statement, ...]) -> Iterator[Expr]:
    """The indices, values, conditions and extents of the statements of an update."""
    for statement in body:
        if isinstance(statement, Put):
            yield from statement.indices
            yield statement.value
        elif isinstance(statement, Guard):
            yield statement.condition
            yield from expressions(statement.body)
        else:
            if isinstance(statement.axis.extent, Expr):
                yield statement.axis.extent
            yield from expressions(statement.body)


def replace_statements(
    body: tuple[Statement, ...], mapping: Mapping[Tensor, Tensor]
) -> tuple[Statement, ...]:
    """The statements of an update over other tensors."""
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, Put):
            indices = tuple(replace_tensors(i, mapping) for i in statement.indices)
            found.append(Put(indices, statement.op, replace_tensors(statement.value, mapping)))
        elif isinstance(statement, Guard):
            inner = replace_statements(statement.body, mapping)
            found.append(Guard(replace_tensors(statement.condition, mapping), inner))
        else:
            axis = statement.axis
            if isinstance(axis.extent, Expr):
                axis = replace(axis, extent=replace_tensors(axis.extent, mapping))
            found.append(Loop(axis, replace_statements(statement.body, mapping)))
    return tuple(found)


def replace_scan(
    scan: Scan, bodies: Mapping[int, Expr], mapping: Mapping[Tensor, Tensor]
) -> dict[Tensor, Tensor]:
    """A scan with new bodies (by `id(state)`; the others stay) over other inputs: its old tensors to its new ones."""
    states = tuple(State(s.axes, s.scan_axis) for s in scan.states)
    fresh = Scan(states, scan.extent, scan.direction)
    made: dict[Tensor, Tensor] = {}
    for old, new in zip(scan.states, states, strict=True):
        assert old.tensor is not None
        new.tensor = replace(old.tensor, op=fresh)
        made[old.tensor] = new.tensor
    every = {**mapping, **made}
    for old, new in zip(scan.states, states, strict=True):
        body = bodies.get(id(old), old.body)
        assert body is not None
        new.body = replace_tensors(body, every)
    return made
