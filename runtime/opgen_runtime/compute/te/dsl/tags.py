"""Notes on what is computed, which schedules of users ask for: `C.op.tag`, `C.op.attrs`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from ....base.errors import CallError
from ..tensor import Compute, Tensor

_current: Final[ContextVar[str]] = ContextVar("tag of te.compute", default="")


@contextmanager
def tag_scope(tag: str) -> Iterator[None]:
    """Gives what is computed inside the tag; also a decorator of functions that compute.

    Raises CallError inside another scope: a computation has one tag.
    """
    if _current.get():
        raise CallError(
            f"tag_scope({tag!r}) stands inside tag_scope({_current.get()!r}); expected one of them"
        )
    before = _current.set(tag)
    try:
        yield
    finally:
        _current.reset(before)


def noted(tensor: Tensor, tag: str, attrs: Mapping[str, object] | None) -> Tensor:
    """The tensor with a tag, that of the scope where none is given, and attrs.

    Raises CallError where a tag is given inside a scope.
    """
    if tag and _current.get():
        raise CallError(
            f"{tensor.name}: tag={tag!r} is given inside tag_scope({_current.get()!r}); expected one of them"
        )
    tag = tag or _current.get()
    if not (tag or attrs) or not isinstance(tensor.op, Compute):
        return tensor
    return replace(tensor, op=replace(tensor.op, tag=tag, attrs=MappingProxyType(dict(attrs or {}))))
