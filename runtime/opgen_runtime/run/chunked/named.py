"""Ops by their names as functions of arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ... import ops
from ...base.errors import CallError, did_you_mean


def op_names() -> tuple[str, ...]:
    """The built-in ops."""
    return tuple(ops.__all__)


def op_function(name: str) -> Callable[..., Any]:
    """A built-in op as a function that is traced.  Raises CallError if there is none of that name."""
    if name not in ops.__all__:
        raise CallError(f"there is no op {name!r}{did_you_mean(name, ops.__all__)}")
    op = getattr(ops, name)

    @functools.wraps(op)
    def call(*args: Any, **kwargs: Any) -> Any:
        return op(*args, **kwargs)

    return call
