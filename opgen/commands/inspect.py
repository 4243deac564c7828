"""`opgen inspect MODEL.onnx`: its inputs, outputs and operators, and what is not supported; `--passes`: the passes."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from opgen_runtime.base.errors import OpgenError
from opgen_runtime.run.compile import pipeline
from opgen_runtime.transform import Pass, all_passes

from .console import err, out, table
from .failure import Failure, Findings
from .onnx_models import existing, frontend, printable


@click.command()
@click.argument("model", metavar="MODEL.onnx", required=False)
@click.option("--passes", is_flag=True, help="The passes that programs go through, in order.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def command(model: str | None, passes: bool, form: str) -> None:
    """Show the inputs, outputs and operators of a model, and the nodes that are not supported.

    Exit code 1 if there are nodes that are not supported.  With --passes instead: what becomes of programs, pass by
    pass, with the level from which each runs.
    """
    if passes:
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
    found = [row.run for row in pipeline.GRAPH if isinstance(row.run, Pass)]
    if form == "json":
        click.echo(json.dumps([_pass(each) for each in found], indent=2))
        return
    rows = [("pass", "level", "what it does", "values")]
    for each in found:
        known = _pass(each)
        rows.append((str(known["name"]), str(known["level"]), str(known["doc"]), str(known["values"])))
    table(rows)


def _pass(each: Pass) -> dict[str, object]:
    makers = {maker.info.name: maker for maker in all_passes()}
    doc = (makers[each.info.name].__doc__ or "").strip().split("\n")[0]
    return {
        "name": each.info.name,
        "level": each.info.opt_level,
        "values": each.info.error_bound or "kept",
        "doc": doc,
    }
