"""Declared ops as primitives of JAX, on CPUs.  Needs the extra `jax`: `pip install opgen[jax]`.

    import jax
    import opgen_runtime.bridges.jax as J

    jax.jit(lambda x: J.axis_abs(x, axis=1, indice=1))(x)    # under jit, grad, jvp, vmap and export

A project's ops are `myproj.jax.my_op`.

calls.py          calls of programs: what an equation of a jaxpr says of one
handler.py        the handler of all calls, which finds their machine code without Python
handler_text.py   it as LLVM text
sharding.py       which calls may be made of parts of their operands
primitives.py     two primitives, a call and a call that is linear, with all their rules
functions.py      ops as functions of arrays
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from ...run.op_programs.namespace import BUILT_IN_NAMES, op_namespace
from .functions import JaxFunction, function
from .handler import TARGETS, register

__all__ = ["TARGETS", "JaxFunction", "function", "namespace", "register"]


def namespace(
    module: str, ops: Collection[str], prefix: str = "", others: Collection[str] = ()
) -> tuple[Callable[[str], JaxFunction], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a module whose names are ops.

    `ops`: the names of functions that the module has; `prefix`, with its dot, makes them the ops' full names.
    `others`: what else the module shows.
    """

    return op_namespace(module, ops, function, prefix, others)


__getattr__, __dir__ = namespace(__name__, BUILT_IN_NAMES, others=__all__)
