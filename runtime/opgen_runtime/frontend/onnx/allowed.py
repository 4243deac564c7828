"""What a model may ask for, as users say it; `limits.py` holds models to it."""

from __future__ import annotations

from typing import Final

from ...base.vocabulary import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What a model may ask for.

    `memory`: bytes of one tensor, of all arrays that a conversion makes, and of all buffers of a program.
    `nodes`: nodes that are converted, those of a function at each call and those of a loop at each step.
    `calls`: calls of declared ops that the nodes become.  `steps`: of one loop; programs of `load` count none.
    `depth`: of functions and subgraphs within one another.
    """

    memory: int = 1 << 33
    nodes: int = 100_000
    calls: int = 100_000
    steps: int = 4096
    depth: int = 64


DEFAULT_LIMITS: Final = Limits()
