"""What the slots of a plan hold: tensors whose sizes are ints, or expressions of the dims of the program's inputs."""

from __future__ import annotations

from collections.abc import Sequence

from ....base.arith import AnyDim, Var
from ....base.arith.expr import Shape
from ....operator import TensorType, Type, says_more
from ..kernel.kernel import Kernel
from ..kernel.sizes import vars_of, why_not_a_size
from ..kernel.symbolic import SymbolicKernel
from .plan import Held


class NoPlanError(Exception):
    """Why a program has no plan."""


def held_of(type_: Type, what: str) -> Held:
    """What holds a value of a type.  Raises NoPlanError for what is no tensor, and unknown dims."""
    if not isinstance(type_, TensorType) or any([isinstance(dim, AnyDim) for dim in type_.shape]):
        raise NoPlanError(f"{what} is {type_}, which is no tensor of known shape")
    return _checked(Held(type_.shape, type_.dtype.numpy))


def given_by(kernel: Kernel, inputs: Sequence[Held]) -> list[Held]:
    """What a kernel gives for its inputs.  Raises NoPlanError for sizes that machine code cannot compute."""
    shapes: Sequence[Shape] = [slot.shape for slot in kernel.outputs]
    if isinstance(kernel, SymbolicKernel):
        shapes = kernel.given([held.shape for held in inputs])
    return [_checked(Held(shape, slot.dtype)) for shape, slot in zip(shapes, kernel.outputs, strict=True)]


def declared_as(held: Held, type_: TensorType) -> Held:
    """What is held, with the dims of which its type says more.  Raises NoPlanError for what are no sizes."""
    dims = [said if says_more(said, own) else own for said, own in zip(type_.shape, held.shape, strict=True)]
    return _checked(Held(tuple(dims), held.dtype))


def dims_of(params: Sequence[Held], held: Sequence[Held]) -> tuple[Var, ...]:
    """The symbolic dims of a program.  Raises NoPlanError for one that is the whole dim of no parameter."""
    bound = {dim for param in params for dim in param.shape}
    for var in vars_of([each.shape for each in held]):
        if var not in bound:
            raise NoPlanError(f"no parameter has the dim {var.name} itself, of which its shapes are made")
    return vars_of([param.shape for param in params])


def _checked(held: Held) -> Held:
    for dim in held.shape:
        if (why := why_not_a_size(dim)) is not None:
            raise NoPlanError(why)
    return held
