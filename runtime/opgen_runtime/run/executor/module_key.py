"""The key of a module's program in the cache of programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from ...base import Target
from ...base.forks import importing
from ...ir import Call, IRModule, post_order, structural_digest
from ...operator import Op
from ...transform.regions import COMPILER
from ..compile.kernel.dims import dims_in

_FEW: Final = (
    64  # nodes: kernels of so few are found in the cache of objects, and an entry each would fill a disk
)
_RUNTIME: Final = f"{Path(__file__).resolve().parents[2]}{os.sep}"


def key_of_module(module: IRModule, target: Target | None, opt_level: int | None) -> str | None:
    """A hex digest of structure, types, constants and names.

    None of few nodes, where an op is not built in, and where other compilers are asked.
    """
    order = [node for function in module.functions.values() for node in post_order(function)]
    if len(order) <= _FEW or any([COMPILER in function.attrs for function in module.functions.values()]):
        return None
    for op in {node.op for node in order if isinstance(node, Call) and isinstance(node.op, Op)}:
        if "." in op.name or not op.origin.startswith(_RUNTIME):
            return None
    with importing:  # which programs of few nodes do not wait for
        from ..compile.store.store import program_key
    parts = [str(opt_level)]
    for var, function in sorted(module.functions.items(), key=lambda item: item[0].name):
        params = [(param.name_hint, str(param.type)) for param in function.params]
        dims = [(str(dim), dim.hint) for dim in dims_in(function)]
        parts += [var.name, structural_digest(function), str(params), str(dims), str(function.ret_type)]
    return program_key(target, "module", *parts)
