"""Branches and loops as blocks of the program: they run, nothing is unrolled or chosen while the model is converted.

A branch becomes an `If` of the program.  A loop becomes a function of the program that calls itself at its end:

    @loop(step, going, limit, carried.., rows.., outer..)
        if going and step < limit then @loop(step + 1, again, limit, results.., rows'.., outer..)
        else (step, going, carried.., rows..)

`outer`: what the body reads from around the loop.  `rows`: what it collects, a tensor that each step fills one row of.
It has room for as many as there may be steps, which must be known before; those of a loop that ends early are cut
behind it.  What cannot be such a block raises NotSupported with the reason; the mappings then unroll.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from ...base.vocabulary import dataclass
from ...ir import Call, Constant, Expr, Function, GlobalVar, If, Tuple, TupleGetItem, Var, const, free_vars
from ...operator import FuncType, TensorType, TupleType
from .emit import op
from .errors import ModelError, NotSupported, shown
from .graph import Graph
from .state import Environment, State, Value

if TYPE_CHECKING:
    from .convert import NodeView

NUMBER: Final = TensorType((), "int64")
FLAG: Final = TensorType((), "bool")
_FEW: Final = (
    16  # steps that are better written out, where their number is known: they are fused with each other
)
_MAX_COPIED: Final = 1 << 28  # bytes: each step copies all rows


def branch(node: NodeView, condition: Expr, then: Graph, otherwise: Graph) -> list[Expr]:
    """The outputs of an If whose condition is known when the program runs. Raises NotSupported."""
    state = node.conversion.state
    with state.block(()):
        sides = [
            [_static(value, "a branch gives") for value in node.subgraph(g, [])] for g in (then, otherwise)
        ]
    types = [[value.checked_type for value in side] for side in sides]
    if types[0] != types[1] or not types[0]:
        given = [", ".join(map(str, side)) or "nothing" for side in types]
        raise NotSupported(f"its branches give {given[0]} and {given[1]}, expected the same")
    if len(sides[0]) == 1:
        return [If(condition, sides[0][0], sides[1][0])]
    made = If(condition, *[Tuple(tuple(side)) for side in sides])
    return [TupleGetItem(made, k) for k in range(len(sides[0]))]


@dataclass(frozen=True, slots=True)
class Steps:
    """How a loop goes on.

    `count`: its steps, None where only `limit` and `going` tell when the program runs.  `backwards`: of each collected
    output, whether its first row comes last.
    """

    limit: Expr
    going: Expr
    count: int | None
    backwards: Sequence[bool] = ()


Inputs = Callable[[Expr, Expr, Sequence[Expr]], Sequence[Value]]
"""`(step, going, carried) -> the values of the body's inputs`."""


def repeat(
    node: NodeView, body: Graph, steps: Steps, carried: Sequence[Value], inputs: Inputs, *, tells: bool
) -> list[Expr]:
    """The outputs of a loop: what it carries, then what it collects, along a new first axis.

    `tells`: the first output of the body is whether there is another step.  Raises NotSupported.
    """
    state = node.conversion.state
    state.attempt(body.proto)
    made = _repeat(node, body, steps, carried, inputs, tells)
    state.succeeded(body.proto)
    return made


def _repeat(
    node: NodeView, body: Graph, steps: Steps, carried: Sequence[Value], inputs: Inputs, tells: bool
) -> list[Expr]:
    state = node.conversion.state
    first = [_static(value, "it carries") for value in carried]
    step, going, limit = Var("step", NUMBER), Var("going", FLAG), Var("limit", NUMBER)
    own = [Var(f"carried{k}", value.checked_type) for k, value in enumerate(first)]
    with state.block((step, going, limit, *own)):
        view = replace(node, environment=_captured(state, body, node.environment))
        given = view.subgraph(body, inputs(step, going, own))
        again = flag(_static(given[0], "its condition is")) if tells else const(np.array(True))
        results = [_static(value, "its body gives") for value in given[1 if tells else 0 :]]
    following, collected = results[: len(own)], results[len(own) :]
    for k, (var, value) in enumerate(zip(own, following, strict=True)):
        if var.checked_type != value.checked_type:
            raise NotSupported(
                f"value {k} is carried as {var.checked_type}, and a step gives {value.checked_type}; "
                f"what a loop carries has one shape"
            )
    endless = again is going or (isinstance(again, Constant) and bool(again.data))
    ends_early = not (endless and _is_true(steps.going))
    if steps.count is not None and not ends_early:
        if steps.count <= _FEW:
            raise NotSupported("it has few steps")
        state.budget.step(steps.count - 1)
    if collected and ends_early and state.has_arrays:
        raise NotSupported("it collects as many rows as the data says")  # unrolled, it has one size
    rows = [
        _Rows(value, steps, k < len(steps.backwards) and steps.backwards[k])
        for k, value in enumerate(collected)
    ]
    updated = [each.after(step) for each in rows]
    block = (*following, again, *updated)
    outer = _outer(state, block, {step, going, limit, *own, *[each.var for each in rows]})
    variables = (step, going, limit, *own, *[each.var for each in rows], *outer)
    kinds = (NUMBER, FLAG, *[var.checked_type for var in own], *[each.var.checked_type for each in rows])
    kind = FuncType(tuple([var.checked_type for var in variables]), TupleType(kinds))
    name = GlobalVar(f"loop{len(state.functions)}", kind)
    more = Call(name, (op.add(step, 1), again, limit, *following, *updated, *outer))
    done = Tuple((step, going, *own, *[each.var for each in rows]))
    test = op.logical_and(going, op.less(step, limit))
    arguments = (
        const(np.array(0, np.int64)),
        steps.going,
        steps.limit,
        *first,
        *[each.zeros() for each in rows],
        *[state.captured[var] for var in outer],
    )
    if all([state.evaluator.is_constant(each) for each in arguments]):
        raise NotSupported("it is known before the program runs")
    state.functions[name] = Function(variables, If(test, more, done), TupleType(kinds))
    if steps.count is None and state.has_arrays:
        most = state.budget.limits.steps
        made = Call(name, (*arguments[:2], op.minimum(steps.limit, most), *arguments[3:]))
        cut = op.logical_and(TupleGetItem(made, 1), op.less(TupleGetItem(made, 0), steps.limit))
        state.refuse(cut, f"a loop of more than {most:,} steps (Limits.steps)")
    else:
        made = Call(name, arguments)
    found: list[Expr] = [TupleGetItem(made, 2 + k) for k in range(len(own) + len(rows))]
    if rows and ends_early:
        found[len(own) :] = [_cut(each, TupleGetItem(made, 0)) for each in found[len(own) :]]
    return found


class _Rows:
    """What a loop collects: a tensor with a row for each step, along a new first axis."""

    def __init__(self, value: Expr, steps: Steps, backwards: bool) -> None:
        type_ = value.checked_type
        assert isinstance(type_, TensorType)
        if steps.count is None:
            raise NotSupported("it collects as many rows as the data says")
        shape = (steps.count, *type_.concrete_shape)
        if steps.count * math.prod(shape) * type_.dtype.numpy.itemsize > _MAX_COPIED:
            raise NotSupported(
                f"it collects {type_} in {steps.count} steps, each of which copies all of them"
            )
        self.value = value
        self.type = TensorType(shape, type_.dtype)
        self.var = Var("rows", self.type)
        self.last = steps.count - 1 if backwards else None

    def after(self, step: Expr) -> Expr:
        """The rows with that of a step."""
        place = step if self.last is None else op.subtract(const(np.array(self.last, np.int64)), step)
        shape = self.type.concrete_shape
        row = op.reshape(self.value, newshape=(1, *shape[1:]), allowzero=True)
        return op.scatter_nd(self.var, op.reshape(place, newshape=(1, 1)), row)

    def zeros(self) -> Expr:
        return op.zeros(shape=self.type.concrete_shape, dtype=str(self.type.dtype))


def _cut(rows: Expr, count: Expr) -> Expr:
    """The first `count` rows."""
    type_ = rows.checked_type
    assert isinstance(type_, TensorType)
    place = const(np.arange(type_.concrete_shape[0], dtype=np.int64))
    filled = op.argwhere(op.less(place, count))
    return op.take(rows, op.reshape(filled, newshape=(-1,)), axis=0)


def _static(value: Value, what: str) -> Expr:
    """A value that is a tensor of known shape."""
    if not isinstance(value, Expr):
        raise NotSupported(f"{what} what is no tensor of numbers")
    type_ = value.checked_type
    if not isinstance(type_, TensorType) or not type_.is_static:
        raise NotSupported(f"{what} {type_}, whose shape is not known")
    return value


def flag(value: Expr) -> Expr:
    """A condition as one element of rank 0. Raises ModelError for more elements, or none."""
    type_ = value.checked_type
    assert isinstance(type_, TensorType)
    if type_ == FLAG:
        return value
    if math.prod(type_.concrete_shape) != 1 or type_.dtype != "bool":
        raise ModelError(f"a condition must be one bool, found {type_}")
    return scalar(value)


def scalar(value: Expr) -> Expr:
    """A tensor of one element with rank 0."""
    return value if value.checked_type.ndim == 0 else op.reshape(value, newshape=())  # type: ignore[attr-defined]


@contextmanager
def also(why: str) -> Iterator[None]:
    """What is not supported inside is told with why it is no block."""
    try:
        yield
    except NotSupported as error:
        raise NotSupported(f"{error}; as a block of the program: {why}") from error


def _is_true(value: Expr) -> bool:
    return isinstance(value, Constant) and bool(value.data.all())


def _captured(state: State, body: Graph, environment: Environment) -> Environment:
    """What surrounds a body, with variables for the tensors that it reads."""
    found = dict(environment)
    for name in _reads(body):
        value = environment.get(name)
        if isinstance(value, Expr) and not isinstance(value, Constant):
            type_ = value.checked_type
            if isinstance(type_, TensorType) and type_.is_static:
                found[name] = state.capture(value, name)
    return found


def _reads(graph: Graph) -> set[str]:
    """The names that a graph's nodes read, its subgraphs' too."""
    found = set(graph.outputs)
    waiting = [graph]
    while waiting:
        graph = waiting.pop()
        for node in graph.nodes:
            found.update(node.inputs)
            for inner in node.subgraphs():
                found.update(inner.outputs)
                waiting.append(inner)
    return found


def _outer(state: State, results: Sequence[Expr], own: set[Var]) -> list[Var]:
    """What results read from around the loop: variables that were captured, and no others."""
    found = [var for var in free_vars(Tuple(tuple(results))) if var not in own]
    for var in found:
        if var not in state.captured:
            raise NotSupported(f"it reads {shown(var.name_hint)!r}, whose shape is not known")
    return list(dict.fromkeys(found))
