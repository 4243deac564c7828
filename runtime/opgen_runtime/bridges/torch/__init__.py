"""Declared ops as native ops of PyTorch.  Needs the extra `torch`: `pip install opgen[torch]`.

    import torch
    import opgen_runtime.bridges.torch as T

    T.axis_abs(x, axis=1, indice=1)                 # on tensors, with gradients, under compile, export and torch.func
    torch.ops.opgen.axis_abs(x, 1, 1)               # the op that torch knows

A project's ops are `myproj.torch.my_op` and `torch.ops.myproj.my_op`.

tensors.py     tensors and arrays, and the names of element types
schema.py      a program's signature in torch's schema language
fake.py        shapes of results, for tracing
libtorch.py    torch's C functions, by address
handler.py     native kernels, which find their machine code without Python
handler_text.py, reading_text.py: they as LLVM text
autograd.py    reverse and forward mode
reverse.py     reverse mode where nothing else is under way
transforms.py  torch.func.vmap
library.py     registration
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from ...run.op_programs.namespace import BUILT_IN_NAMES, op_namespace
from .library import BUILT_IN, TorchFunction, namespace_of, operator

__all__ = ["TorchFunction", "namespace", "operator"]


def namespace(
    module: str, ops: Collection[str], prefix: str = "", others: Collection[str] = ()
) -> tuple[Callable[[str], TorchFunction], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a module whose names are ops, registered with torch when they are first used.

    `ops`: the names of functions that the module has; `prefix`, with its dot, makes them the ops' full names.
    `others`: what else the module shows.
    """
    namespace_of(prefix.removesuffix(".") or BUILT_IN)

    return op_namespace(module, ops, lambda name: operator(name).public, prefix, others)


__getattr__, __dir__ = namespace(__name__, BUILT_IN_NAMES, others=__all__)
