"""Fresh processes for campaigns whose faults need one: first uses, exits, hangs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping

from tests.campaign import Tally


def fresh(
    module: str, *arguments: object, seconds: float = 120.0, env: Mapping[str, str] | None = None
) -> list[str]:
    """The problems that `python -m module arguments` prints, a line each; a hang or another status is one, too."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    what = f"{module} {' '.join(map(str, arguments))}"
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            text=True,
            timeout=seconds,
            check=False,
            env={**os.environ, **(env or {})},
        )
    except subprocess.TimeoutExpired:
        return [f"{what}: hangs"]
    problems = [f"{what}: {line}" for line in done.stdout.splitlines()]
    return problems + ([f"{what}: ended with status {done.returncode}"] if done.returncode else [])


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Calls `work` with each number below `count`, each in a thread of its own, and waits for all."""
    users = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for user in users:
        user.start()
    for user in users:
        user.join()


def repeated(seconds: float, seed: int, step: Callable[[int], tuple[int, list[str]]]) -> Tally:
    """Calls `step(number)`, which gives how much it tried and what failed, until the time is over."""
    tally, end, number = Tally(), time.monotonic() + seconds, seed * 1_000_000
    while time.monotonic() < end:
        tried, failures = step(number)
        tally.tried += tried
        tally.failures += failures
        number += 1
    return tally
