"""The language to Python: the whole text of each construct's translation, and the places it keeps."""

from __future__ import annotations

import ast

import pytest

from opgen.analyse import check_project
from opgen.model import CheckedOp

HEAD = """\
op: t
dtypes: {T: float}
inputs: {data: {shape: "M, K", dtype: T}, x: {optional: true, dtype: T, shape: "M"}}
attrs: {axis: {type: int, default: 0}}
outputs: {out: {shape: "M, K", dtype: data.dtype}}
"""
TAIL = """
tests:
  - {data: "float32[3, 4]", x: "float32[3]"}
"""


def check(compute: str, let: str = "") -> CheckedOp:
    text = HEAD
    for key, block in (("let", let), ("compute", compute)):
        if block:
            text += f"{key}: |\n" + "".join(f"  {line}\n" for line in block.split("\n"))
    ops, found = check_project({"t.yaml": text + TAIL})
    assert not found, found
    return ops[0]


VALUES = {
    "data[i, j] + 1": "data[i, j] + 1",
    "-data[i, j] / 2": "_l.div(-data[i, j], 2)",
    "data[i, j] ** 2": "_l.power(data[i, j], 2)",
    "cast(cast(i // 2 % 3 << 1, int8), data.dtype)": (
        "_l.cast(_l.cast(_l.shift_left(_l.floormod(_l.floordiv(i, 2), 3), 1), _l.dtype('int8')), data.dtype)"
    ),
    "1 if 0 <= i < M else 0": (
        "_l.select(_l.both(_l.less_equal(0, i), lambda: _l.less(i, M)), lambda: 1, lambda: 0)"
    ),
    "1 if i > 0 and j > 0 or not i == 2 else 0": (
        "_l.select(_l.either(_l.both(_l.greater(i, 0), lambda: _l.greater(j, 0)), "
        "lambda: _l.negate(_l.equal(i, 2))), lambda: 1, lambda: 0)"
    ),
    "x[i] if x is not None else 0": "_l.select(x is not None, lambda: x[i], lambda: 0)",
    "1 if j in (0, 2) else inf": "_l.select(_l.contains((0, 2), j), lambda: 1, lambda: _l.inf)",
    "sum(data[k, j] for k in range(M) if k != i)": (
        "_l.sum(_l.over(_l.range(M), lambda k: _l.when(_l.not_equal(k, i), lambda: data[k, j])))"
    ),
    "max(data[p, q] for p in range(M) for q in range(K))": (
        "_l.max(_l.over(_l.range(M), lambda p: _l.over(_l.range(K), lambda q: data[p, q])))"
    ),
    "sum(data[i, j] * s for s, t in zip((1, 2), (3, 4)))": (
        "_l.sum(_l.over(_l.zip((1, 2), (3, 4)), lambda s, t: data[i, j] * s, unpack=True))"
    ),
    "next((data[k, j] for k in range(M) if data[k, j] > 0), 0)": (
        "_l.next(_l.over(_l.range(M), lambda k: _l.when(_l.greater(data[k, j], 0), lambda: data[k, j])), lambda: 0)"
    ),
    "data[*tuple(p for p in (i, j))]": "data[*_b.tuple((p for p in _l.each((i, j)))),]",
    "cast((5, 6)[axis], data.dtype)": "_l.cast(_l.item((5, 6), axis), data.dtype)",
    "cast((5, 6).index(5), data.dtype)": "_l.cast(_l.index_of((5, 6), 5), data.dtype)",
    "tanh(abs(min(data[i, j], 0)))": "_l.tanh(_l.abs(_l.min(data[i, j], 0)))",
}


@pytest.mark.parametrize("value", VALUES)
def test_values(value: str) -> None:
    op = check(f"out[i, j] = {value}")
    assert op.compute is not None
    assert ast.unparse(op.compute.body[0]) == f"out.define(lambda i, j: {VALUES[value]})"


