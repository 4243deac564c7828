"""`opgen show OP`: one op as checked."""

from __future__ import annotations

import re
from typing import Final

import click

from ..emit.outputs import op_paths
from ..model import CheckedOp
from ..project import Project
from ..views.declared import declaration_source
from ..views.wrapper import wrapper_view
from .coloured import code
from .completion import OpName
from .console import heading, out
from .lookup import find_op

_LIBRARY: Final = re.compile(r"\b_[dl]\.(?=[A-Za-z])")  # `_d.Sequence[_d.ExprLike]`, `_l.inf`


@click.command()
@click.argument("op_name", metavar="OP", type=OpName())
@click.option("--gradient", is_flag=True, help="The gradient for each operand, as a tensor expression.")
def command(op_name: str, gradient: bool) -> None:
    """Show what is declared for OP, what is derived from it, and where its generated files are.

    An op that the project does not have is looked up in the built-in library.
    """
    found = find_op(op_name)
    project, op = found.project, found.op
    if gradient:
        from .gradients import print_gradients  # and with it the compiler

        print_gradients(project, op)
        return
    heading(f"{'built in' if found.builtin else 'declaration'}  {op.source}:{op.line}")
    code(declaration_source(project.root / op.source, op.document), "yaml")
    heading("derived")
    for name, value in facts(project, op):
        out.print(f"{name:14}{value}")
    heading("documentation")
    view = wrapper_view(op)
    out.print(_LIBRARY.sub("", f"{op.name}({view.parameters})"))
    out.print("    " + view.docstring)
    heading("generated files")
    paths = op_paths(project, op.name)
    for path in paths[:1] if found.builtin else paths:
        out.print(project.relative(path) + ("" if path.exists() else "   (missing; run: opgen generate)"))


def facts(project: Project, op: CheckedOp) -> list[tuple[str, str]]:
    """What analysis has found out about `op`, as names and texts."""
    found = [
        ("name", project.qualified(op.name)),
        ("pattern", f"{op.pattern.name.lower()}: {op.pattern_reason}"),
        ("operands", "any number" if op.arity < 0 else str(op.arity)),
        ("support level", str(op.support_level)),
        ("strategy", ", ".join(each.name for each in op.strategy) or "the generic one of its pattern"),
        (
            "gradient",
            "; ".join([f"{name}: {text}" for name, text in op.gradient_texts.items()]) or "no floats",
        ),
        ("tests", f"{len(op.tests)} cases, {len(op.probes)} probes of bounds"),
        ("digest", op.digest),
    ]
    if op.extends:
        found.insert(1, ("extends", ", ".join(op.extends)))
    if op.traits:
        found.append(("traits", ", ".join(f"{name}: {value}" for name, value in op.traits.items())))
    found.extend(("extern", extern) for extern in op.externs)
    return found
