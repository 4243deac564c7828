"""Records of tuning: a JSON file of which each entry says to what one kernel was tuned on one target.

    {"format": "opgen tuning records", "version": 1, "records": [{
        "kernel": "opgen_matmul (float32[64,64], float32[64,64]) -> float32[64,64]",
        "target": "llvm -mtriple=... -num-threads=2", "segment": "<structural digest>", "constant": [],
        "parameters": {"contraction.tile_rows": 6}, "default_us": 9.1, "tuned_us": 7.5, "trace": ["..."]}]}

What compilation takes of a record are the parameters, under the same instruction set, row of machines and threads, the
same digest and constant operands; kernel, times and trace say what that was when it was measured.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeGuard

from .... import ir
from ....base import Target, machines_stamp
from ....base.errors import StrategyError, shown
from ....base.vocabulary import dataclass
from ....lower.library import schedules
from ..store.tuned_file import records_file as records_file

_FORMAT: Final = "opgen tuning records"
_VERSION: Final = 1
_KINDS: Final[Mapping[str, str]] = {
    "kernel": "a text", "target": "a text", "segment": "a text", "constant": "a list of whole numbers",
    "parameters": "an object", "default_us": "a number", "tuned_us": "a number", "trace": "a list of texts",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Record:
    """One kernel on one target: what it was tuned to, and microseconds a run before and after."""

    kernel: str
    target: str
    segment: str
    constant: tuple[int, ...]
    parameters: Mapping[str, int]
    default_us: float
    tuned_us: float
    trace: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str, tuple[int, ...]]:
        """What a record is looked up by: the target's `tuning_key`, segment and constants."""
        return Target.tuning_key_of(self.target), self.segment, self.constant


def tuned(target: Target, function: ir.Function, digest: str, constant: Collection[int]) -> Target:
    """The target, tuned to what the records say of a segment; `digest` as far as it is known.

    One that is tuned already stays as it is.  Raises StrategyError for a file that is damaged or no such file.
    """
    path = None if target.tuned else records_file()
    known = {} if path is None else _known(path)
    name = target.tuning_key if known else ""
    if not any(key[0] == name for key in known):
        return target
    found = known.get((name, digest or ir.structural_digest(function), tuple(sorted(constant))))
    return target if found is None else target.tuned_to(found.parameters)


def _known(path: Path) -> Mapping[tuple[str, str, tuple[int, ...]], Record]:
    try:
        status = path.stat()
    except OSError:
        return {}
    return _read_once(path, status.st_mtime_ns, status.st_size, machines_stamp())


@lru_cache(maxsize=4)
def _read_once(
    path: Path, time: int, size: int, machines: str
) -> Mapping[tuple[str, str, tuple[int, ...]], Record]:
    """`machines`: the state of those that users add, by which rows of targets are found."""
    return {record.key: record for record in read_records(path)}


def read_records(path: Path) -> tuple[Record, ...]:
    """All records of a file.  Raises StrategyError that names the file and what is wrong in it."""
    try:
        text = path.read_text(encoding="utf-8")
        held = json.loads(text)
    except OSError as error:
        raise StrategyError(f"tuning records {path}: {error.strerror}") from None
    except ValueError as error:
        raise StrategyError(f"tuning records {path}: it is no JSON: {error}; {_MEND}") from None
    if not isinstance(held, dict) or held.get("format") != _FORMAT:
        raise StrategyError(f'tuning records {path}: it is no such file, which has "format": "{_FORMAT}"')
    if held.get("version") != _VERSION:
        raise StrategyError(
            f"tuning records {path}: version {shown(held.get('version')):.40}, expected {_VERSION}; {_MEND}"
        )
    records = held.get("records")
    if not isinstance(records, list):
        raise StrategyError(f'tuning records {path}: "records" is no list; {_MEND}')
    return tuple([_record(path, number, each) for number, each in enumerate(records, 1)])


_MEND: Final = "remove it, or tune again: opgen tune"


def _record(path: Path, number: int, held: object) -> Record:
    where = f"tuning records {path}: record {number}"
    if not isinstance(held, dict):
        raise StrategyError(f"{where} is {shown(held):.40}, expected an object; {_MEND}")
    if isinstance(held.get("kernel"), str):
        where += f" ({held['kernel']:.80})"
    for name in [*_KINDS, *held]:
        if name not in held:
            raise StrategyError(f"{where}: it has no {name!r}; {_MEND}")
        if name not in _KINDS:
            raise StrategyError(f"{where}: it has {name!r}, which no record has; {_MEND}")
        if not _is(_KINDS[name], held[name]):
            raise StrategyError(
                f"{where}: {name!r} is {shown(held[name]):.40}, expected {_KINDS[name]}; {_MEND}"
            )
    parameters = {schedules.RENAMED.get(name, name): value for name, value in held["parameters"].items()}
    for name, value in parameters.items():
        problem = schedules.why_not_tuned(name, value)
        if problem is not None:
            raise StrategyError(f"{where}: {problem}; {_MEND}")
    lists = {name: tuple(held[name]) for name in ("constant", "trace")}
    return Record(**{**held, **lists, "parameters": parameters})


def _is(kind: str, value: object) -> bool:
    if kind == "a text":
        return isinstance(value, str)
    if kind == "an object":
        return isinstance(value, dict)
    if kind == "a number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, list) and all([_is_entry(kind, each) for each in value])


def _is_entry(kind: str, value: object) -> TypeGuard[str | int]:
    return isinstance(value, str) if kind == "a list of texts" else type(value) is int


def with_record(records: Sequence[Record], made: Record) -> tuple[Record, ...]:
    """The records with another one, in place of that of the same kernel on the same target."""
    kept = [each for each in records if each.key != made.key]
    return (*kept, made)


def write_records(path: Path, records: Sequence[Record]) -> None:
    """Write a file of records, whole or not at all."""
    held: dict[str, Any] = {
        "format": _FORMAT,
        "version": _VERSION,
        "records": [asdict(replace(each, parameters=dict(each.parameters))) for each in records],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
    beside.replace(path)
