"""Programs as DOT and SVG: every call is there once, every kernel is a group, whatever the program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from xml.etree import ElementTree

import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops

X = rt.var("x", rt.TensorType((2, 4), "float32"))
W = rt.var("w", rt.TensorType((3, 4), "float32"))
CLASSIFY = ir.Function((X, W), ops.softmax(ops.relu(ops.dense(X, W)), axis=1))
FUSED = """\
digraph program {
  node [fontname="monospace"];
  edge [fontname="monospace"];
  n0 [label="%x\\nfloat32[2, 4]", shape=ellipse];
  n1 [label="%w\\nfloat32[3, 4]", shape=ellipse];
  n5 [label="output", shape=ellipse, style=bold];
  subgraph cluster_0 {
    label="kernel 0";
    n2 [label="dense", shape=box];
    n3 [label="relu", shape=box];
  }
  subgraph cluster_1 {
    label="kernel 1";
    n4 [label="softmax\\naxis=1", shape=box];
  }
  n0 -> n2 [label="float32[2, 4]"];
  n1 -> n2 [label="float32[3, 4]"];
  n2 -> n3 [label="float32[2, 3]"];
  n3 -> n4 [label="float32[2, 3]"];
  n4 -> n5 [label="float32[2, 3]"];
}
"""


def fused(program: ir.Expr) -> ir.IRModule:
    module: ir.IRModule = rt.transform.FuseOps()(ir.IRModule.from_expr(program))
    return module


def parts(picture: str, kind: str) -> list[ElementTree.Element]:
    """The elements of a class of an SVG text."""
    return [each for each in ElementTree.fromstring(picture).iter() if each.get("class", "").endswith(kind)]


def rectangle(group: ElementTree.Element) -> tuple[float, float, float, float]:
    """Left, top, right and bottom."""
    found = group.find("{*}rect")
    assert found is not None
    x, y, width, height = (float(found.get(name, "")) for name in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def test_a_whole_graph_in_dot() -> None:
    assert fused(CLASSIFY).to_dot() == FUSED
    assert "cluster" not in CLASSIFY.to_dot()


def test_svg_has_a_node_for_each_call_and_a_group_for_each_kernel() -> None:
    picture = fused(CLASSIFY).to_svg()
    calls = ["".join(each.itertext()) for each in parts(picture, "node call")]
    assert calls == ["dense", "relu", "softmaxaxis=1"]
    first, second = [rectangle(each) for each in parts(picture, "group")]
    assert first[3] < second[1]  # what is read stands above
    nodes = [rectangle(each) for each in parts(picture, "node call")]
    for (left, top, right, bottom), group in zip(nodes, (first, first, second), strict=True):
        assert group[0] <= left
        assert group[1] <= top
        assert right <= group[2]
        assert bottom <= group[3]
    assert fused(CLASSIFY).to_svg() == picture
    assert fused(CLASSIFY)._repr_svg_() == picture


def chain(count: int) -> ir.IRModule:
    y: ir.Expr = X
    for k in range(count):
        y = ops.relu(y) if k % 2 else ops.add(y, X)
    return ir.IRModule.from_expr(ir.Function((X,), y))


def wide(count: int) -> ir.IRModule:
    return ir.IRModule.from_expr(ir.Function((X,), ir.Tuple(tuple([ops.exp(X) for _ in range(count)]))))


def calls_of(work: Callable[[], object]) -> int:
    """How many calls of Python functions `work` makes."""
    count = 0

    def counted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("program", [chain, wide])
def test_pictures_are_drawn_in_linear_time(program: Callable[[int], ir.IRModule]) -> None:
    small, large = program(500), program(2000)
    for half, whole in ((small.to_svg, large.to_svg), (small.to_dot, large.to_dot)):
        assert calls_of(whole) <= 4.2 * calls_of(half)
    assert len(parts(large.to_svg(), "node call")) >= 2000
    assert large._repr_svg_() is None  # too large to be looked at unasked


def test_no_nodes_lie_on_each_other() -> None:
    a, b = ops.exp(X), ops.relu(X)
    program = ir.Function(
        (X,), ops.concatenate([a * b, ops.softmax(a, axis=1), ops.sum(b, axis=1, keepdims=True)], 1)
    )
    boxes = [
        rectangle(each)
        for each in parts(fused(program).to_svg(), "")
        if each.get("class", "").startswith("node")
    ]
    for k, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[k + 1 :]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top


PROGRAMS = """
def @step(%x: Tensor[(2,), float32]) -> Tensor[(2,), float32] { exp(%x) }
def @main(%n: Tensor[(), bool], %x: Tensor[(2,), float32]) -> Tensor[(2,), float32] {
  let %f = fn (%y: Tensor[(2,), float32]) { relu(%y) };
  let %a = @step(%x);
  let %b = %a;
  if (%n) { %f(%b) } else { %b }
}
"""


def test_branches_functions_and_lets() -> None:
    text = rt.parse_module(PROGRAMS).to_dot()
    for label in (
        '"@step output"',
        '"@main %x\\nfloat32[2]"',
        '"@step"',
        '"fn"',
        '"if"',
        '"then"',
    ):
        assert label in text, label
    assert text.count('label="@step"') == 1


def test_tuples_of_many_paths_and_names_of_any_text() -> None:
    pair: ir.Expr = ir.Tuple((X, X))
    for _ in range(60):
        pair = ir.Tuple((pair, pair))
    strange = rt.var('<"\\\x00\ud800&>', rt.TensorType((2,), "float32"))
    lone = rt.var("p", pair.checked_type)
    program = ir.Function((X, strange, lone), ir.Tuple((pair, ops.exp(strange), lone)))
    assert len(parts(program.to_svg(), "node call")) == 62
    program.to_svg().encode()
    assert '%<\\"\\\\\\\\x00\\\\ud800&>' in program.to_dot()


def test_a_segment_called_twice_keeps_its_number() -> None:
    p = rt.var("p", rt.TensorType((2, 4), "float32"))
    segment = ir.Function((p,), ops.exp(p)).with_attrs(Primitive=1)
    text = ir.Function((X,), segment(segment(X))).to_dot()
    assert text.count('label="kernel 0"') == text.count("subgraph") == 2
