"""What earlier runs found out, in the user's cache directory.  Every entry is found by a digest of all that it says.

One file a project and version of the generator.  It may be deleted at any time: what it held is found out again.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..digests import digest
from ..emit.write import write_atomically

_KEPT_FILES: Final = 64  # of other projects and versions
_KEPT_ENTRIES: Final = 4  # times as many as one run uses, so that going back to an earlier text costs nothing
_MIN_RECORDS: Final = 1_000

Entry = Mapping[str, object]


def cache_folder() -> Path | None:
    """Where records are; None if the user has turned caches off (OPGEN_CACHE_DIR is empty)."""
    given = os.environ.get("OPGEN_CACHE_DIR")
    if given is not None:
        return Path(given) / "generate" if given else None
    if sys.platform == "linux":  # what platformdirs says there, without the time of its import
        base = os.environ.get("XDG_CACHE_HOME", "")
        return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "opgen" / "generate"
    import platformdirs

    return Path(platformdirs.user_cache_dir("opgen", appauthor=False)) / "generate"


class Records:
    """The entries of one project; those that a run asks for or adds are kept the longest."""

    def __init__(self, project: Path, generator: str, folder: Path | None) -> None:
        self.path = None if folder is None else folder / f"{digest(str(project), generator)[:32]}.json"
        self._old = {} if self.path is None else _read(self.path)
        self._used: dict[str, Entry] = {}
        self._is_new = False

    def get(self, key: str) -> Entry | None:
        """The entry of that key, if there is one."""
        found = self._used.get(key) or self._old.get(key)
        if found is not None:
            self._used[key] = found
        return found

    def add(self, key: str, entry: Entry) -> None:
        """Keep an entry for later runs."""
        self._used[key] = entry
        self._is_new = True

    def save(self) -> None:
        """Write what is new.  A folder that cannot be written to only costs the next run its time."""
        if self.path is None or not self._is_new:
            return
        others = [(key, entry) for key, entry in self._old.items() if key not in self._used]
        room = max(_MIN_RECORDS, _KEPT_ENTRIES * len(self._used)) - len(self._used)
        entries = {**dict(others[max(0, len(others) - room) :]), **self._used}
        try:
            _make_private(self.path.parent)
            write_atomically(self.path, json.dumps(entries, separators=(",", ":")))
            _prune(self.path.parent)
        except OSError:
            return


def _make_private(folder: Path) -> None:
    """The folder, inside that of all caches, where the runtime keeps compiled code: nobody else may write there."""
    folder.parent.parent.mkdir(parents=True, exist_ok=True)
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def _read(path: Path) -> dict[str, Entry]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {key: entry for key, entry in found.items() if isinstance(entry, dict)}


def _prune(folder: Path) -> None:
    """Remove the files that were not written for the longest time."""
    files = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime)
    for file in files[:-_KEPT_FILES]:
        file.unlink(missing_ok=True)
