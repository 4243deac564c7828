"""What this machine gives, for comparison with others.

AVX-512 has estimates of inverses of its own, which the last bit of `sigmoid` and `tanh` of float32 shows: code without
them is what other machines are compared with, where this one runs it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import opgen_runtime as rt

from .batch import Arrays

_HOST = rt.Target.host()
_FUSED = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3"
HERE = rt.Target.parse(_FUSED) if rt.Target.parse(_FUSED).is_host else _HOST


def flat(result: Any) -> Arrays:
    """The arrays of a program's value."""
    if isinstance(result, tuple):
        return tuple([array for part in result for array in flat(part)])
    return (np.asarray(result),)
