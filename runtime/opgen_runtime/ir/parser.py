"""Expressions and modules from the text that `printer.py` writes, and from text written by hand.

    program   = definition* | ("free_var" var ":" type ";")* block
    block     = (%<number> "=" expr ";" | "let" var [":" type] "=" expr ";")* expr
    expr      = op ["@" version] [types] "(" args ")" | var | global | constant | "(" exprs ")" | expr "." field
              | "if" "(" expr ")" "{" block "}" "else" "{" block "}"
              | "fn" params ["->" type] "{" block "}" | "{" block "}"

A call of an older version of its op (a name without a version is of the first) becomes one of today's.
Comments stand between /* and */.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from types import MappingProxyType
from typing import Final, TypeVar

import numpy as np

from ..base.arith.tokens import Token, Tokens, parse_error
from ..base.errors import OpgenError, ParseError
from ..base.vocabulary import DTYPES, DType
from ..operator import Attrs, Op, Type
from ..operator import TypeVar as TypeParameter
from .constant import const
from .expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Span, Tuple, TupleGetItem, Var
from .forward import attrs_type, declared, version_of
from .module import IRModule
from .text import SECTION, SUFFIXES, constant_from_json
from .type_parser import TypeParser

_DEEPEST: Final = 100
_DTYPE_OF_SUFFIX: Final = {suffix: name for name, suffix in SUFFIXES.items() if name != "bool"}
_EXPRESSION_WORDS: Final = frozenset(["True", "False", "const", "meta", "if", "fn"])
T = TypeVar("T")


def parse_expr(text: str) -> Expr:
    """The expression of `text`. Raises ParseError with line and column, and what making its nodes raises."""
    parser = _Parser(text)
    parser.free_vars()
    expr = parser.block()
    parser.end()
    return expr


def parse_module(text: str) -> IRModule:
    """The module of `text`, a list of definitions. Raises like `parse_expr`."""
    parser = _Parser(text)
    functions: dict[GlobalVar, Function] = {}
    while parser.tokens.next.text == "def":
        var, function = parser.definition()
        functions[var] = function
    parser.end()
    return IRModule(functions)


class _Parser:
    def __init__(self, text: str) -> None:
        program, mark, section = text.partition(f"\n{SECTION}\n")
        self.tokens = Tokens(program)
        self.types = TypeParser(self.tokens)
        self.names: dict[str, Expr] = {}
        self.hidden: list[tuple[str, Expr | None]] = []  # what each name of the open blocks meant outside
        self.globals: dict[str, GlobalVar] = {}
        self.constants = _constants(text, len(program), section) if mark else []
        self.depth = 0

    def end(self) -> None:
        if self.tokens.next.kind != "end":
            raise self.tokens.error("expected the end of the text")

    def free_vars(self) -> None:
        while self.tokens.accept("free_var"):
            self.binder()
            self.tokens.expect(";")

    def binder(self) -> Var:
        """`%x: type`; the name is visible from here on."""
        token = self.tokens.expect_kind("var", "a variable")
        type_ = self.types.type() if self.tokens.accept(":") else None
        var = Var(token.text[1:], type_)
        self.bind(token.text, var)
        return var

    def bind(self, name: str, meaning: Expr) -> None:
        self.hidden.append((name, self.names.get(name)))
        self.names[name] = meaning

    def scoped(self, read: Callable[[], T]) -> T:
        """What `read` gives; the names that it binds are forgotten."""
        outside = len(self.hidden)
        result = read()
        while len(self.hidden) > outside:
            name, meaning = self.hidden.pop()
            if meaning is None:
                del self.names[name]
            else:
                self.names[name] = meaning
        return result

    def braces(self) -> Expr:
        self.tokens.expect("{")
        body = self.scoped(self.block)
        self.tokens.expect("}")
        return body

    def block(self) -> Expr:
        tokens = self.tokens
        lets: list[tuple[Var, Expr]] = []
        while True:
            if tokens.accept("let"):
                token = tokens.expect_kind("var", "a variable")
                type_ = self.types.type() if tokens.accept(":") else None
                tokens.expect("=")
                value = self.expr()
                var = Var(token.text[1:], type_)
                self.bind(token.text, var)
                lets.append((var, value))
            elif tokens.next.kind == "var" and tokens.after_next.text == "=":
                token = tokens.take()
                tokens.take()
                if not token.text[1:].isdigit():
                    raise tokens.error(
                        f"{token.text} is bound by `let`; only %<number> stands without it", token
                    )
                self.bind(token.text, self.expr())
            else:
                body = self.expr()
                break
            tokens.expect(";")
        for var, value in reversed(lets):
            body = Let(var, value, body)
        return body

    def expr(self) -> Expr:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.tokens.error(
                f"blocks and operands may nest {_DEEPEST} deep; bind inner ones to %<number>"
            )
        found = self.primary()
        self.depth -= 1
        while True:
            if self.tokens.accept("."):
                for index in self.tokens.expect_kind("number", "the position of a field").text.split("."):
                    found = TupleGetItem(found, int(index))
            elif self.tokens.next.text in ("(", "[") and not isinstance(found, Constant):
                start = self.tokens.next
                types = self.type_args()
                args, attrs = self.arguments()
                if attrs:
                    raise self.tokens.error("only calls of ops have attrs", start)
                found = Call(found, tuple(args), type_args=types, span=self.span(start))
            else:
                return found

    def primary(self) -> Expr:
        tokens = self.tokens
        token = tokens.next
        if token.kind == "var":
            tokens.take()
            if token.text not in self.names:
                raise tokens.error(f"{token.text} is not defined here", token)
            return self.names[token.text]
        if token.kind == "global":
            tokens.take()
            return self.globals.setdefault(token.text, GlobalVar(token.text[1:]))
        if token.kind == "number" or token.text == "-":
            return self.scalar()
        if token.text == "(":
            return self.tuple_or_inner()
        if token.text == "{":
            return self.braces()
        if token.kind == "name":
            return self.word(tokens.take())
        raise tokens.error("expected an expression")

    def word(self, token: Token) -> Expr:
        tokens = self.tokens
        quoted = tokens.text[token.place] == "`"
        if quoted or token.text not in _EXPRESSION_WORDS:
            return self.op_call(token)
        if token.text in ("True", "False"):
            return const(token.text == "True")
        if token.text == "const":
            return self.array()
        if token.text == "meta":
            return self.large(token)
        if token.text == "fn":
            return self.function()
        tokens.expect("(")
        condition = self.expr()
        tokens.expect(")")
        then = self.braces()
        tokens.expect("else")
        return If(condition, then, self.braces(), span=self.span(token))

    def tuple_or_inner(self) -> Expr:
        tokens = self.tokens
        tokens.expect("(")
        fields: list[Expr] = []
        comma = True
        while not tokens.accept(")"):
            fields.append(self.expr())
            comma = tokens.accept(",")
            if not comma and tokens.next.text != ")":
                raise tokens.error("expected ',' or ')'")
        return Tuple(tuple(fields)) if comma or len(fields) != 1 else fields[0]

    def op_call(self, name: Token) -> Expr:
        op = self.made(name, lambda: Op.get(name.text))
        version = self.version(op)
        types = self.type_args()
        args, given = self.arguments()
        if version < version_of(op):
            upgrade: Callable[..., Expr] = op.get_attr("upgrade")
            return self.made(name, lambda: upgrade(version, args, given, self.span(name)))
        operands = (*args, *_absent(op, len(args)))
        return Call(op, operands, self.attrs(op, given, name), types, span=self.span(name))

    def type_args(self) -> tuple[Type, ...]:
        """`[Tensor[(2), float32], A]` between a callee and its operands, or nothing."""
        found: list[Type] = []
        if self.tokens.accept("["):
            while not self.tokens.accept("]"):
                found.append(self.types.whole_type())
                if self.tokens.next.text != "]":
                    self.tokens.expect(",")
        return tuple(found)

    def version(self, op: Op) -> int:
        """`@2` behind the name of an op; without it the first."""
        token = self.tokens.next
        if token.kind != "version":
            return 1
        self.tokens.take()
        version, known = int(token.text[1:]), version_of(op)
        if not 1 <= version <= known:
            text = f"op {op.name!r} is of version {known} here, the text of version {version}"
            raise self.tokens.error(text, token)
        return version

    def arguments(self) -> tuple[list[Expr], dict[str, object]]:
        tokens = self.tokens
        tokens.expect("(")
        args: list[Expr] = []
        attrs: dict[str, object] = {}
        while not tokens.accept(")"):
            if tokens.next.kind == "name" and tokens.after_next.text == "=":
                name = tokens.take().text
                tokens.take()
                attrs[name] = self.types.value()
            else:
                args.append(self.expr())
            if tokens.next.text != ")":
                tokens.expect(",")
        return args, attrs

    def attrs(self, op: Op, given: dict[str, object], place: Token) -> Attrs | None:
        kind = self.made(place, lambda: attrs_type(op))
        if kind is None:
            if given:
                raise self.tokens.error(f"op {op.name!r} has no attrs; found {', '.join(given)}", place)
            return None
        return kind(**given)

    def function(self) -> Function:
        with self.types.scope():
            return self.scoped(self.function_rest)

    def function_rest(self) -> Function:
        tokens = self.tokens
        generic: tuple[TypeParameter, ...] = self.types.type_params()
        tokens.expect("(")
        params: list[Var] = []
        attrs: dict[str, object] = {}
        while not tokens.accept(")"):
            if tokens.next.kind == "var":
                params.append(self.binder())
            else:
                name = tokens.expect_kind("name", "a parameter or an attr").text
                tokens.expect("=")
                attrs[name] = self.types.value()
            if tokens.next.text != ")":
                tokens.expect(",")
        result = self.types.type() if tokens.accept("->") else None
        return Function(tuple(params), self.braces(), result, generic, MappingProxyType(attrs))

    def definition(self) -> tuple[GlobalVar, Function]:
        self.tokens.expect("def")
        token = self.tokens.expect_kind("global", "the name of a function")
        var = self.globals.setdefault(token.text, GlobalVar(token.text[1:]))
        return var, self.function()

    def scalar(self) -> Constant:
        """`3`, `-0.5f`, `inff64`, `3i64`."""
        negative = self.tokens.accept("-")
        token = self.tokens.expect_kind("number", "a number")
        suffix = token.suffix or ("" if token.text.isdigit() else "f")
        if suffix not in _DTYPE_OF_SUFFIX:
            raise self.tokens.error(f"unknown dtype suffix {suffix!r}", token)
        dtype = _DTYPE_OF_SUFFIX[suffix]
        return self.made(token, lambda: const(_number(token.text, negative, dtype), dtype))

    def array(self) -> Constant:
        """`const([[1, 2], [3, 4]], int32)`; an empty one states its shape."""
        tokens = self.tokens
        start = tokens.expect("(")
        values = self.types.value()
        tokens.expect(",")
        dtype = tokens.expect_kind("name", "a dtype")
        if dtype.text not in DTYPES:
            raise tokens.error(f"unknown dtype {dtype.text!r}", dtype)
        data = self.made(start, lambda: np.array(values, DType(dtype.text).numpy))
        if tokens.accept(","):
            tokens.expect("shape")
            tokens.expect("=")
            shape = self.types.value()
            data = self.made(start, lambda: data.reshape(shape))
        tokens.expect(")")
        return self.made(start, lambda: Constant(data))

    def made(self, place: Token, make: Callable[[], T]) -> T:
        """What `make` gives; its complaints get a place."""
        try:
            return make()
        except (OpgenError, ValueError, TypeError, OverflowError) as error:
            raise self.tokens.error(str(error), place) from None

    def large(self, place: Token) -> Constant:
        self.tokens.expect("[")
        number = self.tokens.expect_kind("number", "the number of a constant").text
        self.tokens.expect("]")
        if not number.isdigit() or int(number) >= len(self.constants):
            raise self.tokens.error(f"constant {number} is not in the section {SECTION}", place)
        return self.constants[int(number)]

    def span(self, token: Token) -> Span:
        return Span("<text>", self.tokens.line(token))


def _absent(op: Op, given: int) -> list[Tuple]:
    """Optional operands at the end, which the op may not have had when the text was written."""
    declaration = declared(op)
    missing = () if declaration is None else declaration.signature.inputs[given:]
    return [Tuple(()) for _ in missing] if all(each.optional for each in missing) else []


def _constants(text: str, place: int, section: str) -> list[Constant]:
    found: list[Constant] = []
    for line in section.splitlines():
        try:
            found.append(constant_from_json(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            raise parse_error(
                text, place, f"constant {len(found)} of the section is damaged: {error}"
            ) from None
    return found


def _number(text: str, negative: bool, dtype: str) -> int | float:
    value = int(text) if text.isdigit() and not DType(dtype).is_float else float(text)
    return -value if negative else value


__all__ = ["ParseError", "parse_expr", "parse_module"]
