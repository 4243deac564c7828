"""Single ops with open dims beside static ones: `python -m benchmarks.symbolic --ops [NAME ...] [--every-subset]`.

The families of `tests/open_ops.py`, those of a name or whose names contain it.  All dims of each are open, and each
alone (every subset with `--every-subset`); no dim has a hint.  At sizes of at least 64 elements the program for all
sizes and the one for this size take turns, one thread each; figures are the least processor time of a call.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

import opgen_runtime as rt
from benchmarks.open_models import least, mean
from tests.open_ops import FAMILIES, Family, arrays, program

TARGET: Final = "llvm -num-threads=1"
GOAL: Final = 1.3  # times the static program's time
FEWEST: Final = 64  # elements of the operands
_BLOCK: Final = 0.004  # seconds
_TOLERANCE: Final = 1e-4


@dataclass(frozen=True)
class Row:
    """Seconds of a call at a size, with the program for all sizes of the dims `opened` and with that for this size."""

    name: str
    opened: tuple[str, ...]
    sizes: str
    open: float
    static: float
    is_right: bool

    @property
    def share(self) -> float:
        return self.open / self.static

    def text(self) -> str:
        wrong = "" if self.is_right else "  WRONG"
        return (
            f"{self.name:28}{','.join(self.opened):14}{self.sizes:30}{self.static * 1e6:10.2f} us"
            f"{self.open * 1e6:10.2f} us{self.share:7.2f}{wrong}"
        )


def subsets(dims: Sequence[str], every: bool) -> list[tuple[str, ...]]:
    """All dims and each alone; or each subset that has one, the largest first."""
    if not every:
        return list(dict.fromkeys([tuple(dims), *[(dim,) for dim in dims]]))
    counts = range(len(dims), 0, -1)
    return [chosen for count in counts for chosen in itertools.combinations(dims, count)]


def sizes_of(family: Family) -> list[dict[str, int]]:
    """The usual sizes, primes below them, and few: a batch of one, of at least FEWEST elements in all."""
    usual = dict(family.usual)
    few = {dim: max(2, size // 4) for dim, size in usual.items()}
    few[next(iter(few))] = 1
    last = list(few)[-1]
    while elements(family, few) < FEWEST:
        few[last] *= 2
    return [usual, {dim: _prime(size) for dim, size in usual.items()}, few]


def elements(family: Family, sizes: Mapping[str, int]) -> int:
    """How many there are in the largest operand."""
    return max(
        math.prod(sizes[dim] if isinstance(dim, str) else dim for dim in shape) for shape in family.shapes
    )


def _prime(most: int) -> int:
    return next(n for n in range(most, 0, -1) if all(n % k for k in range(2, n)))


def measured(name: str, family: Family, every: bool, repeats: int) -> Iterator[Row]:
    """Each subset of the dims at each size."""
    for sizes in sizes_of(family):
        static = rt.build(program(family, sizes), target=TARGET)
        given = arrays(family, sizes)
        wanted = static.run(given)
        shown = " ".join(f"{dim}={size}" for dim, size in sizes.items())
        for opened in subsets(tuple(sizes), every):
            dims = {dim: rt.dim(dim) if dim in opened else size for dim, size in sizes.items()}
            symbolic = rt.build(program(family, dims), target=TARGET)
            found = symbolic.run(given)
            ours, theirs = least([partial(symbolic.run, given), partial(static.run, given)], repeats, _BLOCK)
            yield Row(name, opened, shown, ours, theirs, _agree(found, wanted))


def _agree(found: object, wanted: object) -> bool:
    pairs = zip(
        *[each if isinstance(each, tuple | list) else [each] for each in (found, wanted)], strict=True
    )
    return all(
        np.allclose(a, b, rtol=_TOLERANCE, atol=_TOLERANCE * float(np.abs(b).max(initial=1)))
        for a, b in pairs
    )


def table(names: Sequence[str], every: bool, repeats: int) -> int:
    """Prints a line for each, then what is above the goal; 1 where values differ.  SystemExit for unknown names."""
    chosen = {}
    for name in names or [""]:
        found = [name] if name in FAMILIES else [each for each in FAMILIES if name in each]
        if not found:
            raise SystemExit(f"no op has {name!r} in its name; there are {', '.join(FAMILIES)}")
        chosen.update({each: FAMILIES[each] for each in found})
    rows = []
    for name, family in chosen.items():
        for row in measured(name, family, every, repeats):
            rows.append(row)
            print(row.text(), flush=True)
    slow = sorted((row for row in rows if row.share > GOAL), key=lambda row: -row.share)
    print(f"\nabove {GOAL}: {len(slow)} of {len(rows)}", *[row.text() for row in slow], sep="\n")
    for name, count in Counter(row.name for row in slow).most_common():
        shares = [row.share for row in rows if row.name == name]
        print(
            f"{name:28}{count:4} of {len(shares)}, geometric mean {mean(shares):.2f}, {max(shares):.2f} at worst"
        )
    print(
        f"all: geometric mean {mean([row.share for row in rows]):.3f}, {max(row.share for row in rows):.2f} at worst"
    )
    return int(not all(row.is_right for row in rows))
