"""What other libraries call an op: derived of the front ends' tables, and the table `names.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

import opgen_runtime.frontend.onnx.mappings  # noqa: F401  # which registers them
from opgen_runtime.frontend.onnx.rules import find, mapped_operators
from opgen_runtime.run.calls.tracing.ufuncs import UFUNCS

_LATEST = 1000  # an opset behind all
_PREFIXES = {"torch": "torch.", "numpy": "np.", "onnx": "ONNX ", "tvm": "TVM "}


def other_names() -> Mapping[str, list[str]]:
    """The names of each op elsewhere, with their libraries: `np.remainder`, `torch.clamp`."""
    table: dict[str, dict[str, list[str]]] = yaml.safe_load(
        Path(__file__).with_suffix(".yaml").read_text("utf-8")
    )
    found: dict[str, dict[str, None]] = {}
    for ufunc, loops in UFUNCS.items():
        computed = loops.get("f", loops.get("iuf")) if isinstance(loops, Mapping) else loops
        if isinstance(computed, str):
            found.setdefault(computed, {})[f"np.{ufunc.__name__}"] = None
    for operator in mapped_operators():
        rule = find("", operator, _LATEST)
        for name in rule.ops if rule is not None else ():
            found.setdefault(name, {})[f"ONNX {operator}"] = None
    for op, libraries in table.items():
        for library, names in libraries.items():
            found.setdefault(op, {}).update({_PREFIXES[library] + name: None for name in names})
    return {op: list(names) for op, names in found.items()}


def bare(name: str) -> str:
    """What one types to find it: `clamp`."""
    return name.removeprefix("ONNX ").removeprefix("TVM ").removeprefix("torch.").removeprefix("np.")
