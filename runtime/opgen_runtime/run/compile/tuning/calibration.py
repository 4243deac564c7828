"""Costs of this machine, measured: entries of `Machine.cycles` by small kernels of loop IR, compiled as all are.

Each kernel handles vectors of 32-bit floats, that many a run, in the first-level cache unless it says otherwise.  What
a vector takes, in the time that one multiplication and addition of a vector takes, is a cost; what is no cost of a
single kernel is the difference of two.  Kernels run in turn, so that what slows the machine down slows all of them.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from ....base import Target
from ....base.vocabulary import dataclass
from ....lower.tir import parse
from ..function import TensorFunction
from ..scheduled import build_loop_ir

_VECTORS: Final = 1 << 16  # of a run, which takes some 20 us at least: what is around it does not count
_ROWS: Final = 16  # of an operand
_ACCUMULATORS: Final = 8
_LINE: Final = 64  # elements: a multiple of any line
_APART: Final = 5  # elements between those that are read one by one
_LAUNCHES: Final = 10.0  # of the thread pool, that a shared loop must be worth
_MIN_COST: Final = 0.1  # of what is hidden behind other work
_MIN_ROUNDS: Final = 3
_UNIT: Final = "multiply_add"


@dataclass(frozen=True, slots=True)
class Probe:
    """A kernel over `vectors` vectors: what a step makes of a sum and an operand, or loops of its own."""

    name: str
    step: str
    accumulators: int = _ACCUMULATORS
    stride: int = 1


# `s`: the accumulator, `x`: a vector of the operand, `y`: an element of another one.
_PROBES: Final = (
    Probe(_UNIT, "{s} + {y} * {x}"),
    Probe("add", "{s} + {x}"),
    Probe("divide", "{s} + {y} / {x}"),
    Probe("exp", "{s} + exp({x})"),
    Probe("dependent", "{s} * {y} + {x}", accumulators=1),
    Probe("every_other", "{s} + {y} * {x}", accumulators=4, stride=2),
    Probe("apart", "{s} + {y} * {x}", accumulators=1, stride=_APART),
)

_STEPS: Final = """\
probe(a: float32[n], b: float32[n, {width}]) -> (c: float32[{elements}]):
    allocate sums: float32[{elements}] local:
        unrolled for v in range({accumulators}):
            vectorized for l in range({lanes}):
                sums[{at}] = 0.0
        for r in range({repeats}):
            for k in range(n):
                unrolled for v in range({accumulators}):
                    vectorized for l in range({lanes}):
                        sums[{at}] = {step}
        unrolled for v in range({accumulators}):
            vectorized for l in range({lanes}):
                c[{at}] = sums[{at}]
"""
# Products of two rows that are stored, as many as half of the second-level cache has, and summed afterwards.
_STORED: Final = """\
probe(a: float32[n], b: float32[n, {width}]) -> (c: float32[{elements}]):
    allocate products: float32[{groups}, {elements}] global:
        for g in range({groups}):
            unrolled for v in range({accumulators}):
                vectorized for l in range({lanes}):
                    products[g, {at}] = a[g % n] * b[g % n, {at}]
        allocate sums: float32[{elements}] local:
            unrolled for v in range({accumulators}):
                vectorized for l in range({lanes}):
                    sums[{at}] = 0.0
            for g in range({groups}):
                unrolled for v in range({accumulators}):
                    vectorized for l in range({lanes}):
                        sums[{at}] = sums[{at}] + products[g, {at}]
            unrolled for v in range({accumulators}):
                vectorized for l in range({lanes}):
                    c[{at}] = sums[{at}]
"""
_LOOP: Final = """\
probe(a: float32[{threads}]) -> (c: float32[{threads}]):
    {kind}for i in range({threads}):
        c[i] = a[i] + 1.0
