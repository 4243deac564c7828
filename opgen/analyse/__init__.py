"""Declarations to checked ops: `check_project` is the whole front half of the generator."""

from ..sources import Source, SourceSet, read_declaration, read_sources
from .declarations import DeclaredOp, check_project, declared_ops

__all__ = [
    "DeclaredOp",
    "Source",
    "SourceSet",
    "check_project",
    "declared_ops",
    "read_declaration",
    "read_sources",
]
