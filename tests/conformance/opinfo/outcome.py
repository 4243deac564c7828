"""One sample of an operator: what PyTorch gives, what this project gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import torch

import opgen_runtime as rt
from opgen_runtime.base.errors import OpgenError

from .adapter import ADAPTERS, UNTRACED

PASSED, REFUSED, WRONG, FOREIGN = "passed", "refused", "wrong", "foreign"
_IGNORED = {"device", "layout", "memory_format", "non_blocking", "copy", "requires_grad", "pin_memory"}
_TOLERANCES = {
    "float64": (1e-7, 1e-7),
    "float32": (1e-5, 1e-5),
    "float16": (2e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
}
"""Relative and absolute: PyTorch's own, but for float32 (1.3e-6 there), whose sums are in another order here."""


@dataclass(frozen=True)
class Outcome:
    """`status`: one of the four above; `reason`: why it did not pass."""

    status: str
    reason: str = ""


@dataclass(frozen=True)
class _Place:
    """Where an array stands among the arguments."""

    position: int


def to_numpy(t: torch.Tensor) -> np.ndarray:
    """The elements, as numpy has them, in an array that owns them."""
    t = t.detach().resolve_conj().resolve_neg()
    if t.dtype is torch.bfloat16:
        return t.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16).copy()
    return np.array(t.numpy(), order="K")


def tried(name: str, sample: Any, theirs: Callable[[], Any]) -> Outcome | None:
    """How a sample of the operator turns out; None where PyTorch itself raises.

    Refused is what raises an error of this project, or numpy's own, or has no adapter; any other exception is foreign.
    """
    try:
        expected = list(_leaves(theirs()))
    except Exception:
        return None
    adapter = ADAPTERS.get(name)
    if adapter is None:
        return Outcome(REFUSED, "no op")
    arrays: list[np.ndarray] = []
    args = _lifted((sample.input, *sample.args), arrays)
    kwargs = {key: _lifted(value, arrays) for key, value in sample.kwargs.items() if key not in _IGNORED}

    def ours(*values: Any) -> Any:
        found = adapter(
            *_lowered(args, values), **{key: _lowered(value, values) for key, value in kwargs.items()}
        )
        return tuple(found) if isinstance(found, list) else found

    try:
        found = list(_leaves(ours(*arrays) if name in UNTRACED else rt.jit(ours)(*arrays)))
    except (OpgenError, NotImplementedError) as error:
        return Outcome(REFUSED, _text(error))
    except Exception as error:
        return Outcome(REFUSED if _raises(ours, arrays, type(error)) else FOREIGN, _text(error))
    return _compared(found, expected)


def _raises(function: Callable[..., Any], arrays: list[np.ndarray], kind: type[Exception]) -> bool:
    """Whether numpy itself raises such an error: it is numpy's refusal, then, that a traced function repeats."""
    try:
        function(*arrays)
    except kind:
        return True
    except Exception:
        return False
    return False


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:160]


def _compared(found: list[Any], expected: list[Any]) -> Outcome:
    if len(found) != len(expected):
        return Outcome(WRONG, f"{len(found)} results, expected {len(expected)}")
    for mine, theirs in zip(found, expected, strict=True):
        ours = np.asarray(mine)
        wanted = to_numpy(theirs) if isinstance(theirs, torch.Tensor) else np.asarray(theirs)
        if ours.shape != wanted.shape:
            return Outcome(WRONG, f"shape {ours.shape}, expected {wanted.shape}")
        wide = np.complex128 if "c" in (ours.dtype.kind, wanted.dtype.kind) else np.float64
        if ours.dtype.kind in "iub" and wanted.dtype.kind in "iub":
            same = np.array_equal(ours.astype(wanted.dtype), wanted)
        else:
            relative, absolute = _TOLERANCES.get(wanted.dtype.name, _TOLERANCES["float32"])
            mine_, wanted_ = ours.astype(wanted.dtype).astype(wide), wanted.astype(wide)
            finite = np.abs(wanted_[np.isfinite(wanted_)])
            largest = finite.max(
                initial=1.0
            )  # sums cancel: what is small beside the others is as exact as they are
            same = np.allclose(mine_, wanted_, relative, absolute * largest, equal_nan=True)
        if not same:
            return Outcome(
                WRONG, f"{ours.dtype} {ours.ravel()[:4]}, expected {wanted.dtype} {wanted.ravel()[:4]}"
            )
    return Outcome(PASSED)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


def _lifted(value: Any, arrays: list[np.ndarray]) -> Any:
    """The arguments with places for arrays, which are collected, and numpy's dtypes."""
    if isinstance(value, torch.Tensor):
        arrays.append(to_numpy(value))
        return _Place(len(arrays) - 1)
    if isinstance(value, torch.dtype):
        return np.dtype(ml_dtypes.bfloat16 if value is torch.bfloat16 else str(value).removeprefix("torch."))
    if type(value) in (list, tuple):
        return type(value)([_lifted(each, arrays) for each in value])
    return value


def _lowered(value: Any, arrays: tuple[Any, ...]) -> Any:
    if isinstance(value, _Place):
        return arrays[value.position]
    if type(value) in (list, tuple):
        return type(value)([_lowered(each, arrays) for each in value])
    return value
