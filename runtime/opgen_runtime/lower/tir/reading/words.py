"""What only kernels that are Python functions say: kinds of loops, and buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from ....base.errors import LoweringError
from ...schedule.stages.kind import ForKind

_ONLY_INSIDE: Final = "stands in a function under @tir.kernel, which is read and never run"


def parallel(start: object, end: object = None) -> Iterator[Any]:
    """A loop whose iterations threads share: `for i in tir.parallel(n)`."""
    raise LoweringError(f"tir.parallel {_ONLY_INSIDE}")


def vectorized(start: object, end: object = None) -> Iterator[Any]:
    """A loop whose iterations are the lanes of vectors; its extent is a constant."""
    raise LoweringError(f"tir.vectorized {_ONLY_INSIDE}")


def unrolled(start: object, end: object = None) -> Iterator[Any]:
    """A loop whose iterations are written one after the other; its extent is a constant."""
    raise LoweringError(f"tir.unrolled {_ONLY_INSIDE}")


def allocate(shape: object, dtype: str, scope: str = "local") -> Any:
    """A buffer for the rest of a block; its content is undefined at first.

    scope: "local", of each iteration its own, or "global", shared by threads.
    """
    raise LoweringError(f"tir.allocate {_ONLY_INSIDE}")


LOOPS: Final[dict[Callable[..., object], ForKind]] = {
    range: ForKind.SERIAL,
    parallel: ForKind.PARALLEL,
    vectorized: ForKind.VECTORIZED,
    unrolled: ForKind.UNROLLED,
}
"""What a loop goes over, and how its iterations run."""
