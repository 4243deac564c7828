"""Loop IR from text: what the printer prints reads as it was, and what is wrong is told with its place."""

from __future__ import annotations

import numpy as np
import pytest

from opgen_runtime.base.arith import Call, Const, Table, Var, const
from opgen_runtime.base.errors import ParseError
from opgen_runtime.base.vocabulary import FLOAT32, INDEX, DType
from opgen_runtime.lower import tir
from opgen_runtime.lower.tir import Allocate, Block, Buffer, For, ForKind, Load, PrimFunc, Store
from tests.fuzz import kernel_texts, mutated_texts, random_texts
from tests.lower.tir.same import why_not_same

ROW = Var(INDEX, "i")
X, Y = Buffer("x", (8,), FLOAT32), Buffer("y", (8,), FLOAT32)


def kernel(*body: tir.Stmt) -> PrimFunc:
    return PrimFunc("f", (X,), (Y,), tir.block(*body))


def over(var: Var, extent: int, body: tir.Stmt, kind: ForKind = ForKind.SERIAL) -> tir.Stmt:
    return For(var, const(0, INDEX), const(extent, INDEX), kind, body)


ALL = """\
f(x: float32[n, 8], `in put`: int8[n]) -> (y: float32[n, 8], count: int64[]):
    dims n from 1 to 64, m
    seen y: count rows of 8
    allocate t: float64[8, m + 1] local
    parallel for i in range(n) of n * 2 operations:
        part = i // 4 % 2:
            prefetch x[i, 0] of 1, 8
            vectorized for j in range(8):
                y[i, j] = x[i, j; (j < 4) & (part == 1)] + exp(x[i, j]) if ~(`in put`[i] < int8(-3)) else -0.5
        for k in range(0, m, 2) while m < 9:
            t[k, 0] = float64(0.1) / float64(nan) - float64(-inf)
        for k in range(i, i + (m - i)):
            t[k, 0] = float64[1.0, 2.5][k % 2] + cast([1, 2, 3][i % 3], float64)
        if i < 3 and (i > 1 or n < 4):
            pass
        else:
            nontemporal y[i, ramp(0, 1, 8); splat(True, 8)] = splat(bitcast(int32(5), float32), 8)
    allocate u: float64[32] local
    a, b = transpose(u[ramp(0, 9, 2)], m)
    outlined:
        y[0, ramp(0, 1, 2)] = shuffle(cast(a, float32), cast(b, float32); 3, 0)
    count[] = trunc_div(int64(9), int64(2))
"""


def test_what_is_printed_reads_as_it_was() -> None:
    read = tir.parse(ALL)
    assert tir.to_text(read) == ALL
    assert why_not_same(read, tir.parse(ALL)) is None
    assert [(dim.name, dim.least, dim.most) for dim in read.dims] == [
        ("n", 1, 64),
        ("m", 0, None),
    ]
    assert read.seen == (tir.Seen(0, 1, 8),)


def test_a_table_of_statements() -> None:
    text = (
        "f(x0: int8[3], x1: int8[3]) -> (y: int8[6]):\n"
        "    kind 0(from: int8[3], start):\n"
        "        for i in range(3):\n"
        "            y[i + start] = from[i]\n"
        "    kind 1():\n"
        "        y[0] = int8(7)\n"
        "    do 0(x0, 0)\n"
        "    do 0(x1, 3)\n"
        "    do 1()\n"
    )
    read = tir.parse(text)
    assert tir.to_text(read) == text
    (found,) = tir.interpret(read, [np.array([1, 2, 3], "int8"), np.array([4, 5, 6], "int8")])
    assert found.tolist() == [7, 2, 3, 4, 5, 6]


def test_names_are_told_apart() -> None:
    """The inner loop of two that have one name, and buffers of one name."""
    inner = Var(INDEX, "i")
    first, second = Buffer("t", (1,), FLOAT32, "local"), Buffer("t", (1,), FLOAT32, "local")
    body = Store(second, (const(0, INDEX),), Load(FLOAT32, first, (inner - ROW,)))
    func = kernel(over(ROW, 2, Allocate(first, Allocate(second, over(inner, 3, body)))))
    text = (
        "f(x: float32[8]) -> (y: float32[8]):\n"
        "    for i in range(2):\n"
        "        allocate t: float32[1] local\n"
        "        allocate t_1: float32[1] local\n"
        "        for i_1 in range(3):\n"
        "            t_1[0] = t[i_1 - i]\n"
    )
    assert tir.to_text(func) == text
    assert why_not_same(func, tir.parse(text)) is None


def test_what_a_name_holds_for_ends_with_its_block() -> None:
    local = Buffer("t", (1,), FLOAT32, "local")
    zero = const(0, INDEX)
    func = kernel(
        Block(
            (
                Allocate(local, Store(local, (zero,), Const(FLOAT32, 1.0))),
                Store(Y, (zero,), Const(FLOAT32, 2.0)),
            )
        )
    )
    text = (
        "f(x: float32[8]) -> (y: float32[8]):\n"
        "    allocate t: float32[1] local:\n"
        "        t[0] = 1.0\n"
        "    y[0] = 2.0\n"
    )
    assert tir.to_text(func) == text
    assert why_not_same(func, tir.parse(text)) is None


