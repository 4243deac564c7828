"""Eager ops by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Final

from ....base.errors import did_you_mean
from ....base.forks import importing
from ....ir import declared
from ....operator import Op, list_ops

if TYPE_CHECKING:
    from .eager_op import EagerOp

_by_name: Final[dict[str, EagerOp]] = {}


def op(name: str) -> EagerOp:
    """The op of that full name on arrays. Raises RegistryError, listing near names, if there is none."""
    registered = Op.get(name)
    found = _by_name.get(name)
    if found is None or found.declaration is not declared(registered):
        found = _by_name[name] = _eager_op()(registered)
    return found


def _eager_op() -> type[EagerOp]:
    """The class of ops on arrays, imported with the first of them: the compiler comes with it."""
    with importing:
        from .eager_op import EagerOp

    return EagerOp


def namespace(
    module: str, ops: Collection[str], prefix: str = "", others: Collection[str] = (), public: str = ""
) -> tuple[Callable[[str], EagerOp | type[EagerOp]], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a module without code, in which ops are bound when they are first used.

    `ops`: the names of functions that the module has; `prefix`, with its dot, makes them the ops' full names.
    `others`: what else the module shows.  `public`: what users call the module, where it stands elsewhere.
    """

    def lookup(name: str) -> EagerOp | type[EagerOp]:
        if name == "EagerOp" and name in others:
            return _eager_op()
        if name not in ops:
            raise AttributeError(
                f"module {(public or module)!r} has no op {name!r}{_hint(name, ops)}", name=name
            )
        found = op(prefix + name)
        setattr(sys.modules[module], name, found)  # the next access does not come here
        return found

    return lookup, lambda: sorted({*ops, *others})


def _hint(name: str, known: Iterable[str]) -> str:
    elsewhere = [full for full in list_ops() if full.rpartition(".")[2] == name]
    if elsewhere:
        texts = [f"eager.op({full!r})" if "." in full else f"eager.{full}" for full in elsewhere]
        return f"; write {' or '.join([f'opgen_runtime.{text}' for text in texts])}"
    return did_you_mean(name, known)
