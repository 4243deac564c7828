"""`opgen add-op NAME`: a declaration to start from."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from ..analyse import read_declaration
from ..emit.write import write_atomically
from ..project import Project, find_project, resources
from ..render import Renderer
from ..views.declared import documents, renamed
from ..views.scaffold import ScaffoldError, parse_attr, scaffold_view
from .console import out
from .failure import Failure
from .schema import schema_path, schema_text, with_editor_line
from .started import generate_started
from .workspace import declaration_files

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_OP_LINE: Final = re.compile(r"^op:[ \t]*['\"]?([A-Za-z0-9_]+)", re.MULTILINE)


@click.command()
@click.argument("name")
@click.option(
    "--like", metavar="OP", help="Start from a copy of this op's declaration (of the project or built in)."
)
@click.option("--inputs", metavar="A,B", help="Names of the operands, separated by commas; default: data.")
@click.option(
    "--attr",
    "attrs",
    multiple=True,
    metavar="NAME:TYPE=DEFAULT",
    help="An attr; may be repeated: axis:int=0.",
)
@click.option("--family", metavar="F", help="Folder below opdefs; default: elementwise, or that of --like.")
@click.option("--no-generate", is_flag=True, help="Write the declaration only.")
def command(
    name: str,
    like: str | None,
    inputs: str | None,
    attrs: tuple[str, ...],
    family: str | None,
    no_generate: bool,
) -> None:
    """Write opdefs/<family>/NAME.yaml, a declaration that generates and whose suite passes at once.

    Without options, a NAME that the built-in library has starts as a copy of the built-in declaration; any other
    is an elementwise op over its inputs.  Change the declaration, then run `opgen generate` and `opgen test`.

    \b
      opgen add-op axis_abs
      opgen add-op scaled_add --inputs x,y --attr alpha:float=1.0
      opgen add-op my_softmax --like softmax --family nn
    """
    project = find_project()
    _check_name(project, name)
    plain = inputs is None and not attrs
    if like is not None and not plain:
        raise Failure("--like copies a declaration as it is; it does not go with --inputs or --attr")
    source = _find(project, like) if like is not None else _built_in(name) if plain else None
    if like is not None and source is None:
        raise Failure(f"no op {like!r} in this project or built in; `opgen list` shows the project's")
    if source is not None:
        text, origin = renamed(source[0], name), f"a copy of {source[1]}"
        folder = family or source[2]
    else:
        text, origin = _scaffold(name, inputs, attrs), "an elementwise op to start from"
        folder = family or "elementwise"
    path = _destination(project, folder, name)
    if not schema_path(project).exists():
        write_atomically(schema_path(project), schema_text())
    write_atomically(path, with_editor_line(text, path, project))
    out.print(f"  new      {project.relative(path)}   ({origin})")
    if not no_generate:
        generate_started(project, path, name)


def _check_name(project: Project, name: str) -> None:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise Failure(f"{name!r} is not an op name; use lower-case words joined by _, such as axis_abs")
    for file in declaration_files(project):
        if name in _OP_LINE.findall(_text(file)):
            raise Failure(
                f"op {name!r} is declared already, in {project.relative(file)}; nothing was written"
            )


def _destination(project: Project, family: str, name: str) -> Path:
    path = (project.opdefs / family / f"{name}.yaml").resolve()
    if project.opdefs not in path.parents:
        raise Failure(f"--family {family!r} is not a folder below {project.relative(project.opdefs)}")
    if path.exists():
        raise Failure(f"{project.relative(path)} is in the way; nothing was written")
    return path


def _text(file: Path) -> str:
    """The text of a declaration; empty where it cannot be read, which checking reports."""
    try:
        return read_declaration(file)
    except (OSError, UnicodeDecodeError):
        return ""


Found = tuple[str, str, str]
"""The text of a declaration, what it is called in messages, and its family."""


def _find(project: Project, name: str) -> Found | None:
    return _search(project.opdefs, declaration_files(project), name, "") or _built_in(name)


def _built_in(name: str) -> Found | None:
    folder = resources("opdefs")
    return _search(folder, sorted(folder.rglob("*.yaml")), name, "the built-in ")


def _search(folder: Path, files: Sequence[Path], name: str, kind: str) -> Found | None:
    for file in files:
        for text in documents(_text(file)):
            match = _OP_LINE.search(text)
            if match is not None and match[1] == name:
                return text, f"{kind}{name}", file.parent.relative_to(folder).as_posix()
    return None


def _scaffold(name: str, inputs: str | None, attrs: Sequence[str]) -> str:
    names = [each.strip() for each in (inputs or "data").split(",")]
    try:
        parsed = [parse_attr(text) for text in attrs]
    except ScaffoldError as error:
        raise Failure(str(error)) from None
    everything = [*names, *(attr.name for attr in parsed)]
    for each in everything:
        if not each.isidentifier() or keyword.iskeyword(each) or each.startswith("_"):
            raise Failure(f"{each!r} is not a name for an operand or an attr")
        if everything.count(each) > 1:
            raise Failure(f"{each!r} is given twice")
    values = {"scaffold": scaffold_view(name, names, parsed)}
    return Renderer().text("add_op/declaration.yaml.j2", values, name)
