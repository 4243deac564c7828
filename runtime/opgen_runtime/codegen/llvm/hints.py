"""What LLVM is told of a loop: where its own vectors would only cost."""

from __future__ import annotations

from typing import Final

from ...base.arith import post_order
from ...lower.tir.analysis.cost import has_vectors, iteration_cost
from ...lower.tir.nodes.stmt import Allocate, Block, If, LetStmt, Load, Stmt, Store
from .text import ModuleText

_MAX_CHEAP_OPERATIONS: Final = (
    8  # operations beside a store; with more of them vectors pay for what they do not spare
)


def loop_metadata(module: ModuleText, body: Stmt) -> str:
    """Metadata of the branch back.

    Loops over explicit vectors are unrolled and vectorised already.  A store at positions that are read is one store an
    element in vectors too, and its scatter waits for all of them.
    """
    vectors = has_vectors(body)
    if not vectors and not scatters(body):
        return ""
    hints = [module.shared_metadata('!"llvm.loop.unroll.disable"')] if vectors else []
    hints.append(module.shared_metadata('!"llvm.loop.vectorize.enable", i1 false'))
    node = module.metadata(f"distinct !{{{{self}}, {', '.join(hints)}}}")
    return f", !llvm.loop {node}"


def scatters(stmt: Stmt) -> bool:
    """Whether a statement, no loop, stores elements at positions that it reads, and computes little."""
    match stmt:
        case Block(body):
            return any(scatters(part) for part in body)
        case Allocate() | LetStmt():
            return scatters(stmt.body)
        case If():
            return scatters(stmt.then) or (stmt.otherwise is not None and scatters(stmt.otherwise))
        case Store():
            is_read = any(isinstance(node, Load) for index in stmt.indices for node in post_order(index))
            return is_read and _cost(stmt) <= _MAX_CHEAP_OPERATIONS
    return False


def _cost(stmt: Store) -> int:
    found = iteration_cost(stmt)
    assert isinstance(found, int)
    return found
