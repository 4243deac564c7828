"""The thread pool: jobs of random sizes from several callers, with random steps made slow, limits changed, stops."""

from __future__ import annotations

import random
import time

from opgen_runtime.codegen.objects.threads.pool_text import POINTS
from tests.campaign import Tally
from tests.codegen.pool_driver import Load, driven

_TOGETHER = 8  # loads a process
_SECONDS = 120.0  # for them; they take a few


def load(seed: int) -> Load:
    """A load of about half a second."""
    choose = random.Random(seed)
    slow = choose.sample(POINTS, choose.choice((0, 1, 2, 4)))
    callers = choose.choice((1, 1, 2, 3))
    return Load(
        threads=choose.choice((2, 3, 3, 5, 9)),
        jobs=100 if slow else 20_000 // callers,
        sizes=tuple(choose.choice((1, 2, 3, 5, 8, 33, 64, 200)) for _ in range(choose.randint(2, 4))),
        grain=choose.choice((1, 1, 2, 10)),
        work=choose.choice((0, 1, 50)),
        callers=callers,
        pauses={point: choose.choice((1, 20, 100)) for point in slow},
        flips=choose.random() < 0.3,
        stops=choose.random() < 0.2,
        one_cpu=choose.random() < 0.25,
    )


def run(seconds: float, seed: int) -> Tally:
    """Loads until the time is over; each has a pool of its own."""
    tally, deadline = Tally(), time.monotonic() + seconds
    while time.monotonic() < deadline:
        first = seed * 1_000_000 + tally.tried
        tally.failures += driven([load(first + k) for k in range(_TOGETHER)], _SECONDS)
        tally.tried += _TOGETHER
    return tally
