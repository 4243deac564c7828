"""Types, dims and attr values from text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..base.arith import (
    Any,
    add,
    dim,
    eq,
    floordiv,
    floormod,
    ge,
    gt,
    le,
    logical_and,
    logical_not,
    logical_or,
    lt,
    maximum,
    minimum,
    mul,
    ne,
    select,
    sub,
    truncdiv,
    truncmod,
)  # fmt: skip
from ..base.arith.expr import Const, Dim
from ..base.arith.expr import Expr as DimExpr
from ..base.arith.tokens import Tokens
from ..base.errors import OpgenError
from ..operator import AttrObject, FuncType, Op, TensorType, TupleType, Type, TypeVar, classes_of, has_op
from .forward import attrs_type

_FUNCTIONS: dict[str, Callable[..., DimExpr]] = {
    "min": minimum, "max": maximum, "truncdiv": truncdiv, "truncmod": truncmod, "select": select,
    "and": logical_and, "or": logical_or, "not": logical_not,
    "lt": lt, "le": le, "gt": gt, "ge": ge, "eq": eq, "ne": ne,
}  # fmt: skip
_SUMS: dict[str, Callable[..., DimExpr]] = {"+": add, "-": sub}
_TERMS: dict[str, Callable[..., DimExpr]] = {"*": mul, "//": floordiv, "%": floormod}


class TypeParser:
    """Reads types; one name is one symbolic dim in the whole text."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.dims: dict[str, DimExpr] = {}
        self.type_vars: dict[str, TypeVar] = {}

    def type(self) -> Type | None:
        """A type; None for `?`."""
        tokens = self.tokens
        if tokens.accept("?"):
            return None
        if tokens.accept("Tensor"):
            return self._tensor()
        if tokens.accept("fn"):
            return self._function()
        if tokens.next.text == "(":
            return TupleType(self._types())
        name = tokens.expect_kind("name", "a type")
        if name.text not in self.type_vars:
            raise tokens.error(f"unknown type {name.text!r}", name)
        return self.type_vars[name.text]

    def type_params(self) -> tuple[TypeVar, ...]:
        """`[A, B]`, or nothing."""
        if not self.tokens.accept("["):
            return ()
        found: list[TypeVar] = []
        while not self.tokens.accept("]"):
            name = self.tokens.expect_kind("name", "the name of a type parameter").text
            self.type_vars[name] = TypeVar(name)
            found.append(self.type_vars[name])
            if self.tokens.next.text != "]":
                self.tokens.expect(",")
        return tuple(found)

    def whole_type(self) -> Type:
        token = self.tokens.next
        found = self.type()
        if found is None:
            raise self.tokens.error("expected a type that is known", token)
        return found

    def _types(self) -> tuple[Type, ...]:
        tokens = self.tokens
        tokens.expect("(")
        found: list[Type] = []
        while not tokens.accept(")"):
            found.append(self.whole_type())
            if tokens.next.text != ")":
                tokens.expect(",")
        return tuple(found)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Type parameters that are read inside are those of a function, and are not known after it."""
        outside = dict(self.type_vars)
        yield
        self.type_vars = outside

    def _function(self) -> Type:
        with self.scope():
            generic = self.type_params()
            params = self._types()
            self.tokens.expect("->")
            return FuncType(params, self.whole_type(), generic)

    def _tensor(self) -> Type:
        tokens = self.tokens
        start = tokens.expect("[")
        tokens.expect("(")
        shape: list[Dim] = []
        while not tokens.accept(")"):
            shape.append(self.dim())
            if tokens.next.text != ")":
                tokens.expect(",")
        tokens.expect(",")
        dtype = tokens.expect_kind("name", "a dtype").text
        tokens.expect("]")
        try:
            return TensorType(shape, dtype)
        except OpgenError as error:
            raise tokens.error(str(error), start) from None

    def dim(self) -> Dim:
        """A dim: an int, a name, `?`, or an expression of these with + - * // % and functions such as min."""
        found: object = self._term()
        while (sign := self.tokens.next.text) in _SUMS and self.tokens.next.kind == "mark":
            self.tokens.take()
            found = _combine(_SUMS[sign], found, self._term())
        return found  # type: ignore[return-value]  # ints and expressions only

    def _term(self) -> object:
        found = self._factor()
        while (sign := self.tokens.next.text) in _TERMS and self.tokens.next.kind == "mark":
            self.tokens.take()
            found = _combine(_TERMS[sign], found, self._factor())
        return found

    def _factor(self) -> object:
        tokens = self.tokens
        if tokens.accept("?"):
            return Any()
        if tokens.accept("-"):
            operand = self._factor()
            return -operand if isinstance(operand, int) else _combine(sub, 0, operand)
        if tokens.accept("("):
            inner = self.dim()
            tokens.expect(")")
            return inner
        if tokens.next.kind == "number":
            token = tokens.take()
            if not token.text.isdigit() or token.suffix:
                raise tokens.error("a dim is an integer", token)
            return int(token.text)
        name = tokens.expect_kind("name", "a dim")
        if tokens.next.text == "(" and name.text in _FUNCTIONS:
            tokens.take()
            args = [self.dim()]
            while tokens.accept(","):
                args.append(self.dim())
            tokens.expect(")")
            return _combine(_FUNCTIONS[name.text], *args)
        return self.dims.setdefault(name.text, dim(name.text))

    def value(self) -> object:
        """The value of an attr: a number, text, a word, a list, an object, or a symbolic dim."""
        tokens = self.tokens
        token = tokens.next
        if token.kind == "string":
            return json.loads(tokens.take().text)
        if tokens.accept("["):
            items: list[object] = []
            while not tokens.accept("]"):
                items.append(self.value())
                if tokens.next.text != "]":
                    tokens.expect(",")
            return tuple(items)
        for word, value in (("True", True), ("False", False), ("None", None)):
            if tokens.accept(word):
                return value
        if token.kind == "name" and token.text == "Tensor" and tokens.after_next.text == "[":
            tokens.take()
            return self._tensor()
        if token.kind == "name" and tokens.after_next.text == "(" and token.text not in _FUNCTIONS:
            return self._object()
        negative = token.text == "-" and tokens.after_next.kind == "number"
        number = tokens.after_next if negative else token
        if number.kind == "number" and not number.text.isdigit():
            if negative:
                tokens.take()
            tokens.take()
            return -float(number.text) if negative else float(number.text)
        found = self.dim()
        return found.value if isinstance(found, Const) else found

    def _object(self) -> AttrObject:
        """`attrs.axis_abs(axis=1)`, `TupleType(fields=[Tensor[(2,), int8]])`: a type key, and fields by name."""
        tokens = self.tokens
        key = tokens.take()
        classes = _object_classes(key.text)
        if len(classes) != 1:
            raise tokens.error(f"{len(classes)} loaded classes have the type key {key.text!r}", key)
        tokens.expect("(")
        fields: dict[str, object] = {}
        while not tokens.accept(")"):
            name = tokens.expect_kind("name", "the name of a field").text
            tokens.expect("=")
            fields[name] = self.value()
            if tokens.next.text != ")":
                tokens.expect(",")
        try:
            return classes[0](**fields)
        except (OpgenError, TypeError, ValueError) as error:
            raise tokens.error(str(error), key) from None


def object_from_text(text: str) -> object:
    """The value of an attr that a text means.  Raises ParseError."""
    parser = TypeParser(Tokens(text))
    found = parser.value()
    if parser.tokens.next.kind != "end":
        raise parser.tokens.error("expected the end of the text")
    return found


def _object_classes(key: str) -> tuple[type[AttrObject], ...]:
    """The classes of a type key: of attrs of an op the one that its calls have."""
    name = key.removeprefix("attrs.")
    if name != key and has_op(name):
        own = attrs_type(Op.get(name))
        if own is not None and own.type_key == key:
            return (own,)
    return classes_of(key)


def _combine(function: Callable[..., DimExpr], *operands: object) -> object:
    result = function(*_as_exprs(operands))
    return result.value if isinstance(result, Const) else result


def _as_exprs(operands: tuple[object, ...]) -> tuple[object, ...]:
    """Ints are weak beside an expression; where all are ints, they are dims."""
    from_ints = all(isinstance(o, int) for o in operands)
    return tuple(_index(o) for o in operands) if from_ints else operands


def _index(value: object) -> DimExpr:
    assert isinstance(value, int)
    return Const(dim("").dtype, value)
