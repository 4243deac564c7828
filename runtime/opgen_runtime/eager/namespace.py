"""Eager ops by name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from .. import ops
from ..declaration.index import announced_ops
from ..errors import did_you_mean
from ..registry import Op
from .eager_op import EagerOp

_by_name: Final[dict[str, EagerOp]] = {}


def op(name: str) -> EagerOp:
    """The op of that full name on arrays. Raises RegistryError, listing near names, if there is none."""
    registered = Op.get(name)
    found = _by_name.get(name)
    if found is None or found.declaration is not registered.get_attr("declaration"):
        found = _by_name[name] = EagerOp(registered)
    return found


def namespace(module: str) -> tuple[Callable[[str], EagerOp], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a module without code, in which the built-in ops are bound when first used."""

    def lookup(name: str) -> EagerOp:
        if name.startswith("_") or name not in dir(ops):
            raise AttributeError(f"module {module!r} has no op {name!r}{_hint(name)}", name=name)
        found = op(name)
        setattr(sys.modules[module], name, found)  # the next access does not come here
        return found

    return lookup, lambda: sorted({"EagerOp", "op", *dir(ops)})


def _hint(name: str) -> str:
    elsewhere = [full for full in announced_ops() if full.rpartition(".")[2] == name]
    if elsewhere:
        return f"; write {' or '.join([f'eager.op({full!r})' for full in elsewhere])}"
    return did_you_mean(name, dir(ops))
