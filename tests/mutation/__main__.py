"""`python -m tests.mutation`: how many mutants of declarations and generated modules do the suites kill?

For each pattern some ops are chosen by the seed; for each op, mutants of its `compute` and `reference`, of its attrs'
defaults and bounds, and of its type relation.  Each runs the op's suite in a scratch folder.  Exit code 1 if any
mutant survives.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .subjects import ROOT, Library, Mutant, scratch_project

_SECONDS = 120  # a suite that takes longer hangs, which is a failure too


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the choice of ops and mutants")
    parser.add_argument("--ops", type=int, default=2, help="ops of each pattern")
    parser.add_argument("--only", nargs="*", help="these ops instead")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args(arguments)
    library = Library()
    chosen = (
        [library.ops[name] for name in options.only]
        if options.only
        else library.chosen(options.seed, options.ops)
    )
    print(f"ops: {', '.join(f'{op.name} ({op.pattern.name.lower()})' for op in chosen)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        project = scratch_project(Path(folder))
        right = [library.right(op, project) for op in chosen]
        every = [mutant for op in chosen for mutant in library.mutants_of(op, project, options.seed)]
    print(f"{len(every)} mutants", flush=True)
    survivors: list[Mutant] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for op, killed in zip(chosen, pool.map(is_killed, right), strict=True):
            if killed:
                raise SystemExit(f"the suite of {op.name} fails without any mutation")
        for mutant, killed in zip(every, pool.map(is_killed, every), strict=True):
            print(f"{'killed  ' if killed else 'SURVIVED'} {mutant}", flush=True)
            if not killed:
                survivors.append(mutant)
    for line in _summary(every, survivors):
        print(line)
    return 1 if survivors else 0


def is_killed(mutant: Mutant) -> bool:
    """Whether the suite fails.  Raises RuntimeError where it could not be run at all."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mutated").mkdir()
        (folder / "mutated" / "__init__.py").write_text("")
        (folder / "mutated" / f"_{mutant.op}.py").write_text(mutant.module)
        suite = folder / f"test_{mutant.op}.py"
        suite.write_text(mutant.suite)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([name, str(ROOT / "runtime"), str(ROOT)]),
            "OPGEN_CACHE_DIR": str(folder / "cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", str(suite)]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True
    if done.returncode not in (0, 1) and "error" not in done.stdout.lower():
        raise RuntimeError(f"{mutant}: pytest ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.returncode != 0


def _summary(every: Sequence[Mutant], survivors: Sequence[Mutant]) -> Iterator[str]:
    yield ""
    for part in dict.fromkeys(mutant.part for mutant in every):
        total = sum(mutant.part == part for mutant in every)
        alive = sum(mutant.part == part for mutant in survivors)
        yield f"{part:<10} {total - alive}/{total} killed"
    yield f"{'all':<10} {len(every) - len(survivors)}/{len(every)} killed"
    for mutant in survivors:
        yield f"survivor: {mutant}"


if __name__ == "__main__":
    sys.exit(main())
