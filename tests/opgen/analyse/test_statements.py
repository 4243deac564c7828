"""Statements: tuples that are taken apart, updates under loops that unroll, references after a refused line."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from opgen.analyse import check_project
from opgen.diagnostics import Diagnostic, to_text
from opgen.model.statement import strategy_tree

HEAD = 'op: one\ninputs: {x: {shape: "N", dtype: float}}\noutputs: {out: {shape: "N", dtype: x.dtype}}\n'
TAIL = 'tests: [{x: "float32[4]"}]\n'


def findings(text: str) -> list[Diagnostic]:
    return check_project({"one.yaml": HEAD + text + TAIL})[1]


@pytest.mark.parametrize(
    ("text", "code", "message", "line"),
    [
        ("let: a, b = 3\ncompute: out[i] = a\n", "value", "2 names take a tuple of 2, found int 3", 4),
        (
            "compute: |\n  a, b = (1, 2, 3)\n  out[i] = a\n",
            "rank",
            "2 names take a tuple of 2, found a tuple of 3",
            5,
        ),
        (
            "compute: |\n  def f(p):\n      a, b = (p, p, p)\n      return a\n  out[i] = f(x[i])\n",
            "rank",
            "2 names take a tuple of 2, found a tuple of 3",
            6,
        ),
    ],
)
def test_a_tuple_of_another_length(text: str, code: str, message: str, line: int) -> None:
    (found,) = findings(text)
    assert (found.code, found.message.split(" (for")[0], found.place.line) == (code, message, line)


def test_updates_under_a_loop_that_unrolls() -> None:
    text = "compute: |\n  out[i] = 0\n  for k in (0, 2):\n      if k < N:\n          out[k] += x[k]\n"
    assert findings(text) == []


def test_a_table_without_entries_under_a_loop_without_rounds() -> None:
    text = "let: t = tuple(range(0))\ncompute: out[i] = sum(t[k] * x[i] for k in range(len(t)))\n"
    assert findings(text) == []


def test_names_of_a_refused_line_of_a_reference_are_not_reported_too() -> None:
    text = "compute: out[i] = x[i]\nreference: |\n  y = open(x)\n  out = y + 1\n"
    assert [found.message for found in findings(text)] == ["a reference does not call `open`"]


def test_a_dtype_of_another_input_hints_at_a_variable() -> None:
    text = "compute: out[i] = x[i]\n"
    found = check_project(
        {"one.yaml": (HEAD + text).replace("dtype: float}", "dtype: float}, y: {dtype: x.dtype}")}
    )[1]
    assert found[0].suggestion == "give both operands one dtype variable: `dtypes: {T: ...}`, then `dtype: T`"


def test_a_shifted_index_on_the_left_is_said_to_be_no_index() -> None:
    (found,) = findings("compute: out[i + 1] = x[i]\n")
    assert (found.code, found.place.column) == ("index", 14)


def test_an_update_that_reads_what_it_updates_is_placed_at_the_update() -> None:
    (found,) = findings("compute: |\n  out[i] = 0\n  for i in range(N):\n      out[i] += out[0]\n")
    assert (found.code, found.place.line) == ("update", 7)


def test_what_is_absent_is_said_to_be_absent() -> None:
    head = HEAD.replace("float}}", "float}, y: {shape: N, dtype: float, optional: true}}", 1)
    found = check_project({"one.yaml": head + "compute: out[i] = x[i] + y[i]\n" + TAIL})[1]
    assert found[0].message.startswith("this is None here (an optional input or attr that is absent)")


def test_a_strategy_states_layouts() -> None:
    text = """
