"""Loop IR: statements over buffers, and the expressions that only loop IR has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from ....base import GENERIC, Machine, Vectors
from ....base.arith.expr import Expr, Shape, Var
from ....base.kernel_options import DEFAULTS, Options
from ....base.vocabulary import DType, dataclass
from ...schedule.stages.kind import ForKind as ForKind


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
class Packed(Expr):
    """A vector of the lanes of `value` in which `mask` holds, in order and without gaps; 0 in the lanes after them."""

    value: Expr
    mask: Expr

    def children(self) -> tuple[Expr, ...]:
        return (self.value, self.mask)

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        return Packed(self.dtype, children[0], children[1])


@dataclass(frozen=True, eq=False, slots=True)
class Shuffle(Expr):
    """The lanes of `vectors` of one width with these numbers, those of the second after those of the first (TVM's)."""

    vectors: tuple[Expr, ...]
    indices: tuple[int, ...]

    def children(self) -> tuple[Expr, ...]:
        return self.vectors

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        return Shuffle(self.dtype, tuple(children), self.indices)


@dataclass(frozen=True, eq=False, slots=True)
class Aligned(Expr):
    """Whether the memory of all `buffers` begins at a multiple of so many bytes, as callers decide (a bool)."""

    buffers: tuple[Buffer, ...]
    bytes: int


@dataclass(frozen=True, eq=False, slots=True)
class Stmt:
    """A statement."""


@dataclass(frozen=True, eq=False, slots=True)
class For(Stmt):
    """`for var in range(minimum, minimum + extent, step): body`.

    With a `condition` (a scalar bool) the loop ends before the first iteration in which it does not hold.  `work`: of a
    parallel loop the element operations of an iteration, by which threads share it.
    """

    var: Var
    minimum: Expr
    extent: Expr
    kind: ForKind
    body: Stmt
    step: int = 1
    condition: Expr | None = None
    work: Expr | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Store(Stmt):
    """`buffer[indices] = value` where `mask` holds; `nontemporal`: past the caches, at a multiple of its own size."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    mask: Expr | None = None
    nontemporal: bool = False


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
class CallPacked(Stmt):
    """`target` is one of the results of a Python function of arrays, that of number `output`.

    It is as far as such a function is lowered: no phase takes it, and what calls it runs in Python.
    """

    name: str
    function: Callable[..., object]
    operands: tuple[Buffer, ...]
    target: Buffer
    output: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class TransposedLoad(Stmt):
    """`variables[k] = buffer[ramp(base + k, stride, lanes); mask]` for as many `k` as there are lanes; then `body`.

    `load` is the first of them.  They are the columns of a square of elements: code generation reads its rows and
    transposes it in registers.  With a `count`, columns from that one on are not read, and are 0.
    """

    variables: tuple[Var, ...]
    load: Load
    count: Expr | None
    body: Stmt


@dataclass(frozen=True, eq=False, slots=True)
class Outlined(Stmt):
    """`body`, as a function of its own."""

    body: Stmt


@dataclass(frozen=True, eq=False, slots=True)
class Kind:
    """A statement over the columns of a table: indices, and buffers that stand for parameters of the kernel."""

    columns: tuple[Var | Buffer, ...]
    statement: Stmt


Row = tuple[int, tuple["int | Buffer", ...]]
"""The number of a kind, and the value of each of its columns: a number, or a parameter of the kernel."""


@dataclass(frozen=True, eq=False, slots=True)
class Repetition(Stmt):
    """For each row of a table, in order, the statement of its kind with the values of the row."""

    kinds: tuple[Kind, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """Of output `output` callers see the first rows alone, of `width` elements each: as many as output `count` says."""

    output: int
    count: int
    width: int | Expr


@dataclass(frozen=True, eq=False, slots=True)
class PrimFunc:
    """A kernel: parameters in order (inputs, then outputs) and the statement that computes them.

    `dims`: the symbolic dims, whose values it takes, too; extents of buffers are expressions of them.  `seen`: outputs
    whose length depends on data.  `vectors`: those of the target, for phases that make vectors of serial loops;
    `machine`: its caches, the generic ones where none is told.  `options`: what phases do otherwise.
    """

    name: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    body: Stmt
    dims: tuple[Var, ...] = ()
    seen: tuple[Seen, ...] = ()
    vectors: Vectors | None = None
    machine: Machine = GENERIC
    options: Options = DEFAULTS
    __call__: ClassVar[Callable[..., Any]]
    """A call of the kernel as an op of the graph; made in `lowering/kernel_op.py`, and attached there."""

    def __str__(self) -> str:
        from .text import to_text  # which stands on this module

        return to_text(self)

    def has_masks(self, buffer: Buffer) -> bool:
        """Whether the target loads and stores some lanes of a vector of such elements."""
        return self.vectors is not None and 0 < self.vectors.masked_bits <= max(8, buffer.dtype.bits)

    def with_body(self, body: Stmt) -> PrimFunc:
        """The same with another statement; itself where that is its own."""
        return self if body is self.body else replace(self, body=body)
