"""Expressions of vectors: what an expression becomes when a var takes `lanes` consecutive values at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from ....base.arith import Binary, Compare, Const, Expr, Var, add, const, identical, lt, post_order, sub
from ....base.arith.visit import Remembered
from ....base.vocabulary import INDEX
from .folding import rebuild_folding
from .stmt import HorizontalReduce, LetStmt, Load, Ramp, Shuffle, Splat, Stmt, TransposedLoad
from .visit import statements

MAX_LANES: Final = 1024  # of one vector; LLVM ends the process for some 10,000, and takes seconds long before

MIN_STRIDED_LANES: Final = 4  # of a vector that is made of contiguous ones, where its elements lie apart
MIN_GATHERED_STRIDE: Final = (
    5  # of such an element to the next; with smaller ones contiguous vectors are shuffled
)


class NotVectorizable(Exception):
    """The loop stays scalar; raised and caught inside the phase."""


def splat(e: Expr, lanes: int) -> Expr:
    return Splat(e.dtype, e, lanes)


class Lanes(Remembered[int]):
    """How many lanes expressions have, 1 for a scalar; a node that was asked for once is not walked again."""

    __slots__ = ("_vector_vars",)

    def __init__(self, vector_vars: Mapping[Var, int] | None = None) -> None:
        super().__init__()
        self._vector_vars = {} if vector_vars is None else vector_vars

    def _parts(self, node: Expr) -> tuple[Expr, ...]:
        return () if isinstance(node, Ramp | Splat | Shuffle | HorizontalReduce) else node.children()

    def _value(self, node: Expr) -> int:
        if isinstance(node, Ramp | Splat):
            return node.lanes
        if isinstance(node, Shuffle):
            return len(node.indices)
        if isinstance(node, Var):
            return self._vector_vars.get(node, 1)
        return max([self[part] for part in self._parts(node)], default=1)


def lanes_of(e: Expr, vector_vars: Mapping[Var, int] | None = None) -> int:
    """How many lanes an expression has; 1 for a scalar."""
    return Lanes(vector_vars).of(e)


def vector_variables(body: Stmt) -> dict[Var, int]:
    """The variables of a statement that hold vectors, and how many lanes those have."""
    found: dict[Var, int] = {}
    for stmt in statements(body):
        if isinstance(stmt, TransposedLoad):
            found.update(dict.fromkeys(stmt.variables, len(stmt.variables)))
        elif isinstance(stmt, LetStmt):
            lanes = lanes_of(stmt.value, found)
            if lanes > 1:
                found[stmt.var] = lanes
    return found


def is_multiple(e: Expr, of: int) -> bool:
    """Whether `e` is certainly a multiple of `of`."""
    if of == 1:
        return True
    known: dict[int, bool] = {}
    for node in post_order(e):
        known[id(node)] = _is_multiple(node, of, known)
    return known[id(e)]


def _is_multiple(node: Expr, of: int, known: Mapping[int, bool]) -> bool:
    if isinstance(node, Const):
        return node.dtype.is_int and int(node.value) % of == 0
    if isinstance(node, Binary) and node.op in ("add", "sub", "mul"):
        sides = (known[id(node.a)], known[id(node.b)])
        return any(sides) if node.op == "mul" else all(sides)
    return False


def vectorize_expr(e: Expr, var: Var, lanes: int, vector_vars: Collection[Var] = ()) -> Expr:
    """`e` for var = 0 .. lanes - 1 at once; what does not depend on it stays scalar.

    `vector_vars` are let-bound vars that hold vectors already.
    """
    done: dict[int, Expr] = {}
    varies: set[int] = set()
    for node in post_order(e):
        if isinstance(node, Var):
            if node is var:
                varies.add(id(node))
                done[id(node)] = Ramp(INDEX, const(0, INDEX), const(1, INDEX), lanes)
            else:
                done[id(node)] = node
                if node in vector_vars:
                    varies.add(id(node))
            continue
        old = node.children()
        if not any(id(child) in varies for child in old):
            fresh = [done[id(child)] for child in old]  # some may be what all lanes agree on
            done[id(node)] = node if identical(fresh, old) else rebuild_folding(node, fresh)
            continue
        if isinstance(node, HorizontalReduce | Ramp | Splat | Shuffle):
            raise NotVectorizable
        varies.add(id(node))
        fresh = [done[id(child)] for child in old]
        widths = [id(child) in varies for child in old]
        done[id(node)] = _vector(node, fresh, widths, lanes)
        if isinstance(done[id(node)], Splat):
            varies.discard(id(node))
            done[id(node)] = done[id(node)].children()[0]
    return done[id(e)]


def _vector(node: Expr, fresh: list[Expr], wide: list[bool], lanes: int) -> Expr:
    if isinstance(node, Binary) and node.dtype is INDEX:
        made = _ramp(node.op, fresh[0], fresh[1], wide, lanes)
        if made is not None:
            return made
    if isinstance(node, Compare):
        made = _uniform(node.op, fresh[0], fresh[1])
        if made is not None:
            return splat(made, lanes)
    if isinstance(node, Load) and node.mask is None and len(fresh) > 1:
        # several dims: the last one varies, the others are those of a tile
        if any(wide[:-1]):
            raise NotVectorizable
        return Load(node.dtype, node.buffer, tuple(fresh))
    return node.rebuild(
        [child if is_wide else splat(child, lanes) for child, is_wide in zip(fresh, wide, strict=True)]
    )


def _ramp(op: str, a: Expr, b: Expr, wide: list[bool], lanes: int) -> Expr | None:
    """Index arithmetic that stays a ramp (or becomes one value)."""
    if op in ("add", "sub"):
        combine = add if op == "add" else sub
        if isinstance(a, Ramp) and isinstance(b, Ramp):
            stride = combine(a.stride, b.stride)
            if isinstance(stride, Const) and stride.value == 0:
                return splat(combine(a.base, b.base), lanes)
            return Ramp(INDEX, combine(a.base, b.base), stride, lanes)
        if isinstance(a, Ramp) and not wide[1]:
            return Ramp(INDEX, combine(a.base, b), a.stride, lanes)
        if isinstance(b, Ramp) and not wide[0]:
            return Ramp(INDEX, combine(a, b.base), combine(0, b.stride), lanes)
        return None
    if op == "mul":
        for x, y, scalar in ((a, b, not wide[1]), (b, a, not wide[0])):
            if isinstance(x, Ramp) and scalar:
                return Ramp(INDEX, x.base * y, x.stride * y, lanes)
        return None
    if op in ("floordiv", "floormod") and isinstance(a, Ramp) and isinstance(b, Const):
        return _divided(op, a, int(b.value))
    return None


def _divided(op: str, a: Ramp, divisor: int) -> Expr | None:
    if divisor <= 0 or not isinstance(a.stride, Const):
        return None
    stride = int(a.stride.value)
    if stride % divisor == 0:  # every lane crosses the same number of multiples
        if op == "floormod":
            return splat(a.base % divisor, a.lanes)
        return Ramp(INDEX, a.base // divisor, const(stride // divisor, INDEX), a.lanes)
    if is_multiple(a.base, divisor) and stride > 0 and (a.lanes - 1) * stride < divisor:
        if op == "floordiv":
            return splat(a.base // divisor, a.lanes)
        return Ramp(INDEX, const(0, INDEX), a.stride, a.lanes)
    return None


def _uniform(op: str, a: Expr, b: Expr) -> Expr | None:
    """`ramp < bound` where bound and base are multiples of the lanes: all lanes agree."""
    known = isinstance(a, Ramp) and isinstance(a.stride, Const) and isinstance(b, Const)
    if op != "lt" or not known:
        return None
    assert isinstance(a, Ramp)
    assert isinstance(a.stride, Const)
    assert isinstance(b, Const)
    agree = a.stride.value == 1 and is_multiple(a.base, a.lanes) and int(b.value) % a.lanes == 0
    return lt(a.base, b) if agree else None
