"""`opgen list`: the ops of the project, or the built-in ones."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import PurePath
from typing import TYPE_CHECKING

import click

from ..generation.listing import Listing, dtype_classes
from ..project import find_project
from .console import note, out, table
from .generated import generation_of

if TYPE_CHECKING:
    from opgen_runtime.declaration import OpDeclaration


@click.command()
@click.option("--externs", is_flag=True, help="Only hand-written functions that declarations point to.")
@click.option("--builtin", is_flag=True, help="The ops of the built-in library.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def command(externs: bool, builtin: bool, form: str) -> None:
    """List every op with its derived pattern, operands and attrs; with --externs every `python:` reference."""
    entries = _builtin() if builtin else list(generation_of(find_project()).listings)
    if externs:
        _list_externs(entries, form)
    elif form == "json":
        click.echo(json.dumps([_record(entry) for entry in entries], indent=2))
    else:
        cells: list[tuple[str, ...]] = [
            ("op", "level", "arity", "pattern", "dtypes", "inputs", "attrs", "extern", "declared in")
        ]
        table([*cells, *map(_row, entries)])
        note(f"{len(entries)} ops")


def _list_externs(entries: list[Listing], form: str) -> None:
    rows = [(entry.op, extern, entry.source) for entry in entries for extern in entry.externs]
    if form == "json":
        keys = ("op", "extern", "source")
        click.echo(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=2))
        return
    for name, extern, source in rows:
        out.print(f"{name:24}{extern}  ({source})")
    note(f"{len(rows)} externs in {len(entries)} ops")


def _row(entry: Listing) -> tuple[str, ...]:
    return (
        entry.op,
        str(entry.level),
        str(entry.arity),
        entry.pattern,
        ", ".join(entry.dtypes),
        ", ".join(entry.inputs),
        ", ".join(entry.attrs),
        "extern" if entry.externs else "",
        f"{entry.source}:{entry.line}" if entry.line else entry.source,
    )


def _record(entry: Listing) -> dict[str, object]:
    found = asdict(entry)
    return found if entry.line else {name: value for name, value in found.items() if name != "line"}


def _builtin() -> list[Listing]:
    from .builtin import builtin_declarations  # and with it the runtime

    return [_of_declaration(each) for each in builtin_declarations()]


def _of_declaration(op: OpDeclaration) -> Listing:
    externs = (op.extern, op.te, op.signature.relation)
    return Listing(
        op.name,
        PurePath(op.source).parent.name,
        op.support_level,
        op.arity,
        dtype_classes((each.dtype for each in op.signature.inputs), op.signature.dtypes),
        op.pattern.name.lower(),
        tuple(each.name for each in op.signature.inputs),
        () if op.attrs is None else tuple(name for name, *_ in op.attrs.list_field_info()),
        tuple(each.name for each in op.signature.outputs),
        tuple(str(extern) for extern in externs if extern is not None),
        op.source,
        0,
    )
