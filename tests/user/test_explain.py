"""`opgen explain` as its user sees it: every stage of a call, what changes nothing only named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opgen.commands import main

EXTERN = """\
op: doubled
doc: Twice each element.
inputs: {x: {shape: N, dtype: float32}}
outputs: {out: {shape: N, dtype: float32}}
compute: {python: "shown.functions:doubled"}
reference: out = x * 2
tests:
  - {x: "float32[3]"}
"""
FUNCTION = """\
import numpy as np


def doubled(x: np.ndarray) -> np.ndarray:
    return x * 2
"""

TYPED = """\
── call ────────────────────────────────────────────────────────────────────────────────────────────
def @main(%data: Tensor[(4, 20), float32]) {
  shown.axis_abs(%data)
}
"""

STAGES = """\
── FuseOps ─────────────────────────────────────────────────────────────────────────────────────────
def @main(%data: Tensor[(4, 20), float32]) {
  %0 = fn (%data_1: Tensor[(4, 20), float32], Primitive=1) {
    shown.axis_abs(%data_1)
  };
  %0(%data)
}

── tensor expressions ──────────────────────────────────────────────────────────────────────────────
data: float32[4, 20]
out[i0, i1]: float32[4, 20] = abs(data[i0, i1]) if i0 == 0 else data[i0, i1]

── strategy ────────────────────────────────────────────────────────────────────────────────────────
shown.axis_abs: generic.elemwise, plevel 0: the only one that applies

── pattern ─────────────────────────────────────────────────────────────────────────────────────────
elemwise: every read is at exactly the output's indices; follows shown.axis_abs

── rules ───────────────────────────────────────────────────────────────────────────────────────────
GEMM and col2im        out: has no reduce axes of its own
residues               out: has no reduce axes of its own
scan                   out: is no scan
tiled                  out: does not choose among alternatives that read a tile
gather                 out: is no reduction
depthwise              out: is no sum of products
weight gradient        out: is no sum of products
dot products of a row  out: is no sum of products in int32
contraction            out: is no sum of products
direct convolution     out: is no reduction with three data axes or more
pool                   out: has fewer than two reduce axes and two data axes
rows                   out: reads nothing that is stored for it
reduction              out: has no reduce axes
elementwise            out: matches

── schedule ────────────────────────────────────────────────────────────────────────────────────────
data: float32[4, 20], input
out: float32[4, 20], output
    i0      4
    i1_o_o  2              i1 // 8 // 2
    i1_o_i  2  unrolled    i1 // 8 % 2
    i1_i    8  vectorized  i1 % 8
    out[i0, i1] = abs(data[i0, i1]) if i0 == 0 else data[i0, i1]
    guarded: i1 < 20, i1_o < 3

── trace ───────────────────────────────────────────────────────────────────────────────────────────
schedule.normalize()
i0 = out.fuse(i0)
i1 = out.fuse(i1)
i1_o, i1_i = out.split(i1, 8)
out.vectorize(i1_i)
i1_o_o, i1_o_i = out.split(i1_o, 2)
out.unroll(i1_o_i)

── lower ───────────────────────────────────────────────────────────────────────────────────────────
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def done(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project with axis_abs and a hand-written function; the current folder."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("explain")
        patch.chdir(folder)
        done("init", "shown")
        patch.chdir(folder / "shown")
        Path("shown/functions.py").write_text(FUNCTION, encoding="utf-8")
        Path("opdefs/doubled.yaml").write_text(EXTERN, encoding="utf-8")
        done("add-op", "axis_abs")
        done("generate")
        yield folder / "shown"


@pytest.fixture
def broken(project: Path) -> Iterator[Path]:
    """A declaration with a mistake beside those that have none."""
    path = project / "opdefs/broken.yaml"
    path.write_text("op: broken\nextends: axis_abs\ninputz: {}\n", encoding="utf-8")
    yield path
    path.unlink()


def explain(*arguments: str) -> str:
    return done(
        "explain",
        "axis_abs",
        "--shape",
        "4,20",
        "--target",
        "llvm -mcpu=x86-64-v3 -num-threads=1",
        *arguments,
    )


def test_stages_of_a_call(project: Path) -> None:
    text = explain()
    start, end = text.index("── FuseOps"), text.index("opgen_shown_axis_abs(")
    assert TYPED in text[:start]
    assert text[start:end] == STAGES


def test_what_changes_nothing_is_only_named(project: Path) -> None:
    names = explain("--stages").splitlines()
    text = explain()
    titles = [line.split(" ")[1] for line in text.splitlines() if line.startswith("── ")]
    unchanged = [
        name
        for line in text.splitlines()
        if line.startswith("unchanged by ")
        for name in line.removeprefix("unchanged by ").split(", ")
    ]
    assert {"inject_prefetch", "inject_double_buffer"} <= set(unchanged)
    assert sorted([*titles, *unchanged]) == sorted(name.split(" ")[0] for name in names)
    one = explain("--stage", "inject_prefetch")
    assert "vectorized for i1_i in range(8):" in one
    assert "unchanged" not in one


def test_a_hand_written_function_ends_the_stages(project: Path) -> None:
    assert done("explain", "doubled", "--shape", "3", "--stage", "hand") == (
        "── hand-written function ".ljust(100, "─")
        + "\nshown.functions:doubled runs in Python, without a kernel\n\n"
    )
    counted = run("explain", "doubled", "--shape", "3", "--counts")
    assert counted.exit_code == 2
    assert (
        counted.stderr
        == "opgen: there are no instructions to count; the last stage is: hand-written function\n"
    )


def test_mistakes_elsewhere_do_not_matter(project: Path, broken: Path) -> None:
    assert "checked op" in explain("--stages")
    failed = run("explain", "broken", "--stages")
    assert failed.exit_code == 1
    assert "opdefs/broken.yaml:3:1: error[unknown-key]: unknown key `inputz`" in failed.stderr
    assert run("explain", "nothing").exit_code != 0


def test_a_refused_call_names_no_place_of_ours(project: Path) -> None:
    result = run("explain", "axis_abs", "--shape", "4,20", "--attr", "axis=9")
    assert result.exit_code == 1
    assert "'axis' is 9, outside its bounds" in result.output
    assert "\n  at " not in result.output
