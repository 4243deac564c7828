"""Values: tensor reads become loads, and reductions inside expressions become loops over local accumulators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ....base.arith import Expr, Var, cast, post_order
from ....base.errors import LoweringError
from ....base.vocabulary import INDEX, DType
from ....compute.te.tensor import Read, Reduce, Tensor
from ..nodes.stmt import Buffer, Load
from .prelude import Prelude
from .shared import NOTHING, Given, SharedReductions

Env = Mapping[Var, Expr]
Place = Callable[[tuple[Expr, ...]], tuple[Expr, ...]]


class ValueLowering:
    """Lowers scalar expressions over tensors to expressions over buffers.

    `origins` gives the index of the first element that the buffer of an attached stage holds; `places` tells where
    the buffer of a tensor of which a few rows are kept holds an element.
    """

    def __init__(self, buffers: dict[Tensor, Buffer], origins: dict[Tensor, tuple[Expr, ...]]) -> None:
        self.buffers = buffers
        self.origins = origins
        self.places: dict[Tensor, Place] = {}
        self._count = 0

    def lower(self, e: Expr, env: Env, given: Given = NOTHING, lanes: bool = False) -> tuple[Prelude, Expr]:
        """`e` with vars replaced by `env`, and what must run before.

        `given` has the values of nodes that were computed before, by id; `lanes` lets a reduction run in vectors.
        """
        if id(e) in given:
            return Prelude(), given[id(e)]
        order = post_order(e, given)
        if any(isinstance(node, Reduce) for node in order):
            return SharedReductions(self, order, env, given, lanes).lower()
        done = dict(given)
        for node in order:
            done[id(node)] = self.node(node, [done[id(child)] for child in node.children()], env)
        return Prelude(), done[id(e)]

    def node(self, node: Expr, fresh: Sequence[Expr], env: Env) -> Expr:
        """A node, no reduction, over the values of its children."""
        if isinstance(node, Var):
            return env.get(node, node)
        if isinstance(node, Read):
            return self.load(node.tensor, fresh)
        old = node.children()
        for a, b in zip(fresh, old, strict=True):
            if a is not b:
                return node.rebuild(fresh)
        return node

    def position(self, tensor: Tensor, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """Indices into the buffer of `tensor`."""
        whole = [index if index.dtype is INDEX else cast(index, INDEX) for index in indices]
        origin = self.origins.get(tensor)
        if origin is not None:
            whole = [index - first for index, first in zip(whole, origin, strict=True)]
        place = self.places.get(tensor)
        return tuple(whole) if place is None else place(tuple(whole))

    def buffer(self, tensor: Tensor) -> Buffer:
        """The buffer of a tensor."""
        found = self.buffers.get(tensor)
        if found is None:
            raise LoweringError(
                f"tensor {tensor.name} is read before it is computed; is its stage placed after its reader?"
            )
        return found

    def load(self, tensor: Tensor, indices: Sequence[Expr]) -> Expr:
        buffer = self.buffer(tensor)
        return Load(buffer.dtype, buffer, self.position(tensor, indices))

    def local(self, name: str, dtype: DType, shape: tuple[int, ...] = (1,)) -> Buffer:
        """A fresh buffer, private to an iteration."""
        self._count += 1
        return Buffer(f"{name}{self._count}", shape, dtype, "local")
