"""Element functions, reductions and scans."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from opgen_runtime import ops

from .example import Draw, Example, Make, Rows

INF = math.inf


def unary(name: str, theirs: Callable[..., Any], low: float, high: float, tolerance: float = 1e-8) -> Make:
    def make(draw: Draw) -> Example:
        x = draw.uniform(low, high, draw.shape(0))
        return Example([x], getattr(ops, name), theirs, tolerance=tolerance)

    return make


def with_numbers(
    name: str, theirs: Callable[..., Any], tolerance: float = 1e-8, **ranges: tuple[float, float]
) -> Make:
    """An element function with attrs, which `theirs` takes by name."""

    def make(draw: Draw) -> Example:
        attrs = {attr: draw.number(*ends) for attr, ends in ranges.items()}
        x = draw.normal(draw.shape(0))
        return Example(
            [x], partial(getattr(ops, name), **attrs), partial(theirs, **attrs), str(attrs), tolerance
        )

    return make


def binary(name: str, theirs: Callable[..., Any], low: float = -3.0, high: float = 3.0) -> Make:
    def make(draw: Draw) -> Example:
        a, b = draw.pair()
        return Example(
            [draw.uniform(low, high, a), draw.uniform(low, high, b)], getattr(ops, name), theirs, f"{a} {b}"
        )

    return make


def element_functions(t: Any) -> Rows:
    f = t.nn.functional
    for name in ("ceil", "copy", "cos", "cosh", "erf", "exp", "exp2", "expm1", "floor", "negative", "relu", "round",
                 "selu", "sigmoid", "sign", "silu", "sin", "sinh", "softplus", "softsign", "square", "tanh", "trunc",
                 "asinh", "atan", "abs", "mish", "hard_swish", "tan", "reciprocal"):  # fmt: skip
        theirs = {"copy": t.clone, "selu": f.selu, "softsign": f.softsign, "mish": f.mish, "silu": f.silu}
        theirs |= {"hard_swish": f.hardswish, "softplus": f.softplus}
        yield name, unary(name, theirs.get(name) or getattr(t, name), -4.0, 4.0)
    for name in ("log", "log10", "log2", "sqrt", "rsqrt"):
        yield name, unary(name, getattr(t, name), 0.05, 6.0)
    for name in ("acos", "asin", "atanh"):
        yield name, unary(name, getattr(t, name), -0.95, 0.95)
    yield "log1p", unary("log1p", t.log1p, -0.9, 5.0)
    yield "acosh", unary("acosh", t.acosh, 1.1, 6.0)
    yield "cbrt", unary("cbrt", lambda x: t.sign(x) * t.abs(x) ** (1 / 3), -4.0, 4.0)
    yield "fast_exp", unary("fast_exp", t.exp, -3.0, 3.0, 1e-4)
    yield "fast_tanh", unary("fast_tanh", t.tanh, -3.0, 3.0, 1e-4)
    yield "fast_erf", unary("fast_erf", t.erf, -2.0, 2.0, 1e-4)
    # torch divides by alpha as a float32 in the gradient
    yield "celu", with_numbers("celu", f.celu, 1e-6, alpha=(0.3, 2.0))
    yield "elu", with_numbers("elu", f.elu, alpha=(0.3, 2.0))
    yield "leaky_relu", with_numbers("leaky_relu", lambda x, alpha: f.leaky_relu(x, alpha), alpha=(0.01, 0.9))
    yield (
        "thresholded_relu",
        with_numbers("thresholded_relu", lambda x, alpha: f.threshold(x, alpha, 0.0), alpha=(0.1, 1.5)),
    )
    yield (
        "hard_sigmoid",
        with_numbers(
            "hard_sigmoid",
            lambda x, alpha, beta: t.clamp(alpha * x + beta, 0.0, 1.0),
            alpha=(0.1, 0.9),
            beta=(0.1, 0.7),
        ),
    )
    yield (
        "clip",
        with_numbers(
            "clip", lambda x, a_min, a_max: t.clamp(x, a_min, a_max), a_min=(-1.5, 0.0), a_max=(0.1, 1.5)
        ),
    )
    yield "gelu", _gelu(f)
    yield "axis_abs", _axis_abs(t)


def _gelu(f: Any) -> Make:
    def make(draw: Draw) -> Example:
        how = draw.one(("none", "tanh"))
        x = draw.normal(draw.shape())
        return Example([x], partial(ops.gelu, approximate=how), partial(f.gelu, approximate=how), how)

    return make


def _axis_abs(t: Any) -> Make:
    def make(draw: Draw) -> Example:
        shape = draw.shape(3, 3)
        axis = draw.integer(0, 2)
        at = draw.integer(0, shape[axis] - 1)

        def theirs(x: Any) -> Any:
            found = x.clone()
            found.select(axis, at).abs_()
            return found

        return Example([draw.normal(shape)], partial(ops.axis_abs, axis=axis, indice=at), theirs)

    return make


def of_two(t: Any) -> Rows:
    for name in ("add", "subtract", "multiply", "maximum", "minimum"):
        yield name, binary(name, getattr(t, name))
    yield "divide", binary("divide", t.divide, 0.3, 3.0)
    yield "power", binary("power", t.pow, 0.2, 3.0)
    yield "fmod", binary("fmod", t.fmod, 0.3, 5.0)
    yield "trunc_mod", binary("trunc_mod", t.fmod, 0.3, 5.0)
    yield "floor_mod", binary("floor_mod", t.remainder, 0.3, 5.0)
    yield "mod", binary("mod", t.fmod, 0.3, 5.0)
    yield "floor_divide", binary("floor_divide", lambda a, b: t.div(a, b, rounding_mode="floor"), 0.3, 5.0)
    yield "trunc_divide", binary("trunc_divide", lambda a, b: t.div(a, b, rounding_mode="trunc"), 0.3, 5.0)

    def where(draw: Draw) -> Example:
        a, b = draw.pair()
        condition = draw.integers(2, b).astype(bool)
        return Example([condition, draw.normal(a), draw.normal(b)], ops.where, t.where, f"{a} {b}")

    yield "where", where


def reductions(t: Any) -> Rows:
    def extremum(which: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x, dim, keepdim: which(x, dim=dim, keepdim=keepdim)

    def product(x: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
        for axis in sorted([d % x.ndim for d in dim], reverse=True):
            x = t.prod(x, axis, keepdim=keepdim)
        return x

    for name, theirs in (
        ("sum", t.sum),
        ("mean", t.mean),
        ("max", extremum(t.amax)),
        ("min", extremum(t.amin)),
        ("prod", product),
        ("logsumexp", t.logsumexp),
    ):
        yield name, _reduction(name, theirs)
    yield "std", _reduction("std", t.std, True)
    yield "variance", _reduction("variance", t.var, True)
    for name, theirs in (("softmax", t.softmax), ("log_softmax", t.log_softmax), ("fast_softmax", t.softmax)):
        yield name, _along(name, theirs, 1e-4 if name == "fast_softmax" else 1e-8)
    yield "cumsum", _scan("cumsum", t.cumsum, t)
    yield "cumprod", _scan("cumprod", t.cumprod, t)

    def l2_normalize(draw: Draw) -> Example:
        shape = draw.shape()
        axes = draw.axes(len(shape))

        def theirs(x: Any) -> Any:
            return x / t.sqrt(t.clamp((x * x).sum(axes, keepdim=True), min=1e-3))

        return Example(
            [draw.normal(shape)], partial(ops.l2_normalize, eps=1e-3, axis=axes), theirs, f"{shape} {axes}"
        )

    yield "l2_normalize", l2_normalize


def _reduction(name: str, theirs: Callable[..., Any], unbiased: bool = False) -> Make:
    def make(draw: Draw) -> Example:
        shape = tuple([dim + 1 for dim in draw.shape()])
        ndim = len(shape)
        keepdims, exclude = draw.chance(), draw.chance()
        axes: tuple[int, ...] | None = draw.axes(ndim)
        given: Any = axes
        if len(axes or ()) == 1 and draw.chance():
            given = axes[0]  # type: ignore[index]
        if draw.integer(0, 4) == 0:
            given, axes, exclude = None, tuple(range(ndim)), False
        reduced = axes
        if exclude:
            reduced = tuple([k for k in range(ndim) if k not in {a % ndim for a in axes or ()}])
        attrs = {"axis": given, "keepdims": keepdims, "exclude": exclude}
        kwargs: dict[str, Any] = {"dim": reduced, "keepdim": keepdims}
        if unbiased:
            attrs["unbiased"] = bool(reduced) and draw.chance()
            kwargs["correction"] = int(attrs["unbiased"])
        x = draw.normal(shape)
        if name in ("max", "min") and draw.chance():
            x = x.round()  # ties

        def theirs_of(y: Any) -> Any:
            return theirs(y, **kwargs) if reduced else (y * 0.0 if unbiased else y)

        return Example([x], partial(getattr(ops, name), **attrs), theirs_of, f"{shape} {attrs}")

    return make


def _along(name: str, theirs: Callable[..., Any], tolerance: float = 1e-8) -> Make:
    def make(draw: Draw) -> Example:
        shape = draw.shape()
        axis = draw.axis(len(shape))
        ours = partial(getattr(ops, name), axis=axis)
        return Example([draw.normal(shape)], ours, partial(theirs, dim=axis), f"{shape} {axis}", tolerance)

    return make


def _scan(name: str, theirs: Callable[..., Any], t: Any) -> Make:
    def make(draw: Draw) -> Example:
        shape = draw.shape()
        axis, exclusive, reverse = draw.axis(len(shape)), draw.chance(), draw.chance()
        start = 0.0 if name == "cumsum" else 1.0

        def other(x: Any) -> Any:
            x = x.flip(axis) if reverse else x
            if exclusive:
                first = t.full_like(x.narrow(axis, 0, 1), start)
                x = t.cat([first, x.narrow(axis, 0, x.shape[axis] - 1)], axis)
            x = theirs(x, axis)
            return x.flip(axis) if reverse else x

        attrs = {"axis": axis, "exclusive": exclusive, "reverse": reverse}
        x = draw.normal(shape)
        if draw.chance():
            x = x.round()  # zeros
        return Example([x], partial(getattr(ops, name), **attrs), other, f"{shape} {attrs}")

    return make
