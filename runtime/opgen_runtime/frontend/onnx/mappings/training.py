"""Steps of optimisers (domain ai.onnx.preview.training): new parameters, and what is carried to the next step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, Literal

from ....ir import Expr
from ..emit import op
from ..errors import ModelError
from ..rules import converts
from ._tools import cast, dtype, scalar

_DOMAIN: Final = "ai.onnx.preview.training"
_optimiser = partial(converts, since=1, domain=_DOMAIN)


def _groups(tensors: Sequence[Expr], count: int) -> list[tuple[Expr, ...]]:
    """The tensors of each parameter, which are given kind by kind."""
    if len(tensors) % count or not tensors:
        raise ModelError(f"{len(tensors)} tensors, expected {count} for each parameter")
    each = len(tensors) // count
    return [tuple(tensors[k::each]) for k in range(each)]


def _by_kind(results: Sequence[tuple[Expr, ...]]) -> tuple[Expr, ...]:
    return tuple(result for kind in zip(*results, strict=True) for result in kind)


def _regular(x: Expr, gradient: Expr, norm: float) -> Expr:
    return op.add(op.multiply(x, norm), gradient)


@_optimiser("Adagrad")
def adagrad(
    rate: Expr,
    step: Expr,
    *tensors: Expr,
    decay_factor: float = 0.0,
    epsilon: float = 0.0,
    norm_coefficient: float = 0.0,
) -> tuple[Expr, ...]:
    def parameter(x: Expr, gradient: Expr, squares: Expr) -> tuple[Expr, ...]:
        kind = dtype(x)
        slower = op.add(op.multiply(cast(step, kind), decay_factor), 1.0)
        regular = _regular(x, gradient, norm_coefficient)
        squares = op.add(squares, op.multiply(regular, regular))
        moved = op.divide(
            op.multiply(op.divide(cast(rate, kind), slower), regular), op.add(op.sqrt(squares), epsilon)
        )
        return op.subtract(x, moved), squares

    return _by_kind([parameter(*group) for group in _groups(tensors, 3)])


@_optimiser("Adam")
def adam(
    rate: Expr,
    step: Expr,
    *tensors: Expr,
    alpha: float = 0.9,
    beta: float = 0.999,
    epsilon: float = 0.0,
    norm_coefficient: float = 0.0,
    norm_coefficient_post: float = 0.0,
) -> tuple[Expr, ...]:
    def parameter(x: Expr, gradient: Expr, mean: Expr, squares: Expr) -> tuple[Expr, ...]:
        kind = dtype(x)
        regular = _regular(x, gradient, norm_coefficient)
        mean = op.add(op.multiply(mean, alpha), op.multiply(regular, 1.0 - alpha))
        squares = op.add(op.multiply(squares, beta), op.multiply(op.multiply(regular, regular), 1.0 - beta))
        own, steps, one = cast(rate, kind), cast(step, kind), scalar(1.0, kind)
        forgotten, flatter = (op.subtract(one, op.power(scalar(c, kind), steps)) for c in (alpha, beta))
        # of the first steps, whose means are near 0 still
        grown = op.divide(op.multiply(own, op.sqrt(flatter)), forgotten)
        adjusted = op.where(op.greater(step, 0), grown, own)
        moved = op.divide(op.multiply(adjusted, mean), op.add(op.sqrt(squares), epsilon))
        return op.multiply(op.subtract(x, moved), 1.0 - norm_coefficient_post), mean, squares

    return _by_kind([parameter(*group) for group in _groups(tensors, 4)])


@_optimiser("Momentum")
def momentum(
    rate: Expr,
    step: Expr,
    *tensors: Expr,
    alpha: float,
    beta: float,
    mode: Literal["standard", "nesterov"],
    norm_coefficient: float,
) -> tuple[Expr, ...]:
    def parameter(x: Expr, gradient: Expr, speed: Expr) -> tuple[Expr, ...]:
        kind = dtype(x)
        regular = _regular(x, gradient, norm_coefficient)
        weighed = op.multiply(regular, op.where(op.greater(step, 0), scalar(beta, kind), scalar(1.0, kind)))
        speed = op.add(op.multiply(speed, alpha), weighed)
        way = speed if mode == "standard" else op.add(regular, op.multiply(speed, alpha))
        return op.subtract(x, op.multiply(way, cast(rate, kind))), speed

    return _by_kind([parameter(*group) for group in _groups(tensors, 3)])
