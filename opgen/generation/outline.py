"""What is known of a declaration that has been read and not yet checked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Facts:
    """One document of a file."""

    name: str
    parent: str | None
    is_abstract: bool
    digest: str  # of the document by itself
    externs: tuple[str, ...]  # texts of the form `package.module:function`
    calls: tuple[str, ...]  # names in `grad:`
    expands: tuple[str, ...]  # names of ops that may be called in `compute:`
    line: int  # of `op:`
