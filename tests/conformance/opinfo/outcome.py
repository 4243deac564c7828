"""One sample of an operator: what PyTorch gives, what this project gives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import torch

import opgen_runtime as rt
from opgen_runtime.base.errors import OpgenError

from .adapter import ADAPTERS, UNTRACED

PASSED, CONVENTION, REFUSED, WRONG, FOREIGN = "passed", "convention", "refused", "wrong", "foreign"
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
    """`status`: one of the above; `reason`: why it did not pass; `results`: which are wrong."""

    status: str
    reason: str = ""
    results: frozenset[int] = frozenset()


@dataclass(frozen=True)
class _Place:
    """Where an array stands among the arguments."""

    position: int


def to_numpy(t: torch.Tensor) -> np.ndarray:
    """The elements, as numpy has them, in an array that owns them."""
    t = t.detach().resolve_conj().resolve_neg()
    if t.dtype is torch.bfloat16:
        return t.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16).copy()
    return np.array(t.numpy(force=True), order="K")  # zeros that PyTorch has not written, too


def tried(name: str, sample: Any, theirs: Callable[..., Any]) -> Outcome | None:
    """How a sample of the operator turns out; None where PyTorch itself raises.  `theirs` takes it, or another one.

    Refused is what raises an error of this project, or numpy's own, or has no adapter; any other exception is foreign.
    Halves are rounded at other places than PyTorch rounds them: what differs from PyTorch's is a convention where it is
    within the tolerance, and twice PyTorch's own greatest error, of what PyTorch gives in float64.
    """
    try:
        expected = list(_leaves(theirs()))
    except Exception:
        return None
    if name not in ADAPTERS:
        return Outcome(REFUSED, "no op")
    ours, tensors = adapted(name, sample)
    arrays = [to_numpy(each) for each in tensors]
    outcome = _outcome(ours if name in UNTRACED else rt.jit(ours), ours, arrays, expected)
    if outcome.status == WRONG and any(getattr(each, "dtype", None) in _HALVES for each in expected):
        exact = list(_leaves(theirs(sample.transform(_widened))))
        again = _outcome(ours if name in UNTRACED else rt.jit(ours), ours, arrays, expected, exact)
        return Outcome(CONVENTION, _ROUNDED) if again.status == PASSED else again
    return outcome


_ROUNDED = "rounded at other places: of what float64 gives within the tolerance and twice PyTorch's own error"
_HALVES = (torch.float16, torch.bfloat16)


def _widened(value: Any) -> Any:
    """A tensor of halves in float64, and the dtype itself; anything else as it is."""
    if isinstance(value, torch.Tensor):
        return value.double() if value.dtype in _HALVES else value
    return torch.float64 if value in _HALVES else value


def tried_gradient(name: str, sample: Any, theirs: Callable[[], Any]) -> Outcome | None:
    """How the gradients of a sample turn out, by the tensors that require them, of a weighted sum of the results.

    None where PyTorch itself raises, or nothing depends on such a tensor.
    """
    ours, tensors = adapted(name, sample)
    wanted = [k for k, each in enumerate(tensors) if each.requires_grad]
    try:
        results = list(_leaves(theirs()))
        smooth = [k for k, each in enumerate(results) if getattr(each, "requires_grad", False)]
        weights = [
            torch.cos(torch.arange(results[k].numel()).double()).reshape(results[k].shape) for k in smooth
        ]
        total = sum((results[k] * weight).sum() for k, weight in zip(smooth, weights, strict=True))
        found = torch.autograd.grad(total, [tensors[k] for k in wanted], allow_unused=True)
    except Exception:
        return None
    if name not in ADAPTERS:
        return Outcome(REFUSED, "no op")
    expected = [
        torch.zeros_like(tensors[k]) if each is None else each for k, each in zip(wanted, found, strict=True)
    ]

    def weighted(*values: Any) -> Any:
        made = list(_leaves(ours(*values)))
        parts = [np.sum(made[k] * to_numpy(weight)) for k, weight in zip(smooth, weights, strict=True)]
        return functools.reduce(np.add, parts)

    gradient = rt.grad(weighted, argnums=tuple(wanted))
    return _outcome(gradient, ours, [to_numpy(each) for each in tensors], expected)


def adapted(name: str, sample: Any) -> tuple[Callable[..., Any], list[torch.Tensor]]:
    """The adapter as a function of the tensors of a sample alone, and these."""
    tensors: list[torch.Tensor] = []
    args = _lifted((sample.input, *sample.args), tensors)
    kwargs = {key: _lifted(value, tensors) for key, value in sample.kwargs.items() if key not in _IGNORED}

    def ours(*values: Any) -> Any:
        found = ADAPTERS[name](
            *_lowered(args, values), **{key: _lowered(value, values) for key, value in kwargs.items()}
        )
        return tuple(found) if isinstance(found, list) else found

    return ours, tensors


def _outcome(
    function: Callable[..., Any],
    plain: Callable[..., Any],
    arrays: list[np.ndarray],
    expected: list[Any],
    exact: list[Any] | None = None,
) -> Outcome:
    """How a function compares; `plain` is the same on numpy's arrays, whose refusals count as such."""
    try:
        found = list(_leaves(function(*arrays)))
    except (OpgenError, NotImplementedError) as error:
        return Outcome(REFUSED, _text(error))
    except Exception as error:
        return Outcome(REFUSED if _raises(plain, arrays, type(error)) else FOREIGN, _text(error))
    return _compared(found, expected, expected if exact is None else exact)


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


