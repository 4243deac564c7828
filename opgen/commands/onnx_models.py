"""What the commands on ONNX models share: the front end, where onnx is installed, and arrays in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from opgen_runtime.ir import Constant, Function, IRModule, substitute

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


def loaded(path: str, dims: Mapping[str, int]) -> tuple[IRModule, dict[str, np.ndarray]]:
    """A model's module, whose inputs have fixed shapes, and its weights. Raises OpgenError, Failure."""
    onnx = frontend()
    model = str(existing(path))
    arrays = onnx.random_inputs(onnx.prepare(model).signature, 0, dims)
    module, params = onnx.load(model, shapes={name: array.shape for name, array in arrays.items()})
    return module, params


def program_of(path: str, dims: Mapping[str, int]) -> IRModule:
    """A model's program, whose weights are constants. Raises OpgenError, Failure."""
    module, weights = loaded(path, dims)
    main = module["main"]
    known = {param: Constant(weights[param.name_hint]) for param in main.params if param.name_hint in weights}
    rest = tuple([each for each in main.params if each not in known])
    return module.with_functions({"main": Function(rest, substitute(main.body, {**known}))})


def extents(written: Sequence[str]) -> dict[str, int]:
    """Extents of dims from texts like `batch=4`. Raises Failure."""
    found: dict[str, int] = {}
    for text in written:
        name, _, extent = text.partition("=")
        if not name or not extent.isdecimal():
            raise Failure(f"--dim {text!r} must be NAME=N")
        found[name] = int(extent)
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
