"""Vectorcall trampolines: calls of objects go through an entry where that fits, before any Python code.

Their types have vectorcall (PEP 590): arguments come as they lie on Python's stack.  Through `__call__` of a class they
would be put into a tuple and a dict first, which takes longer than a small kernel.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any, Final, Self

import numpy as np

from .entry import Descriptor, Entry, methods, python_function
from .entry_fields import TRAMPOLINE_FIELDS_OFFSET, VECTORCALL_OFFSET, TrampolineField
from .layouts import (
    HAVE_VECTORCALL,
    READ_ONLY_MEMBER,
    SSIZE_MEMBER,
    TYPE_MEMBERS,
    WHY_NOT_NATIVE,
)
from .pointers import address_of

_SIZE: Final = TRAMPOLINE_FIELDS_OFFSET + 8
_types: Final[dict[type[Any], tuple[type[Any], object]]] = {}  # by their base, with what they are made of


class _Member(ctypes.Structure):
    """PyMemberDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Slot(ctypes.Structure):
    """PyType_Slot."""

    _fields_ = (("slot", ctypes.c_int), ("value", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    """PyType_Spec."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    )


class VectorcallObject:
    """An object that may have a trampoline before its `__call__`.

    It is made of a type with vectorcall, under the class that it is asked of; of that class itself where there are no
    entries.  Its vectorcall function is null until the trampoline is first used, so that calls go to `__call__`.
    """

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        return object.__new__(cls if WHY_NOT_NATIVE else _with_vectorcall(cls))


class Trampoline:
    """What such an object is called with goes through an entry where that fits, else to `slow`, which takes the object.

    Inputs by position and, with `has_out`, `out=array` are those of `new` and `into` of the entry that `use` was given
    last.  `place`: where the object has its vectorcall function.  The gate belongs to the object and does not hold it,
    so that both end, with the code that they hold, as soon as nobody has the object.
    """

    __slots__ = ("_fields", "_place")

    def __init__(
        self, callee: VectorcallObject, slow: Callable[..., Any], has_out: bool, place: ctypes.c_void_p
    ) -> None:
        self._place = place
        self._fields = fields = np.zeros(len(TrampolineField), np.int64).view(Descriptor)
        out = sys.intern("out")
        fields[TrampolineField.SLOW], fields[TrampolineField.CALLEE] = id(slow), id(callee)
        fields[TrampolineField.OUT] = id(out) if has_out else 0
        fields[TrampolineField.VECTORCALL] = python_function("PyObject_Vectorcall")
        fields.kept = (slow, out, None)

    @property
    def address(self) -> int:
        """Where its words lie."""
        return address_of(self._fields)

    def use(self, entry: Entry | None) -> None:
        """Go through `entry` from now on."""
        fields = self._fields
        before = fields.kept
        fields.kept = (*before[:2], entry)
        fields[TrampolineField.FIELDS] = 0 if entry is None else address_of(entry.descriptor)
        del before  # lives until nobody finds it
        shared = None if entry is None or self._place.value else methods()
        if shared is not None:
            self._place.value = shared.trampoline


def entered(callee: VectorcallObject, has_out: bool) -> Trampoline | None:
    """The trampoline before the calls of an object, which must keep it; None where there are no entries."""
    own = type(callee).__base__
    if own not in _types or _types[own][0] is not type(callee):
        return None  # there is no room for a trampoline
    place = ctypes.c_void_p.from_address(id(callee) + VECTORCALL_OFFSET)
    trampoline = Trampoline(callee, own.__call__, has_out, place)
    ctypes.c_void_p.from_address(id(callee) + TRAMPOLINE_FIELDS_OFFSET).value = trampoline.address
    return trampoline


def _with_vectorcall(base: type[Any]) -> type[Any]:
    """A type under `base` whose objects have room for a vectorcall function and the fields of a trampoline.

    It inherits `tp_call`, which calls `__call__`: one of its own would be found as `__call__` itself.
    """
    if base in _types:
        return _types[base][0]
    assert base.__basicsize__ <= VECTORCALL_OFFSET
    members = (_Member * 2)(
        _Member(b"__vectorcalloffset__", SSIZE_MEMBER, VECTORCALL_OFFSET, READ_ONLY_MEMBER, None)
    )
    slots = (_Slot * 2)(_Slot(TYPE_MEMBERS, ctypes.addressof(members)))
    name = f"{base.__module__}.{base.__qualname__}".encode()
    spec = _Spec(name, _SIZE, 0, HAVE_VECTORCALL, slots)
    make = ctypes.pythonapi.PyType_FromSpecWithBases
    make.argtypes, make.restype = (ctypes.POINTER(_Spec), ctypes.py_object), ctypes.py_object
    made: type[Any] = make(ctypes.byref(spec), (base,))
    return _types.setdefault(base, (made, (members, slots, name, spec)))[0]
