"""Libraries that several tests run, each written once."""

from __future__ import annotations

from pathlib import Path

import pytest

from opgen_runtime.bridges.onnxruntime import export, open_type, request


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of softmax over axis 1 of float32 matrices, and matmul and add of them."""
    path = tmp_path_factory.mktemp("library") / "ops.so"
    matrices = [open_type(name, 2, "float32") for name in "ab"]
    export(
        path,
        [
            request("softmax", [open_type("data", 2, "float32")], {"axis": 1}),
            request("matmul", matrices, {}),
            request("add", matrices, {}),
        ],
    )
    return path
