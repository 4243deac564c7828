"""What a type relation may ask of whoever runs it."""

from __future__ import annotations

from typing import Protocol

from .binding import Assumption
from .type import Type


class TypeReporter(Protocol):
    """Passed to type relations.

    `op_name` and `site` say whose call is inferred and where it stands, for messages.
    """

    op_name: str
    site: object | None

    def assign(self, target: Type, value: Type) -> None:
        """Makes the two types one. Raises TypeInferenceError where they cannot be."""

    def assume(self, assumption: Assumption) -> None:
        """Records a condition that cannot be decided yet."""
