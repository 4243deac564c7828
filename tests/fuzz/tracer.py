"""Random numpy programs under `jit` and on arrays: `tests/run/calls/tracing/programs.py`."""

from __future__ import annotations

import random

from tests.run.calls.tracing.programs import check

COUNT = 2000


def case(seed: int) -> None:
    chooser = random.Random(seed)
    check(lambda items: chooser.choice(list(items)), seed, 10)
