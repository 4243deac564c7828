"""What an emitter is, and those that the project has: of its own, installed, or built in and asked for."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path

from ..model import CheckedOp
from ..project import OwnEmitter, Project, ProjectError
from ..render import RenderError
from .own import own_path, view_of

View = Callable[[Project, CheckedOp], Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Emitter:
    """One file of each op: where it stands, and the template that prints it with what it is given."""

    path: Callable[[Project, str], Path]
    template: str
    values: View


@lru_cache(maxsize=4)
def own_emitters(project: Project) -> tuple[Emitter, ...]:
    """Those that the project states, their views imported.  Raises ProjectError."""
    return tuple(
        [Emitter(partial(_path, each), each.template, _view(project, each)) for each in project.emitters]
    )


def _path(emitter: OwnEmitter, project: Project, op: str) -> Path:
    return own_path(project, emitter, op)


def _view(project: Project, emitter: OwnEmitter) -> View:
    module, _, name = view_of(project, emitter).partition(":")
    root = str(project.import_root)
    if root not in sys.path:
        sys.path.insert(0, root)
    try:
        found: View = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ProjectError(f"[tool.opgen.emitters.{emitter.name}] view: {error}") from error
    return partial(_values, found)


def _values(view: View, project: Project, op: CheckedOp) -> Mapping[str, object]:
    """What a view gives.  Raises RenderError, which names the line of the view that raised."""
    try:
        found = view(project, op)
    except Exception as error:  # anyone's code may raise anything
        frame = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{frame.filename}:{frame.lineno}: error[view]: {type(error).__name__}: {error}"
        raise RenderError(f"{text}\n  = note: while printing {op.source}:{op.line}") from error
    if not isinstance(found, Mapping):
        text = f"the view gave {type(found).__name__}, not a mapping of what the template prints"
        raise RenderError(f"{text}\n  = note: while printing {op.source}:{op.line}")
    return found
