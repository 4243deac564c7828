"""Models from ONNX's text."""

from __future__ import annotations

from typing import Any

from onnx import numpy_helper, parser


def model(text: str, *initializers: Any) -> Any:
    """A model from ONNX's text, with arrays as initializers."""
    made = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}')
    for name, array in initializers:
        made.graph.initializer.append(numpy_helper.from_array(array, name))
    return made
