"""What jitted calls of ops cost in JAX, beside jnp's: `python -m benchmarks.bridges_jax`, microseconds.

Ours and jnp's take turns, in batches; the least of all batches counts.  A call ends when its result is there.
"""

from __future__ import annotations

import argparse
import sys
import timeit
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp

import opgen_runtime.bridges.jax as J

LIMIT: Final = 1.5
"""Microseconds beyond jnp's, which the bridge is held to."""
BATCHES: Final = 300
CALLS: Final = 200  # in a batch
SIZES: Final = (10, 1000)
ROWS: Final[dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]]] = {
    "relu": (J.relu, lambda x: jnp.maximum(x, 0)),
    "tanh": (J.tanh, jnp.tanh),
    "add": (lambda x: J.add(x, x), lambda x: x + x),
    "softmax": (lambda x: J.softmax(x, axis=0), lambda x: jax.nn.softmax(x, axis=0)),
    "slope of tanh": (jax.grad(lambda x: J.tanh(x).sum()), jax.grad(lambda x: jnp.tanh(x).sum())),
}


def measured(ours: Callable[[Any], Any], theirs: Callable[[Any], Any], x: Any) -> tuple[float, float]:
    """Microseconds of a call of each."""

    def timer(function: Callable[[Any], Any]) -> timeit.Timer:
        compiled = jax.jit(function)
        return timeit.Timer(lambda: compiled(x).block_until_ready())

    timers = [timer(ours), timer(theirs)]
    for each in timers:
        each.timeit(3)
    found = [[each.timeit(CALLS) / CALLS for each in timers] for _ in range(BATCHES)]
    least = [min(column) * 1e6 for column in zip(*found, strict=True)]
    return least[0], least[1]


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(f"{'':20}{'elements':>9}{'ours':>9}{'jnp':>9}{'beyond':>9}")
    failed = 0
    for name, (ours, theirs) in ROWS.items():
        for size in SIZES:
            mine, jnps = measured(ours, theirs, jnp.linspace(-2.0, 2.0, size))
            is_held = mine - jnps <= LIMIT
            failed += not is_held
            verdict = "held" if is_held else "NOT HELD"
            print(
                f"{name:20}{size:9}{mine:9.2f}{jnps:9.2f}{mine - jnps:9.2f}  at most {LIMIT}: {verdict}",
                flush=True,
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
