"""Reverse mode where nothing else is under way, of ops that take tensors and give one: a node of torch's graphs.

What `autograd.differentiated` gives serves forward mode, transforms, lists of tensors and several results, and spends
microseconds of each call on what these need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from torch.autograd.function import _SingleLevelFunction

from .autograd import Differentiable, Reads, derivative
from .tensors import has_gradient

_below: Final = torch._C._AutoDispatchBelowAutograd


def reverse_mode(op: Differentiable) -> Callable[[Sequence[Any], Mapping[str, Any]], Any] | None:
    """What calls the op as a node, `(args, kwargs)`, where `autograd.is_plain()`; None for other ops."""
    schema, count, parameters = op.schema, len(op.program.operands), len(op.schema.parameters)
    are_single = all(each.kind == "one" for each in (*op.program.operands, *op.program.outputs))
    if not are_single or len(op.program.outputs) != 1 or schema.positional != parameters:
        return None
    apply = _node(op).apply

    def call(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        bound = args if len(args) == parameters else schema.bound(args, kwargs)
        return apply(bound[count:], *bound[:count])

    return call


def _node(op: Differentiable) -> Any:
    plain, count, reads = op.overload._op, len(op.program.operands), Reads(op)
    form = (-1,) * count
    wanted: dict[tuple[bool, ...], list[int]] = {}  # by which inputs of a node need gradients: their numbers

    def forward(ctx: Any, attrs: Sequence[Any], *operands: torch.Tensor) -> torch.Tensor:
        with _below():
            result: torch.Tensor = plain(*operands, *attrs)
        (is_read,) = reads(form, operands, attrs, 1)
        ctx.state = attrs, is_read
        if is_read:
            ctx.save_for_backward(*operands, result)
        else:
            ctx.save_for_backward(*operands)
        if not has_gradient(result):
            ctx.mark_non_differentiable(result)
        return result

    def backward(ctx: Any, cotangent: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        attrs, is_read = ctx.state
        saved = ctx.saved_tensors if is_read else (*ctx.saved_tensors, None)
        needs = ctx.needs_input_grad
        wrt = wanted.get(needs)
        if wrt is None:
            wrt = wanted[needs] = [k for k, needed in enumerate(needs[1:]) if needed]
        adjoints = derivative(op.vjp, *saved, cotangent, attrs=attrs, wrt=wrt)
        if len(adjoints) == count:
            return (None, *adjoints)
        found: list[torch.Tensor | None] = [None] * (1 + count)
        for k, adjoint in zip(wrt, adjoints, strict=True):
            found[1 + k] = adjoint
        return tuple(found)

    return type(
        f"{op.program.name}_opgen",
        (_SingleLevelFunction,),
        {"forward": staticmethod(forward), "backward": staticmethod(backward)},
    )
