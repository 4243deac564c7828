"""64-bit Arm."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from .architecture import Architecture, FloatControl, Sample, Vectors

AARCH64: Final = Architecture(
    names=("aarch64", "arm64"),
    vectors=(Vectors(128, 32),),  # NEON
    fma=frozenset(),
    float16=MappingProxyType({"float": frozenset(), "double": frozenset()}),
    pause=("call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"),
    futex=98,
    float_control=FloatControl(
        "i64",
        1 << 24 | 1 << 19,  # FZ and FZ16
        "  %found = call i64 @llvm.aarch64.get.fpcr()\n  store i64 %found, ptr %place",
        "  %wanted = load i64, ptr %place\n  call void @llvm.aarch64.set.fpcr(i64 %wanted)",
        "declare i64 @llvm.aarch64.get.fpcr()\ndeclare void @llvm.aarch64.set.fpcr(i64)",
    ),
    samples=(Sample("aarch64", "-mcpu=cortex-a72", "cortex-a72"),),
)
