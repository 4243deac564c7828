"""What is computed in blocked layouts reads blocks by their axes, wherever in the expression it is read."""

from __future__ import annotations

import pytest

from opgen_runtime import ops
from opgen_runtime.compute.te import to_text
from opgen_runtime.declaration import call_tensors
from opgen_runtime.ir import Call, var
from opgen_runtime.operator.registry import Op

TEXTS = {
    "a reduction": (
        ops.global_max_pool2d(var("x", shape=(1, 4, 3, 3, 8)), layout="NCHW8c"),
        "max(data[n, c, r0, r1, c8] for r0 in range(3) for r1 in range(3))",
    ),
    "a reduction inside": (
        ops.global_avg_pool2d(var("x", shape=(1, 4, 3, 3, 8)), layout="NCHW8c"),
        "sum(data[n, c, r0, r1, c8] for r0 in range(3) for r1 in range(3)) / 9.0",
    ),
    "blocks of blocks": (
        ops.global_avg_pool2d(var("x", shape=(1, 2, 3, 3, 4, 2)), layout="NCHW4c2c"),
        "sum(data[n, c, r0, r1, c4, c2] for r0 in range(3) for r1 in range(3)) / 9.0",
    ),
    "weights beside": (
        ops.conv2d(
            var("x", shape=(1, 1, 3, 3, 8)),
            var("w", shape=(2, 1, 1, 1, 8, 8)),
            data_layout="NCHW8c",
            kernel_layout="OIHW8i8o",
        ),
        "sum((data[n, c_1 // 8, h + r, w + s, c_1 % 8] if (0 <= h + r) & (h + r < 3) & ((0 <= w + s) & (w + s < 3)) "
        "else 0.0) * weight[c, c_1 // 8, r, s, c_1 % 8, c8] "
        "for c_1 in range(8) for r in range(1) for s in range(1))",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_blocks_are_read_by_their_axes(name: str) -> None:
    call, expected = TEXTS[name]
    assert isinstance(call, Call)
    assert isinstance(call.op, Op)
    made = call_tensors(call.op, call.attrs, [arg.checked_type for arg in call.args])
    assert to_text(made.outputs).splitlines()[-1].partition(" = ")[2] == expected
