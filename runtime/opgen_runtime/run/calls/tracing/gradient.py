"""Gradients of Python functions of arrays: the function is traced, and its program differentiated.

    step = rt.jit(lambda w, x, y: w - 0.1 * rt.grad(loss)(w, x, y))

Each of these is compiled like a function under `jit`, and a part of the program when it is called inside one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from ....base.errors import CallError
from ....base.vocabulary import FLOAT64, DType
from ....ir import Expr, Traced, Tuple, Var, const, substitute
from ....operator import (
    TensorType,
)
from ....transform.build import zeros, zeros_like
from ....transform.gradient import pull, values_and_pull, written_out
from .jitted import Jitted, jit
from .operands import tensor
from .rules import gradients, like
from .tracer import Tracer, wrap
from .trees import aligned, filled, leaves

_kept: Final[WeakKeyDictionary[Callable[..., Any], dict[str, Jitted[..., Any]]]] = WeakKeyDictionary()


def grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: bool = False,
    checkpoint: int | bool | None = None,
) -> Jitted[..., Any]:
    """A function of the same arguments that gives the gradient of `function`, whose result is one float.

    `argnums`: the argument whose gradient it gives, or several, which give a tuple; trees of lists, tuples and dicts
    give such trees.  `has_aux`: the function gives (value, anything else), and the gradient (gradient, anything else).
    `checkpoint=k`: recurrences, of ops and of loops that state none, keep every k-th state alone, and compute those
    between again; `True` is the root of the number of steps.

    Raises CallError for a result that is no float of rank 0, for an argument that is none of floats, and for a count
    below 1; PassError for an op without a gradient, naming it.
    """
    both = _value_and_grad(function, argnums, has_aux, checkpoint)

    @functools.wraps(function)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return jit(gradient)


def value_and_grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: bool = False,
    checkpoint: int | bool | None = None,
) -> Jitted[..., Any]:
    """Like `grad`, with the value: it gives (value, gradient), or ((value, anything else), gradient)."""
    return jit(functools.wraps(function)(_value_and_grad(function, argnums, has_aux, checkpoint)))


def vjp(
    function: Callable[..., Any], *xs: Any, has_aux: bool = False, checkpoint: int | bool | None = None
) -> tuple[Any, ...]:
    """The value of `function(*xs)`, and `pull`, which takes a cotangent of it and gives one of each of `xs`.

    With `has_aux` the function gives (value, anything else), and this (value, pull, anything else).  On arrays, `pull`
    computes the function again.  `checkpoint`: as for `grad`.  Raises CallError for arguments that are not floats, and,
    by `pull`, for cotangents of other shapes than the value has.
    """
    every = _steps(checkpoint, "vjp", function)
    made = _compiled(function, f"value, {has_aux}", functools.partial(_valued, function, has_aux))
    again = functools.partial(_pulled, function, has_aux, every)
    pulled = _compiled(function, f"pull, {has_aux}, {every!r}", again)
    value, aux = made(*xs)
    found = value, lambda cotangent: pulled(tuple(xs), cotangent)
    return (*found, aux) if has_aux else found


def jvp(
    function: Callable[..., Any], xs: Sequence[Any], ts: Sequence[Any], *, has_aux: bool = False
) -> tuple[Any, ...]:
    """The value of `function(*xs)`, and its change along `ts`, one tangent an argument, of its shape.

    The change is the transpose of the transposed derivative: `pull` is linear, and is pulled back itself.  With
    `has_aux` the function gives (value, anything else), and this (value, change, anything else).
    """
    if len(xs) != len(ts):
        raise CallError(f"jvp: {len(xs)} arguments and {len(ts)} tangents; expected one for each")
    pushed = _compiled(function, f"push, {has_aux}", functools.partial(_pushed, function, has_aux))
    value, change, aux = pushed(tuple(xs), tuple(ts))
    return (value, change, aux) if has_aux else (value, change)


def _compiled(function: Callable[..., Any], what: str, made: Callable[..., Any]) -> Jitted[..., Any]:
    """What is derived of a function, compiled once for each of its signatures."""
    try:
        known = _kept.setdefault(function, {})
    except TypeError:  # no weak reference to it
        return jit(made)
    return known.setdefault(what, jit(made))


def _steps(checkpoint: object, what: str, function: Callable[..., Any]) -> int | bool | None:
    """What `checkpoint` says, None where nothing is computed again.  Raises CallError for what is no count."""
    if checkpoint is None or checkpoint is False:
        return None
    if isinstance(checkpoint, int) and checkpoint >= 1:
        return checkpoint
    raise CallError(
        f"{what} of {_name_of(function)}: checkpoint is {checkpoint!r}, expected a count of at least 1, or True for "
        "the root of the number of steps"
    )


def _value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool, checkpoint: int | bool | None
) -> Callable[..., Any]:
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    name = _name_of(function)
    every = _steps(checkpoint, "grad", function)
    if not chosen or not all(isinstance(at, int) for at in chosen):
        raise CallError(
            f"grad of {name}: argnums is {argnums!r}, expected a position among the arguments, or several"
        )

    def both(*args: Any, **kwargs: Any) -> Any:
        for at in chosen:
            if not -len(args) <= at < len(args):
                raise CallError(f"grad of {name}: argnums is {at}, found {len(args)} arguments")
        if len({at % len(args) for at in chosen}) < len(chosen):
            raise CallError(f"grad of {name}: argnums is {argnums!r}, which names an argument twice")
        given = [args[at] for at in chosen]
        trace = _Trace(name, given, [f"argument {at % len(args)}" for at in chosen])
        full = list(args)
        for at, tree in zip(chosen, trace.trees, strict=True):
            full[at] = tree
        result = trace.call(lambda: function(*full, **kwargs))
        value, aux = _split(result, has_aux, f"grad of {name}")
        expr = _scalar(value, name)
        one = const(1.0, expr.checked_type.dtype)  # type: ignore[attr-defined]  # a tensor, as was just seen
        others = [leaf for _, leaf in leaves(aux)]
        known = [k for k, leaf in enumerate(others) if isinstance(leaf, Traced) and not leaf.weak]
        results = [expr, *[others[k].expr for k in known]]
        (expr, *found), adjoints = trace.adjoints(results, [one, *[None] * len(known)], every)
        for k, each in zip(known, found, strict=True):
            others[k] = wrap(each)
        whole = (wrap(expr), filled(aux, iter(others))) if has_aux else wrap(expr)
        return trace.closed((whole, adjoints[0] if isinstance(argnums, int) else tuple(adjoints)))

    return both


def _valued(function: Callable[..., Any], has_aux: bool, *xs: Any) -> tuple[Any, Any]:
    return _split(function(*xs), has_aux, f"vjp of {_name_of(function)}")


def _pulled(
    function: Callable[..., Any], has_aux: bool, checkpoint: int | bool | None, xs: Any, cotangent: Any
) -> Any:
    trace, result, _ = _traced("vjp", function, has_aux, xs)
    results = [tensor(leaf).expr for _, leaf in leaves(result)]
    flat = aligned(cotangent, result, f"vjp of {trace.name}: the cotangent")
    given = [
        like(leaf, each, f"vjp of {trace.name}: a cotangent")
        for leaf, each in zip(flat, results, strict=True)
    ]
    return trace.closed(tuple(trace.adjoints(results, given, checkpoint)[1]))


def _traced(kind: str, function: Callable[..., Any], has_aux: bool, xs: Any) -> tuple[_Trace, Any, Any]:
    """The function on variables of their own: its value, and what it gives beside it."""
    trace = _Trace(_name_of(function), list(xs), [f"argument {k}" for k in range(len(xs))])
    found = trace.call(lambda: function(*trace.trees))
    return trace, *_split(found, has_aux, f"{kind} of {trace.name}")


def _pushed(function: Callable[..., Any], has_aux: bool, xs: Any, ts: Any) -> Any:
    trace, result, aux = _traced("jvp", function, has_aux, xs)
    results = [tensor(leaf).expr for _, leaf in leaves(result)]
    duals = [Var("u", each.checked_type) for each in results]
    pulled = pull(results, list(duals), trace.variables)
    tangents = aligned(list(ts), list(xs), f"jvp of {trace.name}: the tangent of the arguments")
    pairs = [
        (each, like(tangents[owner], var, f"jvp of {trace.name}: a tangent"))
        for each, var, owner in zip(pulled, trace.variables, trace.owners, strict=True)
        if each is not None
    ]
    pushed = pull([p for p, _ in pairs], [t for _, t in pairs], duals)
    nothing = {dual: zeros_like(each) for dual, each in zip(duals, results, strict=True)}
    changes = [
        nothing[dual] if each is None else substitute(each, nothing)
        for each, dual in zip(pushed, duals, strict=True)
    ]
    pair = [filled(result, iter([wrap(each) for each in exprs])) for exprs in (results, changes)]
    return trace.closed((*pair, aux))


class _Trace:
    """A function's arguments as variables of their own, and its program over the values that they stand for."""

    def __init__(self, name: str, args: Sequence[Any], places: Sequence[str]) -> None:
        self.name = name
        self.variables: list[Var] = []
        self.owners: list[int] = []  # of each variable the leaf, in the order of all arguments
        self.count = 0
        self.weak: dict[int, Tracer] = {}  # the stand-in of a Python float, by its id -> the float
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
        owner, self.count = self.count, self.count + 1
        if isinstance(leaf, Tracer) and leaf.weak:
            return self._weak(leaf, owner, makers)
        if isinstance(leaf, float):
            leaf = np.float64(leaf)
        if isinstance(leaf, bool | int | str | None):
            raise CallError(_no_float(self.name, place, type(leaf).__name__))
        value = tensor(leaf).expr
        type_ = value.checked_type
        if not isinstance(type_, TensorType) or not type_.dtype.is_inexact:
            raise CallError(_no_float(self.name, place, str(type_)))
        var = self._variable(value, owner)
        makers.append(lambda found: found[var] if var in found else zeros(var.checked_type))
        return Tracer(var)

    def _variable(self, value: Expr, owner: int) -> Var:
        var = Var(f"x{len(self.variables)}", value.checked_type)
        self.variables.append(var)
        self.owners.append(owner)
        self.values[var] = value
        return var

    def _weak(self, leaf: Tracer, owner: int, makers: list[Any]) -> Tracer:
        """A Python float: a variable for each dtype in which it is used, whose adjoints are added."""
        by_dtype: dict[DType, Var] = {}

        def typed(dtype: DType) -> Expr:
            if dtype not in by_dtype:
                by_dtype[dtype] = self._variable(leaf.typed(dtype), owner)
            return by_dtype[dtype]

        def adjoint(found: dict[Var, Expr]) -> Expr:
            parts = [wrap(found[var]).astype("float64") for var in by_dtype.values() if var in found]
            if not parts:
                return zeros(TensorType((), FLOAT64))
            return functools.reduce(lambda a, b: a + b, parts).expr  # type: ignore[no-any-return]  # of a tracer

        makers.append(adjoint)
        made = Tracer(None, typed, "float")
        self.weak[id(made)] = leaf
        return made

    def call(self, function: Callable[[], Any]) -> Any:
        """The traced result."""
        token = gradients.set(gradients.get() + 1)
        try:
            return function()
        finally:
            gradients.reset(token)

    def adjoints(
        self,
        results: Sequence[Expr],
        cotangents: Sequence[Expr | None],
        checkpoint: int | bool | None,
    ) -> tuple[list[Expr], list[Any]]:
        """The results as the adjoints find them, and the adjoints of the arguments, in their trees."""
        values, pulled = values_and_pull(results, cotangents, self.variables, checkpoint=checkpoint)
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
        flat = [self.weak.get(id(leaf), leaf) for _, leaf in leaves(tree)]
        open_ = [k for k, leaf in enumerate(flat) if isinstance(leaf, Traced) and not leaf.weak]
        whole = substitute(Tuple(tuple([flat[k].expr for k in open_])), self.values)
        if not gradients.get():
            whole = written_out(whole, marked=False)
        assert isinstance(whole, Tuple)
        for k, expr in zip(open_, whole.fields, strict=True):
            flat[k] = wrap(expr)
        return filled(tree, iter(flat))


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", "the function")


def _no_float(name: str, place: str, found: str) -> str:
    return (
        f"grad of {name}: {place} is {found}, and only floats and complex numbers have a gradient; cast it to a "
        "float dtype, or name other arguments in argnums"
    )


def _split(result: Any, has_aux: bool, what: str) -> tuple[Any, Any]:
    """The value, and the tree beside it, empty without `has_aux`."""
    if not has_aux:
        return result, ()
    if not isinstance(result, tuple) or len(result) != 2:
        raise CallError(
            f"{what} with has_aux: expected (value, anything else), found {type(result).__name__}"
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
