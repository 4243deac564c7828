"""Programs compiled for another machine, exported as C libraries, and run there by an emulator:

    python -m tests.machines aarch64            everything: ops, models, the thread pool, artifacts
    python -m tests.machines riscv64 exp sin    some ops

What it needs is installed by scripts/machines.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from tests.campaign import Tally

from . import of_artifacts, of_models, of_ops, of_pool
from .emulated import MACHINES


def main(arguments: list[str] | None = None) -> int:
    """1 where something went wrong or there is no emulator."""
    parser = argparse.ArgumentParser(prog="python -m tests.machines", description=__doc__)
    parser.add_argument("machine", choices=MACHINES)
    parser.add_argument("ops", nargs="*", help="ops by name; without names all, the models and the pool")
    parser.add_argument("--count", type=int, help="of so many ops, evenly spread")
    parser.add_argument("--only", choices=("ops", "models", "pool", "artifacts"))
    options = parser.parse_args(arguments)
    machine = MACHINES[options.machine]
    reason = machine.why_not_here
    if reason is not None:
        print(reason, file=sys.stderr)
        return 1
    parts: dict[str, Callable[[], tuple[Tally, int]]] = {
        "ops": lambda: of_ops.checked(machine, options.ops, options.count),
        "models": lambda: of_models.checked(machine),
        "pool": lambda: of_pool.checked(machine),
        "artifacts": lambda: of_artifacts.checked(machine),
    }
    only = "ops" if options.ops else options.only
    wrong = [_report(name, run) for name, run in parts.items() if only in (None, name)]
    return int(any(wrong))


def _report(what: str, run: Callable[[], tuple[Tally, int]]) -> bool:
    """Whether something went wrong; prints what, how many and how long."""
    begin = time.monotonic()
    tally, count = run()
    for problem in tally.failures:
        print(f"{what}: {problem}")
    seconds = time.monotonic() - begin
    print(
        f"{what}: {count}, {tally.tried} programs, {len(tally.failures)} problems, {seconds:.0f} s",
        flush=True,
    )
    return bool(tally.failures)


if __name__ == "__main__":
    sys.exit(main())
