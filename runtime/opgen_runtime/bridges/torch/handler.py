"""Native kernels: ops of torch whose calls find their machine code without Python.

The handler (`handler_text.py`) asks Python once for each new combination of types and attrs, and keeps the answer, up
to `MOST` an op; what comes later is asked for in each call, and given up some time after it, so that memory is bounded.
"""

from __future__ import annotations

import ctypes
import struct
from functools import lru_cache
from itertools import count
from typing import Any, Final

import numpy as np

from ...base.errors import CodegenError, OpgenError
from ...base.forks import lock
from ...base.lru_cache import LRUCache
from ...base.vocabulary import dataclass
from ...codegen import load_module
from ...operator import TensorType
from ...run.compile.kernel.kernel import contiguous_strides
from ...run.compile.native.pointers import address_of
from ...run.op_programs.programs import OperandType
from ..entries import NativeCall, native_call
from ..entry_table import PUBLISH, Entry, EntryTable
from ..messages import Message
from .handler_text import (
    DESCRIPTORS,
    DISPATCH,
    TRAMPOLINES,
    Descriptor,
    ResultField,
    Why,
    handler_text,
    trampoline_symbols,
    trampolines_text,
)
from .libtorch import ABI, libtorch
from .reading_text import OPTIONAL, Kind
from .schema import Parameter, Schema
from .tensors import CODE_OF, NAME_OF_CODE

MOST: Final = 64
"""Entries of an op that stay."""
RECENT: Final = 256
"""Of those beyond, which Python looks up in each call, how many are remembered."""
_LEVEL: Final = 2  # of compilation: it runs in every call
_SIGNATURE_OF_MISS: Final = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)
_SIGNATURE_OF_OVER: Final = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)
_SIGNATURE_OF_WHY: Final = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64
)
_LISTS: Final = (Kind.LIST, Kind.STRINGS, Kind.TENSORS)

_handlers: Final[list[Handler]] = []  # by number; never freed, as torch keeps kernels
_lock: Final = lock()
_failed: Final = Message()


class Handler:
    """The native kernel of one op."""

    def __init__(self, name: str, schema: Schema) -> None:
        """`name`: with the namespace, for messages.  Raises CodegenError where the handler cannot be linked."""
        self.name = name
        self.schema = schema
        self.kinds = [_kind(each) for each in schema.parameters]
        self.kept: dict[bytes, _Entry] = {}
        self.passing: dict[int, _Entry] = {}  # that calls use now and that do not stay, by number
        self._recent: LRUCache[_Entry] = LRUCache(RECENT)  # of those, by words
        self._numbers = count(1)
        with _lock:
            number = len(_handlers)
            _handlers.append(self)
        words = [number, 0, int(schema.program.gives_several), len(self.kinds)]
        assert len(words) == Descriptor.KINDS
        self._descriptor = np.array([*words, *self.kinds], np.int64)
        cell = address_of(self._descriptor) + 8 * Descriptor.TABLE
        self._table = EntryTable(cell, 2 * MOST, _native().publish)
        self.address = _native().trampoline(number, address_of(self._descriptor))

    def made(self, words: np.ndarray, digest: int) -> int:
        """The address of an entry for the words of a call.  Raises what the type relation and the compiler raise."""
        key = words.tobytes()
        found = self._used(key)
        if found is not None:
            return found.address
        operands, attrs = self._read(words)
        made = native_call(self.schema.program, operands, self.schema.values(attrs))
        with _lock:
            found = self._used(key)
            if found is not None:
                return found.address
            if len(self.kept) < MOST:
                entry = self.kept[key] = _Entry(made, words, digest, 0)
                self._table.put(entry)
                return entry.address
            passing = self._recent.put(key, _Entry(made, words, digest, next(self._numbers)))
            self._used(key)
            return passing.address

    def _used(self, key: bytes) -> _Entry | None:
        """The entry of the words of a call, which uses it from now on until it says that it is over."""
        with _lock:
            found = self.kept.get(key)
            if found is None:
                found = self._recent.get(key)
                if found is not None:
                    found.uses += 1
                    self.passing[found.number] = found
            return found

    def over(self, number: int) -> None:
        """A call that used an entry that does not stay is over."""
        with _lock:
            entry = self.passing[number]
            entry.uses -= 1
            if not entry.uses:
                del self.passing[number]

    def _read(self, words: np.ndarray) -> tuple[list[OperandType], dict[str, Any]]:
        """The operands' types, and the attrs in torch's form."""
        reader = _Reader(words)
        found = [
            reader.read(kind, each) for kind, each in zip(self.kinds, self.schema.parameters, strict=True)
        ]
        split = len(self.schema.program.operands)
        names = [each.name for each in self.schema.parameters[split:]]
        return found[:split], dict(zip(names, found[split:], strict=True))

    def reason(self, why: Why, entry: int, detail: int) -> str:
        """What is said of a call that fails."""
        if why is Why.DEVICE:
            return f"{self.name}: an operand is not on cpu; expected all on cpu"
        if why is Why.TORCH:
            return f"{self.name}: an operand is no plain (strided) tensor, or there is no memory for a result"
        with _lock:
            known = (*self.kept.values(), *self.passing.values())
            used = next(each for each in known if each.address == entry)
            if used.number:
                self.over(used.number)
        return f"{self.name}: {used.call.failure(detail)}"


