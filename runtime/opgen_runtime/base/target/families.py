"""The families of CPUs that have a row of their own; the others have vectors of 128 bits and promise nothing."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from .aarch64 import AARCH64
from .architecture import Architecture
from .riscv64 import RISCV64
from .x86 import X86_32, X86_64

FAMILIES: Final = (X86_64, X86_32, AARCH64, RISCV64)


@lru_cache(maxsize=64)
def architecture_of(triple: str) -> Architecture:
    """The row of an LLVM triple."""
    name = triple.split("-")[0]
    return next((row for row in FAMILIES if name.startswith(row.names)), Architecture((name,)))
