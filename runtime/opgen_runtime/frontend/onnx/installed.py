"""Imported first: says what to install where onnx is not there."""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("onnx") is None:
    raise ImportError(
        "ONNX models need the package onnx; install it with: pip install 'opgen[onnx]'", name="onnx"
    )
