"""A schedule that a user wrote, as it enters the table KERNEL at the stage "lower"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from ....base import Target
from ....base.arith import Expr, Var, evaluate_scalar, free_vars
from ....base.vocabulary import dataclass
from ....compute.te import Tensor
from ....lower import tir
from ....lower.schedule import Schedule

if TYPE_CHECKING:
    from ....transform import PassInstrument


@dataclass(frozen=True, slots=True)
class Program:
    """Tensors that one kernel takes and gives, where a segment would be a function of the graph.

    `dims`: the values of the dims that are variables, once arrays have given them.  `binds`: buffers of parameters.
    `options`: of the phases.
    """

    name: str
    target: Target
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    dims: Mapping[Var, int] = field(default_factory=dict)
    binds: Mapping[Tensor, tir.Buffer] = field(default_factory=dict)
    options: tir.Options = tir.Options()

    @property
    def is_own(self) -> bool:
        """A user wrote it."""
        return False

    @property
    def variables(self) -> tuple[Var, ...]:
        """The variables of the dims, in the order of the tensors."""
        dims = [dim for tensor in (*self.inputs, *self.outputs) for dim in tensor.shape]
        return tuple(dict.fromkeys(var for dim in dims if isinstance(dim, Expr) for var in free_vars(dim)))

    def shape(self, tensor: Tensor) -> tuple[int, ...]:
        """The shape of a tensor where the variables have their values."""
        return tuple(
            dim if isinstance(dim, int) else int(evaluate_scalar(dim, dict(self.dims)))
            for dim in tensor.shape
        )

    def feeds(self, arrays: Sequence[np.ndarray]) -> dict[Tensor, np.ndarray]:
        """The values of the inputs."""
        return dict(zip(self.inputs, arrays, strict=True))

    def results_of(self, outputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results of what computed `outputs`, flat or not."""
        return [
            np.asarray(array).reshape(self.shape(tensor))
            for array, tensor in zip(outputs, self.outputs, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Written:
    """A program with its schedule, which is to be compiled; hooks and instruments as those of a segment's `Request`.

    `schedule`: None of a program that was written as loop IR.
    """

    program: Program
    schedule: Schedule | None
    hooks: Mapping[str, tir.Phase] = field(default_factory=dict)
    instruments: tuple[PassInstrument, ...] = ()

    @property
    def name(self) -> str:
        """What the kernel is called."""
        return self.program.name
