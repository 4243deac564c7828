"""The global function registry: Python functions by dotted name, and namespaces over it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final, overload

from .errors import RegistryError, did_you_mean, shown
from .forks import import_module

GlobalFunction = Callable[..., Any]
Finder = Callable[[str], bool]

_functions: Final[dict[str, GlobalFunction]] = {}
_origins: Final[dict[str, str]] = {}  # of names that a part of the runtime has for its own use
_replaced: Final[set[str]] = set()  # names of these that a user has replaced deliberately
_finders: Final[dict[str, Finder]] = {}
_PASSES: Final = "transform"


@overload
def register_func(name: str, fn: GlobalFunction, override: bool = False) -> GlobalFunction: ...
@overload
def register_func(
    name: str, fn: None = None, override: bool = False
) -> Callable[[GlobalFunction], GlobalFunction]: ...


def register_func(name: str, fn: GlobalFunction | None = None, override: bool = False) -> Any:
    """Registers `fn` under a dotted name and returns it; without `fn` it is a decorator.

    Raises RegistryError if the name is taken by another function, also by one that is loaded on first use, and
    `override` is not given, or if a part of the name is no identifier.
    """
    if fn is None:
        return lambda given: register_func(name, given, override)
    if not callable(fn):
        raise RegistryError(f"a function is registered as {name!r}, found {type(fn).__name__}")
    _require_dotted(name)
    known = _functions.get(name)
    if known is None and _find(name):  # it belongs to whoever announces it
        known = _functions.get(name)
    if known is not None and known is not fn:
        if not override:
            raise RegistryError(
                f"a function {name!r} is already registered ({_place(known)}); found another ({_place(fn)}); "
                f"pass override=True to replace it"
            )
        if name in _origins:
            _replaced.add(name)
    _functions[name] = fn
    return fn


def provide_func(name: str, fn: GlobalFunction, origin: str, override: bool = False) -> None:
    """Registers what belongs to a declared op or a pass; `origin` may do it again (a reload).

    What a user has put there with `override=True` stays.  Raises RegistryError if the name has another owner.
    """
    _require_dotted(name)
    known, owner = _functions.get(name), _origins.get(name)
    if known is not None and owner != origin and not override:
        raise RegistryError(
            f"{name!r} belongs to {owner or _place(known)}; {origin} cannot take it: choose another name, or "
            f"pass override=True to replace it"
        )
    _origins[name] = origin
    if override:
        _replaced.discard(name)
    if name not in _replaced:
        _functions[name] = fn


def _require_dotted(name: str) -> None:
    if not all(part.isidentifier() for part in name.split(".")):
        raise RegistryError(f"{name!r} is no dotted name; a function cannot be registered under it")


def get_global_func(name: str) -> GlobalFunction:
    """The function of that name. Raises RegistryError, listing near names, if there is none."""
    found = _functions.get(name)
    if found is None and _find(name):
        found = _functions.get(name)
    if found is None:
        raise RegistryError(f"no global function {name!r}{did_you_mean(name, _functions)}")
    return found


def has_global_func(name: str) -> bool:
    """Whether the function is registered, or can be by loading what defines it."""
    return name in _functions or (_find(name) and name in _functions)


def remove_global_func(name: str) -> None:
    """Forgets the function. Raises RegistryError if there is none."""
    if _functions.pop(name, None) is None:
        raise RegistryError(f"no global function {name!r} to remove")
    _origins.pop(name, None)
    _replaced.discard(name)


def list_global_func_names(prefix: str = "") -> list[str]:
    """The names registered so far, sorted; with `prefix`, those in that namespace and in namespaces below."""
    if not prefix:
        return sorted(_functions)
    return sorted(name for name in _functions if name.startswith(prefix + "."))


def add_finder(prefix: str, finder: Finder) -> None:
    """Asks `finder(rest of the name)` to register a missing function of a namespace; True if it did."""
    _finders[prefix + "."] = finder


def _find(name: str) -> bool:
    return any(name.startswith(prefix) and finder(name[len(prefix) :]) for prefix, finder in _finders.items())


def _load_passes(_: str) -> bool:
    """The passes of the runtime have their names before they are loaded; they stand above, and are imported by name."""
    import_module(f"{__name__.partition('.')[0]}.{_PASSES}")
    return True


def _place(fn: GlobalFunction) -> str:
    return f"{getattr(fn, '__module__', '?')}.{getattr(fn, '__qualname__', shown(fn))}"


class Namespace:
    """The functions under a prefix as attributes, looked up at each use: late registrations are visible."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __getattr__(self, name: str) -> GlobalFunction:
        full = f"{self._prefix}.{name}"
        if name.startswith("__") or not has_global_func(full):
            raise AttributeError(
                f"no function {full!r} is registered{did_you_mean(name, dir(self))}", name=name, obj=self
            )
        return _functions[full]

    def __dir__(self) -> list[str]:
        start = len(self._prefix) + 1
        return [rest for n in list_global_func_names(self._prefix) if "." not in (rest := n[start:])]

    def __repr__(self) -> str:
        return f"Namespace({self._prefix!r})"


def _init_api(prefix: str, module_name: str | None = None) -> Namespace:
    """A namespace over the functions named `<prefix>.<name>`; prefix `op._make` has nothing of `op._makeX`.

    With `module_name` the functions become attributes of that module too, looked up at each use.  Raises
    RegistryError if the module is not imported.
    """
    namespace = Namespace(prefix)
    if module_name is not None:
        module = sys.modules.get(module_name)
        if module is None:
            raise RegistryError(f"cannot expose {prefix!r} in {module_name!r}: no such module is imported")
        own = set(vars(module))
        module.__dict__["__getattr__"] = namespace.__getattr__
        module.__dict__["__dir__"] = lambda: sorted(own | set(dir(namespace)))
    return namespace


add_finder(_PASSES, _load_passes)
