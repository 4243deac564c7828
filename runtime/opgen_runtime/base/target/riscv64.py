"""64-bit RISC-V."""

from __future__ import annotations

from typing import Final

from .architecture import Architecture, Sample, Vectors

RISCV64: Final = Architecture(
    names=("riscv64",),
    vectors=(Vectors(128, 32),),  # what `v` promises at least; without it LLVM takes them apart
    fma=frozenset({"f", "d"}),
    futex=98,
    samples=(
        Sample("riscv64", "-mcpu=generic-rv64 -mattr=+m,+a,+f,+d,+c", "rv64"),
        Sample(
            "riscv64v",
            "-mcpu=generic-rv64 -mattr=+m,+a,+f,+d,+c,+v,+zvl128b",
            "rv64,v=true,vlen=128,vext_spec=v1.0",
            (8, 1),
        ),
    ),
)