def test_statements() -> None:
    op = check(
        "def f(p, *q):\n    r = p + 1\n    return r * len(q)\n"
        "n = M - 1\n"
        "if axis == 0:\n    t[*i, j]: (M, K) = data[*i, j] * f(2, i)\n"
        "else:\n    t[0, *i]: (M, K) = data[0, *i]\n    t[*i] = data[*i] + n * 0\n"
        "out[i, j] = t[i, j]\n"
        "for u in range(M):\n    v = u\n    if v > 0:\n        out[v, 0] += 1\n"
        "        out[v, 1] = max(out[v, 1], data[v, 0])"
    )
    assert op.compute is not None
    assert ast.unparse(op.compute) == (
        "def compute(data: _d.Any, axis: _d.Any, M: _d.Any, K: _d.Any, out: _d.Any) -> None:\n"
        "\n"
        "    def f(p: _d.Any, *q: _d.Any) -> _d.Any:\n"
        "        r = p + 1\n"
        "        return r * _l.len(q)\n"
        "    n = M - 1\n"
        "    if _l.truth(_l.equal(axis, 0)):\n"
        "        t = _l.tensor('t', (M, K))\n"
        "        t.define(lambda *i, j: data[*i, j] * f(2, i))\n"
        "    else:\n"
        "        t = _l.tensor('t', (M, K))\n"
        "        t.define(lambda *i: data[0, *i], at=(0, _l.REST))\n"
        "        t.define(lambda *i: data[*i,] + n * 0)\n"
        "    out.define(lambda i, j: t[i, j])\n"
        "    for u in _l.loop(_l.range(M), 'u'):\n"
        "        v = u\n"
        "        with _l.guard(_l.greater(v, 0)):\n"
        "            out.put((v, 0), '+=', 1)\n"
        "            out.put((v, 1), 'max', data[v, 0])"
    )


def test_let() -> None:
    op = check(
        "out[i, j] = data[i, j] + f(b) * 0",
        "a, b = (axis, 2)\ndef f(p):\n    r = p + a\n    return r * 2\n"
        "if axis > 0:\n    c = 1\nelse:\n    c = M\nd = sum(k for k in data.shape if k > c)",
    )
    assert [(rule.text, ast.unparse(rule.function)) for rule in op.signature.rules] == [
        ("a, b = (axis, 2)", "lambda axis: (axis, 2)"),
        ("f", "lambda a: lambda p: (lambda r: r * 2)(p + a)"),
        ("c = 1 if axis > 0 else M", "lambda axis, M: _l.select(_l.greater(axis, 0), lambda: 1, lambda: M)"),
        (
            "d = sum(k for k in data.shape if k > c)",
            "lambda data, c: _l.sum((k for k in _l.each(data.shape) if _l.truth(_l.greater(k, c))))",
        ),
    ]


def test_locals_of_let_may_be_names_of_compute() -> None:
    op = check(
        "r = M\nout[i, j] = data[i, j] + f(b) * 0 + r * 0 + c * 0",
        "b = 2\ndef f(p):\n    r = p + axis\n    return r * 2\nc = sum(r for r in data.shape)",
    )
    assert [ast.unparse(rule.function) for rule in op.signature.rules] == [
        "lambda: 2",
        "lambda axis: lambda p: (lambda r: r * 2)(p + axis)",
        "lambda data: _l.sum((r for r in _l.each(data.shape)))",
    ]


def test_every_node_has_its_place() -> None:
    op = check("out[i, j] = data[i, j] + (\n    1 if i > 0 else 2)")
    assert op.compute is not None
    calls = {
        n.func.attr: n
        for n in ast.walk(op.compute)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
    }
    assert (calls["select"].lineno, calls["select"].col_offset) == (8, 6)
    assert (calls["greater"].lineno, calls["greater"].col_offset) == (8, 11)
    compile(ast.Module([op.compute], []), "t.yaml", "exec")
