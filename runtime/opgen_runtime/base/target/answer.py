"""What LLVM says of a target.

LLVM ends the process for a CPU, a feature or a combination that it does not know or cannot do, so another process asks.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from ..errors import did_you_mean
from ..vocabulary import dataclass
from .host import host

_SCRIPT: Final = Path(__file__).with_name("ask_llvm.py")
_SECONDS: Final = 120.0
_FEATURES: Final = re.compile(r"[+-][\w.-]+(,[+-][\w.-]+)*")
_UNKNOWN: Final = "unknown triple"
_SHOWN: Final = 12  # CPUs in a message
_ENTRY: Final = re.compile(r"^  (\S+) +- ")


@dataclass(frozen=True, slots=True)
class Answer:
    """`problem` says why LLVM cannot compile for a target, None if it can; then it has a data layout."""

    problem: str | None
    data_layout: str | None


@lru_cache(maxsize=64)
def ask(triple: str, cpu: str, features: str) -> Answer:
    """LLVM's answer about a target (about 0.2 s, once a process; this machine is not asked about)."""
    here = host()
    if (triple, cpu, features) == (here.triple, here.cpu, here.features):
        return Answer(None, None)
    for what, text in (("-mtriple", triple), ("-mcpu", cpu), ("-mattr", features)):
        if not text.isprintable() or text.startswith("-m"):
            return Answer(f"{what}={text!r} is no name that LLVM could know", None)
    if features and not _FEATURES.fullmatch(features):
        return Answer(
            f"-mattr={features}: expected features such as +avx2,-avx512f, each with its sign", None
        )
    import subprocess  # for other machines only

    try:
        child = subprocess.run(
            [sys.executable, "-P", str(_SCRIPT), triple, cpu, features],
            capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return Answer(f"LLVM could not be asked whether it compiles for it: {error}", None)
    return _read(child.returncode, child.stdout, child.stderr, triple, cpu, features)


def _read(status: int, output: str, errors: str, triple: str, cpu: str, features: str) -> Answer:
    if output.startswith(_UNKNOWN):
        names = output.removeprefix(_UNKNOWN).split()
        meant = did_you_mean(triple.split("-")[0], names)
        return Answer(
            f"-mtriple={triple}: LLVM has no such architecture{meant}; it has {', '.join(names)}", None
        )
    cpus, known = _names(errors)
    if cpus and cpu not in cpus:
        listed = [*cpus][:_SHOWN]
        rest = f" and {len(cpus) - _SHOWN} more" if len(cpus) > _SHOWN else ""
        return Answer(
            f"-mcpu={cpu}: LLVM has no such CPU{did_you_mean(cpu, cpus)}; "
            f"for {triple.split('-')[0]} it has {', '.join(listed)}{rest}",
            None,
        )
    for feature in features.split(",") if features else ():
        if known and feature[1:] not in known:
            return Answer(
                f"-mattr={feature}: LLVM has no such feature{did_you_mean(feature[1:], known)}", None
            )
    if status != 0 or not output.startswith("ok "):
        lines = [
            line.strip() for line in errors.splitlines() if "error" in line.lower() or "Assertion" in line
        ]
        said = lines[-1] if lines else f"it ended with status {status}"
        return Answer(f"LLVM cannot compile for -mcpu={cpu} -mattr={features}: {said}", None)
    return Answer(None, output.removeprefix("ok ").strip())


def _names(help_text: str) -> tuple[Mapping[str, None], Mapping[str, None]]:
    """The CPUs and the features in LLVM's own help."""
    cpus: dict[str, None] = {}
    features: dict[str, None] = {}
    found = cpus
    for line in help_text.splitlines():
        if line.startswith("Available features"):
            found = features
        elif entry := _ENTRY.match(line):
            found[entry.group(1)] = None
    return cpus, features
