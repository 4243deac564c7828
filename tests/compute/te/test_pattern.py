"""Derived fusion patterns, with their reasons."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from opgen_runtime.base.arith import Expr, Var, call, cast, const, dim, eq, maximum, minimum, select
from opgen_runtime.base.vocabulary import FLOAT32, INDEX, OpPattern
from opgen_runtime.compute import te
from opgen_runtime.compute.te import read

N = dim("n")
A = te.placeholder("a", (N, 4), "float32")
B = te.placeholder("b", (4, N), "float32")
ROW = te.placeholder("row", (4,), "float32")
ONE = te.placeholder("one", (N, 1), "float32")
IDS = te.placeholder("ids", (N,), "int64")
K = te.reduce_axis(4, "k")


def _clipped(index: Expr) -> Expr:
    return maximum(minimum(cast(index, INDEX), N - 1), 0)


def out(fn: Callable[..., Expr], shape: tuple[int | Expr, ...] = (N, 4)) -> te.Tensor:
    return te.compute("out", shape, "float32", fn)


@pytest.mark.parametrize(
    ("tensor", "pattern", "reason"),
    [
        (out(lambda i, j: call("abs", read(A, i, j))), OpPattern.ELEMWISE, "read is at exactly the output's"),
        (out(lambda i, j: select(eq(j, 1), -read(A, i, j), read(A, i, j))), OpPattern.ELEMWISE, "every read is at"),
        (out(lambda i, j: const(1.0, FLOAT32)), OpPattern.ELEMWISE, "every read is at"),
        (out(lambda i, j: read(A, i, j) + read(ROW, j)), OpPattern.BROADCAST, r"out reads row\[i1\], which repeats"),
        (out(lambda i, j: read(ONE, i, 0)), OpPattern.BROADCAST, r"out reads one\[i0, 0\]"),
        (out(lambda i, j: read(B, j, i)), OpPattern.INJECTIVE, r"b\[i1, i0\]: the output's indices in another"),
        (out(lambda i, j: read(A, _clipped(read(IDS, i)), j)), OpPattern.INJECTIVE, "not at the output's indices"),
        (out(lambda i: te.reduce("sum", K, read(A, i, K.var)), (N,)), OpPattern.COMM_REDUCE, "one reduction, sum"),
        (
            out(lambda i: te.reduce("sum", K, read(A, i, K.var) * read(A, i, K.var)), (N,)),
            OpPattern.COMM_REDUCE,
            "one reduction",
        ),
        (
            out(lambda i, j: te.reduce("sum", K, read(A, i, K.var) * read(B, K.var, j)), (N, N)),
            OpPattern.OUT_ELEMWISE_FUSABLE,
            r"out reduces \(sum\) products of a and b",
        ),
    ],
)  # fmt: skip
def test_patterns(tensor: te.Tensor, pattern: OpPattern, reason: str) -> None:
    found, why = te.derive_pattern([tensor], [])
    assert found is pattern, why
    assert re.search(reason, why)


def test_stages_compose() -> None:
    m = te.compute("m", (N,), "float32", lambda i: te.reduce("max", K, read(A, i, K.var)))
    s = te.compute("s", (N,), "float32", lambda i: te.reduce("sum", K, read(A, i, K.var) - read(m, i)))
    pattern, why = te.derive_pattern([out(lambda i, j: read(A, i, j) / read(s, i))], [A])
    assert pattern is OpPattern.OUT_ELEMWISE_FUSABLE
    assert why == "2 reductions: max in m, sum in s"


def test_several_outputs() -> None:
    first, second = out(lambda i, j: read(A, i, j)), out(lambda i, j: read(B, j, i))
    assert te.derive_pattern([first, second], [A, B])[0] is OpPattern.TUPLE
    total = out(lambda i: te.reduce("sum", K, read(A, i, K.var)), (N,))
    assert te.derive_pattern([first, total], [A])[0] is OpPattern.OPAQUE


def test_scans_and_python_functions_are_opaque() -> None:
    made = te.Tensor("u", (N,), FLOAT32, te.Extern((A,), lambda a: a, ()))
    assert te.derive_pattern([made], [A]) == (OpPattern.OPAQUE, "u is a Python function")
    base = te.compute("base", (N,), "float32", lambda i: const(0.0, FLOAT32))
    u = te.IterVar(Var(INDEX, "u"), N)
    done = te.Tensor("done", (N,), FLOAT32, te.Update(base, (te.Loop(u, ()),), ()))
    assert te.derive_pattern([done], [])[1] == "done is an update"
