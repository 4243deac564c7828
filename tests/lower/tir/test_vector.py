"""Expressions of vectors: `opgen_runtime.lower.tir.nodes.vector`."""

from opgen_runtime.base.arith import Var, add, floordiv, structural_equal
from opgen_runtime.base.vocabulary import INDEX
from opgen_runtime.lower.tir.nodes.vector import vectorize_expr


def test_what_all_lanes_agree_on_replaces_the_var_in_larger_expressions() -> None:
    i, n = Var(INDEX, "i"), Var(INDEX, "n")
    quotient = floordiv(i, 2)  # 0 for i = 0, 1
    found = vectorize_expr(add(n, quotient), i, 2)
    assert structural_equal(found, n), found
