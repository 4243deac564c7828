"""Loop IR: statements over buffers, the expressions that only loop IR has, and the text of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ....base import GENERIC, Machine, Vectors
from ....base.arith import register_printer
from ....base.arith import to_text as expr_text
from ....base.arith.expr import Expr, Shape, Var
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
    `machine`: its caches, the generic ones where none is told.
    """

    name: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    body: Stmt
    dims: tuple[Var, ...] = ()
    seen: tuple[Seen, ...] = ()
    vectors: Vectors | None = None
    machine: Machine = GENERIC

    def __str__(self) -> str:
        return to_text(self)

    def has_masks(self, buffer: Buffer) -> bool:
        """Whether the target loads and stores some lanes of a vector of such elements."""
        return self.vectors is not None and 0 < self.vectors.masked_bits <= max(8, buffer.dtype.bits)

    def with_body(self, body: Stmt) -> PrimFunc:
        """The same with another statement; itself where that is its own."""
        return self if body is self.body else replace(self, body=body)


# ------------------------------------------------------------------ text, for people and for dumps after each phase

Text = Callable[[Expr], str]


def _load(node: Load, text: Text) -> str:
    mask = "" if node.mask is None else f"; {text(node.mask)}"
    return f"{node.buffer.name}[{', '.join(text(i) for i in node.indices)}{mask}]"


register_printer(Load, _load)
register_printer(Ramp, lambda node, text: f"ramp({text(node.base)}, {text(node.stride)}, {node.lanes})")
register_printer(Splat, lambda node, text: f"splat({text(node.value)}, {node.lanes})")
register_printer(Packed, lambda node, text: f"packed({text(node.value)}; {text(node.mask)})")
register_printer(
    Shuffle, lambda node, text: f"shuffle({', '.join(map(text, node.vectors))}; {_numbers(node.indices)})"
)
register_printer(Aligned, lambda node, _: f"aligned({', '.join(b.name for b in node.buffers)}; {node.bytes})")
register_printer(HorizontalReduce, lambda node, text: f"reduce_{node.combiner}({text(node.value)})")


def _numbers(indices: Sequence[int]) -> str:
    return ", ".join(map(str, indices))


def to_text(func: PrimFunc) -> str:
    """The kernel as indented text: one statement a line, `f(x: float32[8]) -> (y: float32[8]):` first."""
    inputs = ", ".join(_declared(b) for b in func.inputs)
    outputs = ", ".join(_declared(b) for b in func.outputs)
    lines = [f"{func.name}({inputs}) -> ({outputs}):"]
    _stmt(func.body, 1, lines)
    return "\n".join(lines) + "\n"


def stmt_text(s: Stmt) -> str:
    """A statement as indented text."""
    lines: list[str] = []
    _stmt(s, 0, lines)
    return "\n".join(lines) + "\n"


def _declared(b: Buffer) -> str:
    return f"{b.name}: {b.dtype}[{', '.join(str(d) for d in b.shape)}]"


def _stmt(s: Stmt, depth: int, lines: list[str]) -> None:
    def line(text: str) -> None:
        lines.append("    " * depth + text)

    if isinstance(s, Block):
        for part in s.body:
            _stmt(part, depth, lines)
        if not s.body:
            line("pass")
    elif isinstance(s, Store):
        mask = "" if s.mask is None else f"; {expr_text(s.mask)}"
        indices = ", ".join(expr_text(i) for i in s.indices)
        how = "nontemporal " if s.nontemporal else ""
        line(f"{how}{s.buffer.name}[{indices}{mask}] = {expr_text(s.value)}")
    elif isinstance(s, For):
        kind = "" if s.kind is ForKind.SERIAL else f"{s.kind.value} "
        start, extent = expr_text(s.minimum), expr_text(s.extent)
        span = extent if start == "0" else f"{start}, {start} + {extent}"
        if s.step != 1:
            span = f"{'0, ' if start == '0' else ''}{span}, {s.step}"
        held = "" if s.condition is None else f" while {expr_text(s.condition)}"
        held += "" if s.work is None else f" of {expr_text(s.work)} operations"
        line(f"{kind}for {s.var.name} in range({span}){held}:")
        _stmt(s.body, depth + 1, lines)
    elif isinstance(s, If):
        line(f"if {expr_text(s.condition)}:")
        _stmt(s.then, depth + 1, lines)
        if s.otherwise is not None:
            line("else:")
            _stmt(s.otherwise, depth + 1, lines)
    elif isinstance(s, Allocate):
        line(f"allocate {_declared(s.buffer)} {s.buffer.scope}")
        _stmt(s.body, depth, lines)
    elif isinstance(s, Prefetch):
        region = "" if all(n == 1 for n in s.shape) else f" {'x'.join(map(str, s.shape))}"
        line(f"prefetch{region} {s.buffer.name}[{', '.join(expr_text(i) for i in s.indices)}]")
    elif isinstance(s, LetStmt):
        line(f"{s.var.name} = {expr_text(s.value)}")
        _stmt(s.body, depth, lines)
    else:
        _last(s, depth, lines)


def _last(s: Stmt, depth: int, lines: list[str]) -> None:
    """A statement that only the last phases make."""
    indent = "    " * depth
    if isinstance(s, TransposedLoad):
        names = ", ".join(var.name for var in s.variables)
        count = "" if s.count is None else f", {expr_text(s.count)}"
        lines.append(f"{indent}{names} = transpose({expr_text(s.load)}{count})")
        _stmt(s.body, depth, lines)
    elif isinstance(s, Outlined):
        lines.append(f"{indent}outlined:")
        _stmt(s.body, depth + 1, lines)
    else:
        assert isinstance(s, Repetition), s
        _repetition(s, depth, lines)


def _repetition(s: Repetition, depth: int, lines: list[str]) -> None:
    indent = "    " * depth
    for number, kind in enumerate(s.kinds):
        names = ", ".join(column.name for column in kind.columns)
        lines.append(f"{indent}kind {number}({names}):")
        _stmt(kind.statement, depth + 1, lines)
    for number, values in s.rows:
        told = [each.name if isinstance(each, Buffer) else str(each) for each in values]
        lines.append(f"{indent}do {number}({', '.join(told)})")
