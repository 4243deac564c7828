"""`opgen inspect MODEL.onnx`: its inputs, outputs and operators, and what is not supported."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from opgen_runtime.base.errors import OpgenError

from .console import err, out, table
from .failure import Findings
from .onnx_models import existing, frontend, printable


@click.command()
@click.argument("model", metavar="MODEL.onnx")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def command(model: str, form: str) -> None:
    """Show the inputs, outputs and operators of a model, and the nodes that are not supported.

    Exit code 1 if there are nodes that are not supported.
    """
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
