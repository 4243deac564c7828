"""One change of one op."""

from __future__ import annotations

from typing import Final

from opgen_runtime.base.vocabulary import dataclass

# Names of operands, the order of attrs and Python's operators are for those who write calls.
_OF_CALLERS: Final = frozenset(
    {"input-renamed", "attrs-reordered", "operator", "gradient-removed", "removed"}
)


@dataclass(frozen=True, slots=True)
class Change:
    """What changed, as a code and a sentence, and whether callers of the old version can break by it."""

    op: str
    code: str
    text: str
    breaking: bool

    @property
    def breaks_saved(self) -> bool:
        """Whether it breaks calls that were saved, too: these are written with what is stated, operands in order."""
        return self.breaking and self.code not in _OF_CALLERS
