"""canonical_simplify and simplify: canonical index arithmetic and conditions, with what loops and guards imply."""

from __future__ import annotations

from ..analysis.canonical import simplified_stmt
from ..nodes.stmt import PrimFunc


def canonical_simplify(func: PrimFunc) -> PrimFunc:
    """Indices as canonical linear sums (so that `f // n * n + f % n` is `f`)."""
    return func.with_body(simplified_stmt(func.body))


def simplify(func: PrimFunc) -> PrimFunc:
    """Indices and conditions once more, now that loops are split and unrolled; sums of products stay as they are."""
    return func.with_body(simplified_stmt(func.body, again=True))
