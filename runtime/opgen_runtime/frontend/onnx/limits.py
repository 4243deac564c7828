"""How much a model may ask for: memory, nodes, nesting.

A model of a few hundred bytes can ask for terabytes, for 2^62 steps of a loop or, by thirty functions that each call
the last one twice, for 2^30 nodes.  A `Budget` is what is left of the limits while one model is converted; whatever
makes arrays, calls or nodes asks it first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from ...base.vocabulary import DType
from ...operator import TensorType, TupleType, Type
from .allowed import DEFAULT_LIMITS as DEFAULT_LIMITS
from .allowed import Limits as Limits
from .errors import ModelError

MAX_AXES: Final = 64  # numpy's arrays have no more
_MAX_BYTES: Final = (1 << 63) - 1  # numpy counts those of an array without elements by its other extents


class Budget:
    """What is left of the limits. Every method raises ModelError where there is too little."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._memory = limits.memory
        self._nodes = limits.nodes
        self._calls = limits.calls
        self._depth = 0

    def node(self) -> None:
        """One more node is converted."""
        self._nodes -= 1
        if self._nodes < 0:
            raise ModelError(
                f"functions and loops expand to more than {self.limits.nodes:,} nodes (Limits.nodes)"
            )

    def call(self, result: Type) -> None:
        """One more call is made, with a result of that type."""
        self._calls -= 1
        if self._calls < 0:
            raise ModelError(f"more than {self.limits.calls:,} calls of ops are needed (Limits.calls)")
        self.result(result)

    def result(self, kind: Type) -> None:
        """A value of that type could be made."""
        if isinstance(kind, TupleType):
            for field in kind.fields:
                self.result(field)
        elif isinstance(kind, TensorType):
            if kind.is_static:
                self.check(kind.concrete_shape, kind.dtype.numpy.itemsize)
            elif kind.ndim > MAX_AXES:
                self.check((1,) * kind.ndim)

    def check(self, shape: Sequence[int], itemsize: int = 1) -> int:
        """The bytes of a tensor, which is allowed."""
        if len(shape) > MAX_AXES:
            raise ModelError(f"a tensor of {len(shape)} axes, where {MAX_AXES} are the most")
        negative = [extent for extent in shape if extent < 0]
        if negative:
            raise ModelError(f"an extent of {negative[0]} in the shape {list(shape)}")
        found = math.prod(shape) * itemsize
        if found > self.limits.memory:
            raise ModelError(
                f"a tensor of shape {list(shape)} has {_amount(found)}, more than the "
                f"{_amount(self.limits.memory)} allowed (Limits.memory)"
            )
        if math.prod([max(extent, 1) for extent in shape]) * itemsize > _MAX_BYTES:
            raise ModelError(
                f"an array of shape {list(shape)}, whose extents are beyond what an address counts"
            )
        return found

    def allows(self, shape: Sequence[int], dtype: DType) -> bool:
        """Whether there may be a tensor of so many elements."""
        return math.prod(shape) * dtype.itemsize <= self.limits.memory

    def made(self, kind: Type) -> None:
        """A value of that type is made now, and kept while the model is converted."""
        for field in kind.fields if isinstance(kind, TupleType) else (kind,):
            if isinstance(field, TensorType) and field.is_static:
                self.array(field.concrete_shape, field.dtype.numpy.itemsize)

    def array(self, shape: Sequence[int], itemsize: int = 8) -> None:
        """An array is made now, and kept while the model is converted."""
        self._memory -= self.check(shape, itemsize)
        if self._memory < 0:
            raise ModelError(
                f"the model's constants have more than the {_amount(self.limits.memory)} allowed (Limits.memory)"
            )

    def program(self, size: int) -> None:
        """A program whose buffers and results have `size` bytes is to run."""
        if size > self.limits.memory:
            raise ModelError(
                f"the program needs {_amount(size)} at a time, more than the "
                f"{_amount(self.limits.memory)} allowed (Limits.memory)"
            )

    def step(self, done: int) -> None:
        """A loop that has done so many steps does another."""
        if done >= self.limits.steps:
            raise ModelError(f"a loop of more than {self.limits.steps:,} steps (Limits.steps)")

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Within one more function or subgraph."""
        self._depth += 1
        if self._depth > self.limits.depth:
            raise ModelError(
                f"functions and subgraphs are nested deeper than {self.limits.depth} (Limits.depth)"
            )
        try:
            yield
        finally:
            self._depth -= 1

    @contextmanager
    def current(self) -> Iterator[None]:
        """The budget that mappings spend from, by `spending()`: they see values, not the conversion."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


_current: ContextVar[Budget] = ContextVar("budget")


def spending() -> Budget:
    """The budget of the conversion that is under way; one of the default limits outside of any."""
    found = _current.get(None)
    return Budget(DEFAULT_LIMITS) if found is None else found


def _amount(size: int) -> str:
    if size >> 80:
        return "more than 2^80 bytes"
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} bytes"
