"""All generated files of a project, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..model import CheckedOp
from ..project import Project
from ..render import Renderer
from ..views import index_view, module_name, op_view, suite_view
from .header import with_header
from .keys import output_key


@dataclass(frozen=True, slots=True)
class Output:
    """One generated file."""

    path: Path
    text: str


def op_paths(project: Project, name: str) -> tuple[Path, Path]:
    """The module and the suite of op `name`."""
    return project.output / f"{module_name(name)}.py", project.tests / f"test_{name}.py"


def op_key(project: Project, emitter: str, name: str, source: str, digest: str) -> str:
    """The key of an op's files: its declaration with all that it extends, and where it ends up."""
    return output_key(emitter, digest, project.package, project.namespace, name, source)


def render_op(project: Project, renderer: Renderer, emitter: str, op: CheckedOp) -> tuple[Output, ...]:
    """The files of one op.  Raises RenderError."""
    key = op_key(project, emitter, op.name, op.source, op.digest)
    declaration = f"{op.source}:{op.line}"
    module = renderer.python("op.py.j2", {"op": op_view(op, project.namespace)}, declaration)
    suite = renderer.python("suite.py.j2", {"suite": suite_view(op, project.package)}, declaration)
    texts = (module, suite)
    return tuple(
        Output(path, with_header(text, op.source, key))
        for path, text in zip(op_paths(project, op.name), texts, strict=True)
    )


def render_index(
    project: Project, renderer: Renderer, emitter: str, ops: Sequence[CheckedOp]
) -> tuple[Output, ...]:
    """The package's index and its module of ops on arrays, with their stubs.  Raises RenderError."""
    view = index_view(ops, project.namespace)
    source = project.relative(project.opdefs)
    key = output_key(emitter, repr(view))
    files = [("__init__", "index"), *([("eager", "eager")] if view.has_eager else [])]
    return tuple(
        Output(project.output / f"{name}.{suffix}", with_header(text, source, key))
        for name, template in files
        for suffix in ("py", "pyi")
        for text in (renderer.python(f"{template}.{suffix}.j2", {"index": view}, source),)
    )


def render_project(
    project: Project, renderer: Renderer, emitter: str, ops: Sequence[CheckedOp]
) -> tuple[Output, ...]:
    """Every file of the project, in the order of its path.  Raises RenderError."""
    found = [output for op in ops for output in render_op(project, renderer, emitter, op)]
    found += render_index(project, renderer, emitter, ops)
    return tuple(sorted(found, key=lambda output: output.path))
