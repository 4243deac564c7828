"""The linker for code that is unloaded again: instances of ORC that die with the last library they linked.

An instance keeps about 8 KiB of each library that it has linked, after the library is gone, too; llvmlite has no way to
take that back but with the instance itself.  So an instance links few libraries.  To make one takes a millisecond, and
150 KiB as long as any of its libraries is loaded.
"""

from __future__ import annotations

from typing import Any, Final

import llvmlite.binding as llvm

from ...base import forks
from .compile import initialise

_LIBRARIES: Final = 16  # of an instance

_lock = forks.lock()
_current: Any = None
_room: int = 0  # how many libraries more the current instance links


def session() -> Any:
    """An instance to link one library with, which must have a name of its own; the library keeps it alive."""
    global _current, _room
    initialise()
    with _lock:
        if not _room:
            _current, _room = llvm.create_lljit_compiler(), _LIBRARIES
        _room -= 1
        return _current
