"""Programs of declared ops as models of ONNX.

    frontend.export(module, "model.onnx", params=params)

model.py        export: a program as a model; files.py: checked, and written whole or not at all
graph.py        expressions as nodes, branches as graphs; loops.py: functions that call themselves as loops
registry.py     which ops are written in ONNX's own operators, and how: writers/, one file a family
own.py          all others: nodes of the domain of the project that declares the op
nodes.py        nodes, held against the schemas of their operators; sizes.py: of open dims; values.py: types
"""

from .model import OPSET, export

__all__ = ["OPSET", "export"]
