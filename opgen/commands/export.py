"""`opgen export PROGRAM -o MODEL.onnx`: a program of declared ops as a model of ONNX."""

from __future__ import annotations

import sys
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import click
import numpy as np

from opgen_runtime import load_params
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.ir import IRModule, parse_module

from ..project import ProjectError, find_project
from .console import out
from .failure import Failure, Findings
from .onnx_models import existing, extents, frontend, loaded


@click.command()
@click.argument("program", metavar="PROGRAM|MODEL.onnx")
@click.option("-o", "--output", required=True, metavar="MODEL.onnx", help="The file to write.")
@click.option("--params", metavar="FILE", help="Weights by name, as save_params wrote them.")
@click.option(
    "--dim", "dims", multiple=True, metavar="NAME=N", help="An extent for a dynamic dim of a model."
)
@click.option("--opset", type=int, metavar="N", help="The opset to write; default: 21.")
@click.option("--own", is_flag=True, help="Write every op as a node of the domain that declares it.")
def command(
    program: str, output: str, params: str | None, dims: tuple[str, ...], opset: int | None, own: bool
) -> None:
    """Write a program as a model of ONNX: a file of a module's text, or a model that is converted first.

    An op is written in ONNX's own operators where they say it, else as a node of the domain of its project.

    \b
      opgen export block.relay --params block.safetensors -o block.onnx
      opgen export model.onnx --own -o model.opgen.onnx
    """
    onnx = frontend()
    _announce_project()
    try:
        module, weights = _program(program, params, dims)
        options = {} if opset is None else {"opset": opset}
        model = onnx.export(module, output, weights, standard=not own, **options)
    except OpgenError as error:
        raise Findings(str(error)) from None
    out.print(f"{output}: {Path(output).stat().st_size:,} bytes, {len(model.graph.node)} nodes")
    for domain, count in sorted(Counter(node.domain for node in model.graph.node).items()):
        if domain:
            out.print(f"{count} of the domain {domain}")


def _program(path: str, params: str | None, dims: tuple[str, ...]) -> tuple[IRModule, dict[str, np.ndarray]]:
    """A module and its weights. Raises OpgenError, Failure."""
    file = existing(path)
    if path.endswith(".onnx"):
        if params is not None:
            raise Failure("--params is of a module's text; a model has weights of its own")
        if dims:
            return loaded(path, extents(dims))
        module, weights = frontend().load(str(file))
        return module, weights
    if dims:
        raise Failure("--dim is of a model; a module's text says its dims")
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise Failure(f"{path}: it is no text of a module") from None
    return parse_module(text), {} if params is None else load_params(existing(params))


def _announce_project() -> None:
    """Lets the ops of the project be found by name, where there is one here that has generated them."""
    try:
        project = find_project()
    except ProjectError:
        return
    root = str(project.import_root)
    if root not in sys.path:
        sys.path.insert(0, root)
    if find_spec(project.package.partition(".")[0]) is not None and find_spec(project.package) is not None:
        import_module(project.package)
