"""Array-likes as numpy arrays: whatever offers DLPack or another of Python's array protocols."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..base.errors import CallError
from .expr import Constant, Expr
from .traced import Traced

# In the order in which they are tried: the first two share memory.
_PROTOCOLS: Final[dict[str, Callable[[Any], np.ndarray]]] = {
    "__dlpack__": np.from_dlpack,
    "__array_interface__": np.asarray,
    "__array__": np.asarray,
}


def admit(value: object, what: str = "the operand") -> np.ndarray:
    """The plain numpy array, in this machine's byte order, of an array, a constant, or an array of another library.

    Arrays of others are those with `__dlpack__` (torch, jax, cupy on the CPU), `__array_interface__` or `__array__`
    (pandas); their memory is shared where numpy can read it.  `what` names the value in messages.

    Raises CallError for what is none of these, for a masked array, and for one that its library does not give out.
    """
    if isinstance(value, np.ndarray | np.generic):
        if _is_masked(value):
            raise CallError(
                f"{what} is a masked array, whose mask would be lost; fill it with .filled(value)"
            )
        array = np.asarray(value)
    elif isinstance(value, Constant):
        array = value.data
    else:
        array = _of_another(value, what)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _is_masked(array: object) -> bool:
    """Whether this is a masked array; numpy loads their module late, and there is none before that."""
    return isinstance(array, getattr(sys.modules.get("numpy.ma"), "MaskedArray", ()))


def admissible(value: object) -> bool:
    """Whether `value` is an array, a constant, or offers a protocol of arrays."""
    if isinstance(value, np.ndarray | np.generic | Constant):
        return True
    return not isinstance(value, Expr | Traced | type) and any([hasattr(value, name) for name in _PROTOCOLS])


def _of_another(value: object, what: str) -> np.ndarray:
    if not admissible(value):
        raise CallError(f"{what} must be an array or a number, found {_kind(value)}")
    reasons: list[str] = []
    for protocol, take in _PROTOCOLS.items():
        if hasattr(value, protocol):
            try:
                return np.asarray(take(value))
            except (
                TypeError,
                ValueError,
                RuntimeError,
                BufferError,
                AttributeError,
            ) as error:  # what they raise
                reasons.append(f"{protocol}: {error}")
    raise CallError(f"{what}, a {_kind(value)}, cannot be taken as an array: {'; '.join(reasons)}")


def _kind(value: object) -> str:
    if isinstance(value, Expr | Traced):
        return "an expression; ops of `opgen_runtime.ops` build expressions"
    hint = "; numpy.asarray makes one" if isinstance(value, list | tuple) else ""
    return f"{type(value).__name__}{hint}"
