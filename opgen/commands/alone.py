"""One `opgen generate` at a time on a project."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from .console import note

# What file systems answer that have no locks, or none on folders.
_WITHOUT_LOCKS: Final = frozenset({errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})


@contextmanager
def alone(root: Path) -> Iterator[bool]:
    """Waits until no other process generates below `root`; False on a file system without locks.

    The lock is on the folder itself: it leaves no file behind, and ends with the process, however that ends.
    """
    folder = os.open(root, os.O_RDONLY)
    try:
        yield _locked(folder)
    finally:
        os.close(folder)


def _locked(folder: int) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        note("another opgen generate is at work on this project; waiting for it")
        fcntl.flock(folder, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
        return False
    return True
