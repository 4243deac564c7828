"""`opgen schema`: the JSON Schema of declarations."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ..document import json_schema
from ..emit.write import write_atomically
from .console import note


@click.command(short_help="Print the JSON Schema of the declaration language.")
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
def command(output: Path | None) -> None:
    """Print the JSON Schema of one declaration, made from the model that the parser itself uses.

    In an editor with YAML support, put `# yaml-language-server: $schema=FILE` at the top of a declaration.
    """
    text = json.dumps(json_schema(), indent=2, sort_keys=True)
    if output is None:
        click.echo(text)
    else:
        write_atomically(output, text + "\n")
        note(f"wrote {output}")
