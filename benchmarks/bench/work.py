"""Operations and bytes of every workload of `workloads.py`, as JSON: run by the interpreter that has onnx.

An addition and a multiplication for each step of a contraction; of any other operator, moves included, one for each
element of its largest operand or of its result.  Bytes: every operand read once, the result written once; of a gathered
table, the rows that are read.
"""

from __future__ import annotations

import json
import math
import runpy
import sys
from collections.abc import Mapping, Sequence
from typing import Any

Shapes = Mapping[str, Sequence[int]]
_FREE = ("Reshape", "Constant")


def operations(node: Any, shapes: Shapes) -> int:
    """Of one ONNX node."""
    result = math.prod(shapes[node.output[0]])
    operands = [shapes[name] for name in node.input if name in shapes]
    if node.op_type == "MatMul":
        return 2 * result * operands[0][-1]
    if node.op_type == "Conv":
        return 2 * result * math.prod(operands[1][1:])
    if node.op_type in _FREE:
        return 0
    return result if node.op_type == "Gather" else max(result, *map(math.prod, operands))


def work(workload: Any, model: Any) -> tuple[int, int]:
    """Operations and bytes of a workload."""
    import onnx

    model.graph.output[0].type.tensor_type.ClearField("shape")  # it says a scalar
    graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph  # shapes that constants say, too
    shapes = {each.name: tuple(each.dims) for each in graph.initializer}
    for value in (*graph.input, *graph.output, *graph.value_info):
        shapes[value.name] = tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
    operands = workload.inputs | workload.weights
    sizes = {name: array.nbytes for name, array in operands.items()}
    (result,) = graph.output
    written = math.prod(shapes[result.name]) * (8 if result.type.tensor_type.elem_type == 7 else 4)
    for node in graph.node:
        if node.op_type == "Gather" and node.input[0] in sizes:
            sizes[node.input[0]] = written
    return sum(operations(node, shapes) for node in graph.node), sum(sizes.values()) + written


def main(script: str) -> None:
    given = runpy.run_path(script)
    found = {}
    for each in given["workloads"]():
        found[each.name] = work(each, each.model())
        each.drop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv.pop(1))
