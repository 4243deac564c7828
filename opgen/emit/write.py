"""Carry out a plan.  A reader (or an interruption) sees the old file or the new one, never a part."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .plan import Plan


def apply(plan: Plan) -> None:
    """Write and remove what `plan` says.  Raises OSError."""
    for step in plan.steps:
        if step.text is None:
            step.path.unlink(missing_ok=True)
        else:
            write_atomically(step.path, step.text)


def write_atomically(path: Path, text: str) -> None:
    """Write `text` beside `path` and rename it into place.  Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
