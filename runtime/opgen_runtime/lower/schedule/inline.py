"""Folds inlined stages into the bodies that read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...base.arith.expr import Binary, Call, Cast, Compare, Const, Expr, Select, Var
from ...compute.te.tensor import IterVar, Read, Reduce, Tensor

Inlined = Mapping[Tensor, tuple[tuple[IterVar, ...], Expr]]


def parts(node: Expr) -> tuple[Expr, ...]:
    """The children of a node and, for a reduction, the extents of its axes that are expressions."""
    if isinstance(node, Reduce):
        extents = tuple(axis.extent for axis in node.axes if isinstance(axis.extent, Expr))
        return (*extents, *node.children())
    return node.children()


def with_parts(node: Expr, fresh: Sequence[Expr], axis_vars: Mapping[Var, Expr]) -> Expr:
    """The node over other `parts`; the axes of a reduction are renamed by `axis_vars`."""
    if not isinstance(node, Reduce):
        return node.rebuild(fresh)
    rest = iter(fresh)
    axes = []
    for axis in node.axes:
        extent = next(rest) if isinstance(axis.extent, Expr) else axis.extent
        var = axis_vars.get(axis.var, axis.var)
        assert isinstance(var, Var)
        if isinstance(extent, Const):
            extent = int(extent.value)
        axes.append(axis if var is axis.var and extent is axis.extent else IterVar(var, extent, axis.kind))
    made = node.rebuild(tuple(rest))
    assert isinstance(made, Reduce)
    return Reduce(made.dtype, made.combiner, tuple(axes), made.value, made.condition, made.default)


def order_of(e: Expr) -> list[Expr]:
    """Every node of `e` once, children (and extents of reduce axes) before parents."""
    order: list[Expr] = []
    seen: set[int] = set()
    stack: list[tuple[Expr, bool]] = [(e, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            inner = parts(node)
            if inner:
                stack.append((node, True))
                stack.extend([(child, False) for child in reversed(inner)])
            else:
                order.append(node)
    return order


class _Frame:
    """One body in the middle of being instantiated."""

    __slots__ = ("done", "env", "key", "order", "position")

    def __init__(self, body: Expr, env: dict[Var, Expr], key: tuple[int, ...]) -> None:
        self.order = order_of(body)
        self.env, self.key = env, key
        self.position = 0
        self.done: dict[int, Expr] = {}


class Folder:
    """Instantiates bodies with the reads of inlined tensors folded in.

    Equal nodes become one node, so that a value read in several places is computed once and a diamond of
    inlined stages stays linear.  Iterative: chains of thousands of stages are fine.
    """

    def __init__(self, inlined: Inlined) -> None:
        self.inlined = inlined
        self.nodes: dict[tuple[object, ...], Expr] = {}
        self.instances: dict[tuple[int, ...], Expr] = {}
        self.alive: list[object] = []  # keys hold ids, so what they name must stay alive

    def fold(self, body: Expr) -> Expr:
        """`body` with every read of an inlined tensor replaced by what defines it."""
        frames = [_Frame(body, {}, ())]
        while True:
            frame = frames[-1]
            if frame.position == len(frame.order):
                result = frame.done[id(frame.order[-1])]
                frames.pop()
                if not frames:
                    return result
                self.instances[frame.key] = result
                continue
            node = frame.order[frame.position]
            made = self._node(frame, node, frames)
            if made is not None:
                frame.done[id(node)] = made
                frame.position += 1

    def _node(self, frame: _Frame, node: Expr, frames: list[_Frame]) -> Expr | None:
        """The node in its new form; None where a frame for the tensor it reads was pushed first."""
        if isinstance(node, Var):
            return frame.env.get(node, node)
        old = parts(node)
        fresh = [frame.done[id(child)] for child in old]
        if isinstance(node, Read) and node.tensor in self.inlined:
            key = (id(node.tensor), *map(id, fresh))
            found = self.instances.get(key)
            if found is None:
                self.alive.extend(fresh)
                frames.append(self._instance(node.tensor, fresh, key))
            return found
        if isinstance(node, Reduce) or any(a is not b for a, b in zip(fresh, old, strict=True)):
            node = with_parts(node, fresh, frame.env)
        return self._shared(node)

    def _instance(self, tensor: Tensor, indices: list[Expr], key: tuple[int, ...]) -> _Frame:
        axes, body = self.inlined[tensor]
        env: dict[Var, Expr] = {axis.var: index for axis, index in zip(axes, indices, strict=True)}
        frame = _Frame(body, env, key)
        for node in frame.order:
            if isinstance(node, Reduce):  # a fresh name each time, since instances may nest
                env.update({axis.var: Var(axis.var.dtype, axis.var.name) for axis in node.axes})
        return frame

    def _shared(self, node: Expr) -> Expr:
        key = _key(node)
        if key is None:
            return node
        return self.nodes.setdefault(key, node)


def _key(node: Expr) -> tuple[object, ...] | None:
    """What makes two nodes over identical children equal; None for a node that is not shared."""
    match node:
        case Binary():
            return ("b", node.dtype, node.op, id(node.a), id(node.b))
        case Read():
            return ("r", id(node.tensor), *map(id, node.indices))
        case Const():
            return ("c", node.dtype, repr(node.value))
        case Compare():
            return ("p", node.op, id(node.a), id(node.b))
        case Call():
            return ("f", node.dtype, node.name, *map(id, node.args))
        case Select():
            return ("s", id(node.condition), id(node.then), id(node.otherwise))
        case Cast():
            return ("t", node.dtype, id(node.a))
    return None
