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
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from opgen.commands.failure import Failure
from opgen.commands.scheduler import Pool, cluster

from . import gradients
from .subjects import PARTS, ROOT, Library
from .suites import FORK
from .units import LIBRARY, Unit, Verdict, judged


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
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster whose workers do the ops")
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
    units = [Unit(op.name, options.seed, most, parts) for op in chosen]
    found: dict[int, list[Verdict]] = {}
    told = 0
    try:
        with _pool(options.scheduler, options.jobs, library) as pool:
            for number, verdicts in pool.each(judged, units):
                found[number] = verdicts
                while told in found:  # in the order of the ops, whoever is done first
                    for mutant, killed in found[told]:
                        print(f"{'killed  ' if killed else 'SURVIVED'} {mutant}", flush=True)
                    told += 1
    except Failure as failure:
        parser.exit(failure.exit_code, f"{parser.prog}: {failure.message}\n")
    verdicts = [verdict for number in range(len(units)) for verdict in found[number]]
    for line in _summary(verdicts):
        print(line)
    return 0 if all(killed for _, killed in verdicts) else 1


@contextmanager
def _pool(scheduler: str | None, jobs: int, library: Library) -> Iterator[Pool]:
    """The workers of a cluster; else processes that are forked, and have the library."""
    if scheduler is not None:
        with cluster(scheduler, [str(ROOT)]) as pool:
            yield pool
        return
    with ProcessPoolExecutor(jobs, FORK, LIBRARY.append, (library,)) as executor:
        yield Pool(jobs, executor.submit)


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
