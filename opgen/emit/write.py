"""Carry out a plan.  A reader (or an interruption) sees the old file or the new one, never a part."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
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
    parts: list[tuple[str, Path]] = []
    try:
        if len(texts) > 1:
            _write_parts(texts, parts)
        else:
            for path, text in texts:
                _write_part(path, text, parts)
        for part, path in sorted(parts, key=lambda each: each[1]):
            os.replace(part, path)
    except BaseException:
        for part, _ in parts:
            Path(part).unlink(missing_ok=True)
        raise


def _write_parts(texts: Sequence[tuple[Path, str]], parts: list[tuple[str, Path]]) -> None:
    from concurrent.futures import (
        ThreadPoolExecutor,
    )  # and with it much that a run without a change does not need

    with ThreadPoolExecutor(min(_AT_ONCE, len(texts))) as threads:
        made = [threads.submit(_write_part, path, text, parts) for path, text in texts]
        try:
            for each in made:
                each.result()
        except BaseException:  # what has begun is waited for, so that it can be removed
            threads.shutdown(cancel_futures=True)
            raise


def _write_part(path: Path, text: str, parts: list[tuple[str, Path]]) -> None:
    """Bring `text` to the disk in a new file beside `path`, which is noted in `parts` as soon as it is there.

    The file has the permissions of the one that it will replace.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = f"{path.parent}/.{path.name}.{os.urandom(4).hex()}.part"
    with open(part, "x", encoding="utf-8", newline="\n") as file:
        parts.append((part, path))
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    if path.exists():
        os.chmod(part, path.stat().st_mode & 0o777)
