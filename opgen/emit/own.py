"""The emitters that a project states: paths, and the files that decide what they print.  Nothing is imported for it."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ..digests import digest
from ..project import OwnEmitter, Project, ProjectError, resources

GROUP: Final = "opgen.emitters"  # of entry points: name of the emitter -> its view
BUILT_IN: Final = {"markdown": "opgen.views.page:page_view", "onnx": "opgen.views.onnx:onnx_view"}


def own_path(project: Project, emitter: OwnEmitter, op: str) -> Path:
    """The file of an op."""
    return project.root / emitter.path.replace("{op}", op)


def view_of(project: Project, emitter: OwnEmitter) -> str:
    """`package.module:function` of an emitter's view.  Raises ProjectError where nothing has its name."""
    given = emitter.view or BUILT_IN.get(emitter.name)
    installed = {} if given is not None else _installed_views()
    given = given or installed.get(emitter.name)
    if given is None:
        known = ", ".join(sorted({*BUILT_IN, *installed}))
        raise ProjectError(
            f"[tool.opgen.emitters.{emitter.name}] has no `view`, and no emitter of that name is built in or "
            f"installed; there are: {known}"
        )
    module, _, function = given.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), function)):
        raise ProjectError(
            f"[tool.opgen.emitters.{emitter.name}] view = {given!r} is not `package.module:function`"
        )
    return given


def _installed_views() -> dict[str, str]:
    """The views of installed emitters, by the emitter's name."""
    from importlib.metadata import (
        entry_points,
    )  # and with it email and much else, which other projects do not need

    return {each.name: each.value for each in reversed(list(entry_points(group=GROUP)))}


def view_file(project: Project, emitter: OwnEmitter) -> Path:
    """The Python file of the view: of the project, or of an installed package.  Raises ProjectError."""
    module = view_of(project, emitter).partition(":")[0]
    path = project.import_root / module.replace(".", "/")
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    found = _installed_file(module)
    if found is None:
        raise ProjectError(f"[tool.opgen.emitters.{emitter.name}]: there is no module {module!r}")
    return found


def _installed_file(module: str) -> Path | None:
    """The file of an installed module, found without importing the packages that it is in."""
    package, *parts = module.split(".")
    spec = find_spec(package)
    for name in parts:
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(f"{spec.name}.{name}", list(spec.submodule_search_locations))
    return None if spec is None or spec.origin is None else Path(spec.origin)


def beside(project: Project, emitter: OwnEmitter) -> Iterator[Path]:
    """Where its template may be besides the folders of templates: in the folder of the view."""
    yield view_file(project, emitter).parent


def own_digest(project: Project) -> str:
    """A digest of what the project's emitters print with: what is stated, views and templates."""
    parts: list[str] = []
    for emitter in project.emitters:
        folders = [project.templates, resources("templates"), *beside(project, emitter)]
        files = [
            view_file(project, emitter),
            *(each / emitter.template for each in folders if each is not None),
        ]
        texts = (sha256(file.read_bytes()).hexdigest() if file.is_file() else "" for file in files)
        parts += (repr(emitter), view_of(project, emitter), *texts)
    return digest(*parts)