def test_nothing_is_folded() -> None:
    text = (
        "f(x: float32[8]) -> (y: float32[8]):\n"
        "    for i in range(2 * 4):\n"
        "        y[i * 1 + 0 % 3] = x[min(i, i)] * 1.0 + (0.0 - -0.0)\n"
    )
    assert tir.to_text(tir.parse(text)) == text


def test_values_that_stand_behind_where() -> None:
    value: tir.Load | Call = Load(FLOAT32, X, (ROW,))
    for _ in range(9):
        value = Call(FLOAT32, "fma", (value, value, value))  # type: ignore[assignment]
    func = kernel(over(ROW, 8, Store(Y, (ROW,), value)))
    text = tir.to_text(func)
    assert " where %0 = fma(x[i], x[i], x[i]), %1 = fma(%0, %0, %0), " in text
    assert why_not_same(func, tir.parse(text)) is None


def test_long_tables_are_whole() -> None:
    table = Table(DType("int16"), tuple(range(20)), ROW)
    assert str(table) == f"int16[{', '.join(map(str, range(20)))}][i]"


WRONG = {
    "    y[i] = 1.0": "line 2, column 7: i is not defined here",
    "    y[0] = 1": "line 2, column 12: what is stored to y is of dtype float32, found index",
    "    y[0] = x[0] + 1": "line 2, column 17: + is of one dtype, found float32 and index; cast(x, dtype), or a "
    "literal as float32(1)",
    "    y[0] = x[0": "line 2, column 15: expected ',', found 'the end of the text'",
    "    y[0, 0] = 1.0": "line 2, column 5: buffer y has 1 dims, found 2 indices",
    "    x[0] = 1.0": "line 2, column 5: input x is stored to",
    "    z[0] = 1.0": "line 2, column 5: z is not defined here",
    "    y[0] = exq(1.0)": "line 2, column 12: there is no function exq; did you mean 'exp'",
    "    y[0] = min(1.0)": "line 2, column 12: min takes 2 operands, found 1",
    "    y[0.5] = 1.0": "line 2, column 7: an index is of dtype index, found float32; cast(..., index)",
    "    y[0] = 1.0 if 3 else 2.0": "line 2, column 16: a condition is a bool, found index",
    "    y[0] = int8(300)": "line 2, column 17: 300 does not fit int8 (-128 to 127)",
    "    y[0] = float33(1.0)": "line 2, column 12: there is no function float33",
    "    for i in 8:": "line 2, column 14: expected 'range', found '8'",
    "    for i in range(8):": "line 2, column 23: expected an indented block, found 'the end of the text'",
    "    for i in range(8):\n    pass": "line 3, column 5: expected an indented block, found 'pass'",
    "    pass\n        pass": "line 3, column 9: is indented further than the statement before it, found 'pass'",
    "    pass pass": "line 2, column 10: expected the end of the line, found 'pass'",
    "    for x in range(8):\n        pass": "line 2, column 9: x is defined here already",
    "    y[0] = 1.0 < 2.0 < 3.0": "line 2, column 22: comparisons do not chain; use parentheses and `and`, found '<'",
    "    y[ramp(0, 1, 4)] = splat(1.0, 8)": "line 2, column 5: a store joins vectors of 4 and 8 lanes",
    "    allocate t: float32[4] near": "line 2, column 28: a scope is one of global, local, double, found near",
    "    twice y[0] = 1.0": "line 2, column 5: expected a statement, found 'twice'",
    "    y[0] = #": "line 2, column 12: unexpected character '#'",
    "    y[99999999999999999999999] = 1.0": "line 2, column 7: expected an integer of 64 bits, found "
    "99999999999999999999999",
    f"    y[0] = {'(' * 200}1.0{')' * 200}": "line 2, column 112: brackets may nest 100 deep",
}


@pytest.mark.parametrize("body", WRONG)
def test_what_is_wrong_is_told_with_its_place(body: str) -> None:
    with pytest.raises(ParseError) as caught:
        tir.parse(f"f(x: float32[8]) -> (y: float32[8]):\n{body}")
    assert str(caught.value).startswith(WRONG[body])


@pytest.mark.parametrize("seed", range(12))
def test_kernels_of_the_suites(seed: int) -> None:
    kernel_texts.case(seed)


@pytest.mark.parametrize("seed", range(25))
def test_texts_with_mistakes(seed: int) -> None:
    mutated_texts.case(seed)


@pytest.mark.parametrize("seed", range(8))
def test_the_interpreter_agrees_with_code(seed: int) -> None:
    random_texts.case(seed)
