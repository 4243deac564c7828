"""The form that is differentiated: every reduction is the root of a tensor's body, and holds no other one; what is
sorted is read where it stands.

    out[i] = sum(x[i, k] / sum(x[i, j] for j in range(n)) for k in range(n))
-->
    out_value[i, k] = x[i, k] / out_value_sum[i]     out_value_sum[i] = sum(x[i, j] for j in range(n))
    out[i] = sum(out_value[i, k] for k in range(n))

    out = sort(x, axis=0)    -->    out[i] = x[out_order[i]]    out_order = argsort(x, axis=0)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ....base.arith import Expr, Var, holds, literal, post_order, select, substitute
from ....base.errors import LanguageError
from ....base.vocabulary import BOOL, INDEX, INT64
from ..construct import data_axes
from ..graph import replace_inputs, replace_scan, tensor_order
from ..normalize import normalize
from ..tensor import Compute, IterVar, Read, Reduce, Scan, Sort, Tensor

_DEEPEST = 8  # reductions inside each other


def staged(outputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The outputs in this form. Raises LanguageError for a reduction that cannot be a tensor of its own."""
    made = normalize(rewritten(outputs, _where_it_stands))
    for _ in range(_DEEPEST):
        nested = [t for t in tensor_order(made) if isinstance(t.op, Compute) and _holds_nested(t.op)]
        if not nested:
            return made
        made = normalize(rebuilt(made, {t: _split(t) for t in nested}))
    raise LanguageError(f"a reduction inside {nested[0].name} depends on data, and has no derivative")


def _where_it_stands(tensor: Tensor) -> Tensor | None:
    """Sorted floats as reads of what was sorted; None for any other tensor."""
    op = tensor.op
    if not isinstance(op, Sort) or op.positions or not tensor.dtype.is_inexact:
        return None
    order = Tensor(f"{tensor.name}_order", tensor.shape, INT64, replace(op, positions=True))
    axes = data_axes(tensor.shape)
    at: list[Expr] = [axis.var for axis in axes]
    at[op.axis] = Read(INT64, order, tuple(at))
    return replace(tensor, op=Compute(axes, Read(tensor.dtype, op.source, tuple(at))))


def _holds_nested(op: Compute) -> bool:
    return any(isinstance(node, Reduce) and node is not op.body for node in post_order(op.body))


def _split(tensor: Tensor) -> Tensor:
    """The tensor with what it reduces as a tensor before it, of which each element is computed once."""
    op = tensor.op
    assert isinstance(op, Compute)
    body = op.body
    if not isinstance(body, Reduce) or any(
        isinstance(axis.extent, Expr) and holds(axis.extent, Reduce) for axis in body.axes
    ):
        raise LanguageError(f"a reduction inside {tensor.name} depends on data, and has no derivative")
    axes = (*op.axes, *body.axes)
    condition, value, default = body.condition, body.value, body.default
    if condition is not None and holds(condition, Reduce):
        condition = stored(f"{tensor.name}_if", axes, condition)
        assert condition is not None
    if holds(value, Reduce):
        kept = value if condition is None else select(condition, value, literal(0, value.dtype))
        value = stored(f"{tensor.name}_value", axes, kept)
    return replace(
        tensor, op=Compute(op.axes, Reduce(body.dtype, body.combiner, body.axes, value, condition, default))
    )


def stored(name: str, axes: Sequence[IterVar], value: Expr) -> Read:
    """The value, which moves with `axes` alone, as an element of a tensor over them.

    Raises LanguageError for an extent that is not known.
    """
    fresh = [IterVar(Var(INDEX, axis.var.name), axis.extent) for axis in axes]
    for axis in axes:
        if not isinstance(axis.extent, int):
            raise LanguageError(
                f"{name}: a reduction inside one whose extent depends on data has no derivative"
            )
    body = substitute(value, {a.var: f.var for a, f in zip(axes, fresh, strict=True)})
    shape = tuple([axis.extent for axis in axes])
    made = Tensor(name, shape, BOOL if value.dtype is BOOL else value.dtype, Compute(tuple(fresh), body))
    return Read(made.dtype, made, tuple([axis.var for axis in axes]))


def rewritten(outputs: Sequence[Tensor], other: Callable[[Tensor], Tensor | None]) -> tuple[Tensor, ...]:
    """The outputs with each tensor as `other` has it, until that is None for all."""
    made = tuple(outputs)
    while changed := {t: whole for t in tensor_order(made) if (whole := other(t)) is not None}:
        made = rebuilt(made, changed)
    return made


def rebuilt(outputs: Sequence[Tensor], changed: dict[Tensor, Tensor]) -> tuple[Tensor, ...]:
    """The outputs over other tensors: each key of `changed` is what it maps to.

    What `changed` maps to may read the tensors that are replaced, unless it is a placeholder.
    """
    done: dict[Tensor, Tensor] = {}
    for tensor in tensor_order(outputs):
        if tensor in done:
            continue
        target = changed.get(tensor, tensor)
        if target is not tensor:
            for inner in tensor_order([target]):
                if inner not in done:
                    done[inner] = _over(inner, done)
            done[tensor] = done[target]
        elif isinstance(tensor.op, Scan):
            done.update(_scan_over(tensor.op, done))
        else:
            done[tensor] = _over(tensor, done)
    return tuple(done[t] for t in outputs)


def _over(tensor: Tensor, done: dict[Tensor, Tensor]) -> Tensor:
    if isinstance(tensor.op, Scan):
        return _scan_over(tensor.op, done)[tensor]
    op = replace_inputs(tensor.op, done)
    return tensor if op is tensor.op else replace(tensor, op=op)


def _scan_over(scan: Scan, done: dict[Tensor, Tensor]) -> dict[Tensor, Tensor]:
    if any(done.get(t, t) is not t for t in scan.inputs()):
        return replace_scan(scan, {}, done)
    return {state.tensor: state.tensor for state in scan.states if state.tensor is not None}
