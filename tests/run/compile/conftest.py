"""A private object cache, and small functions of declared ops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from opgen_runtime import ir, ops
from opgen_runtime.operator.types import TensorType
from opgen_runtime.run.compile import pipeline


@pytest.fixture(autouse=True)
def cache_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Every test has its own cache on disk and no kernels in memory."""
    directory = tmp_path / "kernels"
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(directory))
    pipeline.forget_kernels()
    yield directory
    pipeline.forget_kernels()


def variable(name: str, shape: tuple[int, ...], dtype: str = "float32") -> ir.Var:
    return ir.var(name, TensorType(shape, dtype))


def chain(shape: tuple[int, ...] = (37, 5)) -> ir.Function:
    """tanh(a * b + c) * sigmoid(a)"""
    a, b, c = (variable(name, shape) for name in "abc")
    body = ops.multiply(ops.tanh(ops.add(ops.multiply(a, b), c)), ops.sigmoid(a))
    return ir.Function((a, b, c), body)


def chain_reference(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    result: np.ndarray = np.tanh(a * b + c) / (1 + np.exp(-a))
    return result


def arrays(function: ir.Function, seed: int = 0) -> list[np.ndarray]:
    """Random operands for the parameters of a function."""
    random = np.random.default_rng(seed)
    made = []
    for param in function.params:
        assert isinstance(param.checked_type, TensorType)
        shape = [int(dim) for dim in param.checked_type.shape if isinstance(dim, int)]
        made.append(np.asarray(random.random(shape) * 8 - 4, param.checked_type.dtype.numpy))
    return made


@pytest.fixture
def make() -> SimpleNamespace:
    """variable, chain, chain_reference, arrays."""
    return SimpleNamespace(variable=variable, chain=chain, chain_reference=chain_reference, arrays=arrays)
