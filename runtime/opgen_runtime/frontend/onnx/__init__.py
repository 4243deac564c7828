"""ONNX models as programs of declared ops (optional extra `onnx`).

    from opgen_runtime.frontend import onnx as frontend

    frontend.run("model.onnx", [image])                  outputs, in the graph's order
    call = frontend.prepare("model.onnx")                a callable; compiles once for each signature of its inputs
    module, params = frontend.load("model.onnx")         the program itself, weights apart
    frontend.export(module, "other.onnx", params)        a program as a model

`Backend` is an `onnx.backend.base.Backend`, for ONNX's own test machinery.

decode.py graph.py signature.py         reading a model
check.py node_rules.py call_graph.py    the rules that a model keeps before it is converted; schemas.py: those of onnx
limits.py errors.py                     what it may ask for; the one place that names the node of an error
rules.py mappings/        how operators are mapped, as data where it is renaming
functions.py              bodies of operators that are functions of others
state.py  evaluate.py     what a conversion knows of values
convert.py                a graph as an expression, for inputs of known types
program.py                a model that is called: specialised at call time, and kept
specialised.py            converted and compiled for the types of a call; direct.py: as one run on its inputs
declared_nodes.py         nodes of the domains of projects, which are calls of declared ops
exporter/                 programs as models
source.py  model_cache.py  what is found again in the cache of programs

Each name is imported with its first use: what is found in the cache runs without the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.lazy_imports import import_lazily
from . import installed as installed

__all__ = [
    "Backend",
    "ExportError",
    "Inspection",
    "Limits",
    "ModelError",
    "Unsupported",
    "UnsupportedOperatorError",
    "export",
    "inspect_model",
    "load",
    "prepare",
    "random_inputs",
    "run",
]

if TYPE_CHECKING:
    from .allowed import Limits
    from .api import load
    from .backend import Backend
    from .errors import ExportError, ModelError, Unsupported, UnsupportedOperatorError
    from .exporter import export
    from .inspect import Inspection, inspect_model
    from .program import prepare, run
    from .signature import random_inputs
else:
    _HOMES = {
        "allowed": ("Limits",),
        "api": ("load",),
        "backend": ("Backend",),
        "errors": ("ExportError", "ModelError", "Unsupported", "UnsupportedOperatorError"),
        "exporter": ("export",),
        "inspect": ("Inspection", "inspect_model"),
        "program": ("prepare", "run"),
        "signature": ("random_inputs",),
    }
    __getattr__ = import_lazily(__name__, {name: home for home, names in _HOMES.items() for name in names})
