"""`opgen list`: the ops of the project, or the built-in ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import PurePath

import click

from opgen_runtime.declaration import OpDeclaration

from ..model import CheckedOp
from ..project import find_project
from .builtin import builtin_declarations
from .console import note, out, table
from .workspace import checked_workspace


@dataclass(frozen=True, slots=True)
class _Entry:
    """One op as it is listed; `line` is 0 where only the file of the declaration is known."""

    op: str
    family: str
    level: int
    arity: int
    dtypes: tuple[str, ...]
    pattern: str
    inputs: tuple[str, ...]
    attrs: tuple[str, ...]
    outputs: tuple[str, ...]
    seams: tuple[str, ...]
    source: str
    line: int


@click.command()
@click.option("--seams", is_flag=True, help="Only hand-written functions that declarations point to.")
@click.option("--builtin", is_flag=True, help="The ops of the built-in library.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def command(seams: bool, builtin: bool, form: str) -> None:
    """List every op with its derived pattern, operands and attrs; with --seams every `python:` reference."""
    entries = (
        [_of_declaration(each) for each in builtin_declarations()]
        if builtin
        else [_of_checked(op) for op in checked_workspace(find_project()).ops]
    )
    if seams:
        _list_seams(entries, form)
    elif form == "json":
        click.echo(json.dumps([_record(entry) for entry in entries], indent=2))
    else:
        cells: list[tuple[str, ...]] = [
            ("op", "level", "arity", "pattern", "dtypes", "inputs", "attrs", "seam", "declared in")
        ]
        table([*cells, *map(_row, entries)])
        note(f"{len(entries)} ops")


def _list_seams(entries: list[_Entry], form: str) -> None:
    rows = [(entry.op, seam, entry.source) for entry in entries for seam in entry.seams]
    if form == "json":
        keys = ("op", "seam", "source")
        click.echo(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=2))
        return
    for name, seam, source in rows:
        out.print(f"{name:24}{seam}  ({source})")
    note(f"{len(rows)} seams in {len(entries)} ops")


def _row(entry: _Entry) -> tuple[str, ...]:
    return (
        entry.op,
        str(entry.level),
        str(entry.arity),
        entry.pattern,
        ", ".join(entry.dtypes),
        ", ".join(entry.inputs),
        ", ".join(entry.attrs),
        "seam" if entry.seams else "",
        f"{entry.source}:{entry.line}" if entry.line else entry.source,
    )


def _record(entry: _Entry) -> dict[str, object]:
    found = asdict(entry)
    return found if entry.line else {name: value for name, value in found.items() if name != "line"}


def _of_checked(op: CheckedOp) -> _Entry:
    return _Entry(
        op.name,
        op.family,
        op.support_level,
        op.arity,
        _dtype_classes((each.dtype for each in op.inputs), op.signature.dtypes),
        op.pattern.name.lower(),
        tuple(each.name for each in op.inputs),
        tuple(each.name for each in op.attrs),
        tuple(each.name for each in op.outputs),
        tuple(op.seams),
        op.source,
        op.line,
    )


def _of_declaration(op: OpDeclaration) -> _Entry:
    seams = (op.extern, op.signature.relation)
    return _Entry(
        op.name,
        PurePath(op.source).parent.name,
        op.support_level,
        op.arity,
        _dtype_classes((each.dtype for each in op.signature.inputs), op.signature.dtypes),
        op.pattern.name.lower(),
        tuple(each.name for each in op.signature.inputs),
        () if op.attrs is None else tuple(name for name, *_ in op.attrs.list_field_info()),
        tuple(each.name for each in op.signature.outputs),
        tuple(str(seam) for seam in seams if seam is not None),
        op.source,
        0,
    )


def _dtype_classes(
    declared: Iterable[str | tuple[str, ...]], variables: Mapping[str, str | tuple[str, ...]]
) -> tuple[str, ...]:
    """What the operands may be, each once: dtypes and dtype classes, those of dtype variables among them."""
    found: dict[str, None] = {}
    for each in declared:
        for name in each if isinstance(each, tuple) else (each,):
            meant = variables.get(name, name)
            found.update(dict.fromkeys(meant if isinstance(meant, tuple) else (meant,)))
    return tuple(found)
