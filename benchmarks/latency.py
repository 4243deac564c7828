"""First-call latency, parallelism and vector width of a fused chain of five elementwise ops.

    python benchmarks/latency.py            # medians over 5 fresh processes each

Prints the milliseconds from just after the import to the first result, tracing included, with an empty and with a
filled object cache; CPU time over wall time on 16M elements; and what the assembly of the kernel holds.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile

RUNS = 5
PROGRAM = """
import json, sys, time
import numpy as np
import opgen_runtime as rt
from opgen_runtime import ops
chain = rt.jit(lambda a, b, c: ops.tanh(a * b + c) * ops.sigmoid(a))  # multiply add tanh sigmoid multiply
small = [np.linspace(-2, 2, 1000, dtype="float32") + k for k in range(3)]
start = time.perf_counter()
first = chain(*small)
elapsed = time.perf_counter() - start
a, b, c = small
assert np.allclose(first, np.tanh(a * b + c) / (1 + np.exp(-a)), rtol=1e-5, atol=1e-6)
report = {"first_ms": elapsed * 1e3}
if "--parallel" in sys.argv:
    large = [np.random.default_rng(k).standard_normal(1 << 24, dtype="float32") for k in range(3)]
    chain(*large)
    best = 0.0
    for _ in range(5):
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(8):
            chain(*large)
        best = max(best, (time.process_time() - cpu) / (time.perf_counter() - wall))
    report["cpu_over_wall"] = best
print(json.dumps(report))
"""


def fresh(cache: str, *arguments: str) -> dict[str, float]:
    """Run the program in a new process with the object cache in `cache`."""
    environment = {**os.environ, "OPGEN_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    report: dict[str, float] = json.loads(done.stdout)
    return report


def main() -> None:
    """Measure and print."""
    empty, filled = [], []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as cache:
            empty.append(fresh(cache)["first_ms"])
            filled.append(fresh(cache)["first_ms"])
    with tempfile.TemporaryDirectory() as cache:
        ratio = fresh(cache, "--parallel")["cpu_over_wall"]
    print(f"first call, empty cache   {statistics.median(empty):7.1f} ms  (median of {RUNS}, goal 100)")
    print(f"first call, filled cache  {statistics.median(filled):7.1f} ms  (median of {RUNS}, goal 10)")
    print(f"CPU over wall, 16M        {ratio:7.2f}     (goal 1.6 on two cores)")


if __name__ == "__main__":
    main()
