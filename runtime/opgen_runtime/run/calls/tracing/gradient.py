"""Gradients of Python functions of arrays: the function is traced, and its program differentiated.

    step = rt.jit(lambda w, x, y: w - 0.1 * rt.grad(loss)(w, x, y))

Each of these is compiled like a function under `jit`, and a part of the program when it is called inside one.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from ....base.errors import CallError
from ....base.vocabulary import FLOAT64, DType
from ....ir import Call, Expr, Function, Traced, Tuple, Var, const, expr_of, substitute
from ....operator import (
    TensorType,
)
from ....transform.build import zeros
from ....transform.gradient import MARK, pull, values_and_pull, written_out
from .jitted import Jitted, jit
from .operands import tensor
from .tracer import Tracer, wrap
from .trees import filled, leaves, mapped

gradients: ContextVar[int] = ContextVar("opgen_gradients", default=0)
"""How many gradients are being traced, one inside the other."""
_kept: Final[WeakKeyDictionary[Callable[..., Any], dict[str, Jitted[..., Any]]]] = WeakKeyDictionary()


def grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Jitted[..., Any]:
    """A function of the same arguments that gives the gradient of `function`, whose result is one float.

    `argnums`: the argument whose gradient it gives, or several, which give a tuple; trees of lists, tuples and dicts
    give such trees.  `has_aux`: the function gives (value, anything else), and the gradient (gradient, anything else).

    Raises CallError for a result that is no float of rank 0, and for an argument that is none of floats; PassError for
    an op without a gradient, naming it.
    """
    both = _value_and_grad(function, argnums, has_aux)

    @functools.wraps(function)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return jit(gradient)


def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Jitted[..., Any]:
    """Like `grad`, with the value: it gives (value, gradient), or ((value, anything else), gradient)."""
    return jit(functools.wraps(function)(_value_and_grad(function, argnums, has_aux)))


def vjp(function: Callable[..., Any], *xs: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value of `function(*xs)`, and `pull`, which takes a cotangent of it and gives one of each of `xs`.

    On arrays, `pull` computes the function again.  Raises CallError for arguments that are not floats, and, by `pull`,
    for cotangents of other shapes than the value has.
    """
    made = _compiled(function, "value", lambda *args: function(*args))
    pulled = _compiled(function, "pull", functools.partial(_pulled, function))
    return made(*xs), lambda cotangent: pulled(tuple(xs), cotangent)


def jvp(function: Callable[..., Any], xs: Sequence[Any], ts: Sequence[Any]) -> tuple[Any, Any]:
    """The value of `function(*xs)`, and its change along `ts`, one tangent an argument, of its shape.

    The change is the transpose of the transposed derivative: `pull` is linear, and is pulled back itself.
    """
    if len(xs) != len(ts):
        raise CallError(f"jvp: {len(xs)} arguments and {len(ts)} tangents; expected one for each")
    return _compiled(function, "push", functools.partial(_pushed, function))(tuple(xs), tuple(ts))  # type: ignore[no-any-return]  # a pair


def stop_gradient(x: Any) -> Any:
    """`x`, which counts as a constant for every gradient; a tree of arrays or traced values."""
    return mapped(
        lambda leaf: _marked([leaf], lambda leaf: leaf, lambda *_: [None]) if _is_open(leaf) else leaf, x
    )


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
        given = [tensor(leaf) for leaf in flat]

        def value(*inner: Any) -> Any:
            return self._function(*filled(args, iter(inner)))

        def rule(arguments: Sequence[Expr], call: Call, cotangents: Any) -> list[Expr | None]:
            _, residuals = forward(*filled(args, iter([wrap(each) for each in arguments])))
            result = wrap(call)
            places = [tuple(cotangents)] if isinstance(result, Tracer) else None
            given_back = _cotangents(result, cotangents) if places is None else wrap(cotangents[()])
            found = backward(residuals, given_back)
            return _adjoints(args, found)

        return _marked(given, value, rule)

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


def _adjoints(args: Any, found: Any) -> list[Expr | None]:
    """The cotangents that a rule gives, one a leaf of the arguments."""
    parts = found if isinstance(found, tuple) else (found,)
    if len(parts) != len(args):
        raise CallError(
            f"custom_vjp: {len(parts)} cotangents for {len(args)} arguments; expected one for each"
        )
    flat: list[Expr | None] = []
    for arg, part in zip(args, parts, strict=True):
        if part is None:
            flat += [None for _ in leaves(arg)]
        else:
            flat += [None if leaf is None else tensor(leaf).expr for _, leaf in leaves(part)]
    return flat


def _cotangents(result: Any, given: Any) -> Any:
    """The cotangents of a tuple of results, zeros where there is none."""
    made = []
    for k, each in enumerate(result):
        made.append(wrap(given[(k,)]) if (k,) in given else wrap(zeros(each.expr.checked_type)))
    return tuple(made)


