"""What the machine that runs this process is: triple, CPU name and features, found once by LLVM."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

from ..forks import importing
from ..lazy import lazy


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


def available_cpus() -> int:
    """CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
