"""Calling a kernel without Python in between: `Entry` makes built-in functions of a kernel's own signature.

Through ctypes a call on a few elements costs microseconds, in the entry well below one: the arguments are checked, the
result is made and the kernel runs in machine code (`entry_text.py`).  It reads the objects of CPython and numpy
as `layouts.py` says and has verified; where something there does not hold there are no entries, and calls go the way
through ctypes, with a warning that names it.
"""

from __future__ import annotations

import ctypes
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np

from ....base.errors import CodegenError
from ....codegen import load_module
from .buffers import POOL
from .entry_fields import RECORD_FIELDS, EntryField
from .entry_text import SYMBOLS, TRAMPOLINE_SYMBOL, entry_text
from .layouts import FASTCALL, WHY_NOT_NATIVE, Layouts, numpy_functions
from .output_buffers import FREE, FREE_LIST_BYTES, OUTPUT_BUFFER, OutputBuffers
from .pointers import address_of

ENTRY_MODULE: Final = "native entry"
ENTRY_LEVEL: Final = 2  # it runs in every call
_BYTE: Final = np.dtype(np.uint8)
_MAX_BYTES_UNDER_LOCK: Final = (
    1 << 12
)  # operands up to this size: the kernel is over before another thread could start


class Operand(Protocol):
    """Shape and element type of one operand."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype[np.generic]: ...


class Enterable(Protocol):
    """What an entry must know of a kernel of native code: `memory` must live while the code can be called."""

    constant_addresses: list[int]
    dims_address: int
    strides_address: int

    @property
    def inputs(self) -> Sequence[Operand]: ...

    @property
    def outputs(self) -> Sequence[Operand]: ...

    @property
    def has_lengths(self) -> bool: ...

    @property
    def is_one(self) -> bool: ...

    @property
    def code_address(self) -> int: ...

    @property
    def memory(self) -> tuple[object, ...]: ...


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Descriptor(np.ndarray):
    """The words that the machine code reads, and what must live as long as they do."""

    kept: tuple[object, ...]


class Entry:
    """Built-in functions for a kernel.

    `new(*inputs)` gives a new array, or a tuple of new ones; `into(*inputs, out)`, where that is no tuple, fills `out`
    and gives it; either gives `NotImplemented`, and does nothing, unless every argument is a plain array of
    exactly the kernel's dtype and shape, contiguous and aligned, `out` writeable and apart from the inputs.  Both
    raise MemoryError as the kernel does.
    """

    __slots__ = ("descriptor", "into", "new")

    def __init__(self, kernel: Enterable, methods: Methods, in_tuple: bool) -> None:
        self.descriptor = descriptor = _descriptor(kernel, methods, in_tuple)
        self.new: Callable[..., Any] = methods.bound(0, descriptor)
        self.into: Callable[..., Any] = methods.bound(1, descriptor)


def make_entry(kernel: Enterable, in_tuple: bool = False) -> Entry | None:
    """The entry of a kernel, which gives several outputs in a tuple, one if asked to; None where there can be none.

    Kernels without outputs have none, nor those of data-dependent results.
    """
    if not kernel.outputs or kernel.has_lengths:
        return None
    made = methods()
    return None if made is None else Entry(kernel, made, in_tuple or len(kernel.outputs) > 1)


def _bytes(slots: Sequence[Operand]) -> int:
    return sum([math.prod(slot.shape) * slot.dtype.itemsize for slot in slots])


def _descriptor(kernel: Enterable, methods: Methods, in_tuple: bool) -> Descriptor:
    operands = (*kernel.inputs, *kernel.outputs)
    dtypes = [np.dtype(slot.dtype) for slot in operands]
    constants = np.array(kernel.constant_addresses, np.uint64)
    dims = [dim for slot in operands for dim in slot.shape]
    at = len(EntryField) + len(operands) * RECORD_FIELDS  # where the dims begin
    fields = np.array([0] * at + dims, np.int64).view(Descriptor)
    first = address_of(fields)
    for number, (slot, dtype) in enumerate(zip(operands, dtypes, strict=True)):
        begin = len(EntryField) + number * RECORD_FIELDS
        size = math.prod(slot.shape) * dtype.itemsize
        fields[begin : begin + RECORD_FIELDS] = (
            id(dtype),
            len(slot.shape),
            first + at * fields.itemsize,
            size,
        )
        at += len(slot.shape)
    for field, value in {
        **methods.fields,
        EntryField.KERNEL: kernel.code_address,
        EntryField.KERNEL_DIMS: kernel.dims_address,
        EntryField.KERNEL_STRIDES: kernel.strides_address,
        EntryField.ITSELF: id(fields),
        EntryField.INPUTS: len(kernel.inputs),
        EntryField.ARGUMENTS_INTO: -1 if in_tuple else len(kernel.inputs) + 1,
        EntryField.OUTPUTS: len(kernel.outputs),
        EntryField.IN_TUPLE: int(in_tuple),
        EntryField.CONSTANTS: constants.size,
        EntryField.CONSTANT_ADDRESSES: address_of(constants),
        EntryField.RELEASES: int(not kernel.is_one or _bytes(operands) > _MAX_BYTES_UNDER_LOCK),
    }.items():
        fields[field] = value
    fields.kept = (kernel.memory, dtypes, constants)
    return fields


class Methods:
    """The functions in memory, that of trampolines by its address, and the fields that all descriptors share."""

    def __init__(self, layouts: Layouts) -> None:
        exports = (*SYMBOLS, TRAMPOLINE_SYMBOL, OUTPUT_BUFFER, FREE_LIST_BYTES, FREE)
        addresses = load_module(ENTRY_MODULE, entry_text(), exports, None, ENTRY_LEVEL)
        self._methods = [_Method(symbol.encode(), addresses[symbol], FASTCALL, None) for symbol in SYMBOLS]
        for method in self._methods:
            ctypes.pythonapi.Py_IncRef(
                ctypes.py_object(method)
            )  # functions read theirs when they die, at exit too
        self._make = ctypes.pythonapi.PyCFunction_NewEx
        self._make.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
        self._make.restype = ctypes.py_object
        self.trampoline: int = addresses[TRAMPOLINE_SYMBOL]
        self.fields: dict[EntryField, int] = {
            EntryField.ARRAY_TYPE: layouts.array_type,
            EntryField.NOT_IMPLEMENTED: id(NotImplemented),
            EntryField.NEW_ARRAY: layouts.new_array,
            EntryField.INCREF: python_function("Py_IncRef"),
            EntryField.DECREF: python_function("Py_DecRef"),
            EntryField.NO_MEMORY: python_function("PyErr_NoMemory"),
            EntryField.SAVE_THREAD: python_function("PyEval_SaveThread"),
            EntryField.RESTORE_THREAD: python_function("PyEval_RestoreThread"),
            EntryField.NEW_TUPLE: python_function("PyTuple_New"),
            EntryField.BYTE: id(_BYTE),
            EntryField.SET_BASE: layouts.set_base,
        }
        self.output_buffers = OutputBuffers(addresses, self.fields)

    def bound(self, number: int, descriptor: Descriptor) -> Callable[..., Any]:
        """The function with the descriptor as `self`, which it keeps alive."""
        made: Callable[..., Any] = self._make(ctypes.addressof(self._methods[number]), descriptor, None)
        return made


_made: Final[list[Methods | None]] = []


def methods() -> Methods | None:
    """Made once a process, for the first call that is not the first of its kind; None where there can be none.

    Threads that come together may each make some, and all use those that were there first.
    """
    if not _made:
        _made.append(_new_methods())
        if _made[0] is not None:
            POOL.use(_made[0].output_buffers)
    return _made[0]


def _new_methods() -> Methods | None:
    if WHY_NOT_NATIVE:
        warnings.warn(f"opgen: calls go through ctypes, which takes longer: {WHY_NOT_NATIVE}", stacklevel=2)
        return None
    try:
        return Methods(numpy_functions())
    except CodegenError:
        return None


def python_function(name: str) -> int:
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    return address
