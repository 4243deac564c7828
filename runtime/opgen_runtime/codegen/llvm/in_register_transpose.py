"""In-register transposes: loops that go through memory the other way than their vectors read a square of elements
in rows.

for i in range(n): out[i] = a[i : i + lanes*s : s]
-->
for i in range(0, n, lanes): r = transposed(a[i + k*s : i + k*s + lanes] for k in range(lanes)); out[i + k] = r[k]
for k ...

The same elements are read as before, each row of the square at once, and not one by one.  Of the last square there may
be a part only: `rest` iterations, and lanes under a mask.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...base.arith import Expr, Var, free_vars, post_order
from ...base.arith.expr import Binary, Const
from ...base.vocabulary import BOOL, INDEX, dataclass
from ...lower.tir.nodes.stmt import For, ForKind, LetStmt, Load, Ramp, Store
from . import arithmetic, memory, strided
from .expression import ExpressionEmitter
from .memory import Memory
from .text import FunctionText, Value, constant, ramp, register, splat
from .text.types import memory_type, register_type


@dataclass(frozen=True, slots=True)
class TransposeLoop:
    """The one store of a loop, and the reads that jump with its lanes and step with its iterations.

    `lets`: what stands around the store and no iteration changes.  `alone`: nothing else is read.
    """

    store: Store
    loads: tuple[Load, ...]
    lanes: int
    lets: tuple[LetStmt, ...]
    alone: bool


def transpose_loop(loop: For) -> TransposeLoop | None:
    """What the body of such a loop is; None of other loops."""
    lets: list[LetStmt] = []
    store, extent = loop.body, loop.extent
    while isinstance(store, LetStmt) and loop.var not in free_vars(store.value):
        lets.append(store)
        store = store.body
    if not isinstance(store, Store) or loop.kind is not ForKind.SERIAL or not _is_still(store.mask, loop.var):
        return None
    reads = [node for node in post_order(store.value) if isinstance(node, Load)]
    transposed = tuple(load for load in reads if _reads_across(load, loop.var))
    lanes = {index.lanes for load in transposed if isinstance(index := load.indices[0], Ramp)}
    if len(lanes) != 1 or any(load.buffer is store.buffer for load in reads):
        return None
    (width,) = lanes
    if width & (width - 1) or (isinstance(extent, Const) and (not extent.value or int(extent.value) % width)):
        return None
    return TransposeLoop(store, transposed, width, tuple(lets), len(transposed) == len(reads))


def _is_still(mask: Expr | None, var: Var) -> bool:
    return mask is None or var not in free_vars(mask)


def _reads_across(load: Load, var: Var) -> bool:
    index = load.indices[0]
    return (
        len(load.indices) == 1
        and _is_still(load.mask, var)
        and isinstance(index, Ramp)
        and _is_far(index.stride, var)
        and index.lanes >= strided.MIN_LANES
        and _coefficient(index.base, var) == 1
    )


def _is_far(stride: Expr, var: Var) -> bool:
    """Whether a stride is one that only gathers serve, as one is taken to be that dims tell."""
    if isinstance(stride, Const):
        return abs(int(stride.value)) >= strided.MIN_GATHERED_STRIDE
    return all(each.size for each in free_vars(stride))


def _coefficient(e: Expr, var: Var) -> int | None:
    """How much `e` grows where `var` grows by 1; None where that is not seen, or not always the same."""
    if e is var:
        return 1
    if not any(node is var for node in post_order(e)):
        return 0
    if not isinstance(e, Binary):
        return None
    a, b = _coefficient(e.a, var), _coefficient(e.b, var)
    if a is None or b is None:
        return None
    if e.op in ("add", "sub"):
        return a + b if e.op == "add" else a - b
    if e.op == "mul" and isinstance(e.b, Const) and isinstance(e.b.value, int):
        return a * e.b.value
    return None


def load(f: FunctionText, source: Memory, first: Value, stride: Value, lanes: int, part: Part) -> list[Value]:
    """What `lanes` iterations read, of which the first reads from `first` on every `stride`-th element."""
    rows = []
    for k in range(lanes):
        offset = arithmetic.binary(f, "mul", constant(INDEX, k), stride)
        rows.append(memory.load_row(f, source, first, offset, lanes, part.row(f, k, lanes)))
    return [memory.from_memory(f, source.dtype, lanes, text) for text in _transposed(f, source, rows)]


@dataclass(frozen=True, slots=True)
class Part:
    """What is there of a square: the first `rest` iterations, and the lanes of a mask; None: all."""

    rest: Value | None = None
    mask: Value | None = None

    def row(self, f: FunctionText, number: int, lanes: int) -> Value | None:
        """Where the row of one lane is read."""
        where = None
        if self.rest is not None:
            steps = ramp(constant(INDEX, 0), 1, lanes)
            where = arithmetic.compare(f, "lt", steps, splat(self.rest, lanes))
        if self.mask is None:
            return where
        lane = splat(_lane(f, self.mask, number), lanes)
        return lane if where is None else arithmetic.binary(f, "and", where, lane)

    def iteration(self, f: FunctionText, number: int) -> Value | None:
        """Whether an iteration is there; None: it surely is."""
        if self.rest is None:
            return None
        return arithmetic.compare(f, "lt", constant(INDEX, number), self.rest)


def places(expressions: ExpressionEmitter, node: Load) -> tuple[Value, Value, Value | None]:
    """Where the first lane of a crossed read is, how far the next one is from it, and the mask."""
    index = node.indices[0]
    assert isinstance(index, Ramp)
    mask = None if node.mask is None else expressions.emit(node.mask)
    return expressions.emit(index.base), expressions.emit(index.stride), mask


def _lane(f: FunctionText, mask: Value, number: int) -> Value:
    if mask.uniform is not None:
        return mask.uniform
    vector = f"{register_type(BOOL, mask.lanes)} {f.vector(mask, mask.lanes)}"
    return register(BOOL, 1, f.emit(f"extractelement {vector}, i32 {number}"))


def _transposed(f: FunctionText, source: Memory, rows: Sequence[str]) -> list[str]:
    """The transpose of a square: blocks off the diagonal change places, of 1, then 2, then 4 elements a side, ..."""
    lanes, found = len(rows), list(rows)
    kind = memory_type(source.dtype, lanes)
    side = 1
    while side < lanes:
        upper = [k if not k & side else lanes + k - side for k in range(lanes)]
        lower = [k + side if not k & side else lanes + k for k in range(lanes)]
        for k in range(lanes):
            if not k & side:
                a, b = found[k], found[k + side]
                found[k] = strided.shuffle(f, kind, a, b, upper)
                found[k + side] = strided.shuffle(f, kind, a, b, lower)
        side *= 2
    return found
