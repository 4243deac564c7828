"""Folds inlined stages into the bodies that read them."""

from __future__ import annotations

from collections.abc import Mapping

from ....base.arith.expr import Binary, Call, Cast, Compare, Const, Expr, Select, Var
from ....base.arith.literals import cast
from ....base.arith.visit import identical, post_order
from ....compute.te.tensor import IterVar, Read, Reduce, Tensor

Inlined = Mapping[Tensor, tuple[tuple[IterVar, ...], Expr]]


def _renamed(node: Expr, axis_vars: Mapping[Var, Expr]) -> Expr:
    """The node with the axes of a reduction renamed."""
    if not isinstance(node, Reduce):
        return node
    if not any(axis.var in axis_vars for axis in node.axes):
        return node
    axes = []
    for axis in node.axes:
        var = axis_vars.get(axis.var, axis.var)
        assert isinstance(var, Var)
        axes.append(axis if var is axis.var else IterVar(var, axis.extent, axis.kind))
    return Reduce(node.dtype, node.combiner, tuple(axes), node.value, node.condition, node.default)


class _Frame:
    """One body in the middle of being instantiated."""

    __slots__ = ("done", "env", "key", "order", "position")

    def __init__(self, body: Expr, env: dict[Var, Expr], key: tuple[int, ...]) -> None:
        self.order = post_order(body)
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
        old = node.children()
        fresh = [frame.done[id(child)] for child in old]
        if isinstance(node, Read) and node.tensor in self.inlined:
            key = (id(node.tensor), *map(id, fresh))
            found = self.instances.get(key)
            if found is None:
                self.alive.extend(fresh)
                frames.append(self._instance(node.tensor, fresh, key))
            return found
        if isinstance(node, Reduce) or not identical(fresh, old):
            node = _renamed(node.rebuild(fresh), frame.env)
        return self._shared(node)

    def _instance(self, tensor: Tensor, indices: list[Expr], key: tuple[int, ...]) -> _Frame:
        axes, body = self.inlined[tensor]
        env: dict[Var, Expr] = {
            axis.var: self._shared(cast(index, axis.var.dtype))
            for axis, index in zip(axes, indices, strict=True)
        }
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
