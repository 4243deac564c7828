"""Modules whose names are ops, made into what a bridge calls when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from typing import Final, TypeVar

from ...base.errors import did_you_mean
from ...declaration.index import built_in_ops

T = TypeVar("T")
BUILT_IN_NAMES: Final[Collection[str]] = tuple(built_in_ops())
"""The functions of the ops that are built in, whose full names are these, too."""


def op_namespace(
    module: str, ops: Collection[str], make: Callable[[str], T], prefix: str, others: Collection[str]
) -> tuple[Callable[[str], T], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a module.

    `ops`: the names of functions that the module has; `prefix`, with its dot, makes them the ops' full names, of
    which `make` makes what the module gives.  `others`: what else the module shows.
    """

    def lookup(name: str) -> T:
        if name not in ops:
            raise AttributeError(f"module {module!r} has no op {name!r}{did_you_mean(name, ops)}", name=name)
        found = make(prefix + name)
        setattr(sys.modules[module], name, found)  # the next access does not come here
        return found

    return lookup, lambda: sorted({*ops, *others})
