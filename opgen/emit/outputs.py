"""All generated files of a project, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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


def op_paths(project: Project, name: str) -> tuple[Path, Path]:
    """The module and the suite of op `name`."""
    return project.output / f"{module_name(name)}.py", project.tests / f"test_{name}.py"


def render_op(project: Project, renderer: Renderer, op: CheckedOp) -> tuple[Output, ...]:
    """The files of one op.  Raises RenderError."""
    key = op_key(project.package, project.namespace, op.name, op.source, op.digest)
    declaration = f"{op.source}:{op.line}"
    module = renderer.python("op.py.j2", {"op": op_view(op, project.namespace)}, declaration)
    suite = renderer.python("suite.py.j2", {"suite": suite_view(op, project.package)}, declaration)
    texts = (module, suite)
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
