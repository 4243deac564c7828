"""Architectures of torchvision, timm and transformers, drawn by a seed, beside onnxruntime: `python -m benchmarks.zoo`.

Each is made with random weights (nothing is downloaded), written as an ONNX model by PyTorch's exporter (the older one
where the newer fails), and run by this project and by onnxruntime, each in a process of its own, in turns, the least
of several blocks: milliseconds of a run, the largest difference, seconds of loading and the first run without and with
what is cached (without the import of either package), and the most resident memory until then.  The table is
Markdown.  What cannot be made or exported is named with the reason, and another one is drawn.

Needs torch, onnxscript, onnxruntime and some of the three libraries in this environment:

    pip install torch torchvision timm transformers onnx onnxscript onnxruntime

Ends with 1 where a result differs or a process fails.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benchmarks.bench import machine
from benchmarks.bench.workers import ROOT
from benchmarks.models import PREPARED, REFERENCE, ROUNDS, WINOGRAD, difference, started
from benchmarks.zoo import MADE
from benchmarks.zoo.report import HEAD, Measured, Side, summary

_EXPORT_SECONDS: Final = 300
_LIBRARIES: Final = ("torchvision", "timm", "transformers")
_EXPORTERS: Final = ("dynamo", "torchscript")


def drawn(seed: int, names: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Libraries and names of architectures: the libraries take turns, each in an order of its own."""
    orders = [
        [(library, name) for name in random.Random(f"{seed} {library}").sample(list(given), len(given))]
        for library, given in names.items()
    ]
    for each in itertools.zip_longest(*orders):
        yield from (pair for pair in each if pair is not None)


def exported(library: str, name: str, folder: Path, max_weights: int) -> str | None:
    """Writes the model and its inputs into a folder, unless they are there; why that fails, or None."""
    if (folder / "inputs.npz").exists():
        return None
    folder.mkdir(parents=True, exist_ok=True)
    reason = ""
    for exporter in _EXPORTERS:
        command = [sys.executable, "-m", "benchmarks.zoo.export", library, name, str(folder)]
        command += ["--exporter", exporter, "--max-weights", str(max_weights)]
        try:
            ended = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=_EXPORT_SECONDS
            )
        except subprocess.TimeoutExpired:
            reason = f"more than {_EXPORT_SECONDS} s in the exporter"
            continue
        if ended.returncode == 0:
            return None
        reason = (ended.stderr.strip().splitlines() or [f"status {ended.returncode}"])[-1]
        if MADE not in ended.stdout.splitlines():
            break
    return reason


def measure(name: str, folder: Path, options: argparse.Namespace) -> Measured:
    """Both sides of an exported model. Raises RuntimeError where a process ends."""
    peer = WINOGRAD if options.winograd else PREPARED
    with tempfile.TemporaryDirectory() as scratch:
        for file in ("model.onnx", "inputs.npz"):
            os.symlink(folder.resolve() / file, Path(scratch, file))
        with started(peer, Path(scratch), options) as first:
            cold = first.report
        with (
            started(REFERENCE, Path(scratch), options) as theirs,
            started(peer, Path(scratch), options) as ours,
        ):
            for _ in range(ROUNDS):
                theirs.block()
                ours.block()
            sides = [
                Side(each.best, report["first"], report["peak"])
                for each, report in ((ours, ours.report), (ours, cold), (theirs, theirs.report))
            ]
            return Measured(name, *sides, difference(Path(scratch), peer, REFERENCE))


def main() -> int:
    options = _options()
    there = [name for name in _LIBRARIES if importlib.util.find_spec(name)]
    for name in sorted({*_LIBRARIES} - {*there}):
        print(f"{name} is not installed: none of its architectures is drawn")
    lines = [f"- {line}" for line in machine.describe(sys.executable)]
    kind = "seconds of the processor" if options.processor_time else "seconds by the clock"
    lines.append(f"- seed {options.seed}, {options.threads} threads, {kind}")
    print("\n".join([*lines, "", *HEAD]), flush=True)
    found: list[Measured] = []
    failed: list[str] = []
    passed: list[str] = []
    with ExitStack() as stack:
        kept = options.models or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for library, name in _candidates(options, there):
            if len(found) + len(failed) == options.count:
                break
            folder = kept / library / name
            if reason := exported(library, name, folder, options.max_weights):
                passed.append(f"- {library} {name}: {reason}")
                continue
            try:
                found.append(measure(f"{library} {name}", folder, options))
                print(found[-1].row, flush=True)
            except RuntimeError as error:
                failed.append(f"- {library} {name}: {error}")
                print(failed[-1], flush=True)
    print(
        "\n".join(["", *summary(found), "", f"{len(failed)} failed.", *failed, "", "Not drawn:", "", *passed])
    )
    return int(bool(failed) or not all(each.is_right for each in found))


def _candidates(options: argparse.Namespace, there: Sequence[str]) -> Iterator[tuple[str, str]]:
    if options.names:
        return (tuple(name.split(":")) for name in options.names)
    from benchmarks.zoo.architectures import LIBRARIES

    return drawn(options.seed, {library: LIBRARIES[library].names() for library in there})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.zoo",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="LIBRARY:NAME", help="these instead of drawn ones")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=40, help="of architectures")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--winograd", action="store_true", help="Winograd's convolutions are allowed")
    parser.add_argument("--processor-time", action="store_true", help="for a machine that does other work")
    parser.add_argument("--max-weights", type=int, default=100_000_000, help="no architecture with more")
    parser.add_argument(
        "--models", type=Path, metavar="FOLDER", help="exported models are kept, and found again"
    )
    options = parser.parse_args()
    options.python = sys.executable
    if options.processor_time and options.threads != 1:
        parser.error(
            "--processor-time needs --threads 1: threads that wait for others use the processor, too"
        )
    return options


if __name__ == "__main__":
    sys.exit(main())
