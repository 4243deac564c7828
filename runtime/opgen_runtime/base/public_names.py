"""Public names of a package's modules, whose places inside are the package's own affair.

With `te` for `compute.te`, `from package import te` and `from package.te import compute` both give the module that
stands at `package.compute.te`; it is one module with two names.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType

from .forks import import_module


class PublicNames(MetaPathFinder, Loader):
    """Finds a module of a package, or one inside it, by its public name.

    `modules`: public name -> place inside the package.  `gone`: places of earlier versions, which ask for another
    import.
    """

    def __init__(self, package: str, modules: Mapping[str, str], gone: Collection[str]) -> None:
        self.package, self.modules, self.gone = package, modules, gone
        self._specs: dict[str, ModuleSpec | None] = {}

    def module(self, name: str) -> ModuleType:
        """The module of a public name."""
        return import_module(f"{self.package}.{self.modules[name]}")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, rest = fullname.partition(".")
        name, _, inside = rest.partition(".")
        if package != self.package:
            return None
        gone = next((each for each in self.gone if f"{rest}.".startswith(f"{each}.")), None)
        if gone is not None:
            raise ModuleNotFoundError(
                f"{package}.{gone} is not there any more; a module that opgen has generated: run opgen generate; "
                f"other code: the names that users need are in {package} itself",
                name=fullname,
            )
        place = self.modules.get(name, name)
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


class _Callable(ModuleType):
    """A package that users know as a function, too: `package.lower(schedule, args)`."""

    function: str

    def __call__(self, *args: object, **options: object) -> object:
        home, _, name = self.function.rpartition(".")
        return getattr(import_module(home), name)(*args, **options)


def install(
    package: str, modules: Mapping[str, str], functions: Mapping[str, str], gone: Collection[str]
) -> PublicNames:
    """Let the import system know the public names of a package, and make packages in it functions, too.

    `functions`: package -> the function that it is, both by their places inside.
    """
    for name, function in functions.items():
        module = import_module(f"{package}.{name}")
        module.__class__ = _Callable
        module.function = f"{package}.{function}"  # type: ignore[attr-defined]  # which it has by now
    names = PublicNames(package, modules, gone)
    if not any(_is_of(finder, package) for finder in sys.meta_path):
        sys.meta_path.insert(0, names)
    return names


def _is_of(finder: object, package: str) -> bool:
    """Whether a finder has the package's names, be it one of this module as it was before a reload."""
    return type(finder).__qualname__ == PublicNames.__qualname__ and vars(finder)["package"] == package
