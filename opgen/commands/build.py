"""`opgen build MODEL.onnx -o FILE`: a model compiled into one file, for `opgen run FILE` and `opgen_runtime.load`."""

from __future__ import annotations

from pathlib import Path

import click

from opgen_runtime import build
from opgen_runtime.base.errors import OpgenError

from .console import note, out
from .failure import Findings
from .onnx_models import extents, loaded


@click.command()
@click.argument("model", metavar="MODEL.onnx")
@click.option("-o", "--output", required=True, metavar="FILE", help="The file to write.")
@click.option("--dim", "dims", multiple=True, metavar="NAME=N", help="A dynamic dim of the model; else 1.")
@click.option(
    "--level", type=click.IntRange(0), default=2, show_default=True, help="The level of the passes."
)
@click.option("--target", metavar="TARGET", help='Such as "llvm -num-threads=1"; default: this machine.')
@click.option("--c", "c_folder", metavar="FOLDER", help="Write a C header and objects there, too.")
def command(
    model: str, output: str, dims: tuple[str, ...], level: int, target: str | None, c_folder: str | None
) -> None:
    """Compile a model for fixed shapes into one file, which runs where nothing is compiled.

    \b
      opgen build model.onnx -o model.opgen --dim batch=1
      opgen run model.opgen --random 0
    """
    try:
        module, params = loaded(model, extents(dims))
        executable = build(module, params, target, level)
        path = Path(output)
        executable.save(path)
        written = [] if c_folder is None else executable.export_c(c_folder, "model")
    except OpgenError as error:
        raise Findings(str(error)) from None
    out.print(f"{path}: {path.stat().st_size:,} bytes, {len(executable.kernels)} kernels")
    plan = executable.plan
    if plan is not None:
        out.print(f"{plan.arena:,} bytes of memory between kernels, for tensors of {plan.tensors:,} bytes")
    if written:
        note(f"{written[0]} and {len(written) - 1} objects")