"""

MEASURED: Final = (
    "operation", "division", "function", "latency", "every_other", "element", "store_and_load", "share_loop",
)  # fmt: skip
"""The entries of `cycles` that are measured; others are those of the row that is like the machine."""


def calibrate(target: Target, seconds: float) -> dict[str, float]:
    """What the entries of `MEASURED` are on this machine, within about so many seconds.

    `share_loop` is left out for one thread.  Raises CodegenError where a kernel cannot be compiled.
    """
    runs, vectors = {}, {}
    for probe in _PROBES:
        runs[probe.name], vectors[probe.name] = _steps(probe, target)
    runs["stored"], vectors["stored"] = _stored(target)
    for kind in ("parallel ", ""):
        runs[f"{kind}loop"], vectors[f"{kind}loop"] = _loop(kind, target), 1
    ratios = _ratios(runs, seconds)
    each = vectors[_UNIT]
    return costs({name: ratio * each / vectors[name] for name, ratio in ratios.items()}, target.num_threads)


def costs(took: Mapping[str, float], threads: int) -> dict[str, float]:
    """The costs that follow of what a vector takes in each kernel, of what it takes in the first one."""
    found = {
        "operation": took["add"],
        "division": took["divide"] - took["add"],
        "function": took["exp"] - took["add"],
        "latency": took["dependent"],
        "every_other": took["every_other"],
        "element": took["apart"],
        "store_and_load": took["stored"] - 1,
    }
    if threads > 1:
        found["share_loop"] = _LAUNCHES * (took["parallel loop"] - took["loop"])
    return {name: float(f"{max(_MIN_COST, cost):.3g}") for name, cost in found.items()}


def _steps(probe: Probe, target: Target) -> tuple[Callable[[], object], int]:
    """A run of a probe, and how many vectors it handles."""
    lanes, elements = target.machine.lanes, probe.accumulators * target.machine.lanes
    repeats = _VECTORS // (_ROWS * probe.accumulators)
    at = f"v * {lanes} + l"
    column = at if probe.stride == 1 else f"({at}) * {probe.stride}"
    step = probe.step.format(s=f"sums[{at}]", x=f"b[k, {column}]", y="a[k]")
    width = elements * probe.stride
    text = _STEPS.format(
        width=width, elements=elements, accumulators=probe.accumulators, lanes=lanes, repeats=repeats, at=at,
        step=step,
    )  # fmt: skip
    run = _function(text, target)
    a, b, c = _ones(_ROWS), _ones(_ROWS, width), _ones(elements)
    return lambda: run(a, b, c), repeats * _ROWS * probe.accumulators


def _stored(target: Target) -> tuple[Callable[[], object], int]:
    lanes, elements = target.machine.lanes, _ACCUMULATORS * target.machine.lanes
    groups = target.machine.l2 // (8 * elements)
    text = _STORED.format(
        width=elements, elements=elements, accumulators=_ACCUMULATORS, lanes=lanes, groups=groups,
        at=f"v * {lanes} + l",
    )  # fmt: skip
    run = _function(text, target)
    a, b, c = _ones(_ROWS), _ones(_ROWS, elements), _ones(elements)
    return lambda: run(a, b, c), groups * _ACCUMULATORS


def _loop(kind: str, target: Target) -> Callable[[], object]:
    """A loop of next to nothing, over one iteration a thread, that are shared or not."""
    threads = target.num_threads
    machine = replace(target.machine, cycles={**target.machine.cycles, "share_loop": 1.0})
    eager = replace(target, machine=machine)  # each iteration is worth a thread
    run = _function(_LOOP.format(threads=threads, kind=kind), eager)
    a, c = _ones(threads), _ones(threads)
    return lambda: run(a, c)


def _ones(*shape: int) -> np.ndarray:
    """An array that begins where a cache line does, so that its vectors cross none."""
    count = math.prod(shape)
    memory = np.ones(count + _LINE, np.float32)
    first = -memory.ctypes.data % (_LINE * memory.itemsize) // memory.itemsize
    return memory[first : first + count].reshape(shape)


def _function(text: str, target: Target) -> TensorFunction:
    return build_loop_ir(parse(text), target)


def _ratios(runs: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """What a run of each takes, of what the first takes in the same round: the median until the time is over."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()  # compiles, and warms caches
    end, rounds = time.perf_counter() + seconds, 0
    while rounds < _MIN_ROUNDS or time.perf_counter() < end:
        took = {name: _seconds(run) for name, run in runs.items()}
        for name, each in took.items():
            found[name].append(each / took[_UNIT])
        rounds += 1
    return {name: statistics.median(each) for name, each in found.items()}


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
