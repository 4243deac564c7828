"""What the template of an op's ONNX function prints: the declared expression in ONNX's own operators.

Reads are aligned to the indices on the left by Transpose and Unsqueeze, so that ONNX's broadcasting does the rest; a
reduction is over the last axes.  A function has no branches on dtypes or attrs: it is for float operands, and for the
defaults of the attrs that decide which branch is meant, and says so.  What ONNX has no operator for is refused.

onnx_values.py       what expressions stand for
onnx_nodes.py        nodes as text
onnx_reads.py        names, attrs, dims and elements of tensors
onnx_expressions.py  everything else that an expression may be
onnx_function.py     the definitions of an op, one after the other
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opgen_runtime.base.vocabulary import dataclass

from ..model import CheckedOp
from ..project import Project
from .onnx_function import Function
from .onnx_values import Refused

OPSET: Final = 21


@dataclass(frozen=True, slots=True)
class OnnxView:
    """One function as lines of ONNX's text form, or why there is none."""

    name: str
    domain: str
    opset: int
    attrs: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[str, ...]
    only: tuple[str, ...]  # what the function is for, where that is not all
    refused: str | None


def onnx_view(project: Project, op: CheckedOp) -> Mapping[str, object]:
    """What the file of `op` prints."""
    domain = project.namespace or project.package
    try:
        made = Function(op)
        made.write()
    except Refused as reason:
        return {"function": OnnxView(op.name, domain, OPSET, (), (), (), (), (), str(reason))}
    inputs = tuple(each.name for each in op.inputs)
    outputs = tuple(each.name for each in op.outputs)
    view = OnnxView(
        op.name,
        domain,
        OPSET,
        tuple(made.attrs.values()),
        inputs,
        outputs,
        tuple(made.nodes),
        tuple(made.only),
        None,
    )
    return {"function": view}
