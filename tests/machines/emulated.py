"""Machines that qemu emulates here: their targets, the C compiler that links for them, and what runs their programs."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final


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


_RISCV64: Final = "llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -mattr=+m,+a,+f,+d,+c -num-threads=2"
MACHINES: Final = {
    each.name: each
    for each in (
        Emulated(
            "aarch64",
            "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -num-threads=2",
            "aarch64-linux-gnu-gcc",
            ("qemu-aarch64-static", "-cpu", "cortex-a72"),
        ),
        Emulated("riscv64", _RISCV64, "riscv64-linux-gnu-gcc", ("qemu-riscv64-static", "-cpu", "rv64")),
        Emulated(
            "riscv64v",
            _RISCV64.replace("+c", "+c,+v,+zvl128b"),
            "riscv64-linux-gnu-gcc",
            ("qemu-riscv64-static", "-cpu", "rv64,v=true,vlen=128,vext_spec=v1.0"),
            (8, 1),
        ),
    )
}
