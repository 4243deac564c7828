"""`opgen inspect MODEL.onnx`: its inputs, outputs and operators, and what is not supported; `--passes`: the passes."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from opgen_runtime.base.errors import OpgenError

from .console import err, out, table
from .failure import Failure, Findings
from .inspect_passes import passes, passes_of_model
from .onnx_models import existing, extents, frontend, printable


@click.command()
@click.argument("model", metavar="MODEL.onnx", required=False)
@click.option(
    "--passes",
    "with_passes",
    is_flag=True,
    help="The passes that programs, or this model, go through, in order.",
)
@click.option("--dim", "dims", multiple=True, metavar="NAME=N", help="With --passes: the extent of a dim.")
@click.option("--level", type=click.IntRange(0), default=2, help="With --passes: the level of the passes.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def command(model: str | None, with_passes: bool, dims: tuple[str, ...], level: int, form: str) -> None:
    """Show the inputs, outputs and operators of a model, and the nodes that are not supported.

    Exit code 1 if there are nodes that are not supported.  With --passes instead: what becomes of programs, pass by
    pass, with the level from which each runs; of a model which calls came and went, by their ops and layouts.
    """
    if with_passes and model is not None:
        _passes_of_model(model, dims, level, form)
        return
    if with_passes:
        _passes(form)
        return
    if model is None:
        raise Failure("name a model, or say --passes")
    onnx = frontend()
    try:
        found = onnx.inspect_model(str(existing(model)))
    except OpgenError as error:
        raise Findings(str(error)) from None
    if form == "json":
        click.echo(json.dumps(asdict(found), indent=2))
    else:
        for text in found.inputs:
            out.print(f"input   {text}")
        for text in found.outputs:
            out.print(f"output  {text}")
        opsets = ", ".join(
            f"{printable(domain) or 'ai.onnx'} {version}" for domain, version in found.opsets.items()
        )
        out.print(f"opset   {opsets}; {found.parameters:,} elements of weights")
        out.print()
        rows = [("operator", "nodes", "mapped to")]
        table([*rows, *[(use.operator, str(use.count), use.mapped) for use in found.operators]])
    if found.unsupported:
        for node in found.unsupported:
            err.print(f"not supported: {node}")
        raise SystemExit(1)


def _passes(form: str) -> None:
    found = passes()
    if form == "json":
        click.echo(json.dumps(found, indent=2))
        return
    rows = [("pass", "level", "what it does", "values")]
    rows += [(str(p["name"]), str(p["level"]), str(p["doc"]), str(p["values"])) for p in found]
    table(rows)


def _passes_of_model(model: str, dims: tuple[str, ...], level: int, form: str) -> None:
    try:
        found = passes_of_model(model, extents(dims), level)
    except OpgenError as error:
        raise Findings(str(error)) from None
    if form == "json":
        click.echo(json.dumps(found, indent=2))
        return
    rows = [("pass", "calls", "came and went")]
    for each in found:
        changed = each["changed"]
        assert isinstance(changed, dict)
        texts = [f"{count:+} {printable(label)}" for label, count in changed.items()]
        rows.append((str(each["name"]), str(each["calls"]), ", ".join(texts)))
    table(rows)
