"""ONNX models as programs of declared ops (optional extra `onnx`).

    from opgen_runtime.frontend import onnx as frontend

    frontend.run("model.onnx", [image])                  outputs, in the graph's order
    call = frontend.prepare("model.onnx")                a callable; compiles once for each signature of its inputs
    module, params = frontend.load("model.onnx")         the program itself, weights apart

`Backend` is an `onnx.backend.base.Backend`, for ONNX's own test machinery.

decode.py graph.py signature.py         reading a model
check.py node_rules.py call_graph.py    the rules that a model keeps before it is converted; schemas.py: those of onnx
limits.py errors.py                     what it may ask for; the one place that names the node of an error
rules.py mappings/        how operators are mapped, as data where it is renaming
functions.py              bodies of operators that are functions of others
state.py  evaluate.py     what a conversion knows of values
convert.py                a graph as an expression, for inputs of known types
program.py                specialised at call time, and kept
"""

from __future__ import annotations

from . import installed as installed
from . import mappings as mappings
from .api import load, prepare, run
from .backend import Backend
from .errors import ModelError, Unsupported, UnsupportedOperatorError
from .inspect import Inspection, inspect_model
from .limits import Limits
from .signature import random_inputs

__all__ = [
    "Backend",
    "Inspection",
    "Limits",
    "ModelError",
    "Unsupported",
    "UnsupportedOperatorError",
    "inspect_model",
    "load",
    "prepare",
    "random_inputs",
    "run",
]
