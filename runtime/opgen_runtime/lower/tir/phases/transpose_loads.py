"""transpose_loads: loops that go through memory the other way than their vectors read squares and transpose them.

for i in range(n): out[...i...] = a[ramp(i, s, 4)]
-->
for i in range(0, n, 4):
    a_0, a_1, a_2, a_3 = transpose(a[ramp(i, s, 4)])
    out[...i...] = a_0
    out[...i + 1...] = a_1
    ...

The same elements are read as before, each row of a square at once, and not one by one.  Where `n` is not known to be a
multiple of the lanes, what is left is read under masks, or as before.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....base.arith import (
    Expr,
    Var,
    add,
    free_vars,
    identical,
    logical_and,
    lt,
    maximum,
    post_order,
    sub,
)
from ....base.arith.expr import Binary, Const
from ....base.vocabulary import INDEX, dataclass
from ..nodes.stmt import For, ForKind, If, LetStmt, Load, PrimFunc, Ramp, Splat, Stmt, Store, TransposedLoad
from ..nodes.vector import MIN_GATHERED_STRIDE, MIN_STRIDED_LANES
from ..nodes.visit import StmtMutator, block


def transpose_loads(func: PrimFunc) -> PrimFunc:
    """The function with such loops taken as many iterations at once as their vectors have lanes."""
    return func.with_body(_Transpose(func).stmt(func.body))


class _Transpose(StmtMutator):
    def __init__(self, func: PrimFunc) -> None:
        self._func = func

    def loop(self, s: For) -> Stmt:
        found = _transposed_loop(s)
        if found is None:
            return super().loop(s)
        accesses: tuple[Store | Load, ...] = (found.store, *found.loads)
        masks = found.alone and all(self._func.has_masks(each.buffer) for each in accesses)
        if not masks and any(each.mask is not None for each in accesses):
            return s
        made = _whole(s, found) if isinstance(s.extent, Const) else _parts(s, found, masks)
        for let in reversed(found.lets):
            made = LetStmt(let.var, let.value, made)
        return made


@dataclass(frozen=True, slots=True)
class _TransposedLoop:
    """The one store of a loop, and the reads that jump with its lanes and step with its iterations.

    `lets`: what stands around the store and no iteration changes.  `alone`: nothing else is read.
    """

    store: Store
    loads: tuple[Load, ...]
    lanes: int
    lets: tuple[LetStmt, ...]
    alone: bool


def _transposed_loop(loop: For) -> _TransposedLoop | None:
    """What the body of such a loop is; None of other loops."""
    lets: list[LetStmt] = []
    store, extent = loop.body, loop.extent
    while isinstance(store, LetStmt) and loop.var not in free_vars(store.value):
        lets.append(store)
        store = store.body
    if not isinstance(store, Store) or loop.kind is not ForKind.SERIAL or not _is_still(store.mask, loop.var):
        return None
    if loop.step != 1 or loop.condition is not None:
        return None
    reads = [node for node in post_order(store.value) if isinstance(node, Load)]
    transposed = tuple(load for load in reads if _crosses(load, loop.var))
    lanes = {index.lanes for load in transposed if isinstance(index := load.indices[0], Ramp)}
    if len(lanes) != 1 or any(load.buffer is store.buffer for load in reads):
        return None
    (width,) = lanes
    if width & (width - 1) or (isinstance(extent, Const) and (not extent.value or int(extent.value) % width)):
        return None
    return _TransposedLoop(store, transposed, width, tuple(lets), len(transposed) == len(reads))


def _is_still(mask: Expr | None, var: Var) -> bool:
    return mask is None or var not in free_vars(mask)


def _crosses(load: Load, var: Var) -> bool:
    index = load.indices[0]
    return (
        len(load.indices) == 1
        and isinstance(index, Ramp)
        and index.lanes >= MIN_STRIDED_LANES
        and _is_far(index.stride, var)
        and _is_still(load.mask, var)
        and _coefficient(index.base, var) == 1
    )


def _is_far(stride: Expr, var: Var) -> bool:
    """Whether a stride is one that only gathers serve, as one is taken to be that dims tell."""
    if isinstance(stride, Const):
        return abs(int(stride.value)) >= MIN_GATHERED_STRIDE
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


def _whole(loop: For, found: _TransposedLoop) -> Stmt:
    """As many iterations at once as vectors have lanes."""
    return For(loop.var, loop.minimum, loop.extent, loop.kind, _square(loop.var, found, None), found.lanes)


def _parts(loop: For, found: _TransposedLoop, masks: bool) -> Stmt:
    """Likewise as far as there are so many; those that are left under masks, or one by one."""
    var, lanes = loop.var, found.lanes
    extent, whole = Var(INDEX, f"{var.name}_count"), Var(INDEX, f"{var.name}_whole")
    squares = For(var, loop.minimum, whole, loop.kind, _square(var, found, None), lanes)
    middle, left = add(loop.minimum, whole), sub(extent, whole)
    if masks:
        rest: Stmt = If(lt(whole, extent), LetStmt(var, middle, _square(var, found, left)))
    else:
        rest = For(var, middle, left, loop.kind, found.store)
    even = maximum(sub(extent, extent % lanes), 0)
    return LetStmt(extent, loop.extent, LetStmt(whole, even, block(squares, rest)))


def _square(var: Var, found: _TransposedLoop, rest: Expr | None) -> Stmt:
    """As many iterations as there are lanes, the first of them at `var`, or the `rest`."""
    lanes = found.lanes
    columns = [
        tuple([Var(load.dtype, f"{load.buffer.name}_{k}") for k in range(lanes)]) for load in found.loads
    ]
    stores = [
        _store(found, var, k, [each[k] for each in columns], None if rest is None else lt(k, rest))
        for k in range(lanes)
    ]
    made = block(*stores)
    for load, variables in zip(reversed(found.loads), reversed(columns), strict=True):
        made = TransposedLoad(variables, load, rest, made)
    return made


def _store(
    found: _TransposedLoop, var: Var, number: int, columns: Sequence[Expr], where: Expr | None
) -> Store:
    """The store of one of the iterations, done `where` that is there, with the columns of squares for loads."""
    store = found.store
    done: dict[int, Expr] = {id(load): column for load, column in zip(found.loads, columns, strict=True)}
    done[id(var)] = add(var, number)
    indices = tuple([_replaced(index, done) for index in store.indices])
    value = _replaced(store.value, done)
    mask = None if store.mask is None else _replaced(store.mask, done)
    if where is not None:
        wide = Splat(where.dtype, where, found.lanes)
        mask = wide if mask is None else logical_and(mask, wide)
    return Store(store.buffer, indices, value, mask, store.nontemporal and where is None)


def _replaced(e: Expr, done: dict[int, Expr]) -> Expr:
    """`e` with what stands for nodes by id in their place; shared nodes stay shared."""
    for node in post_order(e, done):
        old = node.children()
        fresh = [done[id(child)] for child in old]
        done[id(node)] = node if identical(fresh, old) else node.rebuild(fresh)
    return done[id(e)]
