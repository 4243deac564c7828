"""64-bit RISC-V."""

from __future__ import annotations

from typing import Final

from .architecture import Architecture, Vectors

RISCV64: Final = Architecture(
    names=("riscv64",),
    vectors=(Vectors(128, 32),),  # what `v` promises at least; without it LLVM takes them apart
    fma=frozenset({"f", "d"}),
    futex=98,
)
