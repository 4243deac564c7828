"""Machines of a user's own: a JSON file that OPGEN_MACHINES names, each a row of the table with other values.

{"format": "opgen machines", "version": 1,
 "machines": {"mine": {"like": "zen4", "l2": 524288, "cycles": {"fetch": 40}}}}
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from ..errors import StrategyError, shown
from .machine import ROWS, Machine, changed, why_not_known

_FORMAT: Final = "opgen machines"
_VERSION: Final = 1
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def machine_named(name: str) -> Machine:
    """The row of that name, of the table or of the user.  Raises StrategyError for one that there is not."""
    found = ROWS.get(name) or _own().get(name)
    if found is None:
        raise StrategyError(f"-machine={name}: {why_not_known(name, [*ROWS, *_own()])}")
    return found


def machines_stamp() -> str:
    """What tells the state of the user's file; nothing where there is none."""
    given = os.environ.get("OPGEN_MACHINES")
    if not given:
        return ""
    try:
        status = Path(given).stat()
    except OSError:
        return given
    return f"{given} {status.st_size} {status.st_mtime_ns}"


def _own() -> Mapping[str, Machine]:
    given = os.environ.get("OPGEN_MACHINES")
    return _read(Path(given), machines_stamp()) if given else {}


@lru_cache(maxsize=4)
def _read(path: Path, stamp: str) -> Mapping[str, Machine]:
    where = f"machines {path} (OPGEN_MACHINES)"
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
    return {name: _machine(where, name, row) for name, row in machines.items()}


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
