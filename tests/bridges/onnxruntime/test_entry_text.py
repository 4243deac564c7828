"""What a program asks of the shapes of operands, as text."""

from __future__ import annotations

from opgen_runtime.base import Target
from opgen_runtime.base.arith import dim
from opgen_runtime.bridges.onnxruntime.entry_text import sizes_of
from opgen_runtime.bridges.onnxruntime.requests import request
from opgen_runtime.operator import TensorType
from opgen_runtime.run.executor import build_program

PRODUCT = """\
define i64 @product(ptr %extents, ptr %results, ptr %dims) nounwind {
  br label %start
start:
  %v0 = getelementptr i64, ptr %extents, i64 0
  %v1 = load i64, ptr %v0, align 8
  %v2 = getelementptr i64, ptr %extents, i64 1
  %v3 = load i64, ptr %v2, align 8
  %v4 = icmp eq i64 %v3, 3
  br i1 %v4, label %through1, label %broken1
through1:
  %v5 = getelementptr i64, ptr %extents, i64 2
  %v6 = load i64, ptr %v5, align 8
  %v7 = icmp eq i64 %v6, 3
  br i1 %v7, label %through2, label %broken2
through2:
  %v8 = getelementptr i64, ptr %extents, i64 3
  %v9 = load i64, ptr %v8, align 8
  %v10 = icmp eq i64 %v9, %v1
  br i1 %v10, label %through3, label %broken3
through3:
  %v11 = getelementptr i64, ptr %results, i64 0
  store i64 %v1, ptr %v11, align 8
  %v12 = getelementptr i64, ptr %results, i64 1
  store i64 %v1, ptr %v12, align 8
  %v13 = getelementptr i64, ptr %dims, i64 0
  store i64 %v1, ptr %v13, align 8
  ret i64 0
broken1:
  ret i64 1
broken2:
  ret i64 2
broken3:
  ret i64 3
}
"""


def test_sizes_of_a_product() -> None:
    n = dim("n")
    asked = request("matmul", [TensorType((n, 3), "float32"), TensorType((3, n), "float32")], {})
    whole = build_program(asked.program.function(asked.types, asked.values)).whole
    assert whole is not None
    target = Target.host()
    made = sizes_of("product", whole, [n], target)
    assert made.text == f'target triple = "{target.triple}"\n{PRODUCT}'
    assert made.rules == ("axis 1 of a must be 3", "axis 0 of b must be 3", "axis 1 of b must be n")
