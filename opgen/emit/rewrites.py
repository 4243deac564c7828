"""The generated files of rewrites, as text."""

from __future__ import annotations

from collections.abc import Sequence

from opgen_runtime.declaration.rewrites import RewriteDef, Tried

from ..digests import HALF, digest
from ..project import Project
from ..render import Renderer
from ..views.rewrite import pass_module, rewrite_suite_view, rewrite_view
from .header import with_header
from .outputs import Output


def render_rewrite(
    project: Project, renderer: Renderer, made: RewriteDef, tried: Tried
) -> tuple[Output, ...]:
    """The module of a pass, and its suite.  Raises RenderError."""
    stem = pass_module(made.name)
    place = f"{made.source}:{made.line}"
    package = passes_package(project)
    view, suite = rewrite_view(made), rewrite_suite_view(made, tried.shown, package)
    key = digest(repr(view), package)[:HALF]
    module = renderer.python("rewrite.py.j2", {"rewrite": view}, place)
    tests = renderer.python("rewrite_suite.py.j2", {"suite": suite}, place)
    return (
        Output(project.passes / f"{stem}.py", with_header(module, made.source, key)),
        Output(project.pass_tests / f"test_{stem}.py", with_header(tests, made.source, key)),
    )


def render_rewrite_index(project: Project, names: Sequence[str]) -> Output:
    """The package of the passes of a project."""
    listed = sorted(names)
    lines = [
        '"""Passes of declared rewrites."""',
        "",
        *[f"from .{pass_module(name)} import {name}" for name in sorted(listed, key=pass_module)],
        "",
        "__all__ = [" + ", ".join(f'"{name}"' for name in listed) + "]",
        "",
    ]
    text = "\n".join(lines)
    source = project.relative(project.rewrites)
    return Output(project.passes / "__init__.py", with_header(text, source, digest(text)[:HALF]))


def passes_package(project: Project) -> str:
    """The import name of the folder of passes."""
    return ".".join(project.passes.relative_to(project.import_root).parts)