class _Entry(Entry):
    """An entry that says what results are allocated."""

    def __init__(self, call: NativeCall, words: np.ndarray, digest: int, number: int) -> None:
        """`number`: not 0 for one that does not stay; `uses`: the calls that use it now."""
        self.number = number
        self.uses = 0
        self._shapes = [
            (np.array(shape or (0,), np.int64), np.array(contiguous_strides(shape) or (0,), np.int64))
            for shape in (result.concrete_shape for result in call.results)
        ]
        rows = [
            (CODE_OF[result.dtype], result.ndim, address_of(sizes), address_of(strides))
            for result, (sizes, strides) in zip(call.results, self._shapes, strict=True)
        ]
        self._rows = np.array(rows, np.int64).reshape(-1)
        own = {
            ResultField.RESULT_COUNT: len(call.results),
            ResultField.ROWS: address_of(self._rows),
            ResultField.TEMPORARY: number,
        }
        super().__init__(call, words, digest, [own[each] for each in ResultField])


class _Reader:
    """Arguments from words."""

    def __init__(self, words: np.ndarray) -> None:
        self._words = words
        self._at = 0

    def read(self, kind: int, parameter: Parameter) -> Any:
        if kind >= OPTIONAL and not self._next():
            return None
        kind &= OPTIONAL - 1
        if kind in _LISTS:
            one = {Kind.LIST: Kind.RAW, Kind.STRINGS: Kind.STRING, Kind.TENSORS: Kind.TENSOR}[Kind(kind)]
            items = [self._one(one, parameter) for _ in range(self._next())]
            return tuple(items) if kind == Kind.TENSORS else items
        return self._one(Kind(kind), parameter)

    def _one(self, kind: Kind, parameter: Parameter) -> Any:
        if kind is Kind.TENSOR:
            code, rank = self._next(), self._next()
            if code not in NAME_OF_CODE:
                raise TypeError(f"{parameter.name} has torch's element type {code}, which no declared op has")
            return TensorType([self._next() for _ in range(rank)], NAME_OF_CODE[code])
        if kind is Kind.STRING:
            length = self._next()
            count = (length + 7) // 8
            found = self._words[self._at : self._at + count].tobytes()[:length].decode()
            self._at += count
            return found
        return _value(parameter.type_text.strip("?[]"), self._next())

    def _next(self) -> int:
        self._at += 1
        return int(self._words[self._at - 1])


def _value(type_text: str, word: int) -> object:
    """An attr's value from its word."""
    if type_text == "float":
        return struct.unpack("d", struct.pack("q", word))[0]
    if type_text == "bool":
        return bool(word & 0xFF)
    return word & 0xFFFFFFFF if type_text == "ScalarType" else word


def _kind(parameter: Parameter) -> int:
    text = parameter.type_text.removesuffix("?")
    kind = {"Tensor": Kind.TENSOR, "Tensor[]": Kind.TENSORS, "str": Kind.STRING, "str[]": Kind.STRINGS}.get(
        text, Kind.LIST if text.endswith("[]") else Kind.RAW
    )
    return int(kind) + (OPTIONAL if parameter.type_text.endswith("?") else 0)


# ------------------------------------------------------------------ what machine code calls


def _miss(number: int, words: int, length: int, digest: int) -> int:
    handler = _handlers[number]
    try:
        held = (ctypes.c_int64 * length).from_address(words) if length else ()
        return handler.made(np.array(held, np.int64), digest)
    except (OpgenError, TypeError) as error:
        _failed.say(f"{handler.name}: {error}")
    except (
        BaseException
    ) as error:  # nothing may pass through the machine code that called, KeyboardInterrupt neither
        _failed.say(f"{handler.name}: {type(error).__name__}: {error}")
    return 0


def _over(number: int, entry: int) -> None:
    _handlers[number].over(entry)


def _why(number: int, why: int, entry: int | None, detail: int) -> int:
    if why != Why.NO_ENTRY:
        _failed.say(_handlers[number].reason(Why(why), entry or 0, detail))
    return _failed.address


@dataclass(frozen=True, slots=True)
class _Native:
    """The handler in memory."""

    addresses: dict[str, int]
    publish: Any
    batches: list[tuple[np.ndarray, dict[str, int]]]

    def trampoline(self, number: int, descriptor: int) -> int:
        """The address of the kernel for a descriptor."""
        with _lock:
            batch, place = divmod(number, TRAMPOLINES)
            while len(self.batches) <= batch:
                descriptors = np.zeros(TRAMPOLINES, np.int64)
                known = {DESCRIPTORS: address_of(descriptors), DISPATCH: self.addresses[DISPATCH]}
                code = load_module(
                    "torch trampolines", trampolines_text(), trampoline_symbols(), None, 0, known
                )
                self.batches.append((descriptors, code))
            descriptors, code = self.batches[batch]
            descriptors[place] = descriptor
            return code[trampoline_symbols()[place]]


_callbacks: Final = {
    "opgen_miss": _SIGNATURE_OF_MISS(_miss),
    "opgen_over": _SIGNATURE_OF_OVER(_over),
    "opgen_why": _SIGNATURE_OF_WHY(_why),
}


@lru_cache(maxsize=1)
def _native() -> _Native:
    known = dict(libtorch().addresses)
    known |= {name: ctypes.cast(each, ctypes.c_void_p).value or 0 for name, each in _callbacks.items()}
    addresses = load_module("torch handler", handler_text(ABI), (DISPATCH, PUBLISH), None, _LEVEL, known)
    publish = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(addresses[PUBLISH])
    return _Native(addresses, publish, [])


@lru_cache(maxsize=1)
def why_not_native() -> str:
    """Why ops run by the way of Python; "" where they need not."""
    if libtorch().missing:
        return libtorch().missing
    try:
        _native()
    except CodegenError as error:
        return str(error)
    return ""
