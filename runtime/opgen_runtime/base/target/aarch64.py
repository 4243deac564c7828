"""64-bit Arm."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from .architecture import Architecture, Sample, Vectors

AARCH64: Final = Architecture(
    names=("aarch64", "arm64"),
    vectors=(Vectors(128, 32),),  # NEON
    fma=frozenset(),
    float16=MappingProxyType({"float": frozenset(), "double": frozenset()}),
    pause=("call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"),
    futex=98,
    samples=(Sample("aarch64", "-mcpu=cortex-a72", "cortex-a72"),),
)
