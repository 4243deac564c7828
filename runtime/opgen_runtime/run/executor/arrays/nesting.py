"""Arrays as the value of a program nests them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ....base.errors import ExecutorError

if TYPE_CHECKING:
    from ...compile.interpret import Arrays


def copy_into(result: Arrays, outputs: Sequence[np.ndarray] | None) -> Arrays:
    """The result, or `outputs` filled with it.  Raises ExecutorError for arrays that cannot hold it."""
    if outputs is None:
        return result
    flat = list(flat_arrays(result))
    if len(flat) != len(outputs):
        raise ExecutorError(f"the program has {len(flat)} results, found {len(outputs)} arrays for them")
    for position, (source, target) in enumerate(zip(flat, outputs, strict=True)):
        why = _why_not_into(source, target)
        if why:
            raise ExecutorError(f"the array for result {position} {why}")
    for source, target in zip(flat, outputs, strict=True):
        np.copyto(target, source, casting="equiv")
    return outputs[0] if isinstance(result, np.ndarray) else tuple(outputs)


def _why_not_into(source: np.ndarray, target: object) -> str | None:
    """Why `target` cannot hold the result; it may have any layout and byte order."""
    if not isinstance(target, np.ndarray):
        return f"must be an array, found {type(target).__name__}"
    if target.shape != source.shape or target.dtype.newbyteorder("=") != source.dtype:
        return f"must be {source.dtype}{list(source.shape)}, found {target.dtype}{list(target.shape)}"
    return None if target.flags.writeable else "is read-only"


def flat_arrays(arrays: Arrays) -> Iterator[np.ndarray]:
    """The arrays of a value, in order."""
    if isinstance(arrays, tuple):
        for part in arrays:
            yield from flat_arrays(part)
    else:
        yield arrays
