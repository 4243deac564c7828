"""What the shell may complete: names of ops, of their attrs, of stages and codes.  Nothing is checked for it.

click asks these types when the shell does (`eval "$(_OPGEN_COMPLETE=bash_source opgen)"`, likewise zsh and fish).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Final

import click
from click.shell_completion import CompletionItem

from ..diagnostics import CODES
from ..project import Project, ProjectError, find_project
from ..sources import read_sources

_OP: Final = re.compile(r"^op:[ \t]*['\"]?([A-Za-z_]\w*)", re.MULTILINE)
_DOCUMENT: Final = re.compile(r"^---", re.MULTILINE)
_ABSTRACT: Final = re.compile(r"^abstract:[ \t]*true\b", re.MULTILINE | re.IGNORECASE)
_STATED: Final = ("declaration", "checked op", "call")
_OF_TENSORS: Final = ("tensor expressions", "strategy", "pattern", "rules", "schedule", "trace")
_OF_CODE: Final = ("llvm", "llvm optimised", "assembly", "plan", "driver")


class _Names(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """A text that the shell completes; what is wrong with it is the command's to say."""

    name = "text"

    def names(self, context: click.Context) -> Iterable[str]:
        """All that may stand here.  Raises ProjectError and OSError."""
        raise NotImplementedError

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        try:
            return [CompletionItem(name) for name in self.names(ctx) if name.startswith(incomplete)]
        except (ProjectError, OSError):
            return []


class OpName(_Names):
    """An op of the project, or with `builtin` of the library too."""

    def __init__(self, builtin: bool = True) -> None:
        self._builtin = builtin

    def names(self, context: click.Context) -> Iterable[str]:
        return sorted({*_own_ops(), *(_ops(_library()) if self._builtin else ())})


class AttrText(_Names):
    """`NAME=VALUE` for the op that was named before: the shell completes `NAME=`."""

    def __init__(self, op: str) -> None:
        self._op = op  # the argument that names it

    def names(self, context: click.Context) -> Iterable[str]:
        # A line that ends in an option without its value is not parsed to its end: the op is left over then.
        op = context.params.get(self._op) or next(iter(context.args), "")
        return [f"{name}=" for name in _attrs(op)]


class StageName(_Names):
    """A stage of one call."""

    def names(self, context: click.Context) -> Iterable[str]:
        from opgen_runtime.run.compile import pipeline

        passes = (stage.name for stage in pipeline.GRAPH)
        return [*_STATED, *passes, *_OF_TENSORS, *pipeline.HOOKABLE, *_OF_CODE]


class CodeName(_Names):
    """The code of a diagnostic."""

    def names(self, context: click.Context) -> Iterable[str]:
        return CODES


def _library() -> Project:
    from .lookup import builtin_project

    return builtin_project()


def _own_ops() -> Iterator[str]:
    try:
        project = find_project()
    except ProjectError:
        return
    yield from _ops(project)


def _ops(project: Project) -> Iterator[str]:
    """The ops as their declarations name them."""
    for source in read_sources(project.opdefs).sources:
        for document in _DOCUMENT.split(source.text):
            found = _OP.search(document)
            if found is not None and _ABSTRACT.search(document) is None:
                yield found[1]


def _attrs(op: str) -> Iterator[str]:
    """The attrs as the generated module has them, which is read and not run."""
    folders = [_library().output]
    try:
        project = find_project()
    except ProjectError:
        pass
    else:
        folders.insert(0, project.output)
        op = op.removeprefix(f"{project.namespace}.") if project.namespace else op
    for folder in folders:
        file = folder / f"_{op}.py"
        if file.is_file():
            classes = [
                each
                for each in ast.parse(file.read_text(encoding="utf-8")).body
                if isinstance(each, ast.ClassDef)
            ]
            for field in (field for each in classes for field in each.body):
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    yield field.target.id
            return
