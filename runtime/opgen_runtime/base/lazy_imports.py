"""Lazy imports: names of a package that few programs need: the module of each is imported with its first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib.util import resolve_name

from .forks import import_module
from .garbage import rare_collections


def import_lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a package; `homes`: for each name its module, named otherwise, from inside the package.

    Type checkers see the names by imports under `TYPE_CHECKING`.
    """

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        home = homes[name]
        module = resolve_name(home if home.startswith(".") else f".{home}", package)
        with rare_collections():  # modules are no garbage
            value: object = getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
