"""`opgen init NAME`: a new project."""

from __future__ import annotations

import keyword
import sys
from pathlib import Path
from typing import Final

import click

from ..emit import apply
from ..emit.write import write_atomically
from ..project import find_project
from ..render import Renderer
from .console import note, out
from .failure import Failure
from .generated import plan_of
from .schema import schema_path, schema_text

# Template -> file in the new project.
_FILES: Final = {
    "pyproject.toml.j2": "pyproject.toml",
    "README.md.j2": "README.md",
    "gitignore.j2": ".gitignore",
    "gitattributes.j2": ".gitattributes",
}


@click.command()
@click.argument("name", type=click.Path(path_type=Path))
def command(name: Path) -> None:
    """Make the folder NAME with a project in it: pyproject.toml, opdefs/, a package and tests/.

    The package's name is the folder's, with `-` as `_`; ops are registered as `<package>.<op>`.
    """
    folder = name.resolve()
    package = folder.name.replace("-", "_")
    if not package.isidentifier() or keyword.iskeyword(package) or not package.islower():
        raise Failure(
            f"{folder.name!r} does not give a package name; use lower-case letters, digits, - and _"
        )
    if package in sys.stdlib_module_names or package in ("opgen", "opgen_runtime"):
        raise Failure(f"a package called {package!r} would hide an existing one; choose another name")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Failure(f"{folder} exists and is not an empty folder; nothing was written")
    values = {"project": {"distribution": folder.name, "package": package}}
    renderer = Renderer()
    texts = {
        file: renderer.text(f"init/{template}", values, str(folder)) for template, file in _FILES.items()
    }
    (folder / "opdefs").mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        write_atomically(folder / file, text)
    write_atomically(folder / package / "py.typed", "")
    project = find_project(folder)
    write_atomically(schema_path(project), schema_text())
    apply(plan_of(project))
    for path in (*_FILES.values(), "opdefs/", f"{package}/"):
        out.print(f"  {name / path}{'/' if path.endswith('/') else ''}")
    note(f"made project {package}; next: cd {name} && opgen add-op my_op")
