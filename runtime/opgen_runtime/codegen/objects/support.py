"""The runtime's own native code: modules of LLVM IR text that are compiled once, cached, and never unloaded."""

from __future__ import annotations

import ctypes
import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import llvmlite.binding as llvm

from ...base import Target, forks
from ...base.errors import CodegenError
from .cache import ObjectCache, default_cache
from .compile import LLVM_VERSION, LLVMLITE_VERSION, initialise, machine_for
from .elf import undefined_symbols

_process = ctypes.CDLL(None)
_numbers: Final = itertools.count()  # libraries of one name would not be linked


def load_module(
    name: str,
    text: str,
    exports: tuple[str, ...],
    cache: ObjectCache | None,
    level: int = 0,
    addresses: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, int]:
    """Addresses of `exports` of the module, compiled for this machine or found in `cache` (None: the user's).

    The code stays in memory until the process ends; a module may be loaded more than once.  `level`: see `compiled`.
    `addresses`: of what it needs and the C library does not have.
    Raises CodegenError if it cannot be linked.
    """
    jit = orc()
    object_code = compiled(name, text, Target.host(), cache, level)
    builder = llvm.JITLibraryBuilder().add_object_img(object_code)
    for symbol in undefined_symbols(object_code):
        if symbol == "_GLOBAL_OFFSET_TABLE_":
            continue
        if symbol in addresses:
            builder.import_symbol(symbol, addresses[symbol])
            continue
        function = getattr(_process, symbol, None)
        if function is None:
            raise CodegenError(f"{name} needs {symbol}, which the C library does not have")
        builder.import_symbol(symbol, ctypes.cast(function, ctypes.c_void_p).value)
    for symbol in exports:
        builder.export_symbol(symbol)
    try:
        tracker = builder.link(jit, f"opgen runtime: {name} ({next(_numbers)})")
    except RuntimeError as error:
        raise CodegenError(f"{name} cannot be linked: {str(error).strip()}") from error
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(tracker))  # never unloaded, not even at exit
    return {symbol: tracker[symbol] for symbol in exports}


class LazySymbols(Mapping[str, int]):
    """Names to addresses; `load` is called with a name when its address is asked for."""

    def __init__(self, names: tuple[str, ...], load: Callable[[str], int]) -> None:
        self._names, self._load = names, load

    def __getitem__(self, name: str) -> int:
        if name not in self._names:
            raise KeyError(name)
        return self._load(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def merge(*tables: Mapping[str, int]) -> Mapping[str, int]:
    """One table of several whose names differ; each is loaded when one of its own names is asked for."""
    owner = {name: table for table in tables for name in table}
    return _Merged(owner)


class _Merged(Mapping[str, int]):
    def __init__(self, owner: dict[str, Mapping[str, int]]) -> None:
        self._owner = owner

    def __getitem__(self, name: str) -> int:
        return self._owner[name][name]

    def __contains__(self, name: object) -> bool:
        return name in self._owner

    def __iter__(self) -> Iterator[str]:
        return iter(self._owner)

    def __len__(self) -> int:
        return len(self._owner)


_provided: dict[str, bytes] = {}


def provide(key: str, object_code: bytes) -> None:
    """Object code of the module of a key, so that this process need not compile it."""
    _provided.setdefault(key, object_code)


def key_of(text: str, target: Target, level: int = 0) -> str:
    """A digest of a module and of all that its object code for a target depends on."""
    parts = (text, str(level), target.triple, target.cpu, target.features, LLVM_VERSION, LLVMLITE_VERSION)
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=20).hexdigest()


def compiled(name: str, text: str, target: Target, cache: ObjectCache | None = None, level: int = 0) -> bytes:
    """Object code of a module for a target: provided, or from `cache` (None: the user's).

    No passes run on it.  `level` 0, for code that is small or rare, generates code without optimisation, in 3 ms where
    2 takes four times as long, for code that runs in every call.
    """
    cache = default_cache() if cache is None else cache
    key = key_of(text, target, level)
    if key in _provided:
        return _provided[key]
    found = cache.get(key)
    if found is not None:
        return found.object_code
    made = _compile(text, target, level)
    cache.put(key, made, {"name": name})
    return made


def _compile(text: str, target: Target, level: int) -> bytes:
    initialise()
    module = llvm.parse_assembly(text, llvm.create_context())
    machine = machine_for(target.triple, target.cpu, target.features, level)
    module.data_layout = str(machine.target_data)
    made: bytes = machine.emit_object(module)
    return made


_LIBRARIES: Final = 16  # of an instance

_instance: Any = None
_room = 0  # how many libraries more it links
_lock = forks.lock()


def orc() -> Any:
    """The instance of ORC for one more library.

    It links with JITLink, which puts all sections of an object into one block of memory: RuntimeDyld maps each by
    itself, and ends the process where two come to lie more than 2 GiB apart.  An instance keeps 10 KiB of each
    library that it ever had, which llvmlite cannot take back but with the instance itself, and looks through their
    names in each link.  So a new one, which takes a millisecond and 150 KiB, follows when it is full; a full one goes
    with the last of its libraries.
    """
    global _instance, _room
    with _lock:
        if _room == 0:
            initialise()
            _instance = llvm.create_lljit_compiler(use_jit_link=True)
            _room = _LIBRARIES
        _room -= 1
        return _instance
