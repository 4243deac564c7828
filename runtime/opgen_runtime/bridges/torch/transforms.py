"""`torch.func.vmap` of a registered op: one call of the op for a batch, or, where there is none, one for each row."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

import torch

from ...base.errors import OpgenError
from ...base.lru_cache import LRUCache
from ...run.op_programs.batched import batched_program
from ...run.op_programs.programs import OperandType, Program, Values
from ..entries import key_of
from .fake import likely, types_of
from .schema import Schema

_KINDS: Final = 1024  # of calls of an op, of which it is remembered whether they have a form for a batch


class Batchable(Protocol):
    """What the kernel must know of a registered op."""

    name: str
    program: Program
    schema: Schema
    overload: Any

    @property
    def batch(self) -> Batchable: ...


def vmap_kernel(op: Batchable) -> Callable[..., Any]:
    """The kernel that `torch.library.register_vmap` takes.

    It calls the op for a batch once.  Where that has no form for the call it calls the op for each row, stacks what
    comes, and warns, saying why; once an op.
    """
    schema, count, fields = op.schema, len(op.program.operands), len(op.program.fields)
    why_not, warned = _WhyNotBatched(op), set[str]()

    def kernel(info: Any, in_dims: tuple[Any, ...], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        bound = schema.bound(args, kwargs)
        operands, attrs = bound[:count], bound[count:]
        dims = (*in_dims, *[None] * count)[:count]
        numbers = [k for k, dim in enumerate(_leaf_dims(operands, dims)) if dim is not None]
        moved = [_with_axis_first(arg, dim) for arg, dim in zip(operands, dims, strict=True)]
        reason = why_not(moved, schema.attrs(bound), numbers)
        if not reason:
            found = op.batch.overload(*moved, *attrs[:fields], numbers, *attrs[fields:])
            return found, _zeros(found)
        rows = [
            op.overload(*[_row(arg, dim, k) for arg, dim in zip(args, in_dims, strict=True)], **kwargs)
            for k in range(info.batch_size)
        ]
        if op.name not in warned:
            warned.add(op.name)
            text = f"{op.name} is called for each row of a batch: {reason}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        if not isinstance(rows[0], list | tuple):
            return torch.stack(rows), 0
        stacked = type(rows[0])([torch.stack(column) for column in zip(*rows, strict=True)])
        return stacked, _zeros(stacked)

    return kernel


class _WhyNotBatched:
    """Why calls of an op have no form for a batch."""

    def __init__(self, op: Batchable) -> None:
        self._schema = op.schema
        self._batched = batched_program(op.program)
        self._known: LRUCache[str] = LRUCache(_KINDS)  # by what calls must share to be one program

    def __call__(self, operands: Sequence[Any], attrs: Mapping[str, Any], numbers: Sequence[int]) -> str:
        """The reason; "" where they have one.

        `operands`: with the axis of the batch first in the leaves `numbers`; `attrs`: in torch's form.
        """
        tensors = [tuple(each) if isinstance(each, list) else each for each in operands]
        try:
            values = self._schema.values(attrs) | {self._batched.batched: tuple(numbers)}
            types = types_of(tensors, likely)
        except (OpgenError, TypeError) as error:
            return str(error)
        key = key_of(self._batched, types, values)
        found = self._known.get(key)
        if found is None:
            found = self._known.put(key, self._found(types, values))
        return found

    def _found(self, types: Sequence[OperandType], values: Values) -> str:
        try:
            self._batched.function(types, values)
        except OpgenError as error:
            return str(error)
        return ""


def _leaf_dims(operands: Sequence[Any], dims: Sequence[Any]) -> Iterator[int | None]:
    """Of each tensor in order, absent ones left out, the axis of the batch."""
    for arg, dim in zip(operands, dims, strict=True):
        if isinstance(arg, list | tuple):
            yield from dim if isinstance(dim, list | tuple) else [dim] * len(arg)
        elif arg is not None:
            yield dim


def _with_axis_first(arg: Any, dim: Any) -> Any:
    if isinstance(arg, list | tuple):
        dims = dim if isinstance(dim, list | tuple) else [dim] * len(arg)
        return [_with_axis_first(item, own) for item, own in zip(arg, dims, strict=True)]
    return arg if dim is None else arg.movedim(dim, 0)


def _row(arg: Any, dim: Any, k: int) -> Any:
    """An argument without its batched axis."""
    if isinstance(arg, list | tuple) and isinstance(dim, list | tuple):
        return [_row(item, own, k) for item, own in zip(arg, dim, strict=True)]
    return arg if dim is None or not isinstance(arg, torch.Tensor) else arg.select(dim, k)


def _zeros(results: Any) -> Any:
    """The axis of the batch in each result, nested as they are."""
    return type(results)([0] * len(results)) if isinstance(results, list | tuple) else 0
