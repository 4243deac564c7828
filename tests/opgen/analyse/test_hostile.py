"""Hostile declarations give diagnostics or checked ops: never a traceback, a hang, or code that is not ours."""

from __future__ import annotations

import ast
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opgen.analyse import check_project
from opgen.model import CheckedOp

LIMIT_SECONDS = 5.0  # generous: the machine may be busy

HEAD = """\
op: h
inputs: {data: {dtype: number}}
attrs: {axis: {type: int, default: 0}}
outputs: {out: {shape: data.shape, dtype: data.dtype}}
"""
TAIL = 'tests:\n  - {data: "float32[2]"}\n'

BASE = """\
op: soft
doc: Text.
inputs: {data: {dtype: float, doc: The input.}}
attrs: {axis: {type: int, default: -1, bounds: -data.ndim <= axis < data.ndim, doc: The axis.}}
outputs: {out: {shape: data.shape, dtype: data.dtype}}
let: |
  a = axis % data.ndim
  rest = data.shape[:a] + data.shape[a+1:]
compute: |
  def at(i, k): return (*i[:a], k, *i[a:])
  m[*r]: rest = max(data[*at(r, k)] for k in range(data.shape[a]))
  out[*i] = data[*i] - m[*i[:a], *i[a+1:]] if data[*i] > 0 else 0
reference: |
  out = data - data.max(axis=axis, keepdims=True)
tests:
  - {data: "float32[2, 3]", axis: 0}
"""

PIECES = [
    '__import__("os").system("x")', "{{ x }}", "{% raw %}", '"""', "\\", "\n", "\n  ", "*A", ": ", "- ", "[", "]", "{",
    "}", '"', "'", "9" * 5000, "10**10**10", "(", "((((", "not " * 50, "-" * 300, "x.__class__", "lambda: 0",
    "tuple(i for i in range(10**9))", "*(", "%s", "#", "\x00", "\u202e", "é", "&a", "*a", "!!python/none", "<<", "~",
    "1e999", "0x" + "f" * 500, "[()]", "out", "data", "range", "...", "1 if", "else", "def f(x): return f(x)\n  ",
    "@", "$", "`", "|", ">", "1j", "None", "True", "\t", "yield", "await x", "x := 1", "**", "//", "\ud800",
]  # fmt: skip


def names_in(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def assert_harmless(op: CheckedOp) -> None:
    """Only names of the declaration and of the runtime's aliases, and no attribute that begins with `_`."""
    lambdas = [rule.function for rule in op.signature.rules]
    trees = [tree for tree in (op.compute, op.reference, *lambdas) if tree is not None]
    for tree in trees:
        for node in ast.walk(tree):
            assert not isinstance(node, ast.Import | ast.ImportFrom | ast.While | ast.ClassDef | ast.Try)
            if isinstance(node, ast.Attribute):
                assert not node.attr.startswith("_")
            if isinstance(node, ast.Name) and node.id.startswith("_"):
                assert node.id in ("_l", "_b", "_d")
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "_b":
                assert node.attr == "tuple"


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_pieces_put_anywhere(data: st.DataObject) -> None:
    text = BASE
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.sampled_from([0, 0, 1, 3, 10]))
        text = text[:at] + data.draw(st.sampled_from(PIECES)) + text[at + gone :]
    start = time.process_time()
    ops, found = check_project({"h.yaml": text})
    assert time.process_time() - start < LIMIT_SECONDS
    assert all(finding.message and finding.place.line >= 1 for finding in found)
    for op in ops:
        assert_harmless(op)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=60))
def test_any_text_in_any_field(text: str) -> None:
    quoted = (
        '"' + "".join(f"\\U{ord(c):08x}" if c not in "ab " else c for c in text if c not in "\ud800") + '"'
    )
    for key in ("doc", "compute", "reference", "let", "operator", "since"):
        ops, _ = check_project(
            {
                "h.yaml": f"{HEAD}{key}: {quoted}\n"
                + ("compute: out[*i] = data[*i]\n" if key != "compute" else "")
            }
        )
        for op in ops:
            assert_harmless(op)


