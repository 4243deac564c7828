"""One digest of the generator: its sources, those of the runtime that it analyses with, templates, libraries."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ..project import resources

# What analysis runs of the runtime: storeys, and the table of operators.  A test holds it to that.
RUNTIME: Final = ("base", "operator", "compute", "declaration", "ir/operators.py")
_LIBRARIES: Final = ("jinja2", "numpy", "pydantic", "pyyaml")
_INSTALLED: Final = re.compile(r"(\w+)-(.+)\.(?:dist|egg)-info")


def generator_digest(own_templates: Path | None = None) -> str:
    """A digest of everything but declarations that decides what is reported and printed."""
    generator = Path(__file__).resolve().parent.parent
    folders = [("opgen", generator, "*.py"), ("templates", resources("templates"), "*.j2")]
    folders += [(name, _runtime() / name, "*.py") for name in RUNTIME]
    if own_templates is not None:
        folders.append(("own", own_templates, "*.j2"))
    found = sha256(f"{sys.version_info[:2]} {_versions()}".encode())
    for label, folder, pattern in folders:
        for file in sorted(folder.rglob(pattern)) if folder.is_dir() else [folder]:
            own = sha256(file.read_bytes()).hexdigest()
            found.update(f"{label}/{file.relative_to(folder).as_posix()}\0{own}\0".encode())
    return found.hexdigest()


def runtime_digest(parts: Sequence[str]) -> str:
    """A digest of further files and folders of the runtime."""
    found = sha256()
    for part in parts:
        place = _runtime() / part
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found.update(f"{part}/{file.name}\0{sha256(file.read_bytes()).hexdigest()}\0".encode())
    return found.hexdigest()


def _runtime() -> Path:
    """The folder of the runtime, which is not imported for it."""
    spec = find_spec("opgen_runtime")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _versions() -> list[str]:
    """Of each library, as the names of the folders say that installers leave beside it; "" where they are elsewhere.

    `importlib.metadata` would take longer to import than all of this digest to make.
    """
    folders = [folder for folder in dict.fromkeys(sys.path) if os.path.isdir(folder)]
    installed = [name for folder in folders for name in sorted(os.listdir(folder)) if name.endswith("-info")]
    matches = [_INSTALLED.fullmatch(name.lower()) for name in installed]
    found = {match[1]: match[2] for match in reversed(matches) if match is not None}
    return [found.get(name, "") for name in _LIBRARIES]
