"""Which LLVM passes a module needs.  Compile time is part of a kernel's cost, so that no pass runs for nothing.

Measured on a chain of tanh and sigmoid over two vectors a step (interleaved, least of 60): LLVM's O3 takes 3.3 ms, its
simplification of functions 2.1, the direct list 0.6, and all three give the same loop.

Explicit vectors with reuse have LLVM's first level of speed: its passes take seven tenths of the third's time (34
kernels of two models), and 27 programs and six models run as fast within two percent (interleaved, least of many), with
the same bits.  What the third adds finds little to do in loops that are split and unrolled.

LLVM's vectorizer of loops takes time that is exponential in the choices of a loop's body, and leaves such a loop as it
is: 20 ms for 36 of them, 1.2 s for 48.

A kernel that runs once has no time to win back what passes take: where 4,096 elements are packed by eights, the
vectorizer and what follows it take 240 ms, and the loop as it stands takes 1 us.
"""

from __future__ import annotations

from typing import Final

from ...base.arith import ELEMENT_FUNCTIONS, Call, Const, Expr, Var, post_order
from ...base.arith.visit import is_size
from ...lower.tir.analysis.cost import has_vectors, iteration_cost
from ...lower.tir.nodes.stmt import (
    Aligned,
    Block,
    Buffer,
    For,
    If,
    LetStmt,
    Load,
    Outlined,
    PrimFunc,
    Repetition,
    Stmt,
    Store,
    TransposedLoad,
)
from ...lower.tir.nodes.visit import children, exprs, statements
from .passes import Pipeline

_MAX_CHOICES_PER_LOOP: Final = 24  # in one loop
_MIN_SCALAR_ITERATIONS: Final = 64  # iterations of a scalar loop that is worth the vectorizer's time
_MAX_CHEAP_OPERATIONS: Final = (
    1 << 24
)  # element operations that take less time than passes that would make them faster


def choose_pipeline(func: PrimFunc, runs_once: bool = False) -> Pipeline:
    """The cheapest pipeline that does a kernel justice.  `runs_once`: it runs once a build."""
    if runs_once and _is_small(func.body):
        return Pipeline.DIRECT
    if not has_vectors(func.body):
        return Pipeline.CHOICES if _choices(func.body)[1] > _MAX_CHOICES_PER_LOOP else Pipeline.AUTOMATIC
    if _has_long_scalar_loop(func.body) and _choices(func.body)[1] <= _MAX_CHOICES_PER_LOOP:
        return Pipeline.MIXED
    return Pipeline.DIRECT if _streams(func.body, frozenset(), frozenset(func.inputs)) else Pipeline.LOOPS


def _is_small(stmt: Stmt) -> bool:
    cost = iteration_cost(stmt)
    return isinstance(cost, int) and cost <= _MAX_CHEAP_OPERATIONS


def _has_long_scalar_loop(stmt: Stmt) -> bool:
    """Whether an innermost loop has no vectors, and many iterations or as many as data says."""
    largest = _largest(stmt)
    for loop in statements(stmt):
        if not isinstance(loop, For) or any(isinstance(inner, For) for inner in statements(loop.body)):
            continue
        extent = loop.extent
        if isinstance(extent, Var) and extent in largest:
            is_long = largest[extent] >= _MIN_SCALAR_ITERATIONS
        else:
            is_long = (
                extent.value >= _MIN_SCALAR_ITERATIONS if isinstance(extent, Const) else not is_size(extent)
            )
        if is_long and not has_vectors(loop.body):
            return True
    return False


def _largest(stmt: Stmt) -> dict[Var, int]:
    """Of the columns of tables that are numbers the largest one."""
    found: dict[Var, int] = {}
    for part in statements(stmt):
        for number, values in part.rows if isinstance(part, Repetition) else ():
            assert isinstance(part, Repetition)
            for column, value in zip(part.kinds[number].columns, values, strict=True):
                if isinstance(column, Var) and isinstance(value, int):
                    found[column] = max(value, found.get(column, value))
    return found


def _choices(stmt: Stmt) -> tuple[int, int]:
    """The branches of a statement outside its loops, and the most that stand in one loop's body.

    A guarded read is one, as it is no instruction of a scalar loop.
    """
    inside = [_choices(part) for part in children(stmt)]
    if isinstance(stmt, Repetition):
        inside = [inside[number] for number, _ in stmt.rows]
    here, most = sum(own for own, _ in inside), max((most for _, most in inside), default=0)
    if isinstance(stmt, For):
        return 0, max(here + (stmt.condition is not None), most)
    guarded = {
        id(node)
        for expr in exprs(stmt)
        for node in post_order(expr)
        if isinstance(node, Load) and node.mask is not None
    }
    return here + isinstance(stmt, If) + len(guarded), most


def _streams(stmt: Stmt, innermost: frozenset[Var], inputs: frozenset[Buffer]) -> bool:
    """Whether every read is of an input, at a place that moves with the innermost loop around it, without branches.

    Nor is there a costly function of what stays in that loop.  `innermost`: its variable, and columns that it reads.
    """
    match stmt:
        case Block(body):
            return all(_streams(part, innermost, inputs) for part in body)
        case For():
            return stmt.condition is None and _streams(stmt.body, frozenset([stmt.var]), inputs)
        case LetStmt() | Outlined():
            return _streams(stmt.body, innermost, inputs)
        case If(
            then=LetStmt(var=var, body=TransposedLoad() as square), otherwise=None
        ):  # what is left of squares
            return _streams(square, frozenset([var]), inputs)
        case If(Aligned()):
            return all(_streams(part, innermost, inputs) for part in children(stmt))
        case TransposedLoad():
            columns = innermost.union(stmt.variables)
            return _moves(stmt.load, innermost, inputs) and _streams(stmt.body, columns, inputs)
        case Repetition():
            params = [value for _, values in stmt.rows for value in values if isinstance(value, Buffer)]
            stand_ins = [c for kind in stmt.kinds for c in kind.columns if isinstance(c, Buffer)]
            own = inputs.union(stand_ins) if inputs.issuperset(params) else inputs
            return all(_streams(kind.statement, innermost, own) for kind in stmt.kinds)
        case Store():
            return _moves(stmt.value, innermost, inputs)
    return False


def _moves(e: Expr, moving: frozenset[Var], inputs: frozenset[Buffer]) -> bool:
    varies: set[int] = set()
    for node in post_order(e):
        if node in moving or any(id(child) in varies for child in node.children()):
            varies.add(id(node))
        elif moving and isinstance(node, Call) and not ELEMENT_FUNCTIONS[node.name].cheap:
            return False
        if isinstance(node, Load) and (
            node.buffer not in inputs
            or not (not moving or any(id(index) in varies for index in node.indices))
        ):
            return False
    return True
