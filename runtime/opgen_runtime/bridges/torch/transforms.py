"""`torch.func.vmap` of a registered op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def vmap_kernel(overload: Any, gives_several: bool) -> Callable[..., Any]:
    """The kernel that `torch.library.register_vmap` takes: a call for each element of the batch, stacked."""

    def kernel(info: Any, in_dims: tuple[Any, ...], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        rows = [
            overload(*[_row(arg, dim, k) for arg, dim in zip(args, in_dims, strict=True)], **kwargs)
            for k in range(info.batch_size)
        ]
        if gives_several:
            stacked = [torch.stack(column) for column in zip(*rows, strict=True)]
            return stacked, [0] * len(stacked)
        if isinstance(rows[0], tuple):
            return tuple([torch.stack(column) for column in zip(*rows, strict=True)]), (0,) * len(rows[0])
        return torch.stack(rows), 0

    return kernel


def _row(arg: Any, dim: Any, k: int) -> Any:
    """An argument without its batched axis."""
    if isinstance(arg, list | tuple) and isinstance(dim, list | tuple):
        return [_row(item, own, k) for item, own in zip(arg, dim, strict=True)]
    return arg if dim is None or not isinstance(arg, torch.Tensor) else arg.select(dim, k)