op: copy
inputs: {data: {shape: "N, C, W", layout: {attr: layout, canonical: NCW}}}
outputs: {out: {shape: data.shape, dtype: data.dtype}}
attrs: {layout: {type: layout, default: NCW}}
compute: out[n, c, w] = data[n, c, w]
reference: out = data
tests: [{data: "float32[2, 3, 4]"}]
strategy: [{name: last, schedule: injective, layouts: {layout: NWC}}]
"""
    ops, found = check_project({"one.yaml": text})
    assert found == []
    (op,) = ops
    assert op.strategy[0].layouts == {"layout": "NWC"}
    assert ast.unparse(strategy_tree(op.strategy[0])) == (
        "_d.StrategyEntry('last', schedule='injective', layouts={'layout': 'NWC'})"
    )


def test_a_strategy_without_a_target_is_for_every_target() -> None:
    text = "compute: out[i] = x[i]\nstrategy: [{name: one, schedule: injective}]\n"
    (op,) = check_project({"one.yaml": HEAD + text + TAIL})[0]
    assert op.strategy[0].target == ""


KERNEL = """\
op: halves
inputs: {x: {shape: "N", dtype: float32}}
outputs: {out: {shape: N, dtype: float32}}
compute: out[i] = x[i] * 0.5
reference: out = x / 2
tests: [{x: "float32[4]"}]
strategy: [{name: pairs, kernel: "mine.kernels:NAME", when: N % 2 == 0}]
"""


def test_a_strategy_names_a_kernel(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(
        "from opgen_runtime import tir\n\nraise SystemExit('imported')\n\n\n"
        "@tir.kernel('(x: float32[n]) -> (y: float32[n])')\ndef read(x, y, n):\n    pass\n\n\n"
        "text = tir.parse('...')\n\n\ndef plain(x, y, n):\n    pass\n"
    )

    def check(text: str) -> str:
        ops, found = check_project({"s.yaml": text}, packages={"mine": tmp_path})
        return ast.unparse(strategy_tree(ops[0].strategy[0])) if ops else to_text(found).split("\n")[0]

    for name in ("read", "text"):
        assert check(KERNEL.replace("NAME", name)) == (
            f"_d.StrategyEntry('pairs', kernel='mine.kernels:{name}', "
            "when=lambda N: _l.equal(_l.floormod(N, 2), 0), when_text='N % 2 == 0')"
        )
    wrong = {
        "mine.kernels:plain": "s.yaml:7:34: error[extern]: `mine.kernels` has no kernel `plain` at its top level",
        "mine.nowhere:read": "s.yaml:7:34: error[extern]: there is no module `mine.nowhere` in the project",
        "read": "s.yaml:7:34: error[strategy]: `read` is no kernel; expected `package.module:kernel`",
    }
    for name, message in wrong.items():
        assert check(KERNEL.replace("mine.kernels:NAME", name)) == message
    read = KERNEL.replace("NAME", "read")
    assert check(read.replace("when:", "schedule: generic, when:")) == (
        "s.yaml:7:34: error[bad-value]: `schedule` and `kernel` are two ways to compute; expected one"
    )
    assert check(read.replace('kernel: "mine.kernels:read", ', "")) == (
        "s.yaml:7:19: error[missing-key]: the key `schedule` must be given"
    )
    several = read.replace("outputs: {", "outputs: {more: {shape: N, dtype: float32}, ")
    several = several.replace(
        "compute: out[i] = x[i] * 0.5", "compute: |\n  out[i] = x[i] * 0.5\n  more[i] = x[i]"
    ).replace("reference: out = x / 2", "reference: |\n  out = x / 2\n  more = x")
    assert "a kernel computes one result, whose size does not depend on data" in check(several)


BRANCHES = {
    "an intermediate in one branch": """\
if flag:
    m[i]: N = x[i] * 2
    out[i] = m[N - 1 - i]
else:
    out[i] = x[i]
""",
    "one name, two intermediates": """\
if flag:
    m[i]: N = x[i] * 2
    out[i] = m[i]
else:
    m[i, j]: (N, 2) = x[i] * cast(j, x.dtype)
    out[i] = m[i, 1]
