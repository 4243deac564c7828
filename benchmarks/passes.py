"""How long passes take on large programs: in the repository's root, `python -m benchmarks.passes`.

A chain of calls and a quarter of it, and a DAG of 2^60 paths, through every pass and through reverse mode: processor
seconds.  Exit code 1 where the chain takes more than twice its share of the quarter's time, which is not linear.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from typing import Final

from opgen_runtime import ir
from tests.transform.test_all_passes import RUNS, Run, chain, paths

_LEAST: Final = 0.05  # seconds: less says nothing


def seconds(run: Run, module: ir.IRModule) -> float:
    """Of the processor, without the collector, which looks at all objects again and again."""
    gc.collect()
    gc.disable()
    begin = time.process_time()
    run(module)
    spent = time.process_time() - begin
    gc.enable()
    return spent


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--length", type=int, default=100_000, help="calls in the chain")
    length = parser.parse_args().length
    print(f"{'pass':30}{length // 4:>12,}{length:>12,}{'ratio':>8}{'2^60 paths':>12}")
    worst = 0.0
    for name, run in RUNS.items():
        seconds(run, chain(60))  # what is remembered by op and type is remembered now
        short, long = (seconds(run, chain(count)) for count in (length // 4, length))
        ratio = long / max(short, _LEAST)
        worst = max(worst, ratio)
        print(f"{name:30}{short:12.2f}{long:12.2f}{ratio:8.1f}{seconds(run, paths()):12.3f}", flush=True)
    return int(worst > 8)


if __name__ == "__main__":
    sys.exit(main())
