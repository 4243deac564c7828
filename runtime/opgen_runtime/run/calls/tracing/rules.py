"""Functions with a gradient of their own: `custom_vjp`, and `stop_gradient`, whose gradient is zero."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

import numpy as np

from ....base.errors import CallError
from ....ir import Call, Expr, Function, Traced, Tuple, Var, expr_of
from ....operator import TensorType, certainly_different, shape_text
from ....transform.build import reshape_like, zeros
from ....transform.declared_gradient import MARK, Place
from .operands import tensor
from .tracer import Tracer, wrap
from .trees import aligned, filled, leaves, mapped

gradients: ContextVar[int] = ContextVar("opgen_gradients", default=0)
"""How many gradients are being traced, one inside the other."""


def stop_gradient(x: Any) -> Any:
    """`x`, which counts as a constant for every gradient; a tree of arrays or traced values."""

    def stopped(leaf: Any) -> Any:
        return _marked([leaf], lambda leaf: leaf, lambda *_: [None])

    def of(leaf: Any) -> Any:
        if isinstance(leaf, Tracer) and leaf.weak:  # a Python float stays one
            return Tracer(None, lambda dtype: stopped(leaf.typed(dtype)).expr, "float")
        return stopped(leaf) if _is_open(leaf) else leaf

    return mapped(of, x)


class custom_vjp:  # a decorator
    """A function with a gradient of its own, which `f.defvjp(forward, backward)` sets.

    `forward(*args)` gives (result, residuals), and `backward(residuals, cotangent)` a cotangent for each argument, None
    for zero.  Arguments and result are trees; outside of gradients the function alone is called.  Arguments given
    by name, and defaults with them, come to `forward` by position.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._name = getattr(function, "__name__", "the function")
        self._function = function
        self._rules: tuple[Callable[..., Any], Callable[..., Any]] | None = None

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Sets the gradient."""
        self._rules = forward, backward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises CallError where no gradient is set, and for an argument by name that has no position."""
        if self._rules is None:
            raise CallError(f"{self._name}: custom_vjp without a gradient; call {self._name}.defvjp(...)")
        if kwargs:
            args = self._by_position(args, kwargs)
        flat = [leaf for _, leaf in leaves(args)]
        if gradients.get() == 0 or not any(map(_is_open, flat)):
            return self._function(*args)
        forward, backward = self._rules
        places = [
            k for k, leaf in enumerate(flat) if _is_tensor(leaf)
        ]  # the others decide what the program is

        def over(tensors: Sequence[Any]) -> Any:
            by_place = dict(zip(places, tensors, strict=True))
            return filled(args, iter([by_place.get(k, leaf) for k, leaf in enumerate(flat)]))

        def rule(
            result: Any, arguments: Sequence[Expr], _: Call, cotangents: Mapping[Place, Expr]
        ) -> list[Expr | None]:
            _, residuals = forward(*over([wrap(each) for each in arguments]))
            given = backward(residuals, _cotangents(result, cotangents))
            found = self._adjoints(args, given)
            return [_adjoint(self._name, *found[k], each) for k, each in zip(places, arguments, strict=True)]

        return _marked([tensor(flat[k]) for k in places], lambda *inner: self._function(*over(inner)), rule)

    def _adjoints(self, args: Any, found: Any) -> list[tuple[str, Any]]:
        """What a rule gives for each leaf of the arguments, with the leaf's place."""
        parts = found if isinstance(found, tuple) else (found,)
        if len(parts) != len(args):
            raise CallError(
                f"custom_vjp of {self._name}: {len(parts)} cotangents for {len(args)} arguments; "
                "expected one for each"
            )
        made: list[tuple[str, Any]] = []
        for k, (arg, part) in enumerate(zip(args, parts, strict=True)):
            places = [f"argument {k}{place}" for place, _ in leaves(arg)]
            what = f"custom_vjp of {self._name}: the cotangent for argument {k}"
            given = [None for _ in places] if part is None else aligned(part, arg, what)
            made += zip(places, given, strict=True)
        return made

    def _by_position(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        try:
            bound = inspect.signature(self._function).bind(*args, **kwargs)
        except (TypeError, ValueError) as error:
            raise CallError(f"{self._name}: {error}") from error
        bound.apply_defaults()
        if bound.kwargs:
            names = ", ".join(bound.kwargs)
            raise CallError(
                f"{self._name}: {names} can be given by name alone, and the rules of custom_vjp are given "
                "arguments by position; declare them before `*`"
            )
        return bound.args


def _adjoint(name: str, place: str, given: Any, argument: Expr) -> Expr | None:
    """What a rule gives for one tensor, None for zero."""
    type_ = argument.checked_type
    if given is None or not isinstance(type_, TensorType) or not type_.dtype.is_inexact:
        return None
    return like(given, argument, f"custom_vjp of {name}: a cotangent for {place}")


def _cotangents(result: Any, given: Mapping[Place, Expr]) -> Any:
    """The cotangents in the tree of a result, zeros where there is none."""
    alone = isinstance(result, Traced)
    made = []
    for k, (_, leaf) in enumerate(leaves(result)):
        found = given.get(() if alone else (k,))
        made.append(wrap(zeros(tensor(leaf).expr.checked_type) if found is None else found))
    return filled(result, iter(made))


def _marked(given: Sequence[Any], function: Callable[..., Any], rule: Any) -> Any:
    """A call of `function` as a function of the program that carries a rule, which is given the traced result first."""
    exprs = [expr_of(tensor(each)) for each in given]
    params = [Var(f"p{k}", each.checked_type) for k, each in enumerate(exprs)]
    result = function(*[Tracer(param) for param in params])
    items = [tensor(leaf).expr for _, leaf in leaves(result)]
    alone = isinstance(result, Traced)
    body = items[0] if alone else Tuple(tuple(items))
    marked = Function(tuple(params), body, attrs=MappingProxyType({MARK: functools.partial(rule, result)}))
    made = wrap(Call(marked, tuple(exprs)))
    return made if alone else filled(result, iter(made))


def _is_tensor(leaf: object) -> bool:
    """Whether a leaf is a tensor or a float; others are values of Python, which a function may choose by."""
    return isinstance(leaf, Traced | Expr | np.ndarray | np.generic | float)


def _is_open(value: object) -> bool:
    return isinstance(value, Traced | Expr)


def like(value: Any, wanted: Expr, what: str) -> Expr:
    """A value of the type of what it belongs to.  Raises CallError, which begins with `what`, for another shape.

    A shape that depends on data is compared when the program runs.
    """
    made = tensor(value)
    type_ = wanted.checked_type
    assert isinstance(type_, TensorType)
    shape = made.type.shape
    if len(shape) != type_.ndim or any(map(certainly_different, shape, type_.shape)):
        raise CallError(f"{what} of shape {shape_text(shape)}, expected {shape_text(type_.shape)}")
    expr: Expr = made.expr if made.type.dtype is type_.dtype else made.astype(type_.dtype.numpy).expr
    return expr if type_.is_static and made.type.is_static else reshape_like(expr, wanted)
