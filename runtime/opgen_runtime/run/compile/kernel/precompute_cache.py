"""The cache of code that precomputes constants: what packed weights before packs those of other segments alike.

A program for all shapes comes after one for the first shape.  Its kernels are others, but weights of known shape are
packed by the same loops.  Code is found by its lowered loop IR without the names of loops and buffers; the kernel's own
name is part of it, so that what a kernel is called does not depend on what was compiled before.
The last 512 are kept, by this process alone, of at most 16 MiB.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ....base.lru_cache import Footprint, LRUCache
from ....lower.tir.nodes.naming import anonymous
from .records import Compiled, Lowered

_KEPT: Final = 512
_MAX_CACHED_BYTES: Final = 1 << 24


def compiled_once(lowered: Lowered, compile_it: Callable[[], Compiled]) -> Compiled:
    """The code of loop IR that runs once a build: that of equal loop IR for an equal target, where there is some."""
    segment = lowered.segment
    func = lowered.func
    key = (str(anonymous(func)), segment.target.kernel_key, str(func.options.changed))
    found = _compiled.get(key)
    if found is None:
        found = _compiled.put(key, compile_it())
    return replace(found, segment=segment)


def forget_precomputes() -> None:
    """Drop the code that was kept."""
    _compiled.clear()


def _footprint(compiled: Compiled) -> Footprint:
    """The memory of object code, and of the LLVM IR that it keeps to be looked at."""
    return ((id(compiled), len(compiled.code.object_code) + len(compiled.code.text)),)


_compiled: Final[LRUCache[Compiled]] = LRUCache(_KEPT, _MAX_CACHED_BYTES, _footprint)
