"""Helpers for rare arguments as a module of the runtime, so that no kernel has to compile them again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...base import Target, forks
from .cache import ObjectCache
from .support import LazySymbols, load_module

NAMES: Final = tuple(
    f"opgen_{name}_f{bits}" for name in ("sin_huge", "cos_huge", "tan_huge", "fmod_long") for bits in (32, 64)
)

_loaded: dict[str, int] = {}
_lock = forks.lock()


def symbols(cache: ObjectCache | None = None) -> Mapping[str, int]:
    """Name to address of the helpers that functions for this machine import; each is compiled when asked for."""

    def load(symbol: str) -> int:
        if symbol not in _loaded:
            text = module_text(symbol, Target.host())  # imports what writes it: not while the lock is held
            with _lock:
                if symbol not in _loaded:
                    _loaded.update(load_module(symbol, text, (symbol,), cache))
        return _loaded[symbol]

    return LazySymbols(NAMES, load)


def module_of(symbol: str, target: Target) -> tuple[str, str] | None:
    """Name and text of the module that has a symbol, if it is a helper's."""
    return (symbol, module_text(symbol, target)) if symbol in NAMES else None


def module_text(symbol: str, target: Target) -> str:
    """One helper of `NAMES`, exported."""
    with forks.importing:  # who loads a program has its helpers as object code
        from ..llvm.math.remainder import long_division
        from ..llvm.math.trigonometric import huge_helper

    name, _, bits = symbol.removeprefix("opgen_").rpartition("_f")
    element = {"32": "float", "64": "double"}[bits]
    if name == "fmod_long":
        module = long_division(element, target)
    else:
        module = huge_helper(name.removesuffix("_huge"), element, target)
    module.export(symbol)
    return module.render()
