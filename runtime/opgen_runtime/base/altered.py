"""What a program alters of the runtime itself: no key of a cache on disk tells it, so whole programs are not kept then.

That are other attributes of a built-in op, and settings of passes.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final

pass_context: Final[ContextVar[Any]] = ContextVar("opgen_pass_context", default=None)
"""The `PassContext` that is entered; None outside of any."""

_ops: Final[set[str]] = set()


def op_altered(name: str) -> None:
    """An op is no longer as its module declares it.  Names with a dot are of users' own ops and of derived ones."""
    if "." not in name:
        _ops.add(name)


def is_altered() -> bool:
    """Whether programs that are compiled now depend on more than what they are made of and the runtime's sources."""
    return bool(_ops) or pass_context.get() is not None
