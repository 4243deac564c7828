"""`opgen explain MODEL.onnx`: the program before and after a pass (`--pass`), its plan (`--stage`), pictures of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from opgen_runtime.base.errors import OpgenError, did_you_mean
from opgen_runtime.ir import IRModule
from opgen_runtime.ir.text import SECTION
from opgen_runtime.run.compile import pipeline, stage_texts
from opgen_runtime.transform import Pass, PassContext, why_apart

from .coloured import code
from .console import heading, out
from .failure import Failure, Findings
from .onnx_models import program_of


def explain_pass(model: str, name: str | None, dims: Mapping[str, int], level: int) -> None:
    """Print a model's program before and after the pass; of fusion, why ops stay apart, too.

    The program is what `opgen build` compiles: its weights are constants.
    """
    _check_name(name)
    try:
        before = program_of(model, dims)
        after = before
        for row, made in pipeline.through_graph(before, PassContext(level)):
            before, after = after, made
            if row.name == name:
                break
        else:
            (info,) = [
                row.run.info for row in pipeline.GRAPH if isinstance(row.run, Pass) and row.name == name
            ]
            raise Failure(
                f"{name} runs from level {info.opt_level} on; this is level {level}: --level says more"
            )
    except OpgenError as error:
        raise Findings(str(error)) from None
    texts = [_text(before), _text(after)]
    heading(f"before {name}")
    code(texts[0], "python")
    heading(f"after {name}")
    code(texts[1] if texts[1] != texts[0] else "the same", "python")
    if name == "FuseOps":
        heading("why ops are in different segments")
        out.print("\n".join(why_apart(before["main"])))


def explain_program(model: str, wanted: Sequence[str], dims: Mapping[str, int], level: int) -> None:
    """Print the stages of a model's program whose names contain one of `wanted`: its sections, its plan, its driver."""
    try:
        module = program_of(model, dims)
        found = list(stage_texts.program_texts(module, PassContext(level)))
    except OpgenError as error:
        raise Findings(str(error)) from None
    chosen = [(name, text) for name, text in found if any(part in name for part in wanted)]
    if not chosen:
        raise Failure(f"no such stage; the stages are: {', '.join([name for name, _ in found])}")
    for name, text in chosen:
        heading(name)
        code(text, "llvm" if name == "driver" else "text")


def draw(
    model: str, name: str | None, dims: Mapping[str, int], level: int, dot: str | None, svg: str | None
) -> None:
    """Write a model's program after the pass, or after all of them, into files as pictures."""
    if name is not None:
        _check_name(name)
    try:
        module = program_of(model, dims)
        for row, after in pipeline.through_graph(module, PassContext(level)):
            module = after
            if row.name == name:
                break
    except OpgenError as error:
        raise Findings(str(error)) from None
    for option, path, text in (("--dot", dot, module.to_dot), ("--svg", svg, module.to_svg)):
        if path is not None:
            try:
                Path(path).write_text(text(), encoding="utf-8")
            except OSError as error:
                raise Failure(f"{option} {path}: {error.strerror}") from None
            out.print(f"wrote {path}")


def _check_name(name: str | None) -> None:
    names = [row.name for row in pipeline.GRAPH]
    if name not in names:
        hint = "" if name is None else did_you_mean(name, names)
        raise Failure(f"--pass takes the name of a pass{hint}; the passes are {', '.join(names)}")


def _text(module: IRModule) -> str:
    """The module without its large constants."""
    return str(module).partition(f"\n{SECTION}\n")[0]
