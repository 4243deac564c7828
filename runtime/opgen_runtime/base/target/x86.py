"""x86."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from .architecture import Architecture, Dot, FloatControl, Vectors

_V2: Final = "+cx16,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2"
_V3: Final = f"{_V2},+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"

X86_64: Final = Architecture(
    names=("x86_64",),
    vectors=(
        Vectors(512, 32, frozenset({"avx512f", "avx512bw", "avx512vl", "avx512vbmi2"}), 8, 8),
        Vectors(512, 32, frozenset({"avx512f", "avx512bw", "avx512vl"}), 8, 32),
        Vectors(512, 32, frozenset({"avx512f", "avx512bw"}), 8),
        Vectors(512, 32, frozenset({"avx512f"}), 32),
        Vectors(256, 16, frozenset({"avx"}), 32),
        Vectors(128, 16),  # SSE2
    ),
    fma=frozenset({"fma"}),
    float16=MappingProxyType({"float": frozenset({"f16c"})}),
    levels=MappingProxyType(
        {  # of the psABI
            "x86-64-v2": _V2,
            "x86-64-v3": _V3,
            "x86-64-v4": f"{_V3},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl",
        }
    ),
    pause=("call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"),
    stores_fence=("call void @llvm.x86.sse.sfence()", "declare void @llvm.x86.sse.sfence()"),
    dots=(
        Dot(4, 512, frozenset({"avx512vnni"}), "llvm.x86.avx512.vpdpbusd.512", adds=True),
        Dot(4, 256, frozenset({"avx512vnni", "avx512vl"}), "llvm.x86.avx512.vpdpbusd.256", adds=True),
        Dot(4, 256, frozenset({"avxvnni"}), "llvm.x86.avx512.vpdpbusd.256", adds=True),
        Dot(2, 512, frozenset({"avx512bw"}), "llvm.x86.avx512.pmaddw.d.512"),
        Dot(2, 256, frozenset({"avx2"}), "llvm.x86.avx2.pmadd.wd"),
        Dot(2, 128, frozenset(), "llvm.x86.sse2.pmadd.wd"),
    ),
    futex=202,
    float_control=FloatControl(
        "i32",
        1 << 15 | 1 << 6,  # FTZ and DAZ
        "  call void @llvm.x86.sse.stmxcsr(ptr %place)",
        "  call void @llvm.x86.sse.ldmxcsr(ptr %place)",
        "declare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)",
    ),
)
X86_32: Final = Architecture(
    names=("i386", "i586", "i686"), vectors=(Vectors(128, 8),), fma=frozenset({"fma"})
)
