"""From tensors that refer to themselves or each other to scans, and from updated ones to what they are afterwards.

While a recursive tensor is built, reads of it go to a stand-in.  Here the cycles are found, the scan axis
of each tensor and the direction are derived from the offsets of the reads, and the stand-ins are replaced.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from ...base import arith
from ...base.arith.expr import Const, Expr
from ...base.errors import LanguageError
from ...base.vocabulary import dataclass
from ..te.graph import replace_inputs
from ..te.tensor import Compute, IterVar, Read, Reduce, Scan, Sort, State, Tensor


@dataclass(frozen=True, slots=True)
class _Edge:
    """`reader` reads `source` at `indices`."""

    reader: Tensor
    source: Tensor
    indices: tuple[Expr, ...]


class Update(Protocol):
    """What is done to a tensor after its definition."""

    def reads(self) -> tuple[Tensor, ...]: ...

    def after(self, base: Tensor, made: Mapping[Tensor, Tensor]) -> Tensor: ...


def resolve(
    tensors: list[Tensor],
    stand_ins: Mapping[Tensor, Tensor],
    updates: Mapping[Tensor, Update],
    together: Sequence[Sequence[Tensor]] = (),
) -> dict[Tensor, Tensor]:
    """Replace the cyclic tensors among `tensors` (computes and sorts) by scans, and updated ones by what they are then.

    `stand_ins` maps each stand-in to the tensor it stands for.  Tensors that are `together` are made row by row: where
    one reads the other, they are one scan, though they do not read each other.  Gives old tensor -> new tensor for each
    tensor that changed, readers of changed tensors included: whoever reads an updated tensor reads it after its
    updates.  Raises LanguageError (code "cyclic") for a cycle that is no scan.
    """
    defined = {t: tuple(stand_ins.get(r, r) for r in t.op.inputs()) for t in tensors}
    for group in together:
        for t, needed in _joined(group, defined).items():
            defined[t] += needed
    reads = dict(defined)
    for t, update in updates.items():
        reads[t] += tuple(r for r in (stand_ins.get(r, r) for r in update.reads()) if r is not t)
    made: dict[Tensor, Tensor] = {}
    for group in _components(tensors, reads):
        replace = {**made, **{s: made[t] for s, t in stand_ins.items() if t in made}}
        if len(group) > 1 and len(_components(group, defined)) > 1:
            raise _updated_in_a_cycle([t for t in group if t in updates])
        if len(group) > 1 or group[0] in defined[group[0]]:
            made.update(_scan(group, stand_ins, replace))
        elif any(r in made for r in defined[group[0]]):
            (only,) = group
            made[only] = dataclasses.replace(only, op=replace_inputs(only.op, replace))
        for t in (t for t in updates if t in group):
            made[t] = updates[t].after(made.get(t, t), made)
    return made


def _joined(
    group: Sequence[Tensor], reads: Mapping[Tensor, tuple[Tensor, ...]]
) -> dict[Tensor, tuple[Tensor, ...]]:
    """What the tensors of a group need of each other so that they are one cycle: those that some reads connect."""
    found: dict[Tensor, tuple[Tensor, ...]] = {}
    rest = set(group)
    while rest:
        part, waiting = set(), [rest.pop()]
        while waiting:
            one = waiting.pop()
            part.add(one)
            near = {t for t in rest if t in reads[one] or one in reads[t]}
            rest -= near
            waiting += near
        found.update({t: tuple(other for other in group if other in part) for t in part if len(part) > 1})
    return found


def _updated_in_a_cycle(tensors: list[Tensor]) -> LanguageError:
    names = " and ".join(t.name for t in tensors)
    verb = "is" if len(tensors) == 1 else "are"
    text = f"{names} {verb} updated with what is made of {names}; elsewhere the name means the result of all updates"
    return LanguageError(text, "cyclic")


def redirect(expr: Expr, replace: Mapping[Tensor, Tensor]) -> Expr:
    """`expr` with reads of the keys of `replace` turned to its values."""

    def visit(node: Expr) -> Expr:
        if isinstance(node, Read) and node.tensor in replace:
            return Read(node.dtype, replace[node.tensor], node.indices)
        return node

    return arith.rewrite(expr, visit) if replace else expr


def _body(tensor: Tensor) -> Expr:
    assert isinstance(tensor.op, Compute)
    return tensor.op.body


def _axes(tensor: Tensor) -> tuple[IterVar, ...]:
    assert isinstance(tensor.op, Compute)
    return tensor.op.axes


def _components(tensors: list[Tensor], reads: Mapping[Tensor, tuple[Tensor, ...]]) -> list[list[Tensor]]:
    """Strongly connected components, each after those that it reads (Tarjan 1972, iterative)."""
    number: dict[Tensor, int] = {}
    low: dict[Tensor, int] = {}
    on_stack: set[Tensor] = set()
    stack: list[Tensor] = []
    found: list[list[Tensor]] = []
    known = set(tensors)
    for root in tensors:
        if root in number:
            continue
        work: list[tuple[Tensor, Iterator[Tensor]]] = [(root, iter(reads[root]))]
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, successors = work[-1]
            for successor in successors:
                if successor not in known:
                    continue
                if successor not in number:
                    number[successor] = low[successor] = len(number)
                    stack.append(successor)
                    on_stack.add(successor)
                    work.append((successor, iter(reads[successor])))
                    break
                if successor in on_stack:
                    low[node] = min(low[node], number[successor])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    group = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        group.append(member)
                        if member is node:
                            break
                    found.append([t for t in tensors if t in group])
    return found


def _scan(
    group: list[Tensor], stand_ins: Mapping[Tensor, Tensor], replace: Mapping[Tensor, Tensor]
) -> dict[Tensor, Tensor]:
    sorts = [t.name for t in group if isinstance(t.op, Sort)]
    if sorts:
        raise LanguageError(
            f"{sorts[0]} is made of what it is sorted for: a sort is no step of a scan", "cyclic"
        )
    edges = [
        _Edge(reader, target, node.indices)
        for reader in group
        for node in _reads(_body(reader))
        if (target := stand_ins.get(node.tensor, node.tensor)) in group
    ]
    positions, offsets = _scan_axes(group, edges)
    direction = _direction(group, offsets)
    order = _order_in_row(group, offsets)
    extent = _common_extent(group, positions)
    states = {t: State(_axes(t), positions[t]) for t in order}
    scan = Scan(tuple(states.values()), extent, direction)
    made = {t: Tensor(t.name, t.shape, t.dtype, scan) for t in group}
    inside = {**replace, **made, **{s: made[t] for s, t in stand_ins.items() if t in made}}
    for tensor, state in states.items():
        state.body = redirect(_body(tensor), inside)
        state.tensor = made[tensor]
    return made


def _common_extent(group: list[Tensor], positions: Mapping[Tensor, int]) -> int | Expr:
    """The extent of the scan axis, which all tensors have: a row of each is made in every step."""
    first, *others = group
    extent = first.shape[positions[first]]
    for tensor in others:
        own = tensor.shape[positions[tensor]]
        if own != extent and not _is_zero(arith.sub(own, extent)):
            raise LanguageError(
                f"{first.name} and {tensor.name} are computed together along one axis, which must have one extent; "
                f"it has {extent} and {own}",
                "cyclic",
            )
    return extent


def _is_zero(difference: Expr) -> bool:
    found = arith.Analyzer().simplify(difference)
    return isinstance(found, Const) and found.value == 0


def _reads(body: Expr) -> Iterator[Read]:
    for node in arith.post_order(body):
        if isinstance(node, Read):
            yield node
        elif isinstance(node, Reduce):
            for axis in node.axes:
                if isinstance(axis.extent, Expr):
                    yield from _reads(axis.extent)


def _scan_axes(group: list[Tensor], edges: list[_Edge]) -> tuple[dict[Tensor, int], list[tuple[_Edge, int]]]:
    """The scan position of each tensor, and the constant offset of each read along it."""
    best_error = ""
    for positions in _candidates(group, edges):
        offsets: list[tuple[_Edge, int]] = []
        for edge in edges:
            offset = _offset(edge, positions)
            if offset is None:
                best_error = f"{edge.reader.name} reads {edge.source.name} at no constant offset"
                break
            offsets.append((edge, offset))
        else:
            if _has_sign(group, offsets):
                return positions, offsets
            best_error = "round a cycle the offsets do not have one sign"
    names = ", ".join(t.name for t in group)
    how = "refer to each other in a cycle" if len(group) > 1 else "refers to itself in a way"
    raise LanguageError(
        f"{names} {how} that is no recurrence along one axis" + (f": {best_error}" if best_error else ""),
        "cyclic",
    )


def _candidates(group: list[Tensor], edges: list[_Edge]) -> Iterator[dict[Tensor, int]]:
    """Scan positions that agree along the reads, from each position of the first tensor."""
    root = group[0]
    for start in range(len(root.shape)):
        yield from _extend({root: start}, group, edges)


def _extend(
    positions: dict[Tensor, int], group: list[Tensor], edges: list[_Edge]
) -> Iterator[dict[Tensor, int]]:
    if len(positions) == len(group):
        yield positions
        return
    for edge in edges:
        if edge.reader in positions and edge.source not in positions:
            for position in range(len(edge.indices)):
                trial = {**positions, edge.source: position}
                if _offset(edge, trial) is not None:
                    yield from _extend(trial, group, edges)
            return
    for edge in edges:
        if edge.source in positions and edge.reader not in positions:
            for position in range(len(edge.reader.shape)):
                trial = {**positions, edge.reader: position}
                if _offset(edge, trial) is not None:
                    yield from _extend(trial, group, edges)
            return


def _offset(edge: _Edge, positions: Mapping[Tensor, int]) -> int | None:
    var = _axes(edge.reader)[positions[edge.reader]].var
    index = edge.indices[positions[edge.source]]
    if index is var:
        return 0
    difference = arith.Analyzer().simplify(arith.sub(index, var))
    return int(difference.value) if isinstance(difference, Const) else None


def _has_sign(group: list[Tensor], offsets: list[tuple[_Edge, int]]) -> bool:
    signs = {o > 0 for _, o in offsets if o}
    return len(signs) == 1 and _order(group, offsets) is not None


def _direction(group: list[Tensor], offsets: list[tuple[_Edge, int]]) -> int:
    return 1 if any(o < 0 for _, o in offsets) else -1


def _order(group: list[Tensor], offsets: list[tuple[_Edge, int]]) -> list[Tensor] | None:
    """An order in which this row's reads come after this row's definitions; None if there is none."""
    waiting = {t: {e.source for e, o in offsets if o == 0 and e.reader is t} for t in group}
    done: list[Tensor] = []
    while waiting:
        ready = [t for t, needs in waiting.items() if needs <= set(done)]
        if not ready:
            return None
        done.append(ready[0])
        del waiting[ready[0]]
    return done


def _order_in_row(group: list[Tensor], offsets: list[tuple[_Edge, int]]) -> list[Tensor]:
    order = _order(group, offsets)
    assert order is not None
    return order
