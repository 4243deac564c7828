"""Instruments watch passes: their time, the IR before and after, what changed, whether the contract holds.

with PassContext(instruments=[PassTiming(), DiffIR()]): ...
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from ..base.vocabulary import dataclass
from ..ir import IRModule
from .contract import PASS, Step
from .info import PassInfo

Write = Callable[[str], object]


class PassInstrument:
    """Watches passes; override what is of interest.  An exception in any method ends the run and is passed on."""

    def enter_pass_context(self) -> None:
        """The context is entered."""

    def exit_pass_context(self) -> None:
        """The context is left; called exactly for those instruments whose context was entered."""

    def should_run(self, module: IRModule, info: PassInfo) -> bool:
        """Whether the pass may run; required passes run in any case."""
        return True

    def run_before_pass(self, module: IRModule, info: PassInfo) -> None:
        """The pass is about to run on `module`."""

    def run_after_pass(self, module: IRModule, info: PassInfo) -> None:
        """The pass has given `module`."""

    def run_before_stage(self, kernel: str, stage: str) -> None:
        """A stage of a kernel is about to run: lowering, a phase, ...  A kernel that a cache holds runs none."""

    def run_after_stage(
        self, kernel: str, stage: str, texts: Callable[[], Iterable[tuple[str, str]]]
    ) -> None:
        """The stage has run; `texts` makes (name, text) of what there is to see."""


@dataclass(frozen=True, slots=True)
class Timed:
    """One run of a pass or of a stage of a kernel: `seconds` on the clock, without the passes that ran inside it."""

    name: str
    seconds: float


class PassTiming(PassInstrument):
    """Times every pass and every stage of a kernel: `.runs` in order, `.text()` a table of them, the slowest first."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.runs: list[Timed] = []
        self._clock = clock
        self._started: list[tuple[float, float]] = []  # (start, seconds of passes inside)

    def run_before_pass(self, module: IRModule, info: PassInfo) -> None:
        self._started.append((self._clock(), 0.0))

    def run_after_pass(self, module: IRModule, info: PassInfo) -> None:
        self._end(info.name)

    def run_before_stage(self, kernel: str, stage: str) -> None:
        self._started.append((self._clock(), 0.0))

    def run_after_stage(
        self, kernel: str, stage: str, texts: Callable[[], Iterable[tuple[str, str]]]
    ) -> None:
        self._end(stage)

    def _end(self, name: str) -> None:
        start, inside = self._started.pop()
        whole = self._clock() - start
        self.runs.append(Timed(name, whole - inside))
        if self._started:
            outer, others = self._started[-1]
            self._started[-1] = (outer, others + whole)

    def exit_pass_context(self) -> None:
        self._started.clear()  # of a pass that raised

    def text(self) -> str:
        """One line a pass: its name, how often it ran, milliseconds in all."""
        total: dict[str, list[float]] = {}
        for run in self.runs:
            total.setdefault(run.name, []).append(run.seconds)
        width = max([len(name) for name in total], default=0)
        ranked = sorted(total.items(), key=lambda row: -sum(row[1]))
        return "\n".join(
            [f"{name:{width}}  {len(spent):4}x  {sum(spent) * 1e3:10.3f} ms" for name, spent in ranked]
        )


class PrintIR(PassInstrument):
    """Writes the module before and after passes of the given names; after every pass if none are given."""

    def __init__(
        self, before: Iterable[str] = (), after: Iterable[str] | None = None, write: Write = print
    ) -> None:
        self.before = frozenset(before)
        self.after = None if after is None and not self.before else frozenset(after or ())
        self._write = write

    def run_before_pass(self, module: IRModule, info: PassInfo) -> None:
        if info.name in self.before:
            self._write(f"// before {info.name}\n{module}")

    def run_after_pass(self, module: IRModule, info: PassInfo) -> None:
        if self.after is None or info.name in self.after:
            self._write(f"// after {info.name}\n{module}")


class DiffIR(PassInstrument):
    """Writes what each pass changed, as a unified diff of the module's text; nothing where nothing did."""

    def __init__(self, write: Write = print, context_lines: int = 2) -> None:
        self._write = write
        self._lines = context_lines
        self._before: list[str] = []

    def run_before_pass(self, module: IRModule, info: PassInfo) -> None:
        self._before.append(str(module))

    def run_after_pass(self, module: IRModule, info: PassInfo) -> None:
        before, after = self._before.pop().splitlines(), str(module).splitlines()
        names = f"before {info.name}", f"after {info.name}"
        from difflib import unified_diff

        changed = list(unified_diff(before, after, *names, n=self._lines, lineterm=""))
        if changed:
            self._write("\n".join(changed))

    def exit_pass_context(self) -> None:
        self._before.clear()  # of a pass that raised


class VerifyIR(PassInstrument):
    """Holds what every pass gives to the contract, the runtime's own passes too. Raises PassError naming the pass."""

    def __init__(self) -> None:
        self._before: list[IRModule] = []

    def run_before_pass(self, module: IRModule, info: PassInfo) -> None:
        self._before.append(module)

    def run_after_pass(self, module: IRModule, info: PassInfo) -> None:
        step = Step(self._before.pop(), module, info.changes_type)
        PASS.verify(step, f"pass {info.name}")

    def exit_pass_context(self) -> None:
        self._before.clear()
