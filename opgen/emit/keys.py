"""What a generated file depends on, as one digest."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final

from ..project import resources
from .header import HALF

# The parts of the generator that print.  What the others decide shows in the text, which is always compared.
_EMITTER: Final = frozenset({"emit", "layout", "render.py", "views"})


def emitter_digest(own_templates: Path | None = None) -> str:
    """A digest of all templates (the project's own too) and of the sources that print."""
    package = Path(__file__).resolve().parent.parent
    files = [
        (file.relative_to(package).as_posix(), file)
        for file in package.rglob("*.py")
        if file.relative_to(package).parts[0] in _EMITTER
    ]
    for label, folder in (("templates", resources("templates")), ("own", own_templates)):
        if folder is not None and folder.is_dir():
            files += [
                (f"{label}/{file.relative_to(folder).as_posix()}", file) for file in folder.rglob("*.j2")
            ]
    digest = sha256()
    for name, file in sorted(files):
        digest.update(f"{name}\0{sha256(file.read_bytes()).hexdigest()}\0".encode())
    return digest.hexdigest()


def output_key(emitter: str, *parts: str) -> str:
    """The key of one file: the emitter's digest, and the digest of its declaration or what else it prints."""
    return sha256("\0".join((emitter, *parts)).encode()).hexdigest()[:HALF]
