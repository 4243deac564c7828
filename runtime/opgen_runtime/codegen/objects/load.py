"""Loading object code into this process with ORC, one library an object.

Object code holds no addresses: the thread pool, the C library and libm are imported by name.  A name that
nothing defines is an error before anything runs.  All of an object lies in one block of memory, so that its parts reach
each other wherever the system has room (`support.orc`).
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

import llvmlite.binding as llvm

from ...base import Target
from ...base.errors import CodegenError
from ...base.vocabulary import dataclass
from . import helpers, temporaries, threads
from .elf import is_elf, undefined_symbols
from .support import merge, orc

_OVERHEAD: Final = (
    48 << 10
)  # bytes that the linker keeps of a library, and that pages are larger than the code
_COPIES: Final = 3  # of an object: its pages, what debuggers are told, the kernel's own


@dataclass(frozen=True, slots=True)
class Loaded:
    """A function in memory, of about `nbytes`.  The code lives as long as this object."""

    address: int
    tracker: Any
    nbytes: int


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A function `symbol` in object code of `nbytes` for a machine that this one is not: it has no address here."""

    symbol: str
    target: str
    nbytes: int

    @property
    def address(self) -> int:
        """Raises CodegenError: what is compiled for another machine never runs here."""
        raise CodegenError(f"{self.symbol} is compiled for {self.target} and cannot run on this machine")


_library_numbers = itertools.count()


def load(
    object_code: bytes,
    symbol: str,
    imports: Iterable[str] | None = None,
    addresses: Mapping[str, int] = MappingProxyType({}),
) -> Loaded:
    """Link `object_code` and find `symbol` in it.

    `imports` are the names that the object needs, where they are known already (a cached object); `addresses` has some
    of them.
    Raises CodegenError naming what is unresolved, or with the linker's message.
    """
    if imports is None:
        imports = imports_of(object_code)
    imports = list(imports)
    found = {name: addresses[name] for name in imports if name in addresses}
    found.update(resolve([name for name in imports if name not in addresses], symbol))
    builder = llvm.JITLibraryBuilder().add_object_img(object_code)
    for name, address in found.items():
        builder.import_symbol(name, address)
    builder.export_symbol(symbol)
    library = f"{symbol}.{next(_library_numbers)}"
    try:
        tracker = builder.link(orc(), library)
    except RuntimeError as error:
        raise CodegenError(f"kernel {symbol} cannot be linked: {str(error).strip()}") from error
    return Loaded(tracker[symbol], tracker, _OVERHEAD + _COPIES * len(object_code))


def imports_of(object_code: bytes) -> tuple[str, ...]:
    """The names that an object needs from outside."""
    if not is_elf(object_code):
        raise CodegenError("only ELF object code can be loaded on this platform")
    try:
        return undefined_symbols(object_code)
    except ValueError as error:
        raise CodegenError(str(error)) from error


def resolve(names: Iterable[str], symbol: str) -> Mapping[str, int]:
    """Addresses of imports in the runtime, then in the C library and libm."""
    own = _runtime_symbols()
    found: dict[str, int] = {}
    missing: list[str] = []
    for name in names:
        address = own.get(name) or _system_symbol(name)
        if address:
            found[name] = address
        elif name != "_GLOBAL_OFFSET_TABLE_":
            missing.append(name)
    if missing:
        raise CodegenError(
            f"kernel {symbol} needs {', '.join(sorted(missing))}, which neither the runtime nor the C library has"
        )
    return found


def modules_of(names: Iterable[str], target: Target) -> dict[str, str]:
    """The modules of the runtime's own native code that have the symbols, name to text; they need nothing of others."""
    found = (part.module_of(name, target) for name in names for part in (threads, helpers, temporaries))
    return dict([module for module in found if module is not None])


@lru_cache(maxsize=1)
def _runtime_symbols() -> Mapping[str, int]:
    return merge(threads.symbols(), helpers.symbols(), temporaries.symbols())


@lru_cache(maxsize=512)
def _system_symbol(name: str) -> int | None:
    for library in _system_libraries():
        try:
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        except AttributeError:
            continue
    return None


@lru_cache(maxsize=1)
def _system_libraries() -> tuple[ctypes.CDLL, ...]:
    """The process itself (with the C library), and libm under the name that it has here."""
    libraries = [ctypes.CDLL(None)]
    for name in ("libm.so.6", "libm.so"):
        try:
            libraries.append(ctypes.CDLL(name))
        except OSError:
            continue
        break
    return tuple(libraries)
