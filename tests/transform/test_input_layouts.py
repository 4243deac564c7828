"""Inputs in other layouts than the program states: moved where they come in, and no further than needed."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.errors import OpgenError, PassError
from opgen_runtime.transform import ConvertLayout, with_input_layouts

X, W = rt.var("x", shape=(1, 4, 6, 6)), rt.var("w", shape=(8, 4, 3, 3))
NETWORK = rt.Function((X, W), ops.relu(ops.conv2d(X, W, channels=8, kernel_size=(3, 3))))


def arrays() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    return draw.standard_normal((1, 4, 6, 6)).astype("float32"), draw.standard_normal((8, 4, 3, 3)).astype(
        "float32"
    )


def test_whole() -> None:
    found = with_input_layouts(rt.IRModule.from_expr(NETWORK), {"x": "NHWC"})["main"]
    assert str(found) == (
        "fn (%x: Tensor[(1, 6, 6, 4), float32], %w: Tensor[(8, 4, 3, 3), float32]) {\n"
        '  %0 = layout_transform(%x, src_layout="NHWC", dst_layout="NCHW");\n'
        "  %1 = conv2d(%0, %w, channels=8, kernel_size=[3, 3]);\n"
        "  relu(%1)\n}"
    )


def test_what_lies_as_it_is_stated_stays() -> None:
    module = rt.IRModule.from_expr(NETWORK)
    assert with_input_layouts(module, {"x": "NCHW", "w": "OIHW"}) is module


@pytest.mark.parametrize("level", [0, 2, 3])
def test_builds(level: int) -> None:
    x, w = arrays()
    wanted = rt.build(NETWORK, {"w": w}, opt_level=level).run([x])
    for layout, array in (
        ("NHWC", x.transpose(0, 2, 3, 1)),
        ("NCHW2c", x.reshape(1, 2, 2, 6, 6).transpose(0, 1, 3, 4, 2)),
    ):
        built = rt.build(NETWORK, {"w": w}, opt_level=level, layout={"x": layout})
        assert built.takes[0].shape == array.shape
        np.testing.assert_allclose(built.run([array]), wanted, rtol=1e-5, atol=1e-5)


def test_shapes_are_those_of_what_is_given() -> None:
    x, w = rt.var("x"), rt.var("w")
    network = rt.Function((x, w), ops.conv2d(x, w, channels=8, kernel_size=(3, 3)))
    built = rt.build(network, shape={"x": (1, 6, 6, 4)}, dtype="float32", layout={"x": "NHWC"})
    assert [slot.shape for slot in built.takes] == [(1, 6, 6, 4), (8, 4, 3, 3)]


def test_an_op_in_that_layout_reads_it_where_it_lies() -> None:
    laid = with_input_layouts(rt.IRModule.from_expr(NETWORK), {"x": "NHWC", "w": "HWIO"})
    converted = ConvertLayout(layouts={"conv2d": "NHWC"})(laid)
    with rt.PassContext(opt_level=3):
        simple = rt.Sequential([rt.transform.SimplifyExpr(), rt.transform.CanonicalizeOps()])(converted)
    assert str(simple).count("layout_transform") == 1  # of the result


@pytest.mark.parametrize(
    ("layout", "kind", "message"),
    [
        ({"y": "NHWC"}, PassError, r"layout: main has no input 'y' \(it has x, w\)"),
        ({"x": "NHW"}, PassError, "layout of input 'x' is 'NHW', which does not have the axes of NCHW"),
        ({"x": "N?"}, PassError, r"layout of input 'x': layout 'N\?': expected an axis letter"),
    ],
)
def test_what_cannot_be(layout: dict[str, str], kind: type[OpgenError], message: str) -> None:
    with pytest.raises(kind, match=message):
        rt.build(NETWORK, layout=layout)


def test_axes_that_no_op_or_that_two_ops_name() -> None:
    plain = rt.Function((X,), ops.exp(X))
    with pytest.raises(PassError, match="read input 'x' do not state one layout: none says its layout"):
        rt.build(plain, layout={"x": "NHWC"})
    one = ops.max_pool2d(X, pool_size=(2, 2))
    other = ops.max_pool2d(X, pool_size=(2, 2), layout="NHWC")
    with pytest.raises(PassError, match="they are NCHW and NHWC"):
        rt.build(rt.Function((X,), rt.Tuple((one, other))), layout={"x": "NHWC"})
