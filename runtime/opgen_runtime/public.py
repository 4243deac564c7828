"""The names of the package's public modules, whose places inside are the runtime's own affair.

`from opgen_runtime import te` and `from opgen_runtime.te import compute` both give the module that stands at
`opgen_runtime.compute.te`; it is one module with two names.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Final

from .base.forks import import_module

_PACKAGE: Final = __name__.rpartition(".")[0]
# Public name -> where it is.
MODULES: Final[Mapping[str, str]] = {
    "arith": "base.arith",
    "eager": "run.calls.eager",
    "errors": "base.errors",
    "executor": "run.executor",
    "ir": "ir",
    "lang": "compute.lang",
    "ops": "ops",
    "registry": "operator.registry",
    "rules": "lower.library.schedules",
    "schedule": "lower.schedule",
    "target": "base.target",
    "te": "lower.schedule.te",
    "testing": "testing",
    "tir": "lower.tir",
    "transform": "transform",
    "types": "operator.types",
}
# Those that need an extra.
EXTRAS: Final[Mapping[str, str]] = {"dask": "frontend.dask"}
# Storeys that are functions, too -> where the function is.
_FUNCTIONS: Final[Mapping[str, str]] = {"lower": "run.compile.scheduled.lower"}
# What modules of earlier versions, generated ones above all, import.
_GONE: Final = ("attrs", "kernels", "schedules", "strategy", "tracing", "vocabulary", "run.eager")


def public_module(name: str) -> ModuleType:
    """The module of a public name."""
    return import_module(f"{_PACKAGE}.{MODULES.get(name) or EXTRAS[name]}")


class _PublicNames(MetaPathFinder, Loader):
    """Finds a module, or one inside it, by its public name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, rest = fullname.partition(".")
        name, _, inside = rest.partition(".")
        if package != _PACKAGE:
            return None
        gone = next((each for each in _GONE if f"{rest}.".startswith(f"{each}.")), None)
        if gone is not None:
            raise ModuleNotFoundError(
                f"{package}.{gone} is not there any more; a module that opgen has generated: run opgen generate; "
                f"other code: the names that users need are in {package} itself",
                name=fullname,
            )
        place = MODULES.get(name) or EXTRAS.get(name, name)
        if place == name:
            return None
        inner = ".".join(part for part in (package, place, inside) if part)
        return spec_from_loader(fullname, self, origin=inner)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(str(spec.origin))
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The import system has given the module the spec of its public name; it keeps the one of its place."""
        spec = module.__spec__
        assert spec is not None
        module.__spec__ = self._specs.pop(spec.name)

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}


class _Callable(ModuleType):
    """A storey whose name users know as a function, too: `rt.lower(schedule, args)`."""

    function: str

    def __call__(self, *args: object, **options: object) -> object:
        home, _, name = self.function.rpartition(".")
        return getattr(import_module(f"{_PACKAGE}.{home}"), name)(*args, **options)


def install() -> None:
    """Let the import system know the public names, and make storeys functions whose names are those of functions."""
    for storey, function in _FUNCTIONS.items():
        module = import_module(f"{_PACKAGE}.{storey}")
        module.__class__ = _Callable
        module.function = function  # type: ignore[attr-defined]  # which it has by now
    if not any(type(finder).__qualname__ == _PublicNames.__qualname__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _PublicNames())
