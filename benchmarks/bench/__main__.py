"""All that is measured, with one command: `scripts/bench`.

rows       the workloads of `benchmarks/peers.py` beside every installed peer, at one thread and at two
models     the public models beside onnxruntime (`benchmarks/models.py`)
shapes     random ONNX nodes beside onnxruntime (`benchmarks/shapes.py`)
compile    building and first calls beside goals and peers (`benchmarks/compile.py`, `latency.py`, `peers.py --cold`)
generate   `opgen generate` on the library's own declarations
calls      what a call costs beside its kernel (`benchmarks/calls.py`)

With --write the report goes to benchmarks/results/: `rows.md`, a roofline picture for each number of threads, and the
figures as JSON.  Peers run in an environment of their own (--peers-python).  On a machine that does other work,
--processor-time compares the processor's seconds of one thread, which it disturbs least.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

import yaml

from . import machine, report, roofline, work, workers
from .workers import ROOT, Row, Settings

RESULTS: Final = ROOT / "benchmarks" / "results"
_REASONS: Final = Path(__file__).with_name("reasons.yaml")
_PARTS: Final = ("rows", "models", "shapes", "compile", "generate", "calls")


def main() -> int:
    options = _options()
    chosen = options.parts or ["rows"]
    lines = [f"# Beside the peers\n\nMade by `{_command()}`.\n"]
    lines += [f"- {line}" for line in machine.describe(options.peers_python)]
    print("\n".join(lines[1:]), flush=True)
    pictures: dict[str, str] = {}
    figures: dict[str, object] = {}
    for part in chosen:
        if part == "rows":
            for threads in options.threads:
                lines += _rows(options, threads, pictures, figures)
        else:
            for threads in options.threads if part in ("models", "shapes") else [options.threads[0]]:
                lines += _other(part, threads, options)
    if options.write:
        RESULTS.mkdir(exist_ok=True)
        files = {
            **pictures,
            "rows.md": "\n".join(lines) + "\n",
            "rows.json": json.dumps(figures, indent=1) + "\n",
        }
        for name, text in files.items():
            (RESULTS / name).write_text(text, encoding="utf-8")
        print(f"\nwritten to {RESULTS.relative_to(ROOT)}: {', '.join(files)}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="rows by default")
    parser.add_argument("--peers-python", default=sys.executable, help="the interpreter that has the peers")
    parser.add_argument("--peers", default="", help="comma-separated; all that are installed by default")
    parser.add_argument("--only", default="", help="comma-separated parts of the names of rows")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7, help="blocks of each peer and row")
    parser.add_argument("--block-ms", type=float, default=25.0)
    parser.add_argument(
        "--quiet-s", type=float, default=20.0, help="waited at most before a block for a quiet machine"
    )
    parser.add_argument("--processor-time", action="store_true", help="of one thread: needs --threads 1")
    parser.add_argument("--write", action="store_true", help="the report, to benchmarks/results/")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(_PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(_PARTS)}")
    if options.processor_time and options.threads != [1]:
        parser.error(
            "--processor-time needs --threads 1: threads that wait for others use the processor, too"
        )
    most = len(os.sched_getaffinity(0))
    options.threads = sorted({min(threads, most) for threads in options.threads})
    return options


def _rows(
    options: argparse.Namespace, threads: int, pictures: dict[str, str], figures: dict[str, object]
) -> list[str]:
    settings = Settings(
        options.peers_python,
        threads,
        options.rounds,
        options.block_ms / 1e3,
        options.quiet_s,
        options.processor_time,
    )
    peers = workers.installed(settings.python, [name for name in options.peers.split(",") if name])
    names = workers.workload_names(settings.python, [part for part in options.only.split(",") if part])
    print(f"\n{threads} threads: {', '.join(peers)}", flush=True)
    found: list[Row] = []
    for row in workers.rows(names, peers, settings):
        found.append(row)
        _print(row)
    figures[str(threads)] = {row.name: {p: asdict(t) for p, t in row.timings.items()} for row in found}
    reasons = yaml.safe_load(_REASONS.read_text(encoding="utf-8"))
    late = report.behind(found, reasons)
    print("\n" + "\n".join([report.summary(found), *late]), flush=True)
    kind = "processor time" if settings.processor_time else "wall time"
    picture = f"roofline-{threads}.svg"
    roofs = machine.roofs(threads)
    title = f"Rows at {threads} thread{'s' * (threads > 1)}, {kind}; beside each name the best peer's time over ours"
    pictures[picture] = roofline.picture(report.points(found, _work(settings.python)), roofs, title)
    return [
        f"\n## Rows, {threads} thread{'s' * (threads > 1)}\n",
        f"Milliseconds a call, the least of all blocks ({kind}); the best peer in bold; the ratio is its time over"
        " ours, above 1 is ahead.\n",
        *report.table(found, peers), "", f"{report.summary(found)}.", "",
        *(["Behind:", "", *late, ""] if late else []),
        f"![roofline]({picture})",
    ]  # fmt: skip


def _print(row: Row) -> None:
    ratio = "     " if row.ratio is None else f"{row.ratio:5.2f}"
    times = sorted(row.timings.items(), key=lambda each: each[1].least)
    print(f"{ratio}  {row.name:26}", *[f"{p} {t.least * 1e3:.3g}" for p, t in times], flush=True)
    for peer, problem in row.problems.items():
        print(f"       ! {peer}: {problem}", flush=True)


def _work(python: str) -> dict[str, tuple[int, int]]:
    command = [python, work.__file__, str(workers.WORKLOADS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, tuple[int, int]] = json.loads(done.stdout)
    return found


def _other(part: str, threads: int, options: argparse.Namespace) -> list[str]:
    """Run one of the other benchmarks, show what it prints, and keep it for the report."""
    lines = [f"\n## {part.capitalize()}, {threads} thread{'s' * (threads > 1)}\n", "```"]
    for command in _commands(part, threads, options):
        print("\n$", *command[1:], flush=True)
        with subprocess.Popen(
            command, cwd=ROOT, env=workers.environment(threads), text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                lines.append(line.rstrip())
        if process.returncode:
            lines.append(f"(ended with status {process.returncode})")
    return [*lines, "```"]


def _commands(part: str, threads: int, options: argparse.Namespace) -> Sequence[list[str]]:
    ours, theirs, limit = sys.executable, options.peers_python, ["--threads", str(threads)]
    cold = ",".join(workers.installed(theirs, [name for name in options.peers.split(",") if name]))
    found: dict[str, Sequence[list[str]]] = {
        "models": [[ours, "-m", "benchmarks.models", "--levels", "3", *limit, "--python", theirs]],
        "shapes": [[ours, "-m", "benchmarks.shapes", *limit, "--python", theirs]],
        "compile": [
            [ours, "-m", "benchmarks.compile", "--models"],
            [ours, "-m", "benchmarks.latency"],
            [theirs, str(workers.SCRIPT), "--cold", *limit, "--peers", cold],
        ],
        "generate": [
            [ours, "-m", "benchmarks.generate", "--python", theirs, "--torchgen", _packages(theirs)]
        ],
        "calls": [[ours, "-m", "benchmarks.calls", "--python", theirs]],
    }
    return found[part]


def _packages(python: str) -> str:
    """The folder in which an interpreter has its packages."""
    text = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return subprocess.run([python, "-c", text], capture_output=True, text=True, check=True).stdout.strip()


def _command() -> str:
    """As it was given, without where the peers are."""
    given = sys.argv[1:]
    if "--peers-python" in given:
        at = given.index("--peers-python")
        del given[at : at + 2]
    return " ".join(["scripts/bench", *given])


if __name__ == "__main__":
    sys.exit(main())
