"""Whole programs, kept for other processes: found by a key of all that they depend on, and loaded like saved ones.

An entry is an artifact in the folder `programs` of the object cache.  It has all constants that its kernels take,
packed as they take them.  All entries together have at most 2 GiB (OPGEN_CACHE_PROGRAMS says how many bytes, 0 keeps
none), and those that were used longest ago go first.  An entry is written beside its place and renamed into it; one
that is damaged is removed and counts as absent.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from ....base import Target
from ....base.altered import is_altered
from ....base.errors import CodegenError, ExecutorError
from ....base.version import VERSION
from ....codegen import LLVM_VERSION, LLVMLITE_VERSION, default_cache
from ..kernel.sources import sources_digest
from .artifact import Chained, Contents, encoded, read_kept
from .tuned_file import records_stamp

_FOLDER: Final = "programs"
_ENDING: Final = ".opgen"
_MAX_BYTES: Final = 1 << 31
_MAX_ENTRIES: Final = 4096
_ENTRIES_PER_SWEEP: Final = 64  # entries that a process writes
_ABANDONED_SECONDS: Final = 3600.0  # seconds after which an unfinished entry has lost its writer


def is_on() -> bool:
    """Whether there is a place for programs."""
    return most_bytes() > 0 and default_cache().directory is not None


def program_key(target: Target | None, *parts: str) -> str | None:
    """A hex digest of `parts` and of all else that a program depends on: the runtime, the machine, records of tuning.

    None where no programs are kept: there is no cache, or the process has altered ops or settings of passes.
    """
    if not is_on() or is_altered():
        return None
    chosen = Target.host() if target is None else target
    whole = [_environment(), str(chosen), chosen.machine.values, records_stamp(), *parts]
    return hashlib.blake2b("\0".join(whole).encode(), digest_size=20).hexdigest()


def read(key: str) -> tuple[Contents | Chained, Mapping[str, Any]] | None:
    """The program of a key, with the facts that were kept with it; None where there is none, or a damaged one."""
    folder = default_cache().folder(_FOLDER, create=False)
    if folder is None:
        return None
    path = folder / f"{key}{_ENDING}"
    try:
        contents, facts = read_kept(path)
        if facts.get("key") != key:
            raise ExecutorError(f"{path} is the entry of another key")
        os.utime(path)
    except OSError:
        return None
    except (ExecutorError, CodegenError):
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    return contents, facts


def write(key: str, contents: Contents | Chained, facts: Mapping[str, object]) -> None:
    """Keep a program with some facts, values of JSON.  A disk that is full or read-only is not an error.

    Raises ExecutorError for a program that no file can hold.
    """
    folder = default_cache().folder(_FOLDER, create=True)
    if folder is not None:
        pieces = encoded(contents, {**facts, "key": key})
        if sum(map(len, pieces)) <= most_bytes():
            _write(folder / f"{key}{_ENDING}", pieces)


def fact(key: str) -> Mapping[str, Any] | None:
    """What was kept with a key alone, without a program."""
    entry = default_cache().get(key)
    return None if entry is None else entry.metadata


def keep_fact(key: str, facts: Mapping[str, object]) -> None:
    """Keep values of JSON with a key, in the cache of objects."""
    default_cache().put(key, b"", dict(facts))


def most_bytes() -> int:
    """How many bytes all kept programs may have."""
    given = os.environ.get("OPGEN_CACHE_PROGRAMS", "")
    return int(given) if given.isdigit() else _MAX_BYTES


def _write(path: Path, pieces: Sequence[bytes | memoryview]) -> None:
    global _written
    unfinished = path.parent / f".new-{os.urandom(8).hex()}"
    try:
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
        os.replace(unfinished, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
    size = sum(map(len, pieces))
    _written += 1
    if _written % _ENTRIES_PER_SWEEP == 1 or size * _ENTRIES_PER_SWEEP > most_bytes():
        _sweep(path.parent)


_written = 0  # entries, by this process


def _sweep(folder: Path) -> None:
    """Remove what is beyond the bounds, and what processes that were killed while they wrote have left."""
    entries: list[tuple[float, int, str]] = []
    oldest = time.time() - _ABANDONED_SECONDS
    with contextlib.suppress(OSError), os.scandir(folder) as listed:
        for entry in listed:
            with contextlib.suppress(OSError):  # another process removes, too
                status = entry.stat()
                if entry.name.endswith(_ENDING):
                    entries.append((status.st_mtime, status.st_size, entry.path))
                elif status.st_mtime < oldest:
                    os.unlink(entry.path)
    total = 0
    for number, (_, size, path) in enumerate(sorted(entries, reverse=True)):
        total += size
        if total > most_bytes() or number >= _MAX_ENTRIES:
            with contextlib.suppress(OSError):
                os.unlink(path)


@lru_cache(maxsize=1)
def _environment() -> str:
    return f"{VERSION} {sources_digest()} llvm {LLVM_VERSION} llvmlite {LLVMLITE_VERSION}"
