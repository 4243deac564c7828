"""The object cache: compiled kernels on disk, found by a key that digests all that went into them.

An entry is one file: a line of JSON (sizes, checksum, metadata), then the object code.  Entries are written
beside their place and renamed into it, so that a reader sees a whole one or none.  What does not match its
checksum is removed and counts as absent.  Only the user may write to the directory, which is made with mode 0700; if
others may, or it cannot be examined, the cache is off, with a warning: whoever can write to it can make this process
run anything.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import time
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Final

from ...base.user_folder import cache_folder
from ...base.vocabulary import dataclass

_FORMAT: Final = "opgen-object-1"
_UNFINISHED: Final = ".new-"
_ABSENT: Final = "is not there"
_MAX_SHOWN: Final = 200  # characters of the directory's name in a warning
_ABANDONED_SECONDS: Final = 3600.0  # seconds after which an unfinished entry has lost its writer


@dataclass(frozen=True, slots=True)
class Entry:
    """A cached object and the small facts that were stored with it."""

    object_code: bytes
    metadata: dict[str, object]


class ObjectCache:
    """Kernels under one directory, which is made when it is first written to.

    `directory` None turns the cache off: nothing is found and nothing is kept.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._checked = False

    @property
    def directory(self) -> Path | None:
        """Where entries are, or None if the cache is off."""
        return self._directory

    def get(self, key: str) -> Entry | None:
        """The entry of `key`, if it is there and whole."""
        if not self._usable(create=False):
            return None
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        entry = _decode(content, key)
        if entry is None:
            with contextlib.suppress(OSError):
                path.unlink()
        return entry

    def put(self, key: str, object_code: bytes, metadata: dict[str, object]) -> None:
        """Store an entry; a disk that is full or read-only is not an error."""
        if not self._usable(create=True):
            return
        path = self._path(key)
        temporary = path.parent / f"{_UNFINISHED}{os.urandom(8).hex()}"
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError:
            return
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_encode(object_code, metadata, key))
            os.replace(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)

    def folder(self, name: str, create: bool) -> Path | None:
        """A folder inside the directory for entries of another kind; None where there is none, or the cache is off."""
        if not self._usable(create) or self._directory is None:
            return None
        found = self._directory / name
        try:
            if create:
                found.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            return None
        return found

    def clear(self) -> int:
        """Remove all entries, and those in folders inside; gives how many kernels there were."""
        if not self._usable(create=False) or self._directory is None:
            return 0
        removed = 0
        for path in self._directory.glob("*.o"):
            with contextlib.suppress(OSError):
                path.unlink()
                removed += 1
        for path in [*self._directory.glob(f"{_UNFINISHED}*"), *self._directory.glob("*/*")]:
            with contextlib.suppress(OSError):
                path.unlink()
        return removed

    def _path(self, key: str) -> Path:
        assert self._directory is not None
        return self._directory / f"{key}.o"

    def _usable(self, create: bool) -> bool:
        if self._directory is None:
            return False
        if self._checked:
            return True
        reason = why_not_trusted(self._directory)
        if reason == _ABSENT:
            if not create:
                return False
            try:
                self._directory.parent.mkdir(parents=True, exist_ok=True)
                self._directory.mkdir(mode=0o700, exist_ok=True)
            except OSError:
                self._directory = None
                return False
            reason = why_not_trusted(self._directory)
        if reason is not None:
            place = os.fspath(self._directory)
            place = place if len(place) <= _MAX_SHOWN else f"{place[:_MAX_SHOWN]}..."
            warnings.warn(f"the kernel cache is off: {place} {reason}", RuntimeWarning, stacklevel=2)
            self._directory = None
            return False
        self._checked = True
        if create:
            _sweep(self._directory)
        return True


def _sweep(directory: Path) -> None:
    """Remove what processes that were killed while they wrote have left."""
    oldest = time.time() - _ABANDONED_SECONDS
    with contextlib.suppress(OSError), os.scandir(directory) as found:
        for entry in found:
            if entry.name.startswith(_UNFINISHED) and entry.stat().st_mtime < oldest:
                os.unlink(entry.path)


def why_not_trusted(directory: Path) -> str | None:
    """Why a directory cannot hold code that this user runs; None if it can: others may read it, but not write to it."""
    try:
        found = directory.lstat()
    except FileNotFoundError:
        return _ABSENT
    except OSError as error:
        return f"cannot be examined ({error.strerror})"
    if not stat.S_ISDIR(found.st_mode):
        return "is not a directory"
    if hasattr(os, "getuid") and found.st_uid != os.getuid():
        return "belongs to another user"
    if stat.S_IMODE(found.st_mode) & (stat.S_IWGRP | stat.S_IWOTH):
        return f"may be written to by others (mode {stat.S_IMODE(found.st_mode):04o}; expected 0700)"
    return None


def _checksum(key: str, metadata: str, object_code: bytes) -> str:
    digest = hashlib.blake2b(f"{_FORMAT}\n{key}\n{metadata}\n".encode(), digest_size=16)
    digest.update(object_code)
    return digest.hexdigest()


def _encode(object_code: bytes, metadata: dict[str, object], key: str) -> bytes:
    text = json.dumps(metadata, sort_keys=True)
    return f"{_FORMAT} {_checksum(key, text, object_code)} {text}\n".encode() + object_code


def _decode(content: bytes, key: str) -> Entry | None:
    head, newline, object_code = content.partition(b"\n")
    parts = head.split(b" ", 2)
    if not newline or len(parts) != 3 or parts[0] != _FORMAT.encode():
        return None
    try:
        text = parts[2].decode()
        if parts[1].decode() != _checksum(key, text, object_code):
            return None
        metadata = json.loads(text)
    except (UnicodeDecodeError, ValueError):
        return None
    return Entry(object_code, metadata) if isinstance(metadata, dict) else None


@lru_cache(maxsize=4)
def _cache_in(directory: Path | None) -> ObjectCache:
    return ObjectCache(directory)


def default_cache() -> ObjectCache:
    """The user's cache; OPGEN_CACHE_DIR names another directory, or turns it off if empty."""
    return _cache_in(cache_folder())
