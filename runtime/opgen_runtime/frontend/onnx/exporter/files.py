"""Models in files: checked, and written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import onnx
from onnx import ModelProto

from ..errors import ExportError

MOST: Final = (1 << 31) - 1
"""Bytes of a message of protobuf."""


def write_model(model: ModelProto, path: str | None) -> None:
    """Holds a model against ONNX's rules, and writes it.

    Raises ExportError for one that breaks them, one of more than 2 GiB, and for a file that cannot be written.
    """
    size = sum([len(tensor.raw_data) for tensor in model.graph.initializer])
    if size > MOST:
        raise ExportError(f"the weights have {size:,} bytes, where a file of ONNX holds {MOST:,}")
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise ExportError(f"onnx.checker refuses the model: {error}") from error
    if path is None:
        return
    target = Path(path)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        unfinished.write_bytes(model.SerializeToString())
        os.replace(unfinished, target)
    except OSError as error:
        raise ExportError(f"{path}: {error.strerror}") from None
    finally:
        if unfinished.is_file():
            unfinished.unlink()
