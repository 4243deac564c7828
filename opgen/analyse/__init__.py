"""Declarations to checked ops: `check_project` is the whole front half of the generator."""

from .project import (
    Declared,
    Source,
    SourceSet,
    check_project,
    declared_ops,
    read_declaration,
    read_sources,
)

__all__ = [
    "Declared",
    "Source",
    "SourceSet",
    "check_project",
    "declared_ops",
    "read_declaration",
    "read_sources",
]
