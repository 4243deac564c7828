"""Groups: stages that are placed together."""

from __future__ import annotations

from ....compute.te.tensor import IterVar
from .stage import Stage


class Group:
    """Stages that are placed together."""

    def __init__(self, stages: tuple[Stage, ...]) -> None:
        self.stages = stages

    def compute_at(self, stage: Stage, axis: IterVar) -> None:
        """Place every stage of the group inside the loop over `axis` of `stage`."""
        for member in self.stages:
            if not member.inlined:
                member.compute_at(stage, axis)

    def compute_root(self) -> None:
        """Place every stage of the group at the root."""
        for member in self.stages:
            if not member.inlined:
                member.compute_root()
