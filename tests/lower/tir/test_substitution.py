"""Values for variables of loop IR: whole statements, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from opgen_runtime.errors import DTypeError, LoweringError

import opgen_runtime as rt
from opgen_runtime import te, tir
from opgen_runtime.base.arith import Expr, Var, add, cast, const, gt
from opgen_runtime.base.vocabulary import INDEX

N, M = Var(INDEX, "n"), Var(INDEX, "m")
S = Var(const(0.0, "float32").dtype, "s")
X, Y = tir.decl_buffer((N,), name="x"), tir.decl_buffer((N,), name="y")


def shifted() -> tir.Stmt:
    return tir.loop("i", N, lambda i: tir.store(Y, (i,), tir.load(X, add(i, add(N, M))) + S))


def nested(i: Var) -> tir.Stmt:
    buffer = tir.Buffer("b", (add(N, 1),), X.dtype, "local")
    then = tir.block(tir.store(buffer, (N,), S), tir.store(Y, (i,), tir.load(buffer, N)))
    return tir.If(gt(N, M), tir.LetStmt(Var(INDEX, "k"), add(N, 2), tir.Allocate(buffer, then)))


WHOLE = {
    "a number": (shifted(), {N: 4}, "for i in range(4):\n    y[i] = x[i + (m + 4)] + s\n"),
    "an expression": (
        shifted(),
        {N: add(M, 1)},
        "for i in range(m + 1):\n    y[i] = x[i + (m + 1 + m)] + s\n",
    ),
    "all at once": (shifted(), {N: M, M: N}, "for i in range(m):\n    y[i] = x[i + (m + n)] + s\n"),
    "folded": (shifted(), {N: 4, M: 3}, "for i in range(4):\n    y[i] = x[i + 7] + s\n"),
    "a float": (shifted(), {S: const(2.0, S.dtype)}, "for i in range(n):\n    y[i] = x[i + (n + m)] + 2.0\n"),
    "conditions, values, shapes": (
        tir.loop("i", M, nested),
        {N: 2},
        "for i in range(m):\n"
        "    if 2 > m:\n"
        "        k = 4\n"
        "        allocate b: float32[3] local\n"
        "        b[2] = s\n"
        "        y[i] = b[2]\n",
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole(name: str) -> None:
    stmt, values, text = WHOLE[name]
    before = tir.stmt_text(stmt)
    assert tir.stmt_text(tir.substitute(stmt, values)) == text
    assert tir.stmt_text(stmt) == before


def test_expressions() -> None:
    assert str(tir.substitute(add(N, M), {N: 4})) == "m + 4"
    assert str(tir.substitute(add(N, M), {N: 4, M: 3})) == "7"


def test_nothing_to_replace_is_the_same_statement() -> None:
    stmt = shifted()
    assert tir.substitute(stmt, {Var(INDEX, "other"): 1}) is stmt


def bound() -> tuple[tir.Stmt, Var]:
    stmt = shifted()
    assert isinstance(stmt, tir.For)
    return stmt, stmt.var


def test_what_the_statement_binds() -> None:
    stmt, i = bound()
    with pytest.raises(LoweringError) as error:
        tir.substitute(stmt, {i: 0})
    assert str(error.value) == "substitute: the statement binds i; expected a variable that it reads only"
    with pytest.raises(LoweringError) as error:
        tir.substitute(stmt, {N: add(i, 1)})
    assert str(error.value) == "substitute: n is to be i + 1, which reads i; the statement binds it"


@pytest.mark.parametrize("value", [cast(N, "int64"), S])
def test_values_of_another_dtype(value: Expr) -> None:
    with pytest.raises(DTypeError, match=f"substitute: n is of dtype index, its value .* of {value.dtype}"):
        tir.substitute(shifted(), {N: value})


def test_a_kernel_for_values_of_its_dims() -> None:
    func = tir.parse("""\
twice(x: float32[n, m]) -> (y: float32[n]):
    allocate rows: float32[n + 1] local
    for i in range(n):
        rows[i] = x[i, m - 1] * 2.0
        y[i] = rows[i]
""")
    n, m = func.dims
    assert (
        str(tir.specialize(func, {n: 4}))
        == """\
twice(x: float32[4, m]) -> (y: float32[4]):
    allocate rows: float32[5] local
    for i in range(4):
        rows[i] = x[i, m - 1] * 2.0
        y[i] = rows[i]
"""
    )
    assert tir.specialize(func, {n: 4}).dims == (m,)
    array = np.arange(8, dtype="float32").reshape(4, 2)
    np.testing.assert_array_equal(rt.build(tir.specialize(func, {n: 4, m: 2}))(array), array[:, 1] * 2)
    for values, message in (
        ({te.var("n"): 4}, "specialize: twice has no dim n; its dims are: n, m"),
        ({n: -1}, "specialize: n is to be -1, expected a number of elements"),
    ):
        with pytest.raises(LoweringError, match=message):
            tir.specialize(func, values)
