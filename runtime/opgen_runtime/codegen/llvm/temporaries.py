"""Memory that a kernel takes for one call; `objects/temporaries.py` has what it calls."""

from __future__ import annotations

from typing import Final

from .text import FunctionText, ModuleText

TAKE: Final = "opgen_temporary"  # (bytes) -> a block, or null
GIVE: Final = "opgen_temporary_end"  # (block or null)
ALIGNMENT: Final = 64  # of blocks: a cache line and the widest vector


def taken(module: ModuleText, size: str) -> str:
    """The call that gives a block of `size` bytes."""
    result = f"noalias align {ALIGNMENT} ptr"
    return f"call {result} {module.declare(TAKE, result, 'i64')}(i64 {size})"


def give(f: FunctionText, pointer: str) -> None:
    """Give a block back."""
    f.call(GIVE, "void", (("ptr", pointer),))
