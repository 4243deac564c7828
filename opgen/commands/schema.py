"""`opgen schema`: the JSON Schema of declarations."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

import click

from ..document import json_schema
from ..emit.write import write_atomically
from ..project import Project, find_project
from .console import note

SCHEMA_FILE: Final = "opdef.schema.json"  # in the folder of the declarations
_EDITOR_LINE: Final = "# yaml-language-server: $schema="


@click.command()
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option(
    "--write", is_flag=True, help=f"Write the project's {SCHEMA_FILE}, to which declarations of add-op refer."
)
def command(output: Path | None, write: bool) -> None:
    """Print the JSON Schema of one declaration, made from the model that the parser itself uses.

    In an editor with YAML support, put `# yaml-language-server: $schema=FILE` at the top of a declaration.
    """
    if write:
        output = schema_path(find_project())
    if output is None:
        click.echo(schema_text(), nl=False)
    else:
        write_atomically(output, schema_text())
        note(f"wrote {output}")


def schema_text() -> str:
    """The schema as a file holds it."""
    return json.dumps(json_schema(), indent=2, sort_keys=True) + "\n"


def schema_path(project: Project) -> Path:
    """Where the schema of a project stands."""
    return project.opdefs / SCHEMA_FILE


def with_editor_line(text: str, path: Path, project: Project) -> str:
    """The text of a declaration at `path` with the line that tells editors where the schema is."""
    if _EDITOR_LINE in text:
        return text
    where = Path(os.path.relpath(schema_path(project), path.parent)).as_posix()
    return f"{_EDITOR_LINE}{where}\n{text}"
