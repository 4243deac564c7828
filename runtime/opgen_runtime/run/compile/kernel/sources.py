"""The runtime's own source files, as keys of caches tell them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=2)
def sources_digest(storeys: tuple[str, ...] = ()) -> str:
    """A digest of names, sizes and times of the runtime's source files, once a process; of some storeys, or of all."""
    root = os.fspath(Path(__file__).resolve().parents[3])
    folders = [os.path.join(root, storey) for storey in storeys or _folders(root)]
    entries = sorted(_sources(root, [*folders, root]))
    return hashlib.blake2b("\n".join(entries).encode(), digest_size=16).hexdigest()


def _folders(root: str) -> list[str]:
    with os.scandir(root) as found:
        return [entry.name for entry in found if entry.is_dir() and entry.name != "__pycache__"]


def _sources(top: str, stack: list[str]) -> Iterator[str]:
    while stack:
        folder = stack.pop()
        with os.scandir(folder) as found:
            for entry in found:
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    yield f"{entry.path[len(top) :]} {status.st_size} {status.st_mtime_ns}"
                elif folder != top and entry.name != "__pycache__" and entry.is_dir():
                    stack.append(entry.path)
