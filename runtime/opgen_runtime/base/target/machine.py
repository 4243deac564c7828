"""Machines: what schedules must know of caches, registers and costs; each is a row of a table.

A target has one row.  That of the host is found by the name of its CPU and the sizes of its caches, that of another
CPU by its name, else by its instruction set; `-machine=NAME` gives one, of the table or of a user's own
(`machine_file.py`).  Sizes are in buckets of what CPUs of a kind have about, so that similar ones share kernels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields, replace
from types import MappingProxyType
from typing import Any, Final

from ..errors import StrategyError, did_you_mean, shown
from ..vocabulary import dataclass

# What things take.  A cycle is the time of one multiplication and addition of vectors that stream from the first-level
# cache; costs are of a vector each, unless something else is said.  What is no such time is a factor or a margin of no
# machine.
_CYCLES: Final[Mapping[str, float]] = MappingProxyType(
    {
        "operation": 1.0,  # of elements: an addition, a comparison, a read
        "division": 4.0,
        "function": 16.0,  # exp and its kin
        "share_loop": 32768.0,  # a loop among threads, in cycles of elements one by one: some ten launches of the pool
        "latency": 8.0,  # until a sum may be added to: so many accumulators are under way at once
        "pack": 6.0,  # to a panel, while it is read for the first time
        "fetch": 30.0,  # what another core has packed
        "read_apart": 1.5,  # what is not packed, once for each panel that it is used with
        "stage_operand": 12.0,  # copied with what is around the windows that read it
        "store_transposed": 18.0,  # to a transposed result, in squares
        "move": 8.0,  # to another place, element by element of a line
        "element": 8.0,  # so many times longer than in vectors, read or stored one by one
        "every_other": 2.0,  # and in vectors of which elements are left out
        "short_line": 4.0,  # and from lines that are shorter than vectors
        "pack_window": 9.0,  # of windows, each element as often as it is read
        "store_and_load": 16.0,  # a product that is summed later
        "transpose": 3.0,  # in registers, where both are in the first-level cache
        "transpose_l2": 4.5,  # and where they are in the second-level cache
        "copy_element": 0.25,  # one element, of an image that is copied
        "strided": 8.0,  # read with a stride
        "plane": 16.0,  # the start of a loop over a plane
    }
)

_MIN_ENTRIES: Final[Mapping[str, int]] = MappingProxyType(  # that schedules can go by
    {
        "l1": 4 << 10, "l2": 4 << 10, "llc": 4 << 10, "line": 16, "page": 1 << 10,
        "lanes": 4, "registers": 8, "max_stride": 1, "gather_bits": 8,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Machine:
    """A row: data caches of one core (`l1`, `l2`) and the last-level cache of all (`llc`), lines and pages, in bytes.

    `lanes`: of 32 bits, of the widest vectors that schedules use, and `registers` that hold such; instruction sets may
    have less.  `max_stride`: how far apart, in elements, are read or stored as vectors; others are gathered, and none
    of less than `gather_bits`.  `cycles` are costs by name.  Raises StrategyError for entries that no schedule could
    go by.

    The properties are shares of the caches, in bytes where no other unit is said.  They were measured on machines of
    32 KiB, 1 MiB and 32 MiB.
    """

    name: str
    l1: int = 32 << 10
    l2: int = 1 << 20
    llc: int = 32 << 20
    line: int = 64
    page: int = 4 << 10
    lanes: int = 4
    registers: int = 16
    max_stride: int = 4
    gather_bits: int = 32
    cycles: Mapping[str, float] = field(default_factory=lambda: _CYCLES, hash=False)

    def __post_init__(self) -> None:
        problem = self._problem()
        if problem is not None:
            raise StrategyError(f"machine {self.name}: {problem}")
        costs = {name: float(cost) for name, cost in self.cycles.items()}
        object.__setattr__(self, "cycles", MappingProxyType(costs))

    def __reduce__(self) -> tuple[Any, ...]:
        values = [getattr(self, each.name) for each in fields(self)]
        return Machine, (*values[:-1], dict(self.cycles))

    def _problem(self) -> str | None:
        """Which entry no schedule could go by; None where all are right."""
        for name, least in _MIN_ENTRIES.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                return f"{name} is {shown(value):.40}, expected a whole number of at least {least}"
            if name in ("line", "page", "lanes") and value & (value - 1):
                return f"{name} is {value}, expected a power of 2"
        for name, cost in self.cycles.items():
            if name not in _CYCLES:
                known = f"expected some of {', '.join(_CYCLES)}{did_you_mean(name, _CYCLES)}"
                return f"there is no cost {name!r}; {known}"
            if not isinstance(cost, int | float) or isinstance(cost, bool) or not 0 < cost < math.inf:
                return f"cost {name} is {shown(cost):.40}, expected a number above 0"
        missing = [name for name in _CYCLES if name not in self.cycles]
        return f"it has no cost {missing[0]!r}" if missing else None

    @property
    def values(self) -> str:
        """All that kernels depend on: the row without its name."""
        sizes = [f"{each.name}={getattr(self, each.name)}" for each in fields(self)[1:-1]]
        return " ".join([*sizes, *[f"{name}={value}" for name, value in sorted(self.cycles.items())]])

    @property
    def max_guarded_stride(self) -> int:
        """Elements between those that are read as vectors and gain by it under guards, and in tiles of rows, too."""
        return max(1, self.max_stride - 1)

    # ---------------------------------------------------------------- shares of the first-level cache

    @property
    def l1_window(self) -> int:
        """Lines that windows slide along stay beside what is made of them."""
        return self.l1 // 4

    @property
    def l1_row(self) -> int:
        """A row over all of k, from which on a tile of such rows leaves the cache before the next panel."""
        return self.l1 // 4

    @property
    def l1_row_of_few(self) -> int:
        """And from which on few rows gain, too: groups of columns are packed in longer runs than panels."""
        return self.l1 // 16

    @property
    def l1_panels(self) -> int:
        """Panels of columns stay beside rows and results."""
        return self.l1 // 2

    @property
    def l1_columns(self) -> int:
        """Columns, not packed, of which most stay."""
        return self.l1 * 5 // 4

    @property
    def l1_transposed(self) -> int:
        """What is transposed stays, most of it, while the windows over it are summed."""
        return self.l1 * 3 // 2

    @property
    def l1_tile_elements(self) -> int:
        """Elements of 32 bits of a tile of accumulators in memory."""
        return self.l1 // 32

    @property
    def l1_row_elements(self) -> int:
        """Elements of 32 bits of rows that one stage after the other goes through."""
        return self.l1 // 16

    # ---------------------------------------------------------------- of the second-level cache

    @property
    def l2_stage(self) -> int:
        """A stage between others stays beside operands and results."""
        return self.l2 // 8

    @property
    def l2_transposed(self) -> int:
        """What is transposed stays beside operands."""
        return self.l2 * 7 // 32

    @property
    def l2_streaming(self) -> int:
        """What is read again stays beside what streams by."""
        return self.l2 // 4

    @property
    def l2_block(self) -> int:
        """A block of a sum stays, its windows or its results."""
        return self.l2 * 3 // 8

    @property
    def l2_result_rows(self) -> int:
        """Rows of the results of a group of columns: those of more are not near when the next block adds to them."""
        return self.l2 // 256

    @property
    def l2_rows(self) -> int:
        """Rows that go on: what is more comes from farther."""
        return self.l2

    @property
    def l2_evicted(self) -> int:
        """What is so much has left the cache when it is read again."""
        return self.l2 * 2

    # ---------------------------------------------------------------- of the last-level cache, and prefetch distances

    @property
    def llc_operand(self) -> int:
        """One thread gains by non-temporal stores of so much, and an operand of so much comes from memory."""
        return self.llc * 3 // 4

    @property
    def llc_shared(self) -> int:
        """Several threads gain by non-temporal stores of so much, of all operands."""
        return self.llc

    @property
    def llc_tensor_elements(self) -> int:
        """Elements of a tensor from which on its vectors are aligned to lines, so that stores may be non-temporal."""
        return self.llc // 32

    @property
    def prefetch_distance_bytes(self) -> int:
        """Between what a stream reads and what it asks for."""
        return self.l1 // 4

    @property
    def max_prefetched_lines(self) -> int:
        """Lines that are asked for at once."""
        return self.l1 // (8 * self.line)


def _row(name: str, lanes: int, registers: int, l1: int = 32, l2: int = 1024, llc: int = 32) -> Machine:
    """A row of so many KiB, KiB and MiB."""
    return Machine(name, l1 << 10, l2 << 10, llc << 20, lanes=lanes, registers=registers)


GENERIC: Final = Machine("generic")  # of families without rows
# The rows of a family, by the beginning of LLVM's names for it; the generic ones first, narrowest first.
_FAMILIES: Final[Mapping[str, Sequence[Machine]]] = {
    "x86_64": (
        _row("generic-sse2", 4, 16),
        _row("generic-avx2", 8, 16),
        _row("generic-avx512", 16, 32),
        _row("haswell", 8, 16, l2=256, llc=8),
        _row("alderlake", 8, 16, l1=48),
        _row("skylake-avx512", 16, 32),
        _row("icelake-server", 16, 32, l1=48),
        _row("sapphirerapids", 16, 32, l1=48, l2=2048, llc=64),
        _row("zen2", 8, 16, l2=512, llc=16),
        _row("zen3", 8, 16, l2=512),
        _row("zen4", 16, 32),
        _row("zen5", 16, 32, l1=48),
    ),
    "aarch64": (
        _row("generic-neon", 4, 32),
        _row("neoverse-n1", 4, 32, l1=64),
    ),
}
_CPUS: Final[Mapping[str, str]] = {  # LLVM's names of CPUs, and the rows that they have
    **dict.fromkeys(("haswell", "broadwell", "skylake", "znver1"), "haswell"),
    **dict.fromkeys(("alderlake", "raptorlake", "meteorlake", "arrowlake", "lunarlake"), "alderlake"),
    **dict.fromkeys(("skylake-avx512", "cascadelake", "cooperlake", "cannonlake"), "skylake-avx512"),
    **dict.fromkeys(("icelake-client", "icelake-server", "tigerlake", "rocketlake"), "icelake-server"),
    **dict.fromkeys(
        ("sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d"), "sapphirerapids"
    ),
    **{f"znver{n}": f"zen{n}" for n in (2, 3, 4, 5)},
    "neoverse-n1": "neoverse-n1",
}
ROWS: Final[Mapping[str, Machine]] = MappingProxyType(
    {row.name: row for row in (GENERIC, *[each for rows in _FAMILIES.values() for each in rows])}
)


def machine_of(triple: str, cpu: str, lanes: int) -> Machine:
    """The row of a CPU, by its name, else the generic one of its family for vectors of so many `lanes` of 32 bits."""
    rows = _rows_of(triple)
    named = next((row for row in rows if row.name == _CPUS.get(cpu)), None)
    fitting = [row for row in rows if row.lanes >= lanes]
    return named or next(iter(fitting), GENERIC)


def measured(machine: Machine, triple: str, caches: Mapping[int, int]) -> Machine:
    """The row whose first two caches are nearest to those measured: bytes by level, where they are known.

    That is the given row, unless others of its family with as wide vectors are nearer: virtual machines and CPUs of
    one name differ.
    """
    known = [(name, caches[level]) for level, name in ((1, "l1"), (2, "l2")) if caches.get(level)]

    def apart(row: Machine) -> int:
        """In steps of the buckets."""
        return sum([abs(round(math.log2(size / getattr(row, name)))) for name, size in known])

    rows = [row for row in _rows_of(triple) if row.lanes == machine.lanes]
    return min((machine, *rows), key=apart)


def _rows_of(triple: str) -> Sequence[Machine]:
    family = triple.split("-")[0].replace("arm64", "aarch64")
    return next((rows for name, rows in _FAMILIES.items() if family.startswith(name)), ())


def why_not_known(name: str, known: Iterable[str]) -> str:
    """What is wrong with the name of a machine that there is not."""
    names = list(known)
    return f"there is no such machine; expected one of {', '.join(names)}{did_you_mean(name, names)}"


def changed(machine: Machine, name: str, values: Mapping[str, Any]) -> Machine:
    """A row of a user: another row with other `values`.  Raises StrategyError that names what is wrong with them."""
    known = [each.name for each in fields(Machine)[1:]]
    for key in values:
        if key not in known:
            expected = f"expected some of {', '.join(known)}{did_you_mean(key, known)}"
            raise StrategyError(f"machine {name}: there is no entry {key!r}; {expected}")
    costs = values.get("cycles", {})
    if not isinstance(costs, Mapping):
        raise StrategyError(f"machine {name}: cycles is {shown(costs):.40}, expected costs by name")
    return replace(machine, **{**values, "name": name, "cycles": {**machine.cycles, **costs}})
