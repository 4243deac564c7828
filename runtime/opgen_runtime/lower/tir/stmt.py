"""Loop IR: statements over buffers, and the expressions that only loop IR has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...base.arith.expr import Expr, Shape, Var
from ...base.vocabulary import DType
from ..schedule.kind import ForKind as ForKind


@dataclass(frozen=True, eq=False, slots=True)
class Buffer:
    """Storage.  Before storage_flatten it has the tensor's shape; after it, one dim (elements).

    scope: "global" (a parameter, or shared by all threads), "local" (private to one iteration, on the stack
    where it is small); until inject_double_buffer also "double", a local one that is filled an iteration ahead.
    """

    name: str
    shape: Shape
    dtype: DType
    scope: str = "global"


@dataclass(frozen=True, eq=False, slots=True)
class Load(Expr):
    """`buffer[indices]`, read only where `mask` (a bool expression of the same lanes) holds, else 0."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    mask: Expr | None = None

    def children(self) -> tuple[Expr, ...]:
        return self.indices if self.mask is None else (*self.indices, self.mask)

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        n = len(self.indices)
        return Load(self.dtype, self.buffer, tuple(children[:n]), None if self.mask is None else children[n])


@dataclass(frozen=True, eq=False, slots=True)
class Ramp(Expr):
    """The vector base, base + stride, ... of `lanes` elements."""

    base: Expr
    stride: Expr
    lanes: int

    def children(self) -> tuple[Expr, ...]:
        return (self.base, self.stride)

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        return Ramp(self.dtype, children[0], children[1], self.lanes)


@dataclass(frozen=True, eq=False, slots=True)
class Splat(Expr):
    """The vector of `lanes` copies of a scalar (TVM's Broadcast)."""

    value: Expr
    lanes: int

    def children(self) -> tuple[Expr, ...]:
        return (self.value,)

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        return Splat(self.dtype, children[0], self.lanes)


@dataclass(frozen=True, eq=False, slots=True)
class HorizontalReduce(Expr):
    """A scalar from a vector by a combiner (sum prod min max and or)."""

    combiner: str
    value: Expr

    def children(self) -> tuple[Expr, ...]:
        return (self.value,)

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        return HorizontalReduce(self.dtype, self.combiner, children[0])


@dataclass(frozen=True, eq=False, slots=True)
class Stmt:
    """A statement."""


@dataclass(frozen=True, eq=False, slots=True)
class For(Stmt):
    """`for var in range(minimum, minimum + extent): body`."""

    var: Var
    minimum: Expr
    extent: Expr
    kind: ForKind
    body: Stmt


@dataclass(frozen=True, eq=False, slots=True)
class Store(Stmt):
    """`buffer[indices] = value` where `mask` holds."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    mask: Expr | None = None


@dataclass(frozen=True, eq=False, slots=True)
class If(Stmt):
    """`if condition: then else: otherwise`."""

    condition: Expr
    then: Stmt
    otherwise: Stmt | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Allocate(Stmt):
    """Storage for `buffer` while `body` runs; its content is undefined at first."""

    buffer: Buffer
    body: Stmt


@dataclass(frozen=True, eq=False, slots=True)
class LetStmt(Stmt):
    """`var = value; body`."""

    var: Var
    value: Expr
    body: Stmt


@dataclass(frozen=True, eq=False, slots=True)
class Block(Stmt):
    """Statements one after the other; the empty block does nothing."""

    body: tuple[Stmt, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Prefetch(Stmt):
    """A hint: the part of `buffer` from `indices` on, `shape` elements in each dim, is read soon.

    inject_prefetch makes hints of one element each of it, which need not lie inside the buffer; code generation may
    ignore them.
    """

    buffer: Buffer
    indices: tuple[Expr, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class PrimFunc:
    """A kernel: parameters in order (inputs, then outputs) and the statement that computes them."""

    name: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    body: Stmt

    def __str__(self) -> str:
        from .printer import to_text

        return to_text(self)
