"""How the iterations of a loop run: shared by schedules and loop IR."""

from __future__ import annotations

from enum import Enum


class ForKind(Enum):
    """How the iterations of a loop run."""

    SERIAL = "serial"
    PARALLEL = "parallel"  # chunks claimed by the threads of the pool
    VECTORIZED = "vectorized"  # becomes Ramp and Splat in vectorize_loop; its extent is a constant
    UNROLLED = "unrolled"  # expanded in unroll_loop; its extent is a constant
    VIRTUAL = "virtual"  # iterations interleaved statement by statement in inject_virtual_thread
