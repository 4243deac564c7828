"""`opgen explain OP --shape ...`: every stage from the declaration to assembly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import click

from opgen_runtime.base.errors import OpgenError
from opgen_runtime.base.target import Target
from opgen_runtime.codegen.objects import assembly
from opgen_runtime.ir import Function, IRModule
from opgen_runtime.run.compile import stage_texts

from ..model import CheckedOp
from ..project import Project
from ..views.declared import declaration_source
from .coloured import code
from .completion import OpName, StageName
from .console import heading, out
from .example import example_function
from .explain_pass import draw, explain_pass, explain_program
from .failure import Failure, Findings
from .lookup import find_op
from .onnx_models import extents
from .options import of_a_call
from .show import facts

_PROSE: Final = frozenset(("strategy", "pattern", "rules", "schedule", "prepare", "plan"))


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: its name, its text, and the language for colouring."""

    name: str
    text: str
    language: str = "text"


@click.command()
@click.argument("op_name", metavar="OP|MODEL.onnx", type=OpName())
@of_a_call("op_name", shapes="Of each operand in order; '' is a scalar.")
@click.option(
    "--target", "target_text", metavar="TARGET", help='Such as "llvm -mcpu=x86-64-v3"; default: this machine.'
)
@click.option(
    "--stage",
    "wanted",
    multiple=True,
    metavar="NAME",
    type=StageName(),
    help="Only stages whose name contains this; of a model those of the program: plan, driver.",
)
@click.option("--stages", "names_only", is_flag=True, help="Only the names of the stages.")
@click.option(
    "--counts", is_flag=True, help="Only counts of instructions: vector widths, calls of math functions."
)
@click.option(
    "--pass", "pass_name", metavar="NAME", help="Of a model: its program before and after the pass."
)
@click.option(
    "--dot", metavar="FILE", help="Of a model: its kernels as a graph in DOT, after --pass or all passes."
)
@click.option("--svg", metavar="FILE", help="The same graph as a picture.")
@click.option("--dim", "dims", multiple=True, metavar="NAME=N", help="A dynamic dim of a model; else 1.")
@click.option(
    "--level",
    type=click.IntRange(0),
    default=2,
    show_default=True,
    help="Of a model: the level of the passes.",
)
def command(
    op_name: str,
    shapes: tuple[str, ...],
    dtypes: tuple[str, ...],
    attrs: tuple[str, ...],
    target_text: str | None,
    wanted: tuple[str, ...],
    names_only: bool,
    counts: bool,
    pass_name: str | None,
    dot: str | None,
    svg: str | None,
    dims: tuple[str, ...],
    level: int,
) -> None:
    """Print what becomes of one call of OP, of the project or built in, stage by stage.

    Without --shape the first test of the declaration is the example.

    \b
      opgen explain axis_abs --shape 4,4,1 --dtype int32 --attr axis=1
      opgen explain add --shape 1024 --shape 1024 --stage llvm
      opgen explain tanh --shape 100000 --counts
      opgen explain model.onnx --pass FuseOps
      opgen explain model.onnx --stage plan
      opgen explain model.onnx --svg kernels.svg
    """
    if op_name.endswith(".onnx"):
        if wanted:
            explain_program(op_name, wanted, extents(dims), level)
        elif dot is None and svg is None:
            explain_pass(op_name, pass_name, extents(dims), level)
        else:
            draw(op_name, pass_name, extents(dims), level, dot, svg)
        return
    if dims or (pass_name, dot, svg) != (None, None, None):
        raise Failure("--pass, --dot, --svg and --dim are of a model")
    home = find_op(op_name)
    project, op = home.project, home.op
    function = example_function(project, op, shapes, dtypes, attrs)
    try:
        target = Target.host() if target_text is None else Target.parse(target_text)
        found = list(stages(project, op, function, target))
    except OpgenError as error:
        raise Findings(f"{type(error).__name__}: {error}") from None
    if counts:
        _print_counts(found)
        return
    chosen = [stage for stage in found if not wanted or any(part in stage.name for part in wanted)]
    if not chosen:
        raise Failure(f"no such stage; the stages are: {', '.join(stage.name for stage in found)}")
    if names_only:
        out.print("\n".join(stage.name for stage in chosen))
    else:
        _print_stages(chosen)


def _print_stages(chosen: Sequence[Stage]) -> None:
    """Every stage under its name; those that change nothing are only named."""
    for _, group in groupby(chosen, key=lambda stage: stage.text):
        first, *unchanged = group
        heading(first.name)
        code(first.text, first.language)
        if unchanged:
            out.print(f"\nunchanged by {', '.join(stage.name for stage in unchanged)}")
        out.print()


def stages(project: Project, op: CheckedOp, function: Function, target: Target) -> Iterator[Stage]:
    """Every stage of one call.  Raises OpgenError."""
    source = declaration_source(project.root / op.source, op.document)
    yield Stage(f"declaration ({op.source}:{op.line})", source, "yaml")
    checked = "\n".join(f"{name:14}{value}" for name, value in facts(project, op))
    yield Stage("checked op", checked)
    yield Stage("call", str(IRModule.from_expr(function)), "python")
    for name, text in stage_texts.texts(function, target):
        yield Stage(name, text, _language(name))
    if op.extern is not None:
        yield Stage("hand-written function", f"{op.extern} runs in Python, without a kernel")


def _print_counts(found: Sequence[Stage]) -> None:
    text = "\n".join(stage.text for stage in found if stage.name == "assembly")
    if not text:
        raise Failure(f"there are no instructions to count; the last stage is: {found[-1].name}")
    counts = assembly.count(text)
    for width, number in (("512", counts.zmm), ("256", counts.ymm), ("128", counts.xmm)):
        out.print(f"{number:6}  instructions on {width}-bit registers")
    out.print(f"{sum(counts.math_calls.values()):6}  calls of scalar math functions")
    for name, number in counts.math_calls.items():
        out.print(f"{number:6}    {name}")


def _language(name: str) -> str:
    if "llvm" in name or name == "driver":
        return "llvm"
    return "gas" if name == "assembly" else "text" if name in _PROSE else "python"
