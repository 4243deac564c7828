"""What machine code of the native runtime assumes of CPython and numpy: one table, verified as this is imported.

Entries, trampolines and output buffers read objects where `ASSUMPTIONS` says.  In a process in which one of them does
not hold (another version, a build without the interpreter lock) there is none of that code: calls go through ctypes,
and a warning names what differs.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from ....base.vocabulary import dataclass

# Bytes from the start of an object, on a 64-bit CPython with reference counts at the front of objects.
COUNT_OFFSET: Final = 0  # of references
TYPE_OFFSET: Final = 8
TUPLE_SIZE_OFFSET: Final = 16  # how many items, and the first of them
TUPLE_ITEMS_OFFSET: Final = 24
METHOD_OFFSET: Final = 16  # of built-in functions: their PyMethodDef
METHOD_FLAGS_OFFSET: Final = 16  # in that
# And of numpy's arrays: `PyArrayObject_fields` (numpy/ndarraytypes.h).
DATA_OFFSET: Final = 16
RANK_OFFSET: Final = 24
DIMS_OFFSET: Final = 32
DTYPE_OFFSET: Final = 56
FLAGS_OFFSET: Final = 64
CONTIGUOUS_ALIGNED: Final = 0x0101  # of these flags
WRITEABLE: Final = 0x0400
# Positions in numpy's table of functions, the same in its versions 1 and 2 (numpy/__multiarray_api.h).
ARRAY_TYPE: Final = 2
NEW_FROM_DESCR: Final = 94
SET_BASE: Final = 282
# Numbers of CPython's own, which its stable ABI keeps (PEP 384).
FASTCALL: Final = 0x0080  # METH_FASTCALL
HAVE_VECTORCALL: Final = 1 << 11  # Py_TPFLAGS_HAVE_VECTORCALL
COUNT_MASK: Final = (1 << 63) - 1  # of what vectorcall gives as the number of arguments (PEP 590)
TYPE_MEMBERS: Final = 72  # Py_tp_members, CPython's typeslots.h
SSIZE_MEMBER: Final = 19  # Py_T_PYSSIZET
READ_ONLY_MEMBER: Final = 1  # Py_READONLY


@dataclass(frozen=True, slots=True)
class Assumption:
    """`what` is so, as `holds` finds out by looking at objects that differ in it; `source`: where it is written."""

    what: str
    source: str
    holds: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Layouts:
    """Where numpy's own things are: addresses, 0 where numpy has no table."""

    array_type: int
    new_array: int
    set_base: int


def _pointer(value: object, offset: int) -> int:
    return ctypes.c_size_t.from_address(id(value) + offset).value


def _int(value: object, offset: int) -> int:
    return ctypes.c_int.from_address(id(value) + offset).value


def _samples() -> Iterator[np.ndarray]:
    """Arrays that differ from each other in every field."""
    base = np.arange(64, dtype=np.float64)
    locked = base.astype(np.int16)
    locked.flags.writeable = False
    rows, unaligned = base.reshape(4, 16), base.view(np.int8)[1:17].view(np.float64)
    yield from (base, base[3:], base[::-1], rows, rows.T, unaligned, np.empty((2, 0, 3), np.int8), locked)


def _of_arrays(holds: Callable[[np.ndarray], bool]) -> Callable[[], bool]:
    return lambda: all(holds(sample) for sample in _samples())


def _dims(array: np.ndarray) -> tuple[int, ...]:
    return tuple((ctypes.c_int64 * array.ndim).from_address(_pointer(array, DIMS_OFFSET)))


def _is_contiguous(array: np.ndarray) -> bool:
    flagged = _int(array, FLAGS_OFFSET) & CONTIGUOUS_ALIGNED == CONTIGUOUS_ALIGNED
    return flagged == (array.flags.c_contiguous and array.flags.aligned)


def _is_usual_build() -> bool:
    """Neither free-threaded, nor one for CPython's own debugging, which counts references elsewhere, too."""
    return getattr(sys, "_is_gil_enabled", lambda: True)() and not hasattr(sys, "gettotalrefcount")


def _has_tuple_items() -> bool:
    sample = tuple(_samples())
    items = (ctypes.c_size_t * len(sample)).from_address(id(sample) + TUPLE_ITEMS_OFFSET)
    return list(items) == [id(item) for item in sample]


def _counts_references() -> bool:
    sample = np.empty(1)
    count = ctypes.c_int32.from_address(id(sample) + COUNT_OFFSET)
    before = count.value
    kept = [sample] * 3
    return before > 0 and count.value == before + len(kept)


def _has_fastcall() -> bool:
    method = _pointer(isinstance, METHOD_OFFSET)
    return ctypes.c_int.from_address(method + METHOD_FLAGS_OFFSET).value == FASTCALL


def _has_array_type() -> bool:
    return numpy_functions().array_type == id(np.ndarray)


def _makes_arrays() -> bool:
    """Whether the functions there are PyArray_NewFromDescr and PyArray_SetBaseObject; not called at a wrong place."""
    if not _has_array_type():
        return False
    found = numpy_functions()
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
        ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p,
    )(found.new_array)  # fmt: skip
    tie = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.py_object)(found.set_base)
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


