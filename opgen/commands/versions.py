"""A version of the declarations by its name: a git revision, a folder, a file."""

from __future__ import annotations

import io
import subprocess
import zipfile
from pathlib import Path

from ..compare.versions import Declarations
from ..project import Project, ProjectError, find_project, resources
from ..sources import Source, SourceSet, read_declaration, read_sources
from .failure import Failure


def version(name: str, project: Project, scratch: Path) -> Declarations:
    """The declarations of `name`; a revision of the project's repository is unpacked in `scratch`.  Raises Failure."""
    path = Path(name)
    if path.is_file():
        try:
            source = Source(name, read_declaration(path))
        except (OSError, UnicodeDecodeError) as error:
            raise Failure(f"{name} cannot be read: {error}") from None
        return _declarations(SourceSet((source,)), project, project, alone=True)
    if path.is_dir():
        try:
            other = find_project(path)
        except ProjectError:
            other = project
        if other.root == path.resolve():
            return _declarations(read_sources(other.opdefs, other.root), other, project)
        return _declarations(read_sources(path.resolve(), path.resolve()), project, project)
    return _revision(name, project, scratch)


def _revision(name: str, project: Project, scratch: Path) -> Declarations:
    wanted = [project.relative(project.opdefs)]
    wanted += [project.relative(project.import_root / package) for package in project.packages]
    git = ["git", "-C", str(project.root), "archive", "--format=zip", name, "--"]
    done = subprocess.run([*git, *wanted], capture_output=True, check=False)
    if done.returncode:  # a package that the revision has not is not needed by its declarations
        done = subprocess.run([*git, wanted[0]], capture_output=True, check=False)
    if done.returncode:
        why = done.stderr.decode(errors="replace").strip().splitlines()
        raise Failure(
            f"{name!r} is no file, no folder, and no revision of {project.root}: {why[-1] if why else ''}"
        )
    with zipfile.ZipFile(io.BytesIO(done.stdout)) as archive:
        archive.extractall(scratch)
    sources = read_sources(scratch / wanted[0], scratch)
    root = scratch / project.relative(project.import_root) if project.import_root != project.root else scratch
    packages = {package: root / package for package in project.packages}
    return Declarations(sources, _library(project), packages)


def _declarations(sources: SourceSet, of: Project, project: Project, alone: bool = False) -> Declarations:
    packages = {package: of.import_root / package for package in of.packages}
    return Declarations(sources, _library(project, alone), packages)


def _library(project: Project, alone: bool = False) -> SourceSet | None:
    """What declarations may extend beside each other: the built-in ones, and for a file `alone` the project's."""
    folder = resources("opdefs")
    own = read_sources(project.opdefs, project.root).sources if alone else ()
    builtin = () if folder == project.opdefs else read_sources(folder).sources
    return SourceSet((*builtin, *own)) if own or builtin else None