def _compared(found: list[Any], expected: list[Any], exact: list[Any]) -> Outcome:
    """How results compare with PyTorch's; `exact`: the same without PyTorch's own roundings, as far as is known."""
    if len(found) != len(expected):
        return Outcome(WRONG, f"{len(found)} results, expected {len(expected)}")
    differs = {
        k: why
        for k, each in enumerate(zip(found, expected, exact, strict=True))
        if (why := _why_different(*each)) is not None
    }
    return Outcome(WRONG, next(iter(differs.values())), frozenset(differs)) if differs else Outcome(PASSED)


def _why_different(mine: Any, theirs: Any, true: Any) -> str | None:
    """How a result differs from PyTorch's, and from the true one where that is another; None where it does not."""
    ours = np.asarray(mine)
    wanted = to_numpy(theirs) if isinstance(theirs, torch.Tensor) else np.asarray(theirs)
    if ours.shape != wanted.shape:
        return f"shape {ours.shape}, expected {wanted.shape}"
    wide = np.complex128 if "c" in (ours.dtype.kind, wanted.dtype.kind) else np.float64
    if ours.dtype.kind in "iub" and wanted.dtype.kind in "iub":
        same = np.array_equal(ours.astype(wanted.dtype), wanted)
    else:
        relative, absolute = _TOLERANCES.get(wanted.dtype.name, _TOLERANCES["float32"])
        mine_, wanted_ = ours.astype(wanted.dtype).astype(wide), wanted.astype(wide)
        finite = np.abs(wanted_[np.isfinite(wanted_)])
        # Sums cancel: what is small beside the others is as exact as they are.
        absolute *= finite.max(initial=1.0)
        same = np.allclose(mine_, wanted_, relative, absolute, equal_nan=True)
        if not same and true is not theirs:
            true_ = to_numpy(true).astype(wanted.dtype).astype(wide)
            off = np.abs(wanted_ - true_)
            farthest = 2 * off[np.isfinite(off)].max(initial=0.0)
            same = np.allclose(mine_, true_, relative, absolute + farthest, equal_nan=True)
    return None if same else f"{ours.dtype} {ours.ravel()[:4]}, expected {wanted.dtype} {wanted.ravel()[:4]}"


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


def _lifted(value: Any, tensors: list[torch.Tensor]) -> Any:
    """The arguments with places for tensors, which are collected, and numpy's dtypes."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return _Place(len(tensors) - 1)
    if isinstance(value, torch.dtype):
        return np.dtype(ml_dtypes.bfloat16 if value is torch.bfloat16 else str(value).removeprefix("torch."))
    if type(value) in (list, tuple):
        return type(value)([_lifted(each, tensors) for each in value])
    return value


def _lowered(value: Any, arrays: tuple[Any, ...]) -> Any:
    if isinstance(value, _Place):
        return arrays[value.position]
    if type(value) in (list, tuple):
        return type(value)([_lowered(each, arrays) for each in value])
    return value