_ARRAY_FIELDS: Final = "PyArrayObject_fields, numpy/ndarraytypes.h"
_ARRAY_API: Final = "numpy/__multiarray_api.h"
# In order: later ones look at memory only where earlier ones hold.
PROCESS: Final = (
    Assumption(
        "the interpreter is CPython",
        "sys.implementation",
        lambda: sys.implementation.name == "cpython" and hasattr(ctypes, "pythonapi"),
    ),
    Assumption("pointers have 8 bytes", "ctypes", lambda: ctypes.sizeof(ctypes.c_void_p) == 8),
    Assumption("CPython has the interpreter lock and is no debug build", "PEP 703", _is_usual_build),
)
OBJECTS: Final = (
    Assumption(
        f"the type of an object is at byte {TYPE_OFFSET}",
        "PyObject, cpython/object.h",
        _of_arrays(lambda array: _pointer(array, TYPE_OFFSET) == id(type(array))),
    ),
    Assumption(
        f"references are counted in 32 bits at byte {COUNT_OFFSET}",
        "PyObject, cpython/object.h",
        _counts_references,
    ),
    Assumption(
        f"the size of a tuple is at byte {TUPLE_SIZE_OFFSET}",
        "PyTupleObject, cpython/tupleobject.h",
        lambda: _pointer((None,) * 5, TUPLE_SIZE_OFFSET) == 5,
    ),
    Assumption(
        f"the items of a tuple begin at byte {TUPLE_ITEMS_OFFSET}",
        "PyTupleObject, cpython/tupleobject.h",
        _has_tuple_items,
    ),
    Assumption(f"METH_FASTCALL is {FASTCALL:#x}", "methodobject.h", _has_fastcall),
    Assumption(
        f"Py_TPFLAGS_HAVE_VECTORCALL is {HAVE_VECTORCALL:#x}",
        "object.h",
        lambda: bool(type(_pointer).__flags__ & HAVE_VECTORCALL) and not object.__flags__ & HAVE_VECTORCALL,
    ),
    Assumption(
        f"the data of an array are at byte {DATA_OFFSET}",
        _ARRAY_FIELDS,
        _of_arrays(lambda array: _pointer(array, DATA_OFFSET) == array.__array_interface__["data"][0]),
    ),
    Assumption(
        f"the rank of an array is at byte {RANK_OFFSET}",
        _ARRAY_FIELDS,
        _of_arrays(lambda array: _int(array, RANK_OFFSET) == array.ndim),
    ),
    Assumption(
        f"the dims of an array are at byte {DIMS_OFFSET}",
        _ARRAY_FIELDS,
        _of_arrays(lambda array: _dims(array) == array.shape),
    ),
    Assumption(
        f"the dtype of an array is at byte {DTYPE_OFFSET}",
        _ARRAY_FIELDS,
        _of_arrays(lambda array: _pointer(array, DTYPE_OFFSET) == id(array.dtype)),
    ),
    Assumption(
        f"the flags of an array are at byte {FLAGS_OFFSET}, {CONTIGUOUS_ALIGNED:#x} for contiguous and aligned ones",
        _ARRAY_FIELDS,
        _of_arrays(_is_contiguous),
    ),
    Assumption(
        f"the flag of arrays that may be written to is {WRITEABLE:#x}",
        _ARRAY_FIELDS,
        _of_arrays(lambda array: bool(_int(array, FLAGS_OFFSET) & WRITEABLE) == array.flags.writeable),
    ),
    Assumption(
        f"number {ARRAY_TYPE} of numpy's table of functions is the type of arrays",
        _ARRAY_API,
        _has_array_type,
    ),
    Assumption(
        f"numbers {NEW_FROM_DESCR} and {SET_BASE} of it are PyArray_NewFromDescr and PyArray_SetBaseObject",
        _ARRAY_API,
        _makes_arrays,
    ),
)
ASSUMPTIONS: Final = (*PROCESS, *OBJECTS)


def numpy_functions() -> Layouts:
    """What is needed of numpy's table of functions."""
    module = sys.modules.get("numpy._core._multiarray_umath") or sys.modules.get(
        "numpy.core._multiarray_umath"
    )
    capsule = getattr(module, "_ARRAY_API", None)
    if capsule is None:
        return Layouts(0, 0, 0)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    table: Any = ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_size_t))
    return Layouts(table[ARRAY_TYPE], table[NEW_FROM_DESCR], table[SET_BASE])


def verify() -> str:
    """What the first assumption is that does not hold in this process, and where it is from; "" where all hold."""
    for each in ASSUMPTIONS:
        if not each.holds():
            process = f"{sys.implementation.name} {sys.version.split()[0]} with numpy {np.__version__}"
            return f"it is not so that {each.what} ({each.source}) in {process}"
    return ""


WHY_NOT_NATIVE: Final = verify()
"""Why this process has no machine code that reads objects; "" where it has."""
