"""Digests of functions that users write: their files, what these import, and the values that they capture."""

from __future__ import annotations

import ast
import builtins
import hashlib
import os
import sys
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache, partial
from importlib.machinery import PathFinder
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Final

from ....base.contract import is_own

_PLAIN: Final = (str, bytes, int, float, bool, complex, type(None))


def digest_of(function: object) -> str | None:
    """A digest that changes with what `function` does, equal in every process; None where that cannot be told.

    It covers the files of the function's module and of all that this imports, directly or not, as far as they are
    of the same project: not installed, or of the same package.  Of what is installed the imported file itself counts,
    which an upgrade replaces.  Beside the files it covers the values that the function, and those of the project
    that it uses, have as defaults, close over, or use as global variables.

    None: a callable that is no plain function or has no file of its own, and one that captures a value which is not
    made of plain, immutable ones.
    """
    if not isinstance(function, FunctionType):
        return None
    captured: list[str] = []
    modules: dict[str, ModuleType] = {}
    if not _capture(function, captured, modules, set()):
        return None
    top = function.__module__.partition(".")[0]
    files: dict[str, str] = {}
    for module in modules.values():
        _follow(_file(module), module.__name__, module.__package__ or "", top, files)
    parts = [*captured, *[f"{path} {files[path]}" for path in sorted(files)]]
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


def stamp(path: str) -> str | None:
    """The size and time of a file; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return f"{found.st_size} {found.st_mtime_ns}"


# ------------------------------------------------------------------ values


def _capture(function: FunctionType, into: list[str], modules: dict[str, ModuleType], seen: set[int]) -> bool:
    """Note what a function of the project captures, and its module. False where that cannot be told."""
    if id(function) in seen:
        return True
    seen.add(id(function))
    module = sys.modules.get(function.__module__)
    code = function.__code__
    if module is None or os.path.abspath(code.co_filename) != os.path.abspath(_file(module)):
        return False
    modules[module.__name__] = module
    into.append(f"{function.__module__}.{function.__qualname__}")
    cells = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    used = [function.__globals__[name] for name in _names(code) if name in function.__globals__]
    values = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values(), *cells, *used)
    return all([_value(value, into, modules, seen) for value in values])


def _value(value: object, into: list[str], modules: dict[str, ModuleType], seen: set[int]) -> bool:
    if (
        isinstance(value, FunctionType)
        and not is_own(value)
        and not _is_installed(value.__code__.co_filename)
    ):
        return _capture(value, into, modules, seen)
    if isinstance(value, partial):
        parts = (value.func, *value.args, *value.keywords.items())
        return all([_value(part, into, modules, seen) for part in parts])
    if isinstance(value, tuple | frozenset):
        into.append(f"{type(value).__name__} of {len(value)}")
        ordered = value if isinstance(value, tuple) else sorted(value, key=repr)
        return all([_value(part, into, modules, seen) for part in ordered])
    if isinstance(value, FunctionType | BuiltinFunctionType | type):
        into.append(f"{value.__module__}.{value.__qualname__}")
        return True
    if isinstance(value, ModuleType):
        into.append(value.__name__)
        return True
    if type(value) in _PLAIN or isinstance(value, Enum) or (isinstance(value, str) and is_own(type(value))):
        into.append(f"{type(value).__name__} {value!r}")
        return True
    # typing's and abc's aliases stand in annotations and casts; their text says what they are
    if type(value).__module__ in ("typing", "types", "__future__"):
        into.append(repr(value))
        return True
    return False


def _is_filled(cell: object) -> bool:
    try:
        cell.cell_contents  # type: ignore[attr-defined]  # noqa: B018
    except ValueError:  # a name that is not bound yet, such as the function's own while it is made
        return False
    return True


def _names(code: CodeType) -> Iterator[str]:
    """The names that a function and those inside it may use as global variables."""
    yield from (name for name in code.co_names if not hasattr(builtins, name))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


# ------------------------------------------------------------------ files


def _follow(path: str, name: str, package: str, top: str, files: dict[str, str]) -> None:
    """Note a file of the project and all that it imports."""
    if path in files:
        return
    found = stamp(path)
    files[path] = found or "gone"
    if found is None or (_is_installed(path) and name.partition(".")[0] != top):
        return
    for imported in _imports(path, found, package):
        source, parent = _located(imported)
        if source and not _is_own_name(imported):
            _follow(source, imported, parent, top, files)


def _located(name: str) -> tuple[str, str]:
    """The source file of a module, imported or not yet, and its package; nothing where there is none."""
    module = sys.modules.get(name)
    if module is not None:
        return _file(module), module.__package__ or ""
    above = name.rpartition(".")[0]
    spec = PathFinder.find_spec(name, _search_path(above) if above else None)
    origin = "" if spec is None else spec.origin or ""
    return (origin, spec.parent or "") if spec is not None and origin.endswith(".py") else ("", "")


def _search_path(package: str) -> list[str]:
    """Where the modules of a package lie; nothing for a module that is no package."""
    module = sys.modules.get(package)
    if module is not None:
        return list(getattr(module, "__path__", ()))
    above = package.rpartition(".")[0]
    spec = PathFinder.find_spec(package, _search_path(above) if above else None)
    return [] if spec is None else list(spec.submodule_search_locations or ())


@lru_cache(maxsize=1024)
def _imports(path: str, _stamp: str, package: str) -> tuple[str, ...]:
    """The names of the modules that a source file may import, wherever the statement stands."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ()
    names: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(dict.fromkeys(part for alias in node.names for part in _and_parents(alias.name)))
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            whole = ".".join([*base, *([node.module] if node.module else [])])
            names[whole] = None
            names.update(dict.fromkeys(f"{whole}.{alias.name}" for alias in node.names))
    return tuple(names)


def _and_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def _is_own_name(module: str) -> bool:
    """Whether a module is the runtime's, whose sources have a digest of their own."""
    return module.partition(".")[0] == __name__.partition(".")[0]


def _file(module: ModuleType) -> str:
    """The source file of a module; nothing for one without."""
    path = getattr(module, "__file__", None) or ""
    return path if path.endswith(".py") else ""


def _is_installed(path: str) -> bool:
    return os.path.realpath(path).startswith(_installed())


@lru_cache(maxsize=1)
def _installed() -> tuple[str, ...]:
    """The folders of Python's own modules and of installed packages."""
    import sysconfig  # which few need: a function that a user wrote

    places = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple(os.path.realpath(sysconfig.get_path(name)) + os.sep for name in places)
