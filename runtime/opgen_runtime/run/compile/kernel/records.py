"""What the stages of a kernel hand to one another, each with the texts that show it and a way to run it.

Request  a segment that is to be compiled          Segment   its tensor expressions (segment.py)
Normal   their normal form                         Scheduled with a schedule (Written: by hand, written.py)
Lowered  loop IR, after each phase, too            Emitted   LLVM IR
Compiled object code                               Kernel    in memory (kernel.py)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .... import codegen, ir
from ....base import Target
from ....base.vocabulary import dataclass
from ....compute import te
from ....compute.te.tensor import Tensor
from ....lower import tir
from ....lower.library.schedules import Trial, trials_text
from ....lower.library.segment import Segment, kernel_name
from ....lower.schedule import Schedule
from .multiversioning import Version
from .written import Program

if TYPE_CHECKING:
    from ....transform import PassInstrument

Subject: TypeAlias = Segment | Program
"""What a kernel computes: a segment of the graph, or the tensors of a schedule that a user wrote."""
Texts: TypeAlias = Iterator[tuple[str, str]]
"""(name, text) of what a record shows."""


@dataclass(frozen=True, slots=True)
class Request:
    """A segment that is to be compiled.

    `hooks`: users' functions by the names of the stages after which they run.  `instruments` watch the stages.
    `constant`: the positions of the operands, tuples spread, that have the same value in all runs.  `options`: of its
    phases.
    """

    function: ir.Function
    target: Target
    hooks: Mapping[str, tir.Phase] = field(default_factory=dict)
    instruments: tuple[PassInstrument, ...] = ()
    constant: frozenset[int] = frozenset()
    options: tir.Options = tir.Options()

    @property
    def name(self) -> str:
        """What the kernel is called."""
        return kernel_name(self.function)


@dataclass(frozen=True, slots=True)
class Normal:
    """A segment with its outputs in normal form (`te.normalize`)."""

    segment: Segment
    outputs: tuple[Tensor, ...]

    def texts(self) -> Texts:
        pattern, reason = te.derive_pattern(self.outputs, self.segment.inputs)
        anchor = self.segment.anchor
        followed = f"; follows {anchor.op.name}" if anchor is not None else ""
        yield "pattern", f"{pattern.name.lower()}: {reason}{followed}"

    def evaluate(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The segment's results by numpy."""
        return self.segment.results_of(te.evaluate(self.outputs, self.segment.feeds(arrays)))


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A segment in normal form with its schedule.

    `precompute`: the part that was split off, which runs once.  `versions`: others, for where more is known of its
    dims. `trials`: what each rule of the library said of each stage; none of a schedule that a strategy chose.
    """

    normal: Normal
    schedule: Schedule
    precompute: Scheduled | None = None
    versions: tuple[Version[Scheduled], ...] = ()
    trials: tuple[Trial, ...] = ()

    def texts(self) -> Texts:
        if self.trials:
            yield "rules", trials_text(self.trials)
        yield "schedule", str(self.schedule)
        yield "trace", str(self.schedule.trace)
        for version in self.versions:
            yield f"schedule where {version.specialisation}", str(version.what.schedule)

    def part_texts(self) -> Texts:
        """The schedules of both parts, where there are two."""
        if self.precompute is not None:
            yield "precompute", str(self.precompute.schedule)
            yield "main", str(self.schedule)


@dataclass(frozen=True, slots=True)
class Lowered:
    """A segment as loop IR; `versions`: others, for where more is known of its dims."""

    segment: Subject
    func: tir.PrimFunc
    versions: tuple[Version[tir.PrimFunc], ...] = ()

    @property
    def funcs(self) -> tuple[tir.PrimFunc, ...]:
        """All there are."""
        return (self.func, *[version.what for version in self.versions])

    def mapped(self, fn: Callable[[tir.PrimFunc], tir.PrimFunc]) -> Lowered:
        """The same with `fn` of each of them."""
        versions = [replace(version, what=fn(version.what)) for version in self.versions]
        return replace(self, func=fn(self.func), versions=tuple(versions))

    def text(self) -> str:
        parts = [f"where {each.specialisation}:\n{tir.to_text(each.what)}" for each in self.versions]
        return "\n".join([tir.to_text(self.func), *parts])

    def interpret(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The segment's results by the interpreter of loop IR."""
        feeds = self.segment.feeds(arrays)
        return self.segment.results_of(tir.interpret(self.func, list(feeds.values())))


@dataclass(frozen=True, slots=True)
class Emitted:
    """A segment as LLVM IR, and how LLVM is to optimise it; `versions`: where it chooses one, in order."""

    segment: Subject
    symbol: str
    text: str
    passes: codegen.Pipeline
    versions: tuple[str, ...] = ()

    def texts(self) -> Texts:
        yield "llvm", self.text


@dataclass(frozen=True, slots=True)
class Compiled:
    """A segment as object code; `versions`: where it chooses one, in order."""

    segment: Subject
    symbol: str
    code: codegen.Compiled
    versions: tuple[str, ...] = ()

    def texts(self) -> Texts:
        yield "llvm optimised", self.code.ir
        yield "assembly", self.code.assembly
