"""What the machine that runs this process is: triple, CPU name and features, found once by LLVM."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from ..forks import importing
from ..lazy import lazy

_CACHES: Final = Path("/sys/devices/system/cpu/cpu0/cache")  # of Linux


@dataclass(frozen=True)
class Host:
    """The LLVM triple, CPU name and feature string (`+avx2,-avx512f,...`) of this machine."""

    triple: str
    cpu: str
    features: str

    @lazy
    def data_layout(self) -> str:
        """LLVM's data layout: the format of objects, the width of pointers, alignments."""
        with importing:
            import llvmlite.binding as llvm

        llvm.initialize_native_target()
        return str(llvm.Target.from_triple(self.triple).create_target_machine().target_data)


@lru_cache(maxsize=1)
def host() -> Host:
    """Ask LLVM about this machine (about 0.5 ms, once)."""
    with importing:
        import llvmlite.binding as llvm

    return Host(llvm.get_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


def caches(folder: Path = _CACHES) -> Mapping[int, int]:
    """The bytes of the data caches of a core, by level; nothing where the system does not tell."""
    found: dict[int, int] = {}
    for each in sorted(folder.glob("index*")):
        try:
            level, kind, size = [(each / name).read_text().strip() for name in ("level", "type", "size")]
            if kind != "Instruction":
                found[int(level)] = int(size.rstrip("KM")) << {"K": 10, "M": 20}.get(size[-1:], 0)
        except (OSError, ValueError):
            continue
    return found


def available_cpus() -> int:
    """CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