def _marked(given: Sequence[Any], function: Callable[..., Any], rule: Any) -> Any:
    """A call of `function` as a function of the program that carries a rule."""
    exprs = [expr_of(tensor(each)) for each in given]
    params = [Var(f"p{k}", each.checked_type) for k, each in enumerate(exprs)]
    result = function(*[Tracer(param) for param in params])
    items = [tensor(leaf).expr for _, leaf in leaves(result)]
    alone = isinstance(result, Traced)
    body = items[0] if alone else Tuple(tuple(items))
    marked = Function(tuple(params), body, attrs=MappingProxyType({MARK: rule}))
    made = wrap(Call(marked, tuple(exprs)))
    return made if alone else filled(result, iter(made))


def _is_open(value: object) -> bool:
    return isinstance(value, Traced | Expr)


def _compiled(function: Callable[..., Any], what: str, made: Callable[..., Any]) -> Jitted[..., Any]:
    """What is derived of a function, compiled once for each of its signatures."""
    try:
        known = _kept.setdefault(function, {})
    except TypeError:  # no weak reference to it
        return jit(made)
    return known.setdefault(what, jit(made))


def _value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool
) -> Callable[..., Any]:
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    name = getattr(function, "__name__", "the function")
    if not chosen or not all(isinstance(at, int) for at in chosen):
        raise CallError(
            f"grad of {name}: argnums is {argnums!r}, expected a position among the arguments, or several"
        )

    def both(*args: Any, **kwargs: Any) -> Any:
        for at in chosen:
            if not -len(args) <= at < len(args):
                raise CallError(f"grad of {name}: argnums is {at}, found {len(args)} arguments")
        given = [args[at] for at in chosen]
        trace = _Trace(name, given, [f"argument {at % len(args)}" for at in chosen])
        full = list(args)
        for at, tree in zip(chosen, trace.trees, strict=True):
            full[at] = tree
        result = trace.call(lambda: function(*full, **kwargs))
        value, aux = _split(result, has_aux, name)
        expr = _scalar(value, name)
        one = const(1.0, expr.checked_type.dtype)  # type: ignore[attr-defined]  # a tensor, as was just seen
        others = [leaf for _, leaf in leaves(aux)]
        known = [k for k, leaf in enumerate(others) if isinstance(leaf, Traced) and not leaf.weak]
        results = [expr, *[others[k].expr for k in known]]
        (expr, *found), adjoints = trace.adjoints(results, [one, *[None] * len(known)])
        for k, each in zip(known, found, strict=True):
            others[k] = wrap(each)
        whole = (wrap(expr), filled(aux, iter(others))) if has_aux else wrap(expr)
        return trace.closed((whole, adjoints[0] if isinstance(argnums, int) else tuple(adjoints)))

    return both


def _pulled(function: Callable[..., Any], xs: Any, cotangent: Any) -> Any:
    trace, results, given = _traced_pull(function, xs, cotangent)
    return trace.closed(tuple(trace.adjoints(results, given)[1]))


def _traced_pull(
    function: Callable[..., Any], xs: Any, cotangent: Any
) -> tuple[_Trace, list[Expr], list[Expr]]:
    name = getattr(function, "__name__", "the function")
    trace = _Trace(name, list(xs), [f"argument {k}" for k in range(len(xs))])
    result = trace.call(lambda: function(*trace.trees))
    results = [tensor(leaf).expr for _, leaf in leaves(result)]
    given = [_like(leaf, each, name) for (_, leaf), each in zip(leaves(cotangent), results, strict=False)]
    if len(given) != len(results) or len(list(leaves(cotangent))) != len(results):
        raise CallError(
            f"vjp of {name}: {len(list(leaves(cotangent)))} cotangents for {len(results)} results"
        )
    return trace, results, given


def _pushed(function: Callable[..., Any], xs: Any, ts: Any) -> Any:
    name = getattr(function, "__name__", "the function")
    trace = _Trace(name, list(xs), [f"argument {k}" for k in range(len(xs))])
    result = trace.call(lambda: function(*trace.trees))
    results = [tensor(leaf).expr for _, leaf in leaves(result)]
    duals = [Var("u", each.checked_type) for each in results]
    pulled = pull(results, list(duals), trace.variables)
    tangents = [leaf for _, leaf in leaves(list(ts))]
    if len(tangents) != len(trace.variables):
        raise CallError(f"jvp of {name}: {len(tangents)} tangents for {len(trace.variables)} arguments")
    pairs = [
        (p, _like(t, v, name))
        for p, t, v in zip(pulled, tangents, trace.variables, strict=True)
        if p is not None
    ]
    pushed = pull([p for p, _ in pairs], [t for _, t in pairs], duals)
    nothing = {dual: zeros(dual.checked_type) for dual in duals}
    changes = [
        zeros(dual.checked_type) if each is None else substitute(each, nothing)
        for each, dual in zip(pushed, duals, strict=True)
    ]
    pair = [filled(result, iter([wrap(each) for each in exprs])) for exprs in (results, changes)]
    return trace.closed(tuple(pair))


