"""`opgen list`: the ops of the project."""

from __future__ import annotations

import json

import click

from ..model import CheckedOp
from ..project import find_project
from .console import note, out, table
from .workspace import checked_workspace


@click.command(short_help="List the ops of the project, or its seams.")
@click.option("--seams", is_flag=True, help="Only hand-written functions that declarations point to.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def command(seams: bool, form: str) -> None:
    """List every op with its derived pattern, operands and attrs; with --seams every `python:` reference."""
    workspace = checked_workspace(find_project())
    if seams:
        rows = [(op.name, seam, op.source) for op in workspace.ops for seam in op.seams]
        if form == "json":
            click.echo(
                json.dumps([dict(zip(("op", "seam", "source"), row, strict=True)) for row in rows], indent=2)
            )
        else:
            for name, seam, source in rows:
                out.print(f"{name:24}{seam}  ({source})")
            note(f"{len(rows)} seams in {len(workspace.ops)} ops")
        return
    if form == "json":
        click.echo(json.dumps([_record(op) for op in workspace.ops], indent=2))
        return
    cells: list[tuple[str, ...]] = [
        ("op", "level", "arity", "pattern", "dtypes", "inputs", "attrs", "seam", "declared in")
    ]
    for op in workspace.ops:
        cells.append(
            (
                op.name,
                str(op.support_level),
                str(op.arity),
                op.pattern.name.lower(),
                ", ".join(_dtype_classes(op)),
                ", ".join(each.name for each in op.inputs),
                ", ".join(each.name for each in op.attrs),
                "seam" if op.seams else "",
                f"{op.source}:{op.line}",
            )
        )
    table(cells)
    note(f"{len(workspace.ops)} ops")


def _dtype_classes(op: CheckedOp) -> tuple[str, ...]:
    """What the operands may be, each once: dtypes and dtype classes, those of dtype variables among them."""
    found: dict[str, None] = {}
    for each in op.inputs:
        declared = each.dtype if isinstance(each.dtype, tuple) else (each.dtype,)
        for name in declared:
            meant = op.signature.dtypes.get(name, name)
            found.update(dict.fromkeys(meant if isinstance(meant, tuple) else (meant,)))
    return tuple(found)


def _record(op: CheckedOp) -> dict[str, object]:
    return {
        "op": op.name,
        "family": op.family,
        "level": op.support_level,
        "arity": op.arity,
        "dtypes": list(_dtype_classes(op)),
        "pattern": op.pattern.name.lower(),
        "inputs": [each.name for each in op.inputs],
        "attrs": [each.name for each in op.attrs],
        "outputs": [each.name for each in op.outputs],
        "seams": list(op.seams),
        "source": op.source,
        "line": op.line,
    }
