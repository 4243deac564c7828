"""Machines that qemu emulates here: their targets, the C compiler that links for them, and what runs their programs."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opgen_runtime.base.target.architecture import Sample
from opgen_runtime.base.target.families import FAMILIES


@dataclass(frozen=True)
class Emulated:
    """A machine: the target's text, the cross compiler, and the emulator with what it must be told of the CPU.

    `since`: the version of the emulator from which on it runs all that the target has.
    """

    name: str
    target: str
    compiler: str
    emulator: tuple[str, ...]
    since: tuple[int, int] = (0, 0)

    @property
    def why_not_here(self) -> str | None:
        """What is not installed, or too old; None where all is there."""
        missing = [tool for tool in (self.compiler, self.emulator[0]) if shutil.which(tool) is None]
        if missing:
            return f"{', '.join(missing)}: not installed (scripts/machines)"
        said = subprocess.run(
            [self.emulator[0], "--version"], capture_output=True, text=True, timeout=60, check=True
        ).stdout
        found = re.search(r"version (\d+)\.(\d+)", said)
        if found is None or (int(found[1]), int(found[2])) < self.since:
            return f"{said.splitlines()[0]}: it ends at some vector instructions; {self.since} or newer is needed"
        return None

    def link(self, program: Path, source: str, objects: Sequence[Path]) -> None:
        """Compile C and link it with objects, statically: there is no other system's root here."""
        main = program.with_suffix(".c")
        main.write_text(source)
        listed = program.with_suffix(".objects")  # more than a command line holds
        listed.write_text("\n".join(map(str, objects)))
        command = [self.compiler, "-O1", "-static", "-Wall", "-Werror", "-o", program, main, f"@{listed}"]
        done = subprocess.run(
            [*command, "-lm", "-lpthread"], capture_output=True, text=True, timeout=300, check=False
        )
        if done.returncode:
            raise AssertionError(f"{self.compiler}: {done.stderr.strip()[-2000:]}")

    def run(
        self, program: Path, *arguments: object, seconds: float = 300
    ) -> subprocess.CompletedProcess[str]:
        """The program, emulated, in its own folder; a status below 0 is a signal, as of a crash."""
        return subprocess.run(
            [*self.emulator, program, *map(str, arguments)],
            cwd=program.parent, capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip


def _emulated(architecture: str, sample: Sample) -> Emulated:
    """What Debian calls the tools for an architecture."""
    system = f"{architecture}-linux-gnu"
    emulator = (f"qemu-{architecture}-static", "-cpu", sample.emulated_cpu)
    target = f"llvm -mtriple={system} {sample.options} -num-threads=2"
    return Emulated(sample.name, target, f"{system}-gcc", emulator, sample.since)


MACHINES: Final = {
    sample.name: _emulated(family.names[0], sample) for family in FAMILIES for sample in family.samples
}
