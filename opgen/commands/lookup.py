"""An op by name: of the project, else of the built-in library; no other declaration is checked."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from opgen_runtime import ops as runtime_ops

from ..analyse import Source, SourceSet, check_project, read_sources
from ..diagnostics import Diagnostic, did_you_mean
from ..generation.reading import read_facts
from ..model import CheckedOp
from ..project import Project, ProjectError, find_project, resources
from ..sources import registered
from .failure import Failure
from .reports import report, require_declarations
from .workspace import checked_workspace

_OP_KEY: Final = re.compile(r"^op:[ \t]*['\"]?([A-Za-z_]\w*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Found:
    """An op, checked, and the project that it is of: the user's, or the built-in library seen as one."""

    project: Project
    op: CheckedOp
    builtin: bool


def find_op(name: str) -> Found:
    """The op called `name`, with or without the namespace of the current project, which hides a built-in one.

    Outside a project there are the built-in ops.  Raises Failure for an op that is declared nowhere, naming near
    ones, and Findings where a declaration that matters has an error.
    """
    library = builtin_project()
    try:
        project = find_project()
    except ProjectError as error:
        project, outside = library, f"; {error}"
    else:
        outside = ""
    require_declarations(project)
    builtin = read_sources(library.opdefs, library.root).sources
    own = builtin if project.opdefs == library.opdefs else read_sources(project.opdefs, project.root).sources
    bare = name.removeprefix(f"{project.namespace}.") if project.namespace else name
    if bare in _names(own):
        return Found(project, _own_op(project, bare, own, builtin), own is builtin)
    if name in _names(builtin):
        ops, _ = _checked(library, name, _home(name, builtin), builtin)
        for op in ops:
            return Found(library, op, True)
    names = _names(builtin)
    raise Failure(_unknown(project, name, names if own is builtin else _names(own), names) + outside)


def builtin_project() -> Project:
    """The built-in library as a project."""
    opdefs = resources("opdefs")
    package = runtime_ops.__name__
    output = Path(str(runtime_ops.__file__)).resolve().parent
    root = Path(os.path.commonpath([opdefs, output]))
    tests = root / "tests" / "generated"
    return Project(root, opdefs, output, tests, package, "", None, (package.partition(".")[0],))


def unknown_suite(project: Project, name: str) -> str:
    """Why there is no suite of that name, which no declaration of the project has."""
    own, builtin = (_names(read_sources(folder).sources) for folder in (project.opdefs, resources("opdefs")))
    if name in builtin and name not in own:
        return f"{name!r} is built in; its suite is in opgen's own repository, not in this project"
    return _unknown(project, name, own, builtin)


def _own_op(project: Project, name: str, own: Sequence[Source], builtin: Sequence[Source]) -> CheckedOp:
    home = _home(name, own)
    if len(home) == 1:
        known = own if own is builtin else (*own, *builtin)
        names = registered(SourceSet(tuple(own)), project.namespace)
        ops, found = _checked(project, name, home, known, names)
        if ops and not any(finding.is_error for finding in found):
            report(found, "text")
            return ops[0]
    return checked_workspace(project).op(name)  # what is wrong is told in full


def _checked(
    project: Project,
    name: str,
    home: Sequence[Source],
    known: Sequence[Source],
    names: Mapping[str, str] = MappingProxyType({}),
) -> tuple[list[CheckedOp], list[Diagnostic]]:
    """The op of that name, alone of those in the files of `home`, and what was found."""
    packages = {each: project.import_root / each for each in project.packages}
    places = {
        (source.path, number)
        for source in home
        for number, facts in enumerate(read_facts(source) or ())
        if facts.name == name
    }
    return check_project(
        home,
        packages,
        names,
        SourceSet(tuple(known)),
        lambda path, number: (path, number) in places,
    )


def _home(name: str, sources: Sequence[Source]) -> list[Source]:
    return [source for source in sources if name in _OP_KEY.findall(source.text)]


def _names(sources: Iterable[Source]) -> list[str]:
    return [name for source in sources for name in _OP_KEY.findall(source.text)]


def _unknown(project: Project, name: str, own: Sequence[str], builtin: Sequence[str]) -> str:
    if name in own or name in builtin:
        return f"{name!r} is abstract: other declarations extend it, and it is no op itself"
    hint = did_you_mean(name, own) or did_you_mean(name, builtin)
    if builtin is own:
        return f"no op {name!r} is built in; {hint or '`opgen list --builtin` shows those that are'}"
    count = "the only op" if len(own) == 1 else f"the {len(own)} ops"
    lists = f"`opgen list` shows {count} of this project, `opgen list --builtin` the built-in ones"
    return f"no op {name!r} in {project.opdefs} or built in; {hint or lists}"
