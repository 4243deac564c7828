"""A plan with its kernels, as its rules look at it."""

from __future__ import annotations

from collections.abc import Iterator

from ....base.vocabulary import dataclass
from ..kernel.kernel import Kernel
from .plan import Instruction, Plan


class Place(tuple[int, Instruction]):
    """An instruction by its position, as messages call it."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"instruction {self[0]}, {type(self[1]).__name__}"


@dataclass(frozen=True, slots=True)
class View:
    """A plan with the kernels that it calls."""

    plan: Plan
    kernels: tuple[Kernel, ...]

    @property
    def places(self) -> Iterator[tuple[Place, Instruction]]:
        """The instructions, each with what messages call it."""
        for position, each in enumerate(self.plan.code):
            yield Place((position, each)), each

    @property
    def given(self) -> set[int]:
        """The slots that hold something before the code runs: inputs and constants."""
        return {*range(self.plan.num_params), *self.plan.constants}

    @property
    def of_callers(self) -> set[int]:
        """The slots that the caller gives memory for."""
        return {*self.plan.outputs, *[slot for _, _, slot in self.plan.lengths]}
