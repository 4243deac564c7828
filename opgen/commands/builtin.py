"""The built-in library, from any project: its ops as their generated modules state them."""

from __future__ import annotations

from importlib import import_module

from opgen_runtime import ops as runtime_ops
from opgen_runtime.declaration import OpDeclaration
from opgen_runtime.operator.registry import Op


def builtin_declarations() -> list[OpDeclaration]:
    """What the modules of all built-in ops state, by name; quick, as nothing is checked."""
    found = []
    for name in sorted(vars(runtime_ops)["__all__"]):
        import_module(f"{runtime_ops.__name__}._{name}")
        found.append(Op.get(name).get_attr("declaration"))
    return found
