"""All generated files of a project, as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..digests import HALF, digest, op_key
from ..model import CheckedOp
from ..project import Project
from ..render import Renderer
from ..views import index_view, module_name, op_view, suite_view
from .header import with_header


@dataclass(frozen=True, slots=True)
class Output:
    """One generated file."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class Emitter:
    """One file of each op: where it stands, and the template that prints it with what it is given."""

    path: Callable[[Project, str], Path]
    template: str
    values: Callable[[Project, CheckedOp], Mapping[str, object]]


# The module and the suite come first; others may follow.
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
    return tuple([emitter.path(project, name) for emitter in EMITTERS])


def render_op(project: Project, renderer: Renderer, op: CheckedOp) -> tuple[Output, ...]:
    """The files of one op.  Raises RenderError."""
    key = op_key(project.package, project.namespace, op.name, op.source, op.digest)
    declaration = f"{op.source}:{op.line}"
    texts = [renderer.python(each.template, each.values(project, op), declaration) for each in EMITTERS]
    return tuple(
        Output(path, with_header(text, op.source, key))
        for path, text in zip(op_paths(project, op.name), texts, strict=True)
    )


def render_index(
    project: Project, renderer: Renderer, ops: Sequence[tuple[str, str | None]]
) -> tuple[Output, ...]:
    """The package's index and its module of ops on arrays, with their stubs.  Raises RenderError.

    `ops`: the name of each, and the operator that it stands for.
    """
    view = index_view(ops, project.namespace)
    source = project.relative(project.opdefs)
    key = digest(repr(view))[:HALF]
    files = [("__init__", "index"), *([("eager", "eager")] if view.has_eager else [])]
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
