"""Where something stands in a source file."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A span of a file.  Lines and columns count characters from 1; the end is exclusive."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def start(self) -> Place:
        """The empty place before the first character."""
        return replace(self, end_line=self.line, end_column=self.column)

    @property
    def end(self) -> Place:
        """The empty place behind the last character."""
        return replace(self, line=self.end_line, column=self.end_column)

    def until(self, other: Place) -> Place:
        """What stands between this place and a later one."""
        return Place(self.path, self.end_line, self.end_column, other.line, other.column)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"
