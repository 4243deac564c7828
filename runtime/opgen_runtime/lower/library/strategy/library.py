"""Schedules by name, functions of the schedule library or of anyone's package; kernels by name."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, cast

from ....base.errors import StrategyError, did_you_mean
from ....base.forks import import_module
from ...tir import PrimFunc
from .. import schedules

_OF_PATTERNS: Final = ("injective", "reduction")

ScheduleFunction = Callable[..., Any]
"""`(outputs, target) -> Schedule`."""


def schedule_named(name: str) -> ScheduleFunction:
    """The function of `opgen_runtime.lower.library.schedules` of that name, or `package.module:function`, imported.

    `injective` and `reduction`, as declarations of version 0.1 may say, are `generic`.
    Raises StrategyError for a name that there is not, listing near ones.
    """
    module_name, colon, attribute = name.partition(":")
    if colon:
        module = _module(module_name, f"schedule {name!r}")
    else:
        module, attribute = schedules, "generic" if name in _OF_PATTERNS else name
    found = getattr(module, attribute, None)
    if not callable(found) or attribute.startswith("_"):
        public = [n for n, value in vars(module).items() if callable(value) and not n.startswith("_")]
        raise StrategyError(
            f"schedule {name!r}: {module.__name__} has no function {attribute!r}{did_you_mean(attribute, public)}"
        )
    return cast(ScheduleFunction, found)


def kernel_named(name: str) -> PrimFunc:
    """The kernel that `package.module:kernel` names, imported.  Raises StrategyError where there is none."""
    module_name, _, attribute = name.partition(":")
    found = getattr(_module(module_name, f"kernel {name!r}"), attribute, None)
    if not isinstance(found, PrimFunc):
        raise StrategyError(
            f"kernel {name!r}: found {found!r:.80}, expected loop IR: a function under @tir.kernel, or tir.parse(...)"
        )
    return found


def _module(name: str, what: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise StrategyError(f"{what}: cannot import {name!r}: {error}") from error
