"""Declarations to checked ops: `check_project` is the whole front half of the generator."""

from .project import Source, SourceSet, check_project, read_declaration, read_sources

__all__ = ["Source", "SourceSet", "check_project", "read_declaration", "read_sources"]
