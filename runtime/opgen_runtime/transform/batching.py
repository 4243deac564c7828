"""Expressions for each element of a batch: what `vmap` makes of a traced function.

    batched(sum(%x * %w), {%x: a value with one more axis, the first})   -->   its sum, one an element

Calls are batched one by one (`batched_calls.py`).  Of a branch whose condition differs between the elements both sides
are computed, and one is chosen; the number of steps of a loop may not differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from ..base.errors import LanguageError, PassError
from ..base.vocabulary import dataclass
from ..declaration import OpDeclaration
from ..declaration.batch import batched_of, row_attrs, row_types
from ..ir import Call, Constant, Expr, Function, GlobalVar, If, Tuple, TupleGetItem, Var, post_order
from ..ir.loops import LOOP, ends_of, is_again, is_loop, own_name
from ..operator import Dim, Op, TensorType, TupleType, Type
from .batched_calls import batched_call
from .build import ANY, NOT, broadcast, call, choose, collapse, reshape
from .declared_gradient import MARK, Place, Rule

VjpCall: TypeAlias = Callable[[Op, Call, Mapping[Place, Expr], int, int | None], Expr | None]


@dataclass(frozen=True, slots=True)
class Part:
    """A tensor, and whether it has the axis of the batch, the first."""

    expr: Expr
    has_axis: bool


Value: TypeAlias = "Part | tuple[Value, ...]"
"""A tensor, or the fields of a tuple."""
Axes: TypeAlias = "bool | tuple[Axes, ...]"
"""Whether a tensor has the axis, or those of the fields of a tuple."""


def batched(
    results: Sequence[Expr],
    given: Mapping[Var, Expr],
    extent: Dim,
    same: Mapping[Var, Expr] = MappingProxyType({}),
) -> list[Part]:
    """The results, tensors without bindings and calls of functions, where variables have a value an element.

    `same`: variables that have one value for all elements; others stand for themselves.  Raises PassError for what has
    no batched form, naming it.
    """
    known: dict[int, Value] = {id(var): Part(value, True) for var, value in given.items()}
    known |= {id(var): Part(value, False) for var, value in same.items()}
    batch = _Batch(known, extent)
    return [_part(batch.value(result)) for result in results]


def with_axis(part: Part, extent: Dim) -> Expr:
    """The tensor with the axis: the same for each element where it has none."""
    return part.expr if part.has_axis else broadcast(part.expr, (extent, *_shape(part.expr)))


def batched_adjoint(
    vjp: VjpCall, call: Call, adjoints: Mapping[Place, Expr], position: int, element: int | None
) -> Expr | None:
    """The adjoint of an operand of a batched op, from that of the op itself, which is a batch then.

    `vjp` makes the latter.  The adjoint of an operand that is one for all elements is the sum of theirs.
    """
    assert isinstance(call.op, Op)
    declaration: OpDeclaration = call.op.get_attr("declaration")
    base = declaration.base
    assert base is not None
    attrs, numbers = row_attrs(base, call.attrs)  # type: ignore[arg-type]  # which a batched op has
    own_types = [arg.checked_type for arg in call.args]
    types, extent = row_types(base, own_types, numbers)
    found = batched_of(base, attrs, own_types, numbers)
    known: dict[int, Value] = {}
    kept: list[Expr] = []
    count = 0

    def variable(type_: Type, value: Expr) -> Expr:
        nonlocal count
        if isinstance(type_, TupleType):
            return Tuple(tuple([variable(each, _field(value, k)) for k, each in enumerate(type_.fields)]))
        var = Var(f"x{count}", type_)
        known[id(var)] = Part(value, count in numbers)
        kept.append(var)
        count += 1
        return var

    rows = [variable(type_, arg) for type_, arg in zip(types, call.args, strict=True)]
    op = Op.get(base.full_name)
    row = Call(op, tuple(rows), attrs, span=call.span)
    known[id(row)] = _value(call, found.has_axis if found.row.binding.is_tuple else found.has_axis[0])
    cotangents: dict[Place, Expr] = {}
    for place, adjoint in adjoints.items():
        output = place[0] if place else 0
        cotangents[place] = Var("g", found.row.binding.outputs[output])
        known[id(cotangents[place])] = Part(adjoint, found.has_axis[output])
    made = vjp(op, row, cotangents, position, element)
    if made is None:
        return None
    part = _part(_Batch(known, extent).value(made))
    wanted = rows[position] if element is None else _field(rows[position], element)
    return _gathered(part, _part(known[id(wanted)]), extent)


def _gathered(adjoint: Part, operand: Part, extent: Dim) -> Expr:
    """The adjoint of an operand; summed over the elements where it is one for all of them."""
    whole = with_axis(adjoint, extent)
    return whole if operand.has_axis else collapse(whole, _shape(operand.expr))


class _Batch:
    """`known`: the values of nodes, by their ids."""

    def __init__(self, known: dict[int, Value], extent: Dim) -> None:
        self.known = known
        self.extent = extent
        self._nodes: list[Expr] = []  # so that no other node gets their ids

    def value(self, expr: Expr) -> Value:
        for node in post_order(expr, lambda node: isinstance(node, If | Function) or id(node) in self.known):
            if id(node) not in self.known:
                self._nodes.append(node)
                self.known[id(node)] = self._of(node)
        return self.known[id(expr)]

    def _of(self, node: Expr) -> Value:
        if isinstance(node, Tuple):
            return tuple([self.known[id(field)] for field in node.fields])
        if isinstance(node, TupleGetItem):
            fields = self.known[id(node.tuple_value)]
            assert isinstance(fields, tuple)
            return fields[node.index]
        if isinstance(node, If):
            return self._if(node)
        if isinstance(node, Var | Constant | Function):
            return _value(node, False)
        if not isinstance(node, Call):
            raise PassError(f"vmap: {type(node).__name__} has no form for a batch")
        args = [self.known[id(arg)] for arg in node.args]
        if isinstance(node.op, Op):
            return self._call(node, args)
        assert isinstance(node.op, Function)
        return self._loop(node, node.op, args) if is_loop(node.op) else self._marked(node, node.op, args)

    def _call(self, call: Call, args: Sequence[Value]) -> Value:
        parts = [part for arg in args for part in _parts(arg)]
        numbers = [k for k, part in enumerate(parts) if part.has_axis]
        given = [_expr(arg, False, self.extent) for arg in args]
        if not numbers:
            return _value(Call(call.op, tuple(given), call.attrs, span=call.span), False)
        try:
            made, has_axis = batched_call(call, given, numbers)
        except LanguageError as error:
            raise PassError(f"vmap: {error}") from error
        return _value(made, has_axis if isinstance(made.checked_type, TupleType) else has_axis[0])

    def _if(self, node: If) -> Value:
        condition = _part(self.value(node.condition))
        then, otherwise = self.value(node.then), self.value(node.otherwise)
        if condition.has_axis:
            return self.chosen(condition.expr, then, otherwise)
        axes = _either(_axes(then), _axes(otherwise))
        sides = [_expr(side, axes, self.extent) for side in (then, otherwise)]
        return _value(If(condition.expr, *sides, span=node.span), axes)

    def chosen(self, condition: Expr, then: Value, otherwise: Value) -> Value:
        """Of each element one side."""
        if isinstance(then, tuple):
            assert isinstance(otherwise, tuple)
            return tuple([self.chosen(condition, a, b) for a, b in zip(then, otherwise, strict=True)])
        sides = [with_axis(_part(side), self.extent) for side in (then, otherwise)]
        wide = reshape(condition, (self.extent, *[1] * (len(_shape(sides[0])) - 1)))
        return Part(choose(wide, *sides), True)

    def _loop(self, call: Call, loop: Function, args: Sequence[Value]) -> Value:
        """A loop over whole batches, until no element goes on; those that have ended keep what they have."""
        axes: tuple[Axes, ...] = tuple([_axes(arg) for arg in args])
        result: Axes = _nowhere(loop.body.checked_type)
        while True:
            params = [_wide(p, each, self.extent) for p, each in zip(loop.params, axes, strict=True)]
            own = {id(old): _value(new, a) for old, new, a in zip(loop.params, params, axes, strict=True)}
            body = _Body(_Batch({**self.known, **own}, self.extent), loop)
            found = body.axes(axes, result)
            if found == (axes, result):
                break
            axes, result = found
        type_ = _wide_type(loop.body.checked_type, result, self.extent)
        written = body.written(own_name(params, type_), axes, result)
        made = Function(tuple(params), written, type_, attrs=loop.attrs, span=loop.span)
        given = [_expr(arg, each, self.extent) for arg, each in zip(args, axes, strict=True)]
        return _value(Call(made, tuple(given), call.attrs, call.type_args, span=call.span), result)

    def _marked(self, call: Call, function: Function, args: Sequence[Value]) -> Value:
        """A function with a rule: the rule is that of one element, and a batch itself."""
        axes = tuple([_axes(arg) for arg in args])
        params = [_wide(p, each, self.extent) for p, each in zip(function.params, axes, strict=True)]
        own = {id(old): _value(new, a) for old, new, a in zip(function.params, params, axes, strict=True)}
        body = _Batch({**self.known, **own}, self.extent).value(function.body)
        rule: Rule = function.attrs[MARK]  # type: ignore[assignment]  # functions without one are written out
        batched_rule = partial(self._adjoints, rule, call, axes, _axes(body))
        attrs = MappingProxyType({**function.attrs, MARK: batched_rule})
        made = Function(tuple(params), _expr(body, _axes(body), self.extent), attrs=attrs)
        given = [_expr(arg, each, self.extent) for arg, each in zip(args, axes, strict=True)]
        return _value(Call(made, tuple(given), span=call.span), _axes(body))

    def _adjoints(
        self,
        rule: Rule,
        row: Call,
        axes: Sequence[Axes],
        result: Axes,
        arguments: Sequence[Expr],
        call: Expr,
        cotangents: Mapping[Place, Expr],
    ) -> list[Expr | None]:
        """The rule of a marked function on whole batches."""
        variables = [Var(f"p{k}", arg.checked_type) for k, arg in enumerate(row.args)]
        known = dict(self.known)
        given = [_value(arg, each) for arg, each in zip(arguments, axes, strict=True)]
        known |= {id(var): value for var, value in zip(variables, given, strict=True)}
        inner = Call(row.op, tuple(variables), row.attrs)
        known[id(inner)] = _value(call, result)
        rows: dict[Place, Expr] = {}
        for place, cotangent in cotangents.items():
            rows[place] = Var("g", _type_at(row.checked_type, place))
            known[id(rows[place])] = Part(cotangent, _axes_at(result, place))
        batch = _Batch(known, self.extent)
        return [
            None if each is None else _gathered(_part(batch.value(each)), _part(value), self.extent)
            for each, value in zip(rule(tuple(variables), inner, rows), given, strict=True)
        ]


class _Body:
    """The body of a loop over whole batches."""

    def __init__(self, batch: _Batch, loop: Function) -> None:
        self.batch, self.loop = batch, loop

    def axes(self, params: tuple[Axes, ...], result: Axes) -> tuple[tuple[Axes, ...], Axes]:
        """What has the axis after a step, where these params have it, and in the value."""
        differs = self._differs()
        for end in ends_of(self.loop.body):
            if not is_again(end):
                result = _either(result, _axes(self.batch.value(end)))
                continue
            assert isinstance(end, Call)
            found: list[Axes] = []
            for arg, param, own in zip(end.args, self.loop.params, params, strict=True):
                stays = not differs or arg is param
                more = _axes(self.batch.value(arg)) if stays else _everywhere(param.checked_type)
                found.append(_either(own, more))
            params = tuple(found)
        return params, result

    def _differs(self) -> bool:
        """Whether the elements take numbers of steps of their own."""
        body = self.loop.body
        return isinstance(body, If) and _part(self.batch.value(body.condition)).has_axis

    def written(self, own: GlobalVar, params: Sequence[Axes], result: Axes) -> Expr:
        """The body.  Raises PassError where elements take different ways, more than to end or to go on."""
        body = self.loop.body
        if not self._differs():
            return self._written(body, own, params, result)
        assert isinstance(body, If)
        sides = body.then, body.otherwise
        again = next((side for side in sides if is_again(side)), None)
        if again is None or any(
            isinstance(side, If) or (side is not again and is_again(side)) for side in sides
        ):
            raise self._refused()
        assert isinstance(again, Call)
        condition = _part(self.batch.value(body.condition)).expr
        goes_on = condition if again is body.then else call(NOT, [condition])
        end = sides[0] if again is sides[1] else sides[1]
        args: list[Expr] = []
        for arg, param, axes in zip(again.args, self.loop.params, params, strict=True):
            old, new = self.batch.value(param), self.batch.value(arg)
            value = old if arg is param else self.batch.chosen(goes_on, new, old)
            args.append(_expr(value, axes, self.batch.extent))
        last = _expr(self.batch.value(end), result, self.batch.extent)
        return If(call(ANY, [goes_on]), Call(own, tuple(args), span=again.span), last, span=body.span)

    def _written(self, node: Expr, own: GlobalVar, params: Sequence[Axes], result: Axes) -> Expr:
        extent = self.batch.extent
        if isinstance(node, If):
            condition = _part(self.batch.value(node.condition))
            if condition.has_axis:
                raise self._refused()
            sides = [self._written(side, own, params, result) for side in (node.then, node.otherwise)]
            return If(condition.expr, *sides, span=node.span)
        if not is_again(node):
            return _expr(self.batch.value(node), result, extent)
        assert isinstance(node, Call)
        args = [_expr(self.batch.value(a), axes, extent) for a, axes in zip(node.args, params, strict=True)]
        return Call(own, tuple(args), span=node.span)

    def _refused(self) -> PassError:
        return PassError(
            f"vmap: the elements of the batch take different ways through {self.loop.attrs[LOOP]}; they may differ in "
            "when it ends, by one condition"
        )


def _value(expr: Expr, axes: Axes) -> Value:
    """An expression as the tensors that it holds."""
    type_ = expr.checked_type
    if not isinstance(type_, TupleType):
        assert isinstance(axes, bool)
        return Part(expr, axes)
    each = (axes,) * len(type_.fields) if isinstance(axes, bool) else axes
    return tuple([_value(_field(expr, k), a) for k, a in enumerate(each)])


def _expr(value: Value, axes: Axes, extent: Dim) -> Expr:
    """A value as an expression; with the axis where it has it, or `axes` say so."""
    if isinstance(value, Part):
        return with_axis(value, extent) if axes else value.expr
    each = (axes,) * len(value) if isinstance(axes, bool) else axes
    return Tuple(tuple([_expr(field, a, extent) for field, a in zip(value, each, strict=True)]))


def _field(value: Expr, k: int) -> Expr:
    return value.fields[k] if isinstance(value, Tuple) else TupleGetItem(value, k)


def _part(value: Value) -> Part:
    assert isinstance(value, Part)
    return value


def _parts(value: Value) -> Iterator[Part]:
    if isinstance(value, Part):
        yield value
    else:
        for field in value:
            yield from _parts(field)


def _axes(value: Value) -> Axes:
    return value.has_axis if isinstance(value, Part) else tuple([_axes(field) for field in value])


def _either(a: Axes, b: Axes) -> Axes:
    if isinstance(a, bool) or isinstance(b, bool):
        assert isinstance(a, bool)
        assert isinstance(b, bool)
        return a or b
    return tuple([_either(x, y) for x, y in zip(a, b, strict=True)])


def _like(type_: Type, has_axis: bool) -> Axes:
    return (
        tuple([_like(field, has_axis) for field in type_.fields])
        if isinstance(type_, TupleType)
        else has_axis
    )


def _nowhere(type_: Type) -> Axes:
    return _like(type_, False)


def _everywhere(type_: Type) -> Axes:
    return _like(type_, True)


def _axes_at(axes: Axes, place: Place) -> bool:
    for k in place:
        assert isinstance(axes, tuple)
        axes = axes[k]
    assert isinstance(axes, bool)
    return axes


def _type_at(type_: Type, place: Place) -> Type:
    for k in place:
        assert isinstance(type_, TupleType)
        type_ = type_.fields[k]
    return type_


def _wide(var: Var, axes: Axes, extent: Dim) -> Var:
    return Var(var.name_hint, _wide_type(var.checked_type, axes, extent))


def _wide_type(type_: Type, axes: Axes, extent: Dim) -> Type:
    if isinstance(axes, bool):
        assert isinstance(type_, TensorType)
        return type_.with_shape((extent, *type_.shape)) if axes else type_
    assert isinstance(type_, TupleType)
    return TupleType(tuple([_wide_type(t, a, extent) for t, a in zip(type_.fields, axes, strict=True)]))


def _shape(value: Expr) -> tuple[int, ...]:
    type_ = value.checked_type
    assert isinstance(type_, TensorType)
    return type_.concrete_shape
