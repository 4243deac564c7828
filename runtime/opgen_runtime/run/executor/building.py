"""`build`: whatever can be compiled, by what it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from ...base.target import Target
from ...compute.te import Tensor
from ...ir import Function
from ...lower.schedule import Schedule
from ...transform import PassContext
from ..compile.scheduled import TensorFunction, build_schedule
from .executable import Executable
from .executable import build as build_function


@overload
def build(
    program: Function, target: Target | None = None, context: PassContext | None = None
) -> Executable: ...
@overload
def build(
    program: Schedule, args: Sequence[Tensor], target: Target | str | None = None, name: str | None = None
) -> TensorFunction: ...


def build(program: Any, *args: Any, **options: Any) -> Any:
    """A function of the graph IR compiled, or a schedule of tensor expressions as a function of arrays.

    `build(function, target=None, context=None)` gives an Executable.  `build(schedule, args, target=None, name=None)`
    gives a callable on arrays, one for each tensor of `args`, results among them; see `TensorFunction`.
    """
    if isinstance(program, Schedule):
        return build_schedule(program, *args, **options)
    return build_function(program, *args, **options)