class _Trace:
    """A function's arguments as variables of their own, and its program over the values that they stand for."""

    def __init__(self, name: str, args: Sequence[Any], places: Sequence[str]) -> None:
        self.name = name
        self.variables: list[Var] = []
        self.values: dict[Var, Expr] = {}
        self.leaves: list[list[Callable[[dict[Var, Expr]], Expr]]] = []
        self.trees: list[Any] = []
        self.args = args
        for arg, place in zip(args, places, strict=True):
            makers: list[Any] = []
            stand_ins = [self._stand_in(leaf, f"{place}{at}", makers) for at, leaf in leaves(arg)]
            self.trees.append(filled(arg, iter(stand_ins)))
            self.leaves.append(makers)

    def _stand_in(self, leaf: Any, place: str, makers: list[Any]) -> Tracer:
        if isinstance(leaf, Tracer) and leaf.weak:
            return self._weak(leaf, makers)
        if isinstance(leaf, float):
            leaf = np.float64(leaf)
        if isinstance(leaf, bool | int | str | None):
            raise CallError(_no_float(self.name, place, type(leaf).__name__))
        value = tensor(leaf).expr
        type_ = value.checked_type
        if not isinstance(type_, TensorType) or not type_.dtype.is_float:
            raise CallError(_no_float(self.name, place, str(type_)))
        var = self._variable(value)
        makers.append(lambda found: found[var] if var in found else zeros(var.checked_type))
        return Tracer(var)

    def _variable(self, value: Expr) -> Var:
        var = Var(f"x{len(self.variables)}", value.checked_type)
        self.variables.append(var)
        self.values[var] = value
        return var

    def _weak(self, leaf: Tracer, makers: list[Any]) -> Tracer:
        """A Python float: a variable for each dtype in which it is used, whose adjoints are added."""
        by_dtype: dict[DType, Var] = {}

        def typed(dtype: DType) -> Expr:
            if dtype not in by_dtype:
                by_dtype[dtype] = self._variable(leaf.typed(dtype))
            return by_dtype[dtype]

        def adjoint(found: dict[Var, Expr]) -> Expr:
            parts = [wrap(found[var]).astype("float64") for var in by_dtype.values() if var in found]
            if not parts:
                return zeros(TensorType((), FLOAT64))
            return functools.reduce(lambda a, b: a + b, parts).expr  # type: ignore[no-any-return]  # of a tracer

        makers.append(adjoint)
        return Tracer(None, typed, "float")

    def call(self, function: Callable[[], Any]) -> Any:
        """The traced result."""
        token = gradients.set(gradients.get() + 1)
        try:
            return function()
        finally:
            gradients.reset(token)

    def adjoints(
        self, results: Sequence[Expr], cotangents: Sequence[Expr | None]
    ) -> tuple[list[Expr], list[Any]]:
        """The results as the adjoints find them, and the adjoints of the arguments, in their trees."""
        values, pulled = values_and_pull(results, cotangents, self.variables)
        known = {
            var: adjoint for var, adjoint in zip(self.variables, pulled, strict=True) if adjoint is not None
        }
        trees = []
        for arg, makers in zip(self.args, self.leaves, strict=True):
            trees.append(filled(arg, iter([wrap(make(known)) for make in makers])))
        return values, trees

    def closed(self, tree: Any) -> Any:
        """Over the values themselves, all at once: what several share stays shared.

        Rules have served where no gradient is traced around.
        """
        flat = [leaf for _, leaf in leaves(tree)]
        open_ = [k for k, leaf in enumerate(flat) if isinstance(leaf, Traced) and not leaf.weak]
        whole = substitute(Tuple(tuple([flat[k].expr for k in open_])), self.values)
        if not gradients.get():
            whole = written_out(whole, marked=False)
        assert isinstance(whole, Tuple)
        for k, expr in zip(open_, whole.fields, strict=True):
            flat[k] = wrap(expr)
        return filled(tree, iter(flat))


def _no_float(name: str, place: str, found: str) -> str:
    return (
        f"grad of {name}: {place} is {found}, and only floats have a gradient; cast it to a float dtype, "
        "or name other arguments in argnums"
    )


def _split(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise CallError(
            f"grad of {name} with has_aux: expected (value, anything else), found {type(result).__name__}"
        )
    return result


def _scalar(value: Any, name: str) -> Expr:
    how = "rt.grad needs one float: add up (x.sum(), x.mean()), or use rt.vjp with a cotangent of its shape"
    if not isinstance(value, Traced | Expr | np.ndarray | float):
        how += "; beside the value more may be given with has_aux=True" if isinstance(value, tuple) else ""
        raise CallError(f"grad of {name}: the result is a {type(value).__name__}; {how}")
    expr: Expr = tensor(value).expr
    type_ = expr.checked_type
    if not isinstance(type_, TensorType) or type_.shape != () or not type_.dtype.is_float:
        raise CallError(f"grad of {name}: the result is {type_}; {how}")
    return expr


def _like(value: Any, wanted: Expr, name: str) -> Expr:
    """A cotangent of the type of what it belongs to."""
    made = tensor(value)
    type_ = wanted.checked_type
    assert isinstance(type_, TensorType)
    if made.shape != type_.shape:
        raise CallError(f"vjp of {name}: a cotangent of shape {made.shape}, expected {type_.shape}")
    expr: Expr = made.expr if made.type.dtype is type_.dtype else made.astype(type_.dtype.numpy).expr
    return expr
