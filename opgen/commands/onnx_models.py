"""What `opgen run` and `opgen inspect` share: the front end, where onnx is installed, and arrays in files."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .failure import Failure


def frontend() -> Any:
    """The ONNX front end. Raises Failure where the extra is not installed."""
    if find_spec("onnx") is None:
        raise Failure("ONNX models need the package onnx; install it with: pip install 'opgen[onnx]'")
    return import_module("opgen_runtime.frontend.onnx")


def given_arrays(written: Sequence[str]) -> dict[str, np.ndarray]:
    """Arrays by input name from texts like `name=file.npy`. Raises Failure."""
    found: dict[str, np.ndarray] = {}
    for text in written:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise Failure(f"--input {text!r} must be NAME=FILE.npy")
        if name in found:
            raise Failure(f"--input {name!r} is given twice")
        try:
            array = np.load(path, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise Failure(f"--input {name}: {path}: {error}") from None
        if not isinstance(array, np.ndarray):
            raise Failure(f"--input {name}: {path} holds several arrays; one .npy file an input")
        found[name] = array
    return found


def existing(path: str) -> Path:
    """The path of a model. Raises Failure where there is no such file."""
    found = Path(path)
    try:
        known = found.is_file()
    except OSError as error:
        raise Failure(f"{path!r}: {error.strerror}") from None
    if not known:
        raise Failure(f"no file {path!r}")
    return found


def printable(name: str) -> str:
    """A name of a model, which may hold anything, without control characters."""
    return name if name.isprintable() else repr(name)[1:-1]
