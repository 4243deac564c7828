"""What the machine that runs this process is: triple, CPU name and features, found once by LLVM."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from ..errors import StrategyError
from ..forks import importing
from ..lazy import lazy

_VARIABLE: Final = "OPGEN_NUM_THREADS"
_FOR_EACH_PROCESSOR: Final = 4  # threads at most: more only wait for each other
_MAX_DIGITS: Final = 100
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


def default_threads() -> int:
    """Threads of loops where nothing else is said: OPGEN_NUM_THREADS, else one for each CPU this process may run on.

    More than four for each processor of the machine are cut to that, with a warning.  Raises StrategyError for what is
    no whole number of at least 1.
    """
    given = os.environ.get(_VARIABLE, "").strip()
    return _threads_of(given) if given else available_cpus()


@lru_cache(maxsize=4)
def _threads_of(given: str) -> int:
    if not (given.isascii() and given.isdigit() and len(given) <= _MAX_DIGITS and int(given) >= 1):
        shown = given if len(given) <= _MAX_DIGITS else f"{given[:_MAX_DIGITS]}..."
        raise StrategyError(f"{_VARIABLE}={shown!r}: expected a whole number of at least 1")
    processors = os.cpu_count() or 1
    most = _FOR_EACH_PROCESSOR * processors
    if int(given) > most:
        warnings.warn(
            f"{_VARIABLE}={given}: {most} threads are used, four for each of {processors} processors",
            RuntimeWarning,
            stacklevel=2,
        )
    return min(int(given), most)
