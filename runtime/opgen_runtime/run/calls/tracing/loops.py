"""Loops of traced programs: `while_loop`, however many steps it takes, and `checkpoint`, a loop of one step."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....base.errors import CallError
from ....ir import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Traced,
    Tuple,
    TupleGetItem,
    Var,
    const,
    free_vars,
    post_order,
    rebuild,
)
from ....ir.loops import EVERY, MOST, loop_of, own_name
from ....operator import TensorType, TupleType
from ....transform.build import zeros
from ....transform.gradient import written_out
from ...executor import build_program
from .operands import is_weak, tensor, to
from .rules import gradients
from .tracer import Tracer, wrap
from .trees import aligned, filled, leaves


def while_loop(
    test: Callable[[Any], Any],
    step: Callable[[Any], Any],
    state: Any,
    *,
    most: int | None = None,
    checkpoint: int | None = None,
) -> Any:
    """The state after `while test(state): state = step(state)`, a loop of the compiled program.

    `state`: a tensor, or a tree of them in lists, tuples and dicts, which each step gives anew in the same shapes and
    dtypes.  A gradient keeps the states of all steps, for which it must be known how many there are at most: by `most`,
    beyond which there is no step, or by a test `n < bound` of a counter and a constant.  With `checkpoint=k` every k-th
    state alone is kept, and the steps between are computed again.

    Raises CallError for a step that gives another tree, shape or dtype, for a test that is no bool, and for counts
    below 1.
    """
    for name, value in (("most", most), ("checkpoint", checkpoint)):
        if value is not None and (not isinstance(value, int) or value < 1):
            raise CallError(f"while_loop: {name} is {value!r}, expected a count of at least 1")
    first = [tensor(leaf).expr for _, leaf in leaves(state)]
    own = [Var(f"state{k}", each.checked_type) for k, each in enumerate(first)]
    inner = filled(state, iter([Tracer(var) for var in own]))
    going = _flag(test(inner))
    following = _following(state, own, step(inner))
    count = Var("count", TensorType((), "int64"))
    outer = _Outer(own)
    whole = outer.written(written_out(Tuple((going, *following))))
    params = (*own, *outer.params)
    result = TupleType(tuple([var.checked_type for var in own]))
    attrs = {} if checkpoint is None else {EVERY: checkpoint}
    args = (*first, *outer.args)
    going, again = whole.fields[0], whole.fields[1:]
    if most is not None:
        params, args = (count, *params), (tensor(0).expr, *args)
        attrs[MOST] = most
        number: Any = Tracer(count)
        going = ((number < most) & Tracer(going)).expr
        again = (count + 1, *again)
    own_call = own_name(params, result)
    body = If(going, Call(own_call, (*again, *outer.params)), Tuple(tuple(own)))
    made: Expr = Call(loop_of("while_loop", params, body, result, **attrs), args)
    if free_vars(made):
        return filled(state, iter(wrap(made)))
    found = build_program(Function((), made)).run([])
    return filled(state, iter(found if isinstance(found, tuple) else (found,)))


def checkpoint(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, of which a gradient keeps the arguments alone: what it computes is computed again where it is needed.

    Outside of gradients it is the function itself.  Arguments and result are trees of tensors and numbers; what the
    function reads beside its arguments is kept.  (It is a loop of one step, whose gradient runs the step again.)
    """

    @functools.wraps(function)
    def again(*args: Any, **kwargs: Any) -> Any:
        if not gradients.get():
            return function(*args, **kwargs)
        tree = (args, kwargs)
        flat: list[Any] = [leaf for _, leaf in leaves(tree)]
        places = [k for k, leaf in enumerate(flat) if _is_tensor(leaf)]
        given = [tensor(flat[k]).expr for k in places]
        own = [Var(f"arg{k}", each.checked_type) for k, each in enumerate(given)]
        for k, var in zip(places, own, strict=True):
            flat[k] = Tracer(var)
        inner, named = filled(tree, iter(flat))
        result = function(*inner, **named)
        values = [tensor(leaf).expr for _, leaf in leaves(result)]
        done = Var("done", TensorType((), "bool"))
        state = [Var(f"value{k}", each.checked_type) for k, each in enumerate(values)]
        outer = _Outer([done, *state, *own])
        whole = outer.written(written_out(Tuple(tuple(values))))
        params = (done, *state, *own, *outer.params)
        name = own_name(params, whole.checked_type)
        body = If(done, Tuple(tuple(state)), Call(name, (const(True), *whole.fields, *own, *outer.params)))
        called = getattr(function, "__name__", "the function")
        loop = loop_of(f"checkpoint({called})", params, body, whole.checked_type, **{MOST: 1})
        made = Call(loop, (const(False), *[zeros(var.checked_type) for var in state], *given, *outer.args))
        return filled(result, iter(wrap(made)))

    return again


def _is_tensor(leaf: object) -> bool:
    """Whether a leaf has a dtype; a float without one takes that of what it meets, and is read from around."""
    return isinstance(leaf, Expr | np.ndarray) or (isinstance(leaf, Traced) and not leaf.weak)


def _flag(value: Any) -> Expr:
    made = tensor(value)
    if made.type != TensorType((), "bool"):
        raise CallError(f"while_loop: the test gives {made.type}, expected one bool of rank 0")
    found: Expr = made.expr
    return found


def _following(state: Any, own: Sequence[Var], found: Any) -> list[Expr]:
    """What a step gives, one tensor a leaf of the state."""
    given = aligned(found, state, "while_loop: what a step gives")
    made: list[Expr] = []
    for var, (place, _), leaf in zip(own, leaves(state), given, strict=True):
        type_ = var.checked_type
        assert isinstance(type_, TensorType)
        value = (
            to(leaf, type_.dtype.numpy) if not isinstance(leaf, Tracer) and is_weak(leaf) else tensor(leaf)
        )
        if value.type != type_:
            raise CallError(
                f"while_loop: state{place} is {type_}, and a step gives {value.type}; every step gives the same"
            )
        made.append(value.expr)
    return made


class _Outer:
    """What a loop reads from around it: values that do not depend on its state, which it is given as arguments."""

    def __init__(self, own: Sequence[Var]) -> None:
        self.own = {id(var) for var in own}
        self.params: list[Var] = []
        self.args: list[Expr] = []
        self._known: dict[int, Var] = {}

    def written(self, whole: Expr) -> Tuple:
        """The tuple over variables alone."""
        order = post_order(whole, lambda node: isinstance(node, Function))
        inside = set(self.own)
        for node in order:
            if node is whole or any(id(child) in inside for child in node.children()):
                inside.add(id(node))
        made: dict[int, Expr] = {}
        for node in order:
            if id(node) in inside:
                made[id(node)] = rebuild(node, [self._child(child, made) for child in node.children()])
        found = made[id(whole)]
        assert isinstance(found, Tuple)
        return found

    def _child(self, child: Expr, made: dict[int, Expr]) -> Expr:
        if id(child) in made:
            return made[id(child)]
        if isinstance(child, Constant | GlobalVar | Function):
            return child
        if isinstance(child.checked_type, TupleType):
            fields = (
                child.fields
                if isinstance(child, Tuple)
                else map(lambda k: TupleGetItem(child, k), range(len(child.checked_type.fields)))
            )
            return Tuple(tuple([self._child(field, made) for field in fields]))
        if id(child) not in self._known:
            self._known[id(child)] = Var(f"outer{len(self.params)}", child.checked_type)
            self.params.append(self._known[id(child)])
            self.args.append(child)
        return self._known[id(child)]
