"""What a program is: a function that asserts what it computes, and what TVM writes otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

F32 = "float32"


@dataclass(frozen=True)
class Program:
    """A program: its name, what it runs, and what TVM writes otherwise."""

    name: str
    run: Callable[[], None]
    there: str


PROGRAMS: list[Program] = []


def program(there: str = "") -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Notes a function as a program; `there`: what TVM writes otherwise."""

    def noted(run: Callable[[], None]) -> Callable[[], None]:
        PROGRAMS.append(Program(run.__name__, run, there))
        return run

    return noted


def numbers(*shape: int) -> np.ndarray:
    """An array of float32 that is the same each time."""
    return np.random.default_rng(0).uniform(0.5, 1.5, shape).astype(F32)


def near(found: object, wanted: object) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-4, atol=1e-5)
