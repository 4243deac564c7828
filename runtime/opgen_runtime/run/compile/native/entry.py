"""Calling a kernel without Python in between: `Entry` makes built-in functions of a kernel's own signature.

Through ctypes a call on a few elements costs microseconds, in the entry well below one: the arguments are checked, the
result is made and the kernel runs in machine code (`entry_text.py`).  It reads the objects of CPython and numpy, whose
layouts are verified first; where they are others (another version, a build without the interpreter lock) there are no
entries, and calls go the way through ctypes.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np

from ....base.errors import CodegenError
from ....base.vocabulary import dataclass
from ....codegen import load_module
from . import entry_fields
from .buffers import POOL
from .entry_fields import RECORD_FIELDS, EntryField
from .entry_text import SYMBOLS, TRAMPOLINE_SYMBOL, entry_text
from .output_buffers import FREE, FREE_LIST_BYTES, OUTPUT_BUFFER, OutputBuffers
from .pointers import address_of

ENTRY_MODULE: Final = "native entry"
ENTRY_LEVEL: Final = 2  # it runs in every call
_NEW_FROM_DESCR: Final = 94  # positions in numpy's table of functions, the same in its versions 1 and 2
_SET_BASE: Final = 282
_ARRAY_TYPE: Final = 2
_BYTE: Final = np.dtype(np.uint8)
_FASTCALL: Final = 0x0080  # METH_FASTCALL
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


@dataclass(frozen=True, slots=True)
class Layouts:
    """Where numpy's own things are, in a process whose objects have the layouts that the machine code reads."""

    array_type: int
    new_array: int
    set_base: int


class Methods:
    """The functions in memory, that of trampolines by its address, and the fields that all descriptors share."""

    def __init__(self, layouts: Layouts) -> None:
        exports = (*SYMBOLS, TRAMPOLINE_SYMBOL, OUTPUT_BUFFER, FREE_LIST_BYTES, FREE)
        addresses = load_module(ENTRY_MODULE, entry_text(), exports, None, ENTRY_LEVEL)
        self._methods = [_Method(symbol.encode(), addresses[symbol], _FASTCALL, None) for symbol in SYMBOLS]
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


_found: Final[list[Layouts | None]] = []
_made: Final[list[Methods | None]] = []


def layouts() -> Layouts | None:
    """Looked up once a process and kept; None where the layouts are not the expected ones."""
    if not _found:
        _found.append(_look_up())
    return _found[0]


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
    known = layouts()
    if known is None:
        return None
    try:
        return Methods(known)
    except CodegenError:
        return None


def _look_up() -> Layouts | None:
    table = _numpy_table()
    if table is None or not _layouts_are_known():
        return None
    new_array, set_base = table[_NEW_FROM_DESCR], table[_SET_BASE]
    if table[_ARRAY_TYPE] != id(np.ndarray) or not _allocates(new_array, set_base):
        return None
    return Layouts(table[_ARRAY_TYPE], new_array, set_base)


def python_function(name: str) -> int:
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    return address


def _numpy_table() -> Any:
    """numpy's table of C functions, as ints; None if it is not found."""
    module = sys.modules.get("numpy._core._multiarray_umath") or sys.modules.get(
        "numpy.core._multiarray_umath"
    )
    capsule = getattr(module, "_ARRAY_API", None)
    if capsule is None or not hasattr(ctypes, "pythonapi"):
        return None
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    return ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_size_t))


def _layouts_are_known() -> bool:
    """Whether the offsets of `entry_text` hold on arrays that differ in every field."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8 or _is_other_build():
        return False
    base = np.arange(64, dtype=np.float64)
    locked = base.astype(np.int16)
    locked.flags.writeable = False
    samples = (base, base[3:], base[::-1], base.reshape(4, 16).T, np.empty((2, 0, 3), np.int8), locked)
    return (
        all(_is_as_expected(sample) for sample in samples)
        and _is_tuple_as_expected(samples)
        and _is_counted_as_expected(base)
    )


def _is_other_build() -> bool:
    """Whether this CPython is free-threaded, or one for its own debugging, which counts references elsewhere, too."""
    return not getattr(sys, "_is_gil_enabled", lambda: True)() or hasattr(sys, "gettotalrefcount")


def _is_as_expected(array: np.ndarray) -> bool:
    def read(kind: type[Any], offset: int) -> int:
        return int(kind.from_address(id(array) + offset).value)

    def pointer(offset: int) -> int:
        return read(ctypes.c_size_t, offset)

    flags = read(ctypes.c_int, entry_fields.FLAGS_OFFSET)
    contiguous = array.flags.c_contiguous and array.flags.aligned
    wanted = entry_fields.CONTIGUOUS_ALIGNED
    dims = (ctypes.c_int64 * array.ndim).from_address(pointer(entry_fields.DIMS_OFFSET))
    return (
        pointer(entry_fields.TYPE_OFFSET) == id(type(array))
        and pointer(entry_fields.DATA_OFFSET) == array.__array_interface__["data"][0]
        and read(ctypes.c_int, entry_fields.RANK_OFFSET) == array.ndim
        and tuple(dims) == array.shape
        and pointer(entry_fields.DTYPE_OFFSET) == id(array.dtype)
        and (flags & wanted == wanted) == contiguous
        and bool(flags & entry_fields.WRITEABLE) == array.flags.writeable
    )


def _is_tuple_as_expected(sample: tuple[object, ...]) -> bool:
    size = ctypes.c_ssize_t.from_address(id(sample) + entry_fields.TUPLE_SIZE_OFFSET).value
    items = (ctypes.c_size_t * len(sample)).from_address(id(sample) + entry_fields.TUPLE_ITEMS_OFFSET)
    return size == len(sample) and list(items) == [id(item) for item in sample]


def _is_counted_as_expected(sample: object) -> bool:
    count = ctypes.c_int32.from_address(id(sample) + entry_fields.COUNT_OFFSET)
    before = count.value
    kept = [sample] * 3
    return before > 0 and count.value == before + len(kept)


def _allocates(new_array: int, set_base: int) -> bool:
    """Whether the functions there are PyArray_NewFromDescr and PyArray_SetBaseObject."""
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
        ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p,
    )(new_array)  # fmt: skip
    tie = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.py_object)(set_base)
    dims, dtype, base = np.array([3, 2], np.int64), np.dtype(np.float32), object()
    for taken in (dtype, base):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(taken))  # the functions take these references
    made = make(np.ndarray, dtype, 2, dims.ctypes.data, None, None, 0, None)
    return (
        type(made) is np.ndarray
        and made.shape == (3, 2)
        and made.dtype is dtype
        and made.flags.c_contiguous
        and made.base is None
        and tie(made, base) == 0
        and made.base is base
    )
