"""PruneFilterTaps: which taps read padding alone, that they go with it, and that values agree."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.errors import PassError
from opgen_runtime.ir import declared
from opgen_runtime.operator import Op
from opgen_runtime.operator.types import TensorType
from opgen_runtime.transform import PassContext, PruneFilterTaps, prune_filter_taps
from tests.transform.whole import gives

RANDOM = np.random.default_rng(5)


def weights(*shape: int) -> np.ndarray:
    return RANDOM.integers(-4, 5, shape).astype("float32")


def conv(x: ir.Expr, weight: np.ndarray, **attrs: Any) -> ir.Expr:
    op = {3: ops.conv1d, 4: ops.conv2d, 5: ops.conv3d}[weight.ndim]
    return op(x, ir.Constant(weight), **attrs)


X, LINE, BLOCK = (
    ir.var("x", TensorType(shape, "float32")) for shape in ((1, 2, 4, 6), (1, 2, 5), (1, 2, 3, 4, 5))
)
W, OF_LINE, OF_BLOCK = weights(3, 2, 3, 3), weights(3, 2, 3), weights(3, 2, 3, 3, 3)
CASES = {
    "only the middle": (
        X, W, {"padding": (6, 6), "dilation": (6, 6)}, W[:, :, 1:2, 1:2], {"padding": (0, 0, 0, 0), "dilation": (6, 6)},
    ),
    "one axis": (
        X, W, {"padding": (4, 2), "dilation": (4, 2)}, W[:, :, 1:2], {"padding": (0, 2, 0, 2), "dilation": (4, 2)},
    ),
    "one side": (
        X, W, {"padding": (8, 0, 0, 1)}, None, None,
    ),
    "of steps": (
        X, W, {"padding": (5,), "dilation": (5,), "strides": (2,)},
        W[:, :, 1:2, 1:], {"padding": (0, 0, 0, 5), "dilation": (5,), "strides": (2,)},
    ),
    "a stated size": (
        X, W, {"padding": (4, 0), "dilation": (4, 1), "kernel_size": (3, 3)},
        W[:, :, 1:2], {"padding": (0, 0, 0, 0), "dilation": (4, 1), "kernel_size": (1, 3)},
    ),
    "last in the layout": (
        ir.var("x", TensorType((1, 4, 6, 2), "float32")), np.ascontiguousarray(W.transpose(2, 3, 1, 0)),
        {"padding": (4, 0), "dilation": (4, 1), "data_layout": "NHWC", "kernel_layout": "HWIO"},
        np.ascontiguousarray(W.transpose(2, 3, 1, 0))[1:2],
        {"padding": (0, 0, 0, 0), "dilation": (4, 1), "data_layout": "NHWC", "kernel_layout": "HWIO"},
    ),
    "a line": (
        LINE, OF_LINE, {"padding": (5, 5), "dilation": (5,)}, OF_LINE[:, :, 1:2], {"padding": (0, 0), "dilation": (5,)},
    ),
    "three axes": (
        BLOCK, OF_BLOCK, {"padding": (3, 0, 1), "dilation": (3, 1, 1)},
        OF_BLOCK[:, :, 1:2], {"padding": (0, 0, 1, 0, 0, 1), "dilation": (3, 1, 1)},
    ),
    "the edges read the image": (X, W, {"padding": (3, 5), "dilation": (3, 5)}, None, None),
    "padding would be negative": (X, W, {"padding": (4, 4), "dilation": (5, 5)}, None, None),
    "no padding": (X, W, {}, None, None),
    "infinite": (X, W + np.float32("inf"), {"padding": (6, 6), "dilation": (6, 6)}, None, None),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_whole(
    case: tuple[ir.Var, np.ndarray, dict[str, Any], np.ndarray | None, dict[str, Any] | None],
) -> None:
    x, weight, attrs, smaller, become = case
    before = ir.Function((x,), conv(x, weight, **attrs))
    if smaller is None or become is None:
        gives(PruneFilterTaps(), before)
        return
    after = ir.Function((x,), conv(x, smaller, **become))
    gives(PruneFilterTaps(), before, after)
    given = RANDOM.integers(-9, 10, x.checked_type.concrete_shape).astype("float32")
    kept = rt.build(before, context=PassContext(disabled=["PruneFilterTaps"])).run([given])
    np.testing.assert_array_equal(rt.build(before).run([given]), kept)


def test_filters_that_are_given_stay() -> None:
    w = ir.var("w", TensorType(W.shape, "float32"))
    gives(PruneFilterTaps(), ir.Function((X, w), ops.conv2d(X, w, padding=(6, 6), dilation=(6, 6))))


def test_a_declaration_of_no_two_layouts() -> None:
    dense = declared(Op.get("dense"))
    assert dense is not None
    op = SimpleNamespace(
        name="sharpen",
        get_attr=lambda name: SimpleNamespace(traits={"taps": True}, signature=dense.signature),
    )
    with pytest.raises(
        PassError, match="op sharpen declares taps: expected two operands with a layout, found 0"
    ):
        prune_filter_taps._layouts(op, {})  # type: ignore[arg-type]
