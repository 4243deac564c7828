"""Reductions into stages of their own.

    out[i] = exp(x[i] - max(x[k] for k in range(n)))
-->
    out_max[()] = max(x[k] for k in range(n))
    out[i] = exp(x[i] - out_max[()])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...base.arith import (
    Expr,
    cast,
    post_order,
    structural_equal,
    structural_hash,
    substitute,
)
from ...base.arith.expr import Var
from ...base.vocabulary import INDEX, INT64
from .broadcasts import without_idle_choices
from .graph import replace_inputs, replace_scan, tensor_order
from .guards import Guards, implies
from .reductions import outermost_reduces, swapped, where_wanted
from .scan_reductions import reductions_apart
from .tensor import Compute, IterVar, Read, Reduce, Scan, Tensor, tensors_read


def normalize(outputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The same outputs, with each reduction that is neither the root of a body nor inside another a stage of its own.

    The new stage has the axes that the reduction depends on; the conditions of the choices around it join its own
    condition, so that it reads no more than before.  A reduction inside a scan is taken out if it depends on no
    state; one over positions of a state becomes a state.  What cannot be taken out stays where it is.
    """
    done = normalized(outputs)
    return tuple(done[t] for t in outputs)


def normalized(outputs: Sequence[Tensor]) -> dict[Tensor, Tensor]:
    """What stands for each tensor that the outputs need where they are normalized."""
    done: dict[Tensor, Tensor] = {}
    for tensor in tensor_order(outputs):
        if tensor in done:
            continue
        op = tensor.op
        if isinstance(op, Scan):
            _normalize_scan(op, done)
            continue
        fresh = replace_inputs(op, done)
        if isinstance(fresh, Compute):
            fresh = _normalize_compute(tensor.name, fresh)
        done[tensor] = tensor if fresh is op else Tensor(tensor.name, tensor.shape, tensor.dtype, fresh)
    return done


def _normalize_compute(name: str, op: Compute) -> Compute:
    body = _Hoister(name, op.axes, frozenset()).run(without_idle_choices(op.body, op.axes))
    return op if body is op.body else replace(op, body=body)


def _normalize_scan(scan: Scan, done: dict[Tensor, Tensor]) -> None:
    states = frozenset(s.tensor for s in scan.states if s.tensor is not None)
    bodies: dict[int, Expr] = {}
    for state in scan.states:
        assert state.body is not None
        assert state.tensor is not None
        body = _Hoister(state.tensor.name, state.axes, states, hoist_root=True).run(state.body)
        if body is not state.body:
            bodies[id(state)] = body
    made = {t: t for t in states}
    if bodies or any(done.get(t, t) is not t for t in scan.inputs()):
        made = replace_scan(scan, bodies, done)
    scan = next(tensor.op for tensor in made.values() if isinstance(tensor.op, Scan))
    apart = reductions_apart(scan)
    done.update((old, apart.get(new, new)) for old, new in made.items())


class _Hoister:
    """Takes the reductions out of one body."""

    def __init__(
        self, name: str, axes: tuple[IterVar, ...], states: frozenset[Tensor], hoist_root: bool = False
    ) -> None:
        self.name = name
        self.axes = axes
        self.states = states
        self.hoist_root = hoist_root
        self.stages: dict[int, list[tuple[Expr, Expr]]] = {}  # by structural hash: a reduction and its read

    def run(self, body: Expr) -> Expr:
        if isinstance(body, Reduce) and not self.hoist_root:
            return body
        order = post_order(body)
        found = outermost_reduces(order, body)
        if not found:
            return body
        guards = Guards(order)
        stays = self._reading_states(order)
        done: dict[int, Expr] = {}
        for node in found:  # inner ones first: those in indices and conditions of others
            if id(node) in stays:
                done[id(node)] = node
                continue
            # Inside another reduction, one would be read where its guard may not hold: then it stays there.
            guard = guards.of(node)
            known = {
                id(n): done[id(n)]
                for n in found
                if id(n) in done and id(n) not in stays and implies(guard, guards.of(n))
            }
            done[id(node)] = self._hoisted(
                swapped(node, known), None if guard is None else swapped(guard.holds, done, whole=True)
            )
        return swapped(body, done, whole=True)

    def _reading_states(self, order: Sequence[Expr]) -> set[int]:
        """The nodes that depend on a state of the scan."""
        found: set[int] = set()
        for node in order if self.states else ():
            reads = isinstance(node, Read) and node.tensor in self.states
            if reads or any(id(child) in found for child in node.children()):
                found.add(id(node))
        return found

    def _hoisted(self, node: Expr, guard: Expr | None) -> Expr:
        assert isinstance(node, Reduce)
        guarded = node if guard is None else where_wanted(node, guard, self.axes)
        if self.states and not self.states.isdisjoint(tensors_read(guarded)):
            return node
        bucket = self.stages.setdefault(structural_hash(guarded), [])
        for other, made in bucket:
            if structural_equal(other, guarded):
                return made
        bound = {a.var for n in post_order(guarded) if isinstance(n, Reduce) for a in n.axes}
        used = {n for n in post_order(guarded) if isinstance(n, Var)} - bound
        axes = [a for a in self.axes if a.var in used]
        fresh = tuple(IterVar(Var(INDEX, a.var.name), a.extent) for a in axes)
        body = substitute(guarded, {a.var: f.var for a, f in zip(axes, fresh, strict=True)})
        count = sum(len(b) for b in self.stages.values())
        dtype = INT64 if node.dtype is INDEX else node.dtype
        stage = Tensor(
            f"{self.name}_{node.combiner}{count or ''}",
            tuple(a.extent for a in axes),
            dtype,
            Compute(fresh, body),
        )
        made = cast(Read(dtype, stage, tuple(a.var for a in axes)), node.dtype)
        bucket.append((guarded, made))
        return made
