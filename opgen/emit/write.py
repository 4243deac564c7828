"""Carry out a plan.  A reader (or an interruption) sees the old file or the new one, never a part."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Final

from .plan import Plan

_AT_ONCE: Final = 16  # files on their way to the disk, which takes many in the time of one


def apply(plan: Plan) -> None:
    """Write and remove what `plan` says.  Raises OSError.

    All texts are on the disk, beside their places, before the first file is replaced or removed.
    """
    _write([(step.path, step.text) for step in plan.steps if step.text is not None])
    for step in plan.steps:
        if step.text is None:
            step.path.unlink(missing_ok=True)


def write_atomically(path: Path, text: str) -> None:
    """Write `text` beside `path` and rename it into place.  Raises OSError."""
    _write([(path, text)])


def _write(texts: Sequence[tuple[Path, str]]) -> None:
    """Write each text beside its path, and when all are there rename them into place.  Raises OSError."""
    files = [(path, text.encode()) for path, text in texts]
    parts: list[tuple[str, Path]] = []
    try:
        if len(files) > 1:
            _write_parts(files, parts)
        else:
            for path, content in files:
                _write_part(path, content, parts)
        for part, path in sorted(parts, key=lambda each: each[1]):
            os.replace(part, path)
    except BaseException:
        for part, _ in parts:
            Path(part).unlink(missing_ok=True)
        raise


def _write_parts(files: Sequence[tuple[Path, bytes]], parts: list[tuple[str, Path]]) -> None:
    """Several at a time, by threads that wait for the disk; `concurrent.futures` takes long to import."""
    left = deque(files)
    failures: list[OSError] = []

    def write() -> None:
        while not failures:
            try:
                path, content = left.popleft()
            except IndexError:
                return
            try:
                _write_part(path, content, parts)
            except OSError as error:
                failures.append(error)

    threads = [Thread(target=write) for _ in range(min(_AT_ONCE, len(files)))]
    try:
        for thread in threads:
            thread.start()
    finally:
        _join(threads, left)
    if failures:
        raise failures[0]


def _join(threads: Sequence[Thread], left: deque[tuple[Path, bytes]]) -> None:
    """Wait for those that were started; after an interrupt too, for what has begun, so that it can be removed."""
    try:
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    except BaseException:
        left.clear()
        _join(threads, left)
        raise


def _write_part(path: Path, content: bytes, parts: list[tuple[str, Path]]) -> None:
    """Bring `content` to the disk in a new file beside `path`, which is noted in `parts` as soon as it is there.

    The file has the permissions of the one that it will replace.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = f"{path.parent}/.{path.name}.{os.urandom(4).hex()}.part"
    with open(part, "xb") as file:
        parts.append((part, path))
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if path.exists():
        os.chmod(part, path.stat().st_mode & 0o777)
