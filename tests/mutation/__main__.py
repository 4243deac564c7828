"""`python -m tests.mutation`: how many mutants of declarations and generated modules do the suites kill?

For each pattern some ops are chosen by the seed; for each op, mutants of its `compute` and `reference`, of its attrs'
defaults and bounds, and of its type relation.  Each runs the op's suite in a scratch folder; the probes of the suite
alone must kill mutants of bounds.  Exit code 1 if any mutant survives.

    python -m tests.mutation --part bounds --all    every mutant of every bound
    python -m tests.mutation --part gradients       each rule of derivatives removed (`gradients.py`)
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from . import gradients
from .subjects import PARTS, Library, Mutant, scratch_project
from .suites import FORK, is_killed

Verdict = tuple[Mutant, bool]
_LIBRARY: Final[list[Library]] = []  # of a worker, inherited when it is forked: large to send with every task


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=0, help="of the choice of ops and mutants")
    parser.add_argument("--ops", type=int, default=2, help="ops of each pattern")
    parser.add_argument("--only", nargs="*", help="these ops instead")
    parser.add_argument("--all", action="store_true", help="every op instead")
    parser.add_argument(
        "--part", nargs="*", choices=(*PARTS, "gradients"), help="these parts alone, and all their mutants"
    )
    parser.add_argument("--most", type=int, help="mutants of each part of an op; by default few")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args(arguments)
    if options.part == ["gradients"]:
        return gradients.main()
    library = Library()
    parts = tuple(options.part or PARTS)
    most = options.most if options.most is not None or not options.part else sys.maxsize
    if options.all:
        chosen = library.subjects(parts)
    elif options.only:
        chosen = [library.ops[name] for name in options.only]
    else:
        chosen = library.chosen(options.seed, options.ops)
    print(f"ops: {', '.join(f'{op.name} ({op.pattern.name.lower()})' for op in chosen)}", flush=True)
    verdicts: list[Verdict] = []
    with ProcessPoolExecutor(options.jobs, FORK, _LIBRARY.append, (library,)) as pool:
        judged = partial(_judged, options.seed, most, parts)
        for found in pool.map(judged, [op.name for op in chosen]):
            for mutant, killed in found:
                print(f"{'killed  ' if killed else 'SURVIVED'} {mutant}", flush=True)
            verdicts += found
    for line in _summary(verdicts):
        print(line)
    return 0 if all(killed for _, killed in verdicts) else 1


def _judged(seed: int, most: int | None, parts: Sequence[str], name: str) -> list[Verdict]:
    """The mutants of an op, and whether its suite kills each.  Raises RuntimeError if it kills the right op."""
    library = _LIBRARY[0]
    op = library.ops[name]
    with tempfile.TemporaryDirectory() as folder:
        project = scratch_project(Path(folder))
        if is_killed(library.right(op, project, parts)):
            raise RuntimeError(f"the suite of {name} fails without any mutation")
        return [(mutant, is_killed(mutant)) for mutant in library.mutants_of(op, project, seed, most, parts)]


def _summary(verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield ""
    for part in dict.fromkeys(mutant.part for mutant, _ in verdicts):
        own = [killed for mutant, killed in verdicts if mutant.part == part]
        yield f"{part:<10} {sum(own)}/{len(own)} killed"
    yield f"{'all':<10} {sum(killed for _, killed in verdicts)}/{len(verdicts)} killed"
    for mutant, killed in verdicts:
        if not killed:
            yield f"survivor: {mutant}"


if __name__ == "__main__":
    sys.exit(main())
