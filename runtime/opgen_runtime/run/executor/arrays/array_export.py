"""Array export: results as arrays of another library."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ....base.errors import CallError
from ....ir import admit
from ...compile.interpret import Value


def asarray(x: object, like: object = None) -> Any:
    """`x` as a numpy array, or as an array of the library that `like` is of; memory is shared where both can.

        result = rt.asarray(eager.exp(tensor), like=tensor)    # a torch tensor again

    The library takes it through `from_dlpack`, its own (torch) or that of its array namespace (jax, by the array API's
    `__array_namespace__`).  Arrays that cannot be written to are copied first, which the protocol demands.

    Raises CallError if `x` is no array, or the library of `like` has no `from_dlpack` or does not take the dtype.
    """
    array = admit(x, "x")
    if like is None or isinstance(like, np.ndarray | np.generic | Value):
        return array
    take = _from_dlpack(like)
    if take is None:
        kind = f"{type(like).__module__}.{type(like).__qualname__}"
        raise CallError(f"arrays of kind {kind} cannot be made: its library has no `from_dlpack`")
    try:
        return take(array if array.flags.writeable else array.copy())
    except (TypeError, ValueError, RuntimeError, BufferError) as error:  # what libraries raise
        raise CallError(f"{take.__module__} does not take an array of {array.dtype}: {error}") from error


def _from_dlpack(like: object) -> Callable[[Any], Any] | None:
    """`from_dlpack` of the array namespace of `like`, or of the package that its class is of."""
    namespace = getattr(like, "__array_namespace__", None)
    home = namespace() if namespace is not None else sys.modules.get(type(like).__module__.partition(".")[0])
    found: Callable[[Any], Any] | None = getattr(home, "from_dlpack", None)
    return found