def lines(*items: str) -> str:
    return "\n  ".join(items)


def chain(first: str, each: str, *last: str) -> str:
    """`first`, then `each` with k = 1..59 and j = k - 1, then `last`."""
    return lines(first, *(each.format(k=k, j=k - 1) for k in range(1, 60)), *last)


NESTED_LOOPS = ["  " * k + f"for i{k} in range(2):" for k in range(30)] + ["  " * 30 + "out[0] += 1"]

ENDLESS = {
    "nested sums": (
        "n = sum(sum(sum(1 for i in range(60000)) for j in range(60000)) for k in range(60000))",
        "",
    ),
    "nested tuples": ("n = tuple(tuple(i for i in range(60000)) for j in range(60000))", ""),
    "ndindex": ("n = tuple(i for i in ndindex((200, 200, 200)))", ""),
    "power": ("n = 10 ** 10 ** 10", ""),
    "shift": ("n = 1 << 10 ** 9", ""),
    "text": ("n = 'a' * 10 ** 9", ""),
    "doubled tuples": (chain("a0 = (1, 2)", "a{k} = a{j} + a{j}"), ""),
    "squares": (chain("a0 = 3", "a{k} = a{j} * a{j}"), ""),
    "defs of let": (
        chain("def f0(x): return (x, x)", "def f{k}(x): return (f{j}(x), f{j}(x))", "n = f59(1)"),
        "",
    ),
    "defs": (
        "n = 1",
        chain("def f0(x): return x", "def f{k}(x): return f{j}(x) + f{j}(x)", "out[*i] = f59(data[*i])"),
    ),
    "unrolled sums": ("q = tuple(range(60000))", "out[*i] = sum(sum(data[*i] for j in q) for k in q)"),
    "deep conditions": ("n = 1", "out[*i] = " + "1 if data[*i] > 0 else " * 200 + "0"),
    "long chain": ("n = 1", "out[*i] = " + " and ".join(["data[*i] > 0"] * 300)),
    "deep loops": ("n = 1", lines("out[*i] = data[*i]", *NESTED_LOOPS)),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_endless_work_is_refused(name: str) -> None:
    let, compute = ENDLESS[name]
    text = f"{HEAD}let: |\n  {let}\ncompute: |\n  {compute or 'out[*i] = data[*i]'}\n{TAIL}"
    start = time.process_time()
    ops, found = check_project({"h.yaml": text})
    assert time.process_time() - start < LIMIT_SECONDS
    assert ops == []
    assert {finding.code for finding in found} <= {"limit", "value"}


REFUSED = [
    "import os",
    "out = data.__class__",
    "out = np.load('f')",
    "out = open('f')",
    "out = eval('1')",
    "out = np.lib.format.x",
    "out = data.tofile('f')",
    "out = data.resize(1, refcheck=False)",
    "out = (lambda: 1)()",
    "out = getattr(data, 'x')",
    "while True: pass",
    "out = f'{data}'",
    "def f(): pass",
    "with open('f') as f: pass",
    "out = data.dump('f')",
    "out = np.memmap('f')",
    "_x = 1",
    "np = 1",
    "out = np.frompyfunc(open, 1, 1)",
    "out = np.vectorize(open)('f')",
    "global out",
    "del data",
    "out = [].__len__()",
    "out = np.core.x",
    "out = math.__dict__",
    "out = '{0.__class__}'.format(data)",
    "out = yield",
    "out = data @ (x := 1)",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_reference_refuses(statement: str) -> None:
    text = f"{HEAD}compute: out[*i] = data[*i]\nreference: |\n  out = data\n  {statement}\n{TAIL}"
    ops, found = check_project({"h.yaml": text})
    assert ops == []
    assert {finding.code for finding in found} <= {"reference", "syntax"}


def test_what_python_warns_of_is_a_finding() -> None:
    wrong = BASE.replace("*i[a+1:]]", "*None[a+1:]]")
    _, found = check_project({"h.yaml": wrong})
    assert [finding.code for finding in found] == ["value"]
