"""Names of a package that few programs need: the module of each is imported with its first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from .forks import import_module


def late(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a package; `homes`: for each name its module inside the package, named otherwise.

    Type checkers see the names by imports under `TYPE_CHECKING`.
    """

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        value: object = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