""",
    "read above its definition": """\
if flag:
    out[i] = m[i]
    m[i]: N = x[i] * 2
else:
    out[i] = x[i]
""",
    "branches in branches": """\
if flag:
    if N > 2:
        p[i]: N = x[i]
        m[i]: N = p[i] + 1
    else:
        m[i] = x[i]
    out[i] = m[i] + m[0]
elif N > 9:
    out[i] = x[i]
else:
    p[i, j]: (N, N) = x[i] + x[j]
    out[i] = p[i, i]
""",
    "names of one branch in its shapes": """\
if flag:
    size = N + 1
    m[i]: size = x[clip(i, 0, N - 1)]
    out[i] = m[i + 1]
else:
    out[i] = x[i]
""",
    "updates in one branch": """\
out[i] = 0
if flag:
    m[i]: N = x[i] * 0
    for u in range(N):
        if m[0] > 0:
            out[u] += m[u]
    for u in range(N):
        m[u] += x[u]
""",
}
FLAGGED = "attrs: {flag: {type: bool, default: false}}\ncompute: |\n"


def flagged(compute: str) -> list[Diagnostic]:
    """With `flag` on and off."""
    text = FLAGGED + "".join(f"  {line}\n" for line in compute.splitlines())
    tests = 'tests: [{x: "float32[4]"}, {x: "float32[4]", flag: true}]\n'
    return check_project({"one.yaml": HEAD + text + tests})[1]


@pytest.mark.parametrize("compute", BRANCHES.values(), ids=BRANCHES)
def test_a_branch_has_intermediates_of_its_own(compute: str) -> None:
    assert flagged(compute) == []


@pytest.mark.parametrize(
    ("compute", "message", "line"),
    [
        (
            "if flag:\n    m[i]: N = x[i]\nout[i] = m[i]\n",
            "`m` is bound in one branch of an `if` only, and can be used only there",
            8,
        ),
        (
            "def f(k): return m[k]\nif flag:\n    m[i]: N = x[i]\n    out[i] = f(i)\nelse:\n    out[i] = x[i]\n",
            "`m` is bound in one branch of an `if` only, and can be used only there",
            6,
        ),
        (
            "if flag:\n    m[i]: N = x[i]\n    out[i] = m[i]\nelse:\n    out[i] = m[i]\n",
            "`m` is bound in one branch of an `if` only, and can be used only there",
            10,
        ),
        (
            "if flag:\n    k = 1\n    out[i] = x[i]\nelse:\n    out[i] = x[i] * k\n",
            "`k` is bound in one branch of an `if` only, and can be used only there",
            10,
        ),
        (
            "if flag:\n    k = 1\nout[i] = x[i] * k\n",
            "`k` is bound in one branch of an `if` only, and can be used only there",
            8,
        ),
        (
            "if flag:\n    m[i]: N = x[i]\n    out[i] = m[i]\nelse:\n    m[i] = 0\n",
            "every path binds the same names, but `else` does not bind `out`",
            6,
        ),
        (
            "if flag:\n    m[i]: N = x[i]\n    out[i] = m[i]\nelif N > 2:\n    out[i] = x[i]\n"
            "else:\n    m[i] = 0\n    out[i] = m[i]\n",
            "the first definition of the intermediate `m` states its shape",
            12,
        ),
        (
            "if flag:\n    m[i]: N = x[i]\n    out[i] = m[i]\nelif N > 2:\n    out[i] = x[i]\n"
            "else:\n    m = 3\n    out[i] = x[i] * m\n",
            "`m` is an intermediate in another branch; names shadow nothing",
            12,
        ),
        (
            "m[0]: N = x[0]\nif flag:\n    m[i] = x[i]\nout[i] = m[i]\n",
            "every path binds the same names, but `else` does not bind `m`",
            7,
        ),
    ],
)
def test_what_a_branch_keeps_to_itself(compute: str, message: str, line: int) -> None:
    (found,) = flagged(compute)
    assert (found.message, found.place.line) == (message, line)


@pytest.mark.parametrize(
    ("value", "message", "suggestion"),
    [
        ("(lambda v: v)(x[i])", "the language does not have `lambda`; write a `def`", None),
        (
            "x[i].astype(float32)",
            "there is no method `.astype`; the language has functions, and `.index(...)`",
            "write `cast(x, dtype)`",
        ),
        (
            "np.exp(x[i])",
            "there is no method `.exp`; the language has functions, and `.index(...)`",
            "write `exp(...)`",
        ),
        (
            "x.sum()",
            "there is no method `.sum`; the language has functions, and `.index(...)`",
            "write `sum(x[*k] for k in ndindex(x.shape))`",
        ),
        (
            "x[i] / sum(x)",
            "`x` is an input; an element of it is `x[...]`",
            "write `sum(x[*k] for k in ndindex(x.shape))`",
        ),
        ("exp(x)", "`x` is an input; an element of it is `x[...]`", None),
        (
            "sum(k for k in x)",
            "a `for` runs over positions, not over the tensor `x`",
            "write `range(x.shape[0])`, and read `x[k]`",
        ),
        (
            "len(x)",
            "`x` is an input; an element of it is `x[...]`",
            "write `x.ndim`, or `x.shape[0]`",
        ),
        (
            "sum(a for (a, b), c in (((1, 2), 3),))",
            "a tuple inside a tuple is not taken apart here",
            "give it a name, and take its entries with `name[0]`, `name[1]`",
        ),
        (
            "sum(a for a, *b in ((1, 2), (3, 4)))",
            "the rest of a tuple is not taken apart with `*` here",
            "give the whole a name, and take the rest with `name[1:]`",
        ),
    ],
)
def test_what_python_has_and_the_language_says_otherwise(
    value: str, message: str, suggestion: str | None
) -> None:
    (found,) = findings(
        f"compute: out[i] = {value}\n" if ":" not in value else f"compute: |\n  out[i] = {value}\n"
    )
    assert (found.message, found.suggestion) == (message, suggestion)


def test_what_a_message_tells_to_write() -> None:
    (found,) = findings("compute: out[i] = sum(x[k] for k in N)\n")
    assert "cannot run over int 4; " in found.message
    assert "; so many steps are `range(...)`" in found.message
    (found,) = findings("compute: out[i] = x[cast(x[i], int64)]\n")
    assert found.code == "out-of-bounds"
    assert "; limit what is read with `clip`, or read under a condition" in found.message
    text = "compute: |\n  if N > 2:\n      def f(v): return v\n  out[i] = x[i]\n"
    (found,) = findings(text)
    assert found.suggestion == "write one `def`, whose value is `a if c else b`"


def test_a_negative_index_of_a_tensor() -> None:
    (found,) = findings("compute: out[i] = x[-1] + x[i]\n")
    assert found.code == "out-of-bounds"
    assert "tensors are indexed from 0: write `4 - 1`" in found.message


def test_a_def_has_no_defaults_and_no_branches() -> None:
    (found,) = findings("compute: |\n  def f(v, k=2): return v * k\n  out[i] = f(x[i])\n")
    assert (found.message, found.place.column) == ("a parameter of a `def` has no default", 14)
    (found,) = findings(
        "compute: |\n  def f(v):\n      if v > 0:\n          return v\n      return -v\n  out[i] = f(x[i])\n"
    )
    assert found.suggestion == "write `return a if c else b`"


def test_a_position_of_loops_that_depend_on_each_other() -> None:
    (found,) = findings("compute: out[i] = cast(argmax(x[k] for j in range(N) for k in range(j)), x.dtype)\n")
    assert found.message.split(" (for")[0] == (
        "argmax has no position where the ends of a loop depend on another; run over all steps, with a condition"
    )
