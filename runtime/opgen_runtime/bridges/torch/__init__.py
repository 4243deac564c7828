"""Declared ops as native ops of PyTorch.  Needs the extra `torch`: `pip install opgen[torch]`.

    import torch
    import opgen_runtime.bridges.torch as T

    T.axis_abs(x, axis=1, indice=1)                 # on tensors, with gradients, under compile, export and torch.func
    torch.ops.opgen.axis_abs(x, 1, 1)               # the op that torch knows

tensors.py     tensors and arrays, and the names of element types
schema.py      a program's signature in torch's schema language
fake.py        shapes of results, for tracing
libtorch.py    torch's C functions, by address
handler.py     native kernels, which find their machine code without Python
handler_text.py, reading_text.py: they as LLVM text
autograd.py    reverse and forward mode
transforms.py  torch.func.vmap
library.py     registration
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import ops
from .library import BUILT_IN, namespace_of, operator

__all__ = ["operator"]

namespace_of(BUILT_IN)


def __getattr__(name: str) -> Callable[..., Any]:
    """The op of that name, built in.  Raises AttributeError if there is none."""
    if name not in ops.__all__:
        raise AttributeError(f"module {__name__!r} has no op {name!r}", name=name)
    found = globals()[name] = operator(name).public
    return found


def __dir__() -> list[str]:
    return sorted({*ops.__all__, *__all__})
