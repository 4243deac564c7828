"""Where a user's kernels, records of tuning and machines are kept."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path

from .forks import importing


def cache_folder() -> Path | None:
    """The folder of the object cache; OPGEN_CACHE_DIR names another one, or says that there is none if empty."""
    given = os.environ.get("OPGEN_CACHE_DIR")
    if given is not None:
        return Path(given) if given else None
    return _user_folder()


@lru_cache(maxsize=1)
def _user_folder() -> Path:
    if sys.platform == "linux":  # what platformdirs says there, without the 3 ms of its import
        base = os.environ.get("XDG_CACHE_HOME", "")
        return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "opgen" / "kernels"
    with importing:
        import platformdirs

    return Path(platformdirs.user_cache_dir("opgen", appauthor=False)) / "kernels"
