"""Reverse mode through a loop: its states are kept while it runs, and taken up from the last to the first.

    loop(p): if t(p) then loop(f(p)) else e(p)

    forward(p, k, rows): if t(p) then forward(f(p), k + 1, rows with row k = p) else (p, k, rows)
    backward(k, g, a):   if k > 0 then backward(k - 1, adjoint of f at row k - 1, a + that of what stays) else (g, a)

`g` are the adjoints of what a step changes, `a` those of what all steps are given; the loop's value is e of the last p.
Of the states those parts alone are kept that the adjoint of a step reads.  Rows are as many as the loop takes steps at
most.  With `checkpoint=n` every n-th state is kept, and the n steps behind one run again, with their states kept:

    segments(s, g, a):   if s > 0 then segments(s - 1, backward over forward from row s - 1) else (g, a)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from ..base.errors import PassError
from ..base.vocabulary import dataclass
from ..ir import Call, Expr, Function, If, Tuple, TupleGetItem, Var, const, post_order, substitute
from ..ir.loops import EVERY, LIMIT, LOOP, MOST, ends_of, is_again, is_loop, loop_of, own_name, with_ends
from ..ir.operators import apply_operator
from ..operator import TensorType, TupleType, Type
from .build import row, with_row, zeros
from .loop_steps import most_steps

COUNT: Final = TensorType((), "int64")
Pull: TypeAlias = Callable[[Sequence[Expr], Sequence[Expr | None], Sequence[Var]], list[Expr | None]]


@dataclass(frozen=True, slots=True)
class _Part:
    """What a step of the loop does, over its params: `then` gives what it begins again with, `end` its value."""

    params: tuple[Var, ...]
    body: Expr
    then: Expr
    end: Expr

    def changed(self) -> list[int]:
        """The params that a step changes; all others stay what they are."""
        again = [end for end in ends_of(self.body) if is_again(end)]
        assert all(isinstance(call, Call) for call in again)
        return [
            k
            for k, param in enumerate(self.params)
            if any(call.args[k] is not param for call in again)  # type: ignore[attr-defined]  # calls
        ]


class LoopGradient:
    """One call of a loop, run so that it can be reversed: `value` is its value."""

    def __init__(
        self, call: Call, active: Sequence[bool], pull: Pull, checkpoint: int | bool | None = None
    ) -> None:
        """`active`: of each argument, whether its adjoint is wanted.  `checkpoint`: for loops that state none.

        Raises PassError for a loop of which nothing says how many steps it takes at most.
        """
        loop = call.op
        assert isinstance(loop, Function)
        self.call, self.pull = call, pull
        self.name = str(loop.attrs[LOOP])
        self.part = _part(loop)
        self.changed = self.part.changed()
        self.active = self._activity(active)
        self.of_changed = [k for k in self.changed if self.active[k]]
        self.of_same = [k for k in range(len(loop.params)) if self.active[k] and k not in self.changed]
        self.most, self.is_known = most_steps(loop, call)
        stated = loop.attrs.get(EVERY, checkpoint)
        assert isinstance(stated, int | None)
        self.every = 1 if stated is None else steps_between(stated, self.most)
        self.cotangents = [Var(f"g{k}", loop.params[k].checked_type) for k in self.of_changed]
        self.adjoint = self._adjoint_of_step()
        self.kept = self._kept()
        rows = -(-self.most // self.every)
        made = Call(self._forward(rows), (*call.args, number(0), *self._empty(rows)))
        fields = [TupleGetItem(made, k) for k in range(len(self.changed) + 1 + len(self.kept))]
        self.last: dict[Var, Expr] = dict(zip([loop.params[k] for k in self.changed], fields, strict=False))
        self.last |= {loop.params[k]: arg for k, arg in enumerate(call.args) if k not in self.changed}
        self.count, *self.rows = fields[len(self.changed) :]
        self.value = substitute(self.part.end, dict(self.last))

    def adjoints(self, cotangents: Mapping[tuple[int, ...], Expr]) -> Iterator[tuple[int, Expr]]:
        """(position, adjoint) of the arguments, from the cotangents of the value by their places."""
        wanted = [*self.of_changed, *self.of_same]
        variables = [self.part.params[k] for k in wanted]
        results = [_field(self.part.end, place) for place in cotangents]
        duals = [Var("g", each.checked_type) for each in results]
        found = self.pull(results, duals, variables)
        values = self.last | dict(zip(duals, cotangents.values(), strict=True))
        first = _substituted(
            [_or_zeros(each, var) for var, each in zip(variables, found, strict=True)], values
        )
        back = self._backward(self.most) if self.every == 1 else self._segments()
        made = Call(back, (self.count, *first, *self.rows, *[self.call.args[k] for k in self._handed()]))
        return ((k, TupleGetItem(made, at)) for at, k in enumerate(wanted))

    def _activity(self, active: Sequence[bool]) -> list[bool]:
        """Of each param, whether it is a float that depends on an argument whose adjoint is wanted."""
        params, found = self.part.params, list(active)
        for k, param in enumerate(params):
            if found[k] and not _is_inexact(param.checked_type):
                if isinstance(param.checked_type, TupleType):
                    raise PassError(
                        f"the gradient of {self.name}, which is given the tuple %{param.name_hint}, is not there; "
                        "a loop that is given its tensors one by one has one"
                    )
                found[k] = False
        following = [_field(self.part.then, (k,)) for k in range(len(params))]
        while True:
            known = {id(param) for param, each in zip(params, found, strict=True) if each}
            more = [
                each or (_is_inexact(param.checked_type) and any(id(n) in known for n in post_order(after)))
                for param, each, after in zip(params, found, following, strict=True)
            ]
            if more == found:
                return found
            found = more

    def _adjoint_of_step(self) -> list[Expr | None]:
        variables = [self.part.params[k] for k in (*self.of_changed, *self.of_same)]
        results = [_field(self.part.then, (k,)) for k in self.of_changed]
        return self.pull(results, list(self.cotangents), variables)

    def _kept(self) -> list[int]:
        """The changed params whose states are kept: those that the adjoint of a step reads, all to run steps again."""
        read = {id(node) for each in self.adjoint if each is not None for node in post_order(each)}
        if self.every > 1:
            return self.changed
        return [k for k in self.changed if id(self.part.params[k]) in read]

    def _handed(self) -> list[int]:
        """The params that stay what they are, which each step is given."""
        return [k for k in range(len(self.part.params)) if k not in self.changed]

    def _empty(self, rows: int) -> list[Expr]:
        return [zeros(self._rows_type(k, rows)) for k in self.kept]

    def _rows_type(self, k: int, rows: int) -> TensorType:
        type_ = self.part.params[k].checked_type
        if not isinstance(type_, TensorType) or not type_.is_static:
            name = self.part.params[k].name_hint
            raise PassError(
                f"the gradient of {self.name} keeps %{name}: {type_} of each step; expected a known shape"
            )
        return TensorType((rows, *type_.concrete_shape), type_.dtype)

    def _row_vars(self, rows: int) -> list[Var]:
        return [Var(f"rows{k}", self._rows_type(k, rows)) for k in self.kept]

    def _forward(self, rows: int) -> Function:
        """The loop, which gives its last params, the number of its steps, and the states that are kept."""
        params = [_fresh(param) for param in self.part.params]
        count, kept = Var("count", COUNT), self._row_vars(rows)
        own = dict(zip(self.part.params, params, strict=True))
        result = TupleType(tuple([each.checked_type for each in (*self._of(params), count, *kept)]))
        name = own_name((*params, count, *kept), result)

        def end(node: Expr) -> Expr:
            if not is_again(node):
                return Tuple((*self._of(self.part.params), count, *kept))
            assert isinstance(node, Call)
            return Call(name, (*node.args, count + 1, *self._filled(kept, count, self.part.params)))

        body = with_ends(self.part.body, end)
        assert body is not None
        attrs = {MOST: self.most} if self.is_known else {MOST: self.most, LIMIT: self.most}
        return loop_of(self.name, (*params, count, *kept), substitute(body, dict(own)), result, **attrs)

    def _filled(self, rows: Sequence[Var], count: Expr, params: Sequence[Expr]) -> list[Expr]:
        """The rows with a state, where it is one that is kept: the place of any other is outside."""
        states = [params[k] for k in self.kept]
        if self.every > 1:
            count = count // self.every + count % self.every * -(-self.most // self.every)
        return [with_row(each, count, state) for each, state in zip(rows, states, strict=True)]

    def _of(self, params: Sequence[Var]) -> list[Var]:
        return [params[k] for k in self.changed]

    def _backward(self, most: int) -> Function:
        """(steps, adjoints, rows, what stays) -> the adjoints before these steps."""
        steps, rows = Var("steps", COUNT), self._row_vars(most)
        g, a, handed = self._adjoint_vars()
        result = TupleType(tuple([each.checked_type for each in (*g, *a)]))
        params = (steps, *g, *a, *rows, *handed)
        before = steps - 1
        values: dict[Var, Expr] = dict(zip(self.cotangents, g, strict=True))
        values |= {self.part.params[k]: row(each, before) for k, each in zip(self.kept, rows, strict=True)}
        values |= {self.part.params[k]: each for k, each in zip(self._handed(), handed, strict=True)}
        changed = [_or_zeros(each, var) for var, each in zip(g, self.adjoint, strict=False)]
        same = [
            var if each is None else apply_operator("+", var, each)
            for var, each in zip(a, self.adjoint[len(g) :], strict=True)
        ]
        found = _substituted([*changed, *same], values)
        again = Call(own_name(params, result), (before, *found, *rows, *handed))
        body = If(apply_operator(">", steps, 0), again, Tuple((*g, *a)))
        return loop_of(self.name, params, body, result, **{MOST: most})

    def _adjoint_vars(self) -> tuple[list[Var], list[Var], list[Var]]:
        params = self.part.params
        return (
            [_fresh(params[k], "g") for k in self.of_changed],
            [_fresh(params[k], "a") for k in self.of_same],
            [_fresh(params[k]) for k in self._handed()],
        )

    def _segments(self) -> Function:
        """(steps, adjoints, states, what stays) -> the adjoints before these steps, which run again by segments."""
        count = -(-self.most // self.every)
        steps, rows = Var("steps", COUNT), self._row_vars(count)
        g, a, handed = self._adjoint_vars()
        result = TupleType(tuple([each.checked_type for each in (*g, *a)]))
        params = (steps, *g, *a, *rows, *handed)
        place = (steps - 1) // self.every
        start = place * self.every
        own = steps - start
        states = [row(each, place) for each in rows]
        kept = Call(self._again(), (own, number(0), *states, *self._empty(self.every), *handed))
        inner = [TupleGetItem(kept, k) for k in range(len(rows))]
        back = Call(self._backward(self.every), (own, *g, *a, *inner, *handed))
        found = [TupleGetItem(back, k) for k in range(len(g) + len(a))]
        again = Call(own_name(params, result), (start, *found, *rows, *handed))
        body = If(apply_operator(">", steps, 0), again, Tuple((*g, *a)))
        return loop_of(self.name, params, body, result, **{MOST: count})

    def _again(self) -> Function:
        """(steps, 0, state, rows, what stays) -> the states of so many steps."""
        steps, count, rows = Var("steps", COUNT), Var("count", COUNT), self._row_vars(self.every)
        states = [_fresh(self.part.params[k]) for k in self.changed]
        handed = [_fresh(self.part.params[k]) for k in self._handed()]
        result = TupleType(tuple([each.checked_type for each in rows]))
        params = (steps, count, *states, *rows, *handed)
        filled = [with_row(each, count, state) for each, state in zip(rows, states, strict=True)]
        values: dict[Var, Expr] = {}
        for positions, own in ((self.changed, states), (self._handed(), handed)):
            values |= {self.part.params[k]: each for k, each in zip(positions, own, strict=True)}
        following = _substituted([_field(self.part.then, (k,)) for k in self.changed], values)
        again = Call(own_name(params, result), (steps, count + 1, *following, *filled, *handed))
        body = If(apply_operator("<", count, steps), again, Tuple(tuple(rows)))
        return loop_of(self.name, params, body, result, **{MOST: self.every})


def steps_between(checkpoint: int | bool, extent: int) -> int:
    """From one step whose state is kept to the next: as stated, or with True the root of how many steps there are."""
    stated = math.isqrt(max(extent - 1, 0)) + 1 if checkpoint is True else int(checkpoint)
    return max(1, min(stated, extent))


def _part(loop: Function) -> _Part:
    """Raises PassError for a loop that calls itself elsewhere than at its end, or always."""
    ends = ends_of(loop.body)
    calls = [node for node in post_order(loop.body, is_loop) if is_again(node)]
    known = {id(end) for end in ends}
    if any(id(call) not in known for call in calls):
        raise PassError(
            f"the gradient of {loop.attrs[LOOP]}, which calls itself elsewhere than at its end, is not there; "
            "a call of itself is the last thing that a loop does"
        )
    then = with_ends(
        loop.body, lambda end: Tuple(end.args) if isinstance(end, Call) and is_again(end) else None
    )
    value = with_ends(loop.body, lambda end: None if is_again(end) else end)
    if then is None or value is None:
        raise PassError(f"the gradient of {loop.attrs[LOOP]}, which always calls itself, is not there")
    return _Part(loop.params, loop.body, then, value)


def _field(expr: Expr, place: Sequence[int]) -> Expr:
    for k in place:
        expr = expr.fields[k] if isinstance(expr, Tuple) else TupleGetItem(expr, k)
    return expr


def _substituted(exprs: Sequence[Expr], values: Mapping[Var, Expr]) -> list[Expr]:
    """All at once: what several share stays shared."""
    found = substitute(Tuple(tuple(exprs)), dict(values))
    assert isinstance(found, Tuple)
    return list(found.fields)


def _or_zeros(adjoint: Expr | None, var: Var) -> Expr:
    return zeros(var.checked_type) if adjoint is None else adjoint


def _fresh(param: Var, name: str = "") -> Var:
    return Var(name or param.name_hint, param.checked_type)


def number(value: int) -> Expr:
    """An int64 of rank 0."""
    return const(np.array(value, np.int64))


def _is_inexact(type_: Type) -> bool:
    return isinstance(type_, TensorType) and type_.dtype.is_inexact
