"""What the commands that write a declaration to start from do with it."""

from __future__ import annotations

from pathlib import Path

from ..project import Project
from .console import WARNING, note
from .failure import Failure
from .generate import generate


def generate_started(project: Project, path: Path, suite: str = "") -> None:
    """Generate of a new declaration, and say what comes next; `suite`: what is tested then, all by default.

    Where that fails the declaration is removed again; raises Failure.
    """
    try:
        generate(project)
    except Failure:
        path.unlink()
        note(f"{project.relative(path)} was removed again", WARNING)
        raise
    note(f"next: change {project.relative(path)}, then: opgen generate && opgen test{suite and f' {suite}'}")
