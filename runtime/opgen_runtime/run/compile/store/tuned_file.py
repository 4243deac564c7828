"""Where the records of tuning are, which `tuning/records.py` reads."""

from __future__ import annotations

import os
from pathlib import Path

from ....codegen import default_cache


def records_file() -> Path | None:
    """OPGEN_TUNED, else `tuned.json` beside the object cache; None where OPGEN_TUNED is empty or there is no cache."""
    given = os.environ.get("OPGEN_TUNED")
    if given is not None:
        return Path(given) if given else None
    folder = default_cache().directory
    return None if folder is None else folder / "tuned.json"


def records_stamp() -> str:
    """What tells the state of that file; nothing where there is none."""
    path = records_file()
    try:
        status = None if path is None else path.stat()
    except OSError:
        return ""
    return "" if status is None else f"{path} {status.st_size} {status.st_mtime_ns}"
