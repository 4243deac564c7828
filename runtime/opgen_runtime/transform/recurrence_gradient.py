"""Reverse mode through an op that is a recurrence, of which the states before each part of its steps alone are kept.

    y = lstm(x, w, r)

    forward(n, start, rows): if n < parts - 1 then forward(n + 1, end of part n, rows with it as row n + 1) else rows
    backward(n, g, a):       if n > 0 then backward(n - 1, adjoint of start n - 1, a + that of x, w, r) else a

Both are loops over parts of k steps (`declaration/part.py`), of which one at a time runs with all its states: for T
steps there are T / k starts and k states, and the steps run once more.  `g` are the adjoints of the rows between parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from ..base.vocabulary import FLOAT32
from ..declaration import OpDeclaration
from ..declaration.part import Parts, part_attrs, part_op, parts_of
from ..ir import Call, Expr, Function, If, Tuple, TupleGetItem, Var, substitute
from ..ir.loops import MOST, loop_of, own_name
from ..ir.operators import apply_operator
from ..operator import Op, TensorType, TupleType, Type
from .build import cast, row, with_row, zeros
from .loop_gradient import COUNT, Pull, number, steps_between

Place: TypeAlias = tuple[int, ...]


class RecurrenceGradient:
    """One call of a recurrence and how many of its steps are a part."""

    def __init__(self, call: Call, declaration: OpDeclaration, parts: Parts, every: int, pull: Pull) -> None:
        self.call, self.pull, self.every = call, pull, every
        self.declaration = declaration
        self.count = -(-parts.extent // every)
        missing = len(declaration.signature.inputs) - len(call.args)
        self.given = [_widened(arg) for arg in call.args] + [Tuple(())] * missing
        types = [arg.checked_type for arg in self.given]
        wide = parts_of(declaration, call.attrs, types)
        assert wide is not None  # the same in another dtype
        self.own = [Var(f"x{k}", t) for k, t in enumerate(types) if isinstance(t, TensorType)]
        self.starts = [Var(f"start{k}", t) for k, t in enumerate(wide.start_types)]
        self.place = Var("number", COUNT)
        own = iter(self.own)
        args = [
            next(own) if isinstance(t, TensorType) else arg for t, arg in zip(types, self.given, strict=True)
        ]
        attrs = part_attrs(declaration, call.attrs, every)
        self.part = Call(
            part_op(declaration), (*args, Tuple(tuple(self.starts)), self.place), attrs, span=call.span
        )

    def adjoints(
        self, cotangents: Mapping[Place, Expr], active: Sequence[bool]
    ) -> Iterator[tuple[int, Expr]]:
        """(position, adjoint) of the arguments that are active and floats, from the cotangents of the results."""
        tensors = [k for k, arg in enumerate(self.given) if isinstance(arg.checked_type, TensorType)]
        wanted = [
            (k, var)
            for k, var in zip(tensors, self.own, strict=True)
            if active[k] and _is_inexact(var.checked_type)
        ]
        first = len(self.starts)
        fields = {(place or (0,))[0] + first: _widened(each) for place, each in cotangents.items()}
        states = [k for k, var in enumerate(self.starts) if _is_inexact(var.checked_type)]
        results = [TupleGetItem(self.part, k) for k in (*states, *fields)]
        g = [Var("g", self.starts[k].checked_type) for k in states]
        handed = [Var("dual", each.checked_type) for each in fields.values()]
        found = self.pull(
            results, [*g, *handed], [*[self.starts[k] for k in states], *[var for _, var in wanted]]
        )
        a = [Var("a", var.checked_type) for _, var in wanted]
        rows = self._rows()
        back = self._backward(g, a, rows, handed, found)
        operands = [arg for arg in self.given if isinstance(arg.checked_type, TensorType)]
        kept = Call(
            self._forward(rows),
            (number(0), *[zeros(each.checked_type) for each in (*self.starts, *rows)], *operands),
        )
        made = Call(
            back,
            (
                number(self.count),
                *[zeros(each.checked_type) for each in (*g, *a)],
                *[TupleGetItem(kept, k) for k in range(len(rows))],
                *fields.values(),
                *operands,
            ),
        )
        for at, (k, _) in enumerate(wanted):
            yield k, _as(TupleGetItem(made, at), self.call.args[k].checked_type)

    def _rows(self) -> list[Var]:
        """The rows before each part, for each state."""
        made = []
        for var in self.starts:
            type_ = var.checked_type
            assert isinstance(type_, TensorType)
            made.append(Var("rows", TensorType((self.count, *type_.shape), type_.dtype)))
        return made

    def _forward(self, rows: Sequence[Var]) -> Function:
        """(part, its start, rows, operands) -> the rows before each part; before the first one they are not read."""
        params = (self.place, *self.starts, *rows, *self.own)
        result = TupleType(tuple([each.checked_type for each in rows]))
        following = apply_operator("+", self.place, number(1))
        ends = [TupleGetItem(self.part, k) for k in range(len(self.starts))]
        filled = [with_row(each, following, end) for each, end in zip(rows, ends, strict=True)]
        again = Call(own_name(params, result), (following, *ends, *filled, *self.own))
        test = apply_operator("<", self.place, number(self.count - 1))
        return loop_of(self.name, params, If(test, again, Tuple(tuple(rows))), result, **{MOST: self.count})

    def _backward(
        self,
        g: Sequence[Var],
        a: Sequence[Var],
        rows: Sequence[Var],
        handed: Sequence[Var],
        found: Sequence[Expr | None],
    ) -> Function:
        """(parts, adjoints of the rows after them, adjoints so far, rows, cotangents, operands) -> the adjoints."""
        left = Var("left", COUNT)
        params = (left, *g, *a, *rows, *handed, *self.own)
        result = TupleType(tuple([each.checked_type for each in a]))
        before = apply_operator("-", left, number(1))
        values: dict[Var, Expr] = {self.place: before}
        values |= {var: row(each, before) for var, each in zip(self.starts, rows, strict=True)}
        changed = [
            zeros(var.checked_type) if each is None else each for var, each in zip(g, found, strict=False)
        ]
        summed = [
            var if each is None else apply_operator("+", var, each)
            for var, each in zip(a, found[len(g) :], strict=True)
        ]
        made = substitute(Tuple((*changed, *summed)), values)
        assert isinstance(made, Tuple)
        again = Call(own_name(params, result), (before, *made.fields, *rows, *handed, *self.own))
        test = apply_operator(">", left, number(0))
        return loop_of(self.name, params, If(test, again, Tuple(tuple(a))), result, **{MOST: self.count})

    @property
    def name(self) -> str:
        return f"{self.declaration.full_name} in parts"


def recurrence_gradient(call: Call, checkpoint: int | bool | None, pull: Pull) -> RecurrenceGradient | None:
    """The gradient of a call in parts; None for what is no recurrence, and where one part holds all steps.

    `checkpoint`: the steps of a part, True for the root of how many there are, None for all of them.
    """
    assert isinstance(call.op, Op)
    declaration: OpDeclaration | None = call.op.get_attr("declaration")
    if checkpoint is None or declaration is None or declaration.gradients:
        return None
    missing = len(declaration.signature.inputs) - len(call.args)
    types: list[Type] = [*[arg.checked_type for arg in call.args], *[TupleType(())] * missing]
    parts = parts_of(declaration, call.attrs, types)
    if parts is None:
        return None
    every = steps_between(checkpoint, parts.extent)
    return RecurrenceGradient(call, declaration, parts, every, pull) if 1 < every < parts.extent else None


def _widened(value: Expr) -> Expr:
    """A half in float32: what many parts add to it is rounded once."""
    type_ = value.checked_type
    return cast(value, FLOAT32) if isinstance(type_, TensorType) and type_.dtype.is_storage else value


def _as(value: Expr, type_: Type) -> Expr:
    assert isinstance(type_, TensorType)
    return value if value.checked_type == type_ else cast(value, type_.dtype)


def _is_inexact(type_: Type) -> bool:
    return isinstance(type_, TensorType) and type_.dtype.is_inexact
