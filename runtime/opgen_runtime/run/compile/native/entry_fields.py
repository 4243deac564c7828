"""What the native entry reads of its own tables, by position; of CPython's and numpy's objects: layouts.py."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from ....codegen import fill
from .layouts import COUNT_OFFSET

RECORD_FIELDS: Final = 4

# Of objects with a trampoline, whose type `trampoline.py` makes: the vectorcall function, and the fields of the
# trampoline.
VECTORCALL_OFFSET: Final = 64
TRAMPOLINE_FIELDS_OFFSET: Final = 72


class EntryField(IntEnum):
    """What each field of the descriptor holds: addresses, and some numbers."""

    ITSELF = 0  # the descriptor
    ARRAY_TYPE = 1
    NOT_IMPLEMENTED = 2
    NEW_ARRAY = 3  # PyArray_NewFromDescr
    INCREF = 4
    DECREF = 5
    NO_MEMORY = 6  # PyErr_NoMemory
    SAVE_THREAD = 7
    RESTORE_THREAD = 8
    NEW_TUPLE = 9  # PyTuple_New
    KERNEL = 10
    KERNEL_DIMS = 11
    KERNEL_STRIDES = 12
    INPUTS = 13  # how many
    CONSTANTS = 14  # how many
    CONSTANT_ADDRESSES = 15
    OUTPUTS = 16  # how many
    ARGUMENTS_INTO = 17  # how many arguments come where an output is given; -1 where none can be
    RELEASES = 18  # whether other threads may run Python meanwhile
    IN_TUPLE = 19  # whether the new outputs are given in a tuple
    BYTE = 20  # the dtype uint8
    SET_BASE = 21  # PyArray_SetBaseObject


class TrampolineField(IntEnum):
    """What each field of a trampoline holds: addresses of objects, and of functions of CPython."""

    FIELDS = 0  # those of an entry's descriptor, or 0
    SLOW = 1  # the function that is called where that does not fit, on the object and the arguments
    CALLEE = 2  # the object that has the gate, which does not keep it alive
    OUT = 3  # the interned text "out"
    VECTORCALL = 4  # PyObject_Vectorcall


_NUMBERS: Final = frozenset(
    {
        EntryField.INPUTS,
        EntryField.CONSTANTS,
        EntryField.RELEASES,
        EntryField.OUTPUTS,
        EntryField.ARGUMENTS_INTO,
        EntryField.IN_TUPLE,
    }
)


def fields_text(fields: Iterable[EntryField | TrampolineField]) -> dict[str, str]:
    """For each field its name, and what reads it into the value of that name in small letters."""
    return {field.name: load_text(field) for field in fields}


def load_text(field: EntryField | TrampolineField, prefix: str = "") -> str:
    """What reads a field, from `%fields` or `%trampoline`, into the value of its name in small letters after
    `prefix`.
    """
    table, kind = (
        ("fields", "i64" if field in _NUMBERS else "ptr")
        if isinstance(field, EntryField)
        else ("trampoline", "ptr")
    )
    return fill(_LOAD, NAME=prefix + field.name.lower(), TABLE=table, POSITION=int(field), KIND=kind)


def counted_text(value: str, change: int) -> str:
    """What takes (1) or drops (-1) a reference to an object; it ends in the block `VALUE.held` or `VALUE.dropped`.

    Counts have 64 bits, or 32 with something else above, which are negative for objects that live for ever: where that
    could make a difference, and for the last reference, CPython's own function does it.
    """
    done, function, least = (
        ("held", EntryField.INCREF, 1) if change == 1 else ("dropped", EntryField.DECREF, 2)
    )
    prefix = f"{value}.{done}."
    return fill(
        _COUNTED,
        DONE=f"{value}.{done}",
        OBJECT=value,
        COUNT_OFFSET=COUNT_OFFSET,
        LEAST=least,
        CHANGE=change,
        LOAD=load_text(function, prefix),
        FUNCTION=prefix + function.name.lower(),
    )


_LOAD: Final = """\
  %$NAME.at = getelementptr i64, ptr %$TABLE, i64 $POSITION
  %$NAME = load $KIND, ptr %$NAME.at"""

_COUNTED: Final = """\
  %$DONE.at = getelementptr i8, ptr %$OBJECT, i64 $COUNT_OFFSET
  %$DONE.before = load i64, ptr %$DONE.at
  %$DONE.low = trunc i64 %$DONE.before to i32
  %$DONE.is_usual = icmp sge i32 %$DONE.low, $LEAST
  br i1 %$DONE.is_usual, label %$DONE.here, label %$DONE.there
$DONE.here:
  %$DONE.after = add i64 %$DONE.before, $CHANGE
  store i64 %$DONE.after, ptr %$DONE.at
  br label %$DONE
$DONE.there:
$LOAD
  call void %$FUNCTION(ptr %$OBJECT)
  br label %$DONE
$DONE:"""
