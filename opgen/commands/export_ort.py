"""`opgen export-ort -o FILE.so OP...`: declared ops as a library of custom ops of onnxruntime."""

from __future__ import annotations

from pathlib import Path

import click

from opgen_runtime.base.errors import OpgenError
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import DTYPES
from opgen_runtime.bridges import onnxruntime as bridge

from .completion import OpName
from .console import WARNING, note, out, working
from .failure import Failure, Findings
from .ort_models import requests_of_model
from .ort_requests import requests_of


@click.command()
@click.argument("ops", metavar="[OP]...", nargs=-1, type=OpName())
@click.option("-o", "--output", required=True, metavar="FILE.so", help="The library to write.")
@click.option("--model", metavar="MODEL.onnx", help="Have what the nodes of declared ops in this model need.")
@click.option(
    "--dtype",
    "dtypes",
    multiple=True,
    metavar="DTYPE",
    type=click.Choice(DTYPES),
    help="Of operands that may have several; default: all of the declaration.",
)
@click.option(
    "--rank",
    "ranks",
    multiple=True,
    metavar="N",
    type=click.IntRange(0),
    help="Of the first operand; default: the ranks of the declaration's tests.",
)
@click.option(
    "--target", "target_text", metavar="TARGET", help='Such as "llvm -mcpu=x86-64-v3"; default: this machine.'
)
@click.option("--ld", "linker", default="ld", show_default=True, metavar="PROGRAM", help="The linker.")
def command(
    ops: tuple[str, ...],
    output: str,
    model: str | None,
    dtypes: tuple[str, ...],
    ranks: tuple[int, ...],
    target_text: str | None,
    linker: str,
) -> None:
    """Compile ops, of the project or built in, into a library of custom ops of onnxruntime.

    A node has the project's name as its domain ("opgen" for built-in ops), the op's name as its type, and the attrs as
    attributes.  The library needs no opgen: `SessionOptions.register_custom_ops_library(FILE.so)`.

    An op without types gets an entry for each rank of its declared tests and each element type, for operands of any
    size.  Attrs are constants of the code: spell the values that nodes have.

    \b
      opgen export-ort -o ops.so axis_abs:axis=1 --dtype float32
      opgen export-ort -o ops.so softmax:axis=1 'matmul(float32[n, 64], float32[64, ?])'
      opgen export-ort -o ops.so --model model.onnx
    """
    if not ops and model is None:
        raise Failure("name ops, or a model with --model")
    requests = [each for text in ops for each in requests_of(text, dtypes, ranks)]
    if model is not None:
        requests += requests_of_model(model)
    refused: list[bridge.Refused] = []
    path = Path(output)
    try:
        target = Target.host() if target_text is None else Target.parse(target_text)
        with working(f"compiling {len(requests)} entries"):
            entries = bridge.export(path, requests, target, linker, refused.append)
    except OpgenError as error:
        raise Findings("; ".join([str(error), *_reasons(refused)])) from None
    for reason in _reasons(refused):
        note(f"left out: {reason}", WARNING)
    names = list(dict.fromkeys([f"{each.domain}::{each.program.name}" for each in entries]))
    out.print(f"{path}: {path.stat().st_size:,} bytes, {len(entries)} entries of {', '.join(names)}")


def _reasons(refused: list[bridge.Refused]) -> list[str]:
    return [f"{each.request}: {each.reason}" for each in refused]
