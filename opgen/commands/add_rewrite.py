"""`opgen add-rewrite NAME`: a rewrite to start from."""

from __future__ import annotations

import json
import re
from typing import Final

import click

from opgen_runtime.base.functions import has_global_func

from ..emit.write import write_atomically
from ..project import find_project
from ..render import Renderer
from ..views.rewrite import pass_module
from .console import out
from .failure import Failure
from .started import generate_started

_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9]{1,62}")
_NAME_LINE: Final = re.compile(r"^rewrite:[ \t]*['\"]?([A-Za-z0-9_]+)", re.MULTILINE)
_MATCH: Final = "negative(negative(?x))"
_REPLACE: Final = "?x"


@click.command()
@click.argument("name")
@click.option("--match", metavar="PATTERN", help=f"What the rule matches; default: {_MATCH}.")
@click.option("--replace", metavar="EXPR", help=f"What stands there instead; default: {_REPLACE}.")
@click.option("--when", metavar="CONDITION", help="A condition on what was captured.")
@click.option(
    "--decreases",
    metavar="MEASURE",
    default="nodes",
    help="What becomes less: nodes, cost, or an op's calls.",
)
@click.option("--no-generate", is_flag=True, help="Write the rewrite only.")
def command(
    name: str, match: str | None, replace: str | None, when: str | None, decreases: str, no_generate: bool
) -> None:
    """Write rewrites/NAME.yaml, a pass of one rule that generates and whose suite passes at once.

    A rule that changes values or makes nothing less is refused, with a call that shows it, and nothing stays.
    Change the file, then run `opgen generate` and `opgen test`.

    \b
      opgen add-rewrite FewerNegations
      opgen add-rewrite Halve --match '?x / ?c: constant' --when 'is_exact_reciprocal(c)' \\
          --replace '?x * reciprocal(c)' --decreases cost
    """
    project = find_project()
    if not _NAME.fullmatch(name):
        raise Failure(f"{name!r} is not the name of a pass; use words like DivToMul")
    if (match is None) != (replace is None):
        raise Failure("--match and --replace are given together")
    if has_global_func(f"transform.{name}"):
        raise Failure(f"{name} is a pass that is built in; choose another name")
    path = project.rewrites / f"{pass_module(name)}.yaml"
    for file in sorted(project.rewrites.rglob("*.yaml")) if project.rewrites.is_dir() else ():
        if file == path or name in _NAME_LINE.findall(file.read_text(encoding="utf-8", errors="replace")):
            raise Failure(f"{name} is declared already, in {project.relative(file)}; nothing was written")
    rule = {"match": match or _MATCH, "replace": replace or _REPLACE, "when": when or ""}
    quoted = {key: text and json.dumps(text) for key, text in rule.items()}
    values = {"name": name, "decreases": decreases, **quoted}
    write_atomically(path, Renderer().text("add_rewrite/rewrite.yaml.j2", values, name))
    out.print(f"  new      {project.relative(path)}")
    if not no_generate:
        generate_started(project, path)
