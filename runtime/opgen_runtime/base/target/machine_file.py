"""Machines of a user's own: a JSON file in which each is a row of the table with other values.

OPGEN_MACHINES names it; else it lies beside the records of tuning.  `opgen tune --calibrate` writes rows.

{"format": "opgen machines", "version": 1,
 "machines": {"mine": {"like": "zen4", "l2": 524288, "cycles": {"fetch": 40}}}}
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from ..errors import StrategyError, shown
from ..user_folder import cache_folder
from .machine import ROWS, Machine, changed, why_not_known

_FORMAT: Final = "opgen machines"
_VERSION: Final = 1
_NAMED_BY: Final = "OPGEN_MACHINES"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def machine_named(name: str) -> Machine:
    """The row of that name, of the table or of the user.  Raises StrategyError for one that there is not."""
    found = ROWS.get(name) or _own().get(name)
    if found is None:
        raise StrategyError(f"-machine={name}: {why_not_known(name, [*ROWS, *_own()])}")
    return found


def machines_file() -> Path | None:
    """OPGEN_MACHINES, else `machines.json` beside the records of tuning; None where OPGEN_MACHINES is empty, or where
    nothing is kept."""
    given = os.environ.get(_NAMED_BY)
    if given is not None:
        return Path(given) if given else None
    tuned = os.environ.get("OPGEN_TUNED")
    folder = Path(tuned).parent if tuned else cache_folder()
    return None if folder is None else folder / "machines.json"


def machines_stamp() -> str:
    """What tells the state of the user's file; nothing where there is none."""
    path = machines_file()
    if path is None:
        return ""
    try:
        status = path.stat()
    except OSError:
        return str(path) if _NAMED_BY in os.environ else ""
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def write_machine(
    path: Path, name: str, like: str, measure: Callable[[], Mapping[str, float]]
) -> tuple[Machine, Mapping[str, float]]:
    """Put a row into the file, in place of one of its name: the row `like`, with the costs that `measure` gives.

    Other rows stay.  Gives the row, and these costs.  Raises StrategyError for a name that cannot be one and for a file
    that is damaged, before anything is measured, and for costs that there are not.
    """
    where = _where(path)
    rows = _rows(path, where) if path.exists() else {}
    for each, row in {**rows, name: {"like": like}}.items():
        _machine(where, each, row)
    cycles = dict(measure())
    rows[name] = {"like": like, "cycles": cycles}
    made = _machine(where, name, rows[name])
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    held = {"format": _FORMAT, "version": _VERSION, "machines": rows}
    beside.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
    beside.replace(path)
    return made, cycles


def _own() -> Mapping[str, Machine]:
    path, stamp = machines_file(), machines_stamp()
    return _read(path, stamp) if path is not None and stamp else {}


@lru_cache(maxsize=4)
def _read(path: Path, stamp: str) -> Mapping[str, Machine]:
    where = _where(path)
    return {name: _machine(where, name, row) for name, row in _rows(path, where).items()}


def _where(path: Path) -> str:
    """What messages call the file."""
    return f"machines {path} ({_NAMED_BY})" if _NAMED_BY in os.environ else f"machines {path}"


def _rows(path: Path, where: str) -> dict[str, object]:
    """The rows as they stand in the file."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StrategyError(f"{where}: {error.strerror}") from None
    except ValueError as error:
        raise StrategyError(f"{where}: it is no JSON: {error}") from None
    if not isinstance(held, dict) or held.get("format") != _FORMAT:
        raise StrategyError(f'{where}: it is no such file, which has "format": "{_FORMAT}"')
    if held.get("version") != _VERSION:
        raise StrategyError(f"{where}: version {shown(held.get('version')):.40}, expected {_VERSION}")
    machines = held.get("machines")
    if not isinstance(machines, dict):
        raise StrategyError(f'{where}: "machines" is {shown(machines):.40}, expected rows by name')
    return machines


def _machine(where: str, name: str, row: object) -> Machine:
    if not _NAME.fullmatch(name) or name in ROWS:
        expected = "a name of letters, digits, _, . and -, and none of the table"
        raise StrategyError(f"{where}: machine {name}: expected {expected}")
    if not isinstance(row, dict) or not isinstance(row.get("like"), str):
        raise StrategyError(
            f'{where}: machine {name}: it is {shown(row):.40}, expected "like", a row of the table, and values'
        )
    like = ROWS.get(row["like"])
    if like is None:
        raise StrategyError(
            f'{where}: machine {name}: "like" is {row["like"]!r:.40}: {why_not_known(row["like"], ROWS)}'
        )
    try:
        return changed(like, name, {key: value for key, value in row.items() if key != "like"})
    except StrategyError as error:
        raise StrategyError(f"{where}: {error}") from None
