"""All generated files of a project, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..digests import HALF, digest, op_key
from ..model import CheckedOp
from ..project import Project
from ..render import Renderer
from ..views import index_view, module_name, op_view, suite_view
from .emitters import Emitter, own_emitters
from .header import with_header
from .own import beside, own_path


@dataclass(frozen=True, slots=True)
class Output:
    """One generated file."""

    path: Path
    text: str


# The module and the suite come first; those of the project follow.
EMITTERS: Final[list[Emitter]] = [
    Emitter(
        lambda project, name: project.output / f"{module_name(name)}.py",
        "op.py.j2",
        lambda project, op: {"op": op_view(op, project.namespace)},
    ),
    Emitter(
        lambda project, name: project.tests / f"test_{name}.py",
        "suite.py.j2",
        lambda project, op: {"suite": suite_view(op, project.package)},
    ),
]


def op_paths(project: Project, name: str) -> tuple[Path, ...]:
    """The module, the suite and all else that is printed for op `name`."""
    own = [own_path(project, each, name) for each in project.emitters]
    return (*[emitter.path(project, name) for emitter in EMITTERS], *own)


def renderer_of(project: Project) -> Renderer:
    """What prints the files of a project."""
    return Renderer(
        project.templates, [folder for each in project.emitters for folder in beside(project, each)]
    )


def render_op(project: Project, renderer: Renderer, op: CheckedOp) -> tuple[Output, ...]:
    """The files of one op.  Raises RenderError, and ProjectError for an emitter that cannot be found."""
    key = op_key(project.package, project.namespace, op.name, op.source, op.digest)
    declaration = f"{op.source}:{op.line}"
    found: list[Output] = []
    for each in (*EMITTERS, *own_emitters(project)):
        path = each.path(project, op.name)
        render = renderer.python if path.suffix in (".py", ".pyi") else renderer.text
        text = render(each.template, each.values(project, op), declaration)
        found.append(Output(path, with_header(text, op.source, key, path.suffix)))
    return tuple(found)


def render_index(
    project: Project, renderer: Renderer, ops: Sequence[tuple[str, str | None]]
) -> tuple[Output, ...]:
    """The package's index and the modules of its ops as others call them, with their stubs.  Raises RenderError.

    `ops`: the name of each, and the operator that it stands for.
    """
    view = index_view(ops, project.namespace)
    source = project.relative(project.opdefs)
    key = digest(repr(view))[:HALF]
    files = [("__init__", "index"), *[(face, face) for face in view.faces]]
    return tuple(
        Output(project.output / f"{name}.{suffix}", with_header(text, source, key))
        for name, template in files
        for suffix in ("py", "pyi")
        for text in (renderer.python(f"{template}.{suffix}.j2", {"index": view}, source),)
    )


def operator_of(op: CheckedOp) -> str | None:
    """The operator that an op stands for."""
    return str(op.traits["operator"]) if "operator" in op.traits else None


def render_project(project: Project, renderer: Renderer, ops: Sequence[CheckedOp]) -> tuple[Output, ...]:
    """Every file of the project, in the order of its path.  Raises RenderError."""
    found = [output for op in ops for output in render_op(project, renderer, op)]
    found += render_index(project, renderer, [(op.name, operator_of(op)) for op in ops])
    return tuple(sorted(found, key=lambda output: output.path))
