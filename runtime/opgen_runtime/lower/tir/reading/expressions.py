"""Expressions of loop IR from text: what the printer writes, node for node, and nothing is folded.

    expr     = or ["if" or "else" expr]                        a choice
    or, and  = c "or" x, c "and" x                             choices with a constant side
    compare  = bits [("<" | "<=" | ">" | ">=" | "==" | "!=") bits]
    bits ..  = "|" "^" "&", "<<" ">>", "+" "-", "*" "/" "//" "%", as in Python
    unary    = "~" unary | "-" number
    atom     = number | True | False | dtype "(" number ")" | name | name "[" exprs [";" expr] "]"
             | [dtype] "[" numbers "]" "[" expr "]"            a table
             | function "(" exprs ")" | "cast" "(" expr "," dtype ")" | "ramp" "(" expr "," expr "," lanes ")" | ...
    whole    = expr ["where" %0 "=" expr, ...]                 values that are written once

An integer is an `index`, a number with a point a float32; others carry their dtype.  Equal parts are one node.
"""

from __future__ import annotations

from typing import Final

from ....base.arith.expr import Binary, Compare, Const, Expr, Not, Select, Table
from ....base.arith.literals import const
from ....base.arith.tokens import Token, Tokens
from ....base.errors import DTypeError, did_you_mean
from ....base.vocabulary import BOOL, DTYPES, FLOAT32, INDEX, DType
from ..nodes.stmt import Buffer, Load
from .functions import FunctionReader

_SELECT, _OR, _AND, _COMPARE = range(4)
_TERM: Final = 9
_INFIX: Final[dict[str, tuple[str, int]]] = {
    "|": ("or", 4), "^": ("xor", 5), "&": ("and", 6), "<<": ("shl", 7), ">>": ("shr", 7),
    "+": ("add", 8), "-": ("sub", 8),
    "*": ("mul", _TERM), "/": ("div", _TERM), "//": ("floordiv", _TERM), "%": ("floormod", _TERM),
}  # fmt: skip
_COMPARISONS: Final = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_FALSE, _TRUE = Const(BOOL, False), Const(BOOL, True)


class ExprReader(FunctionReader):
    """Reads expressions over the names that are in scope."""

    def __init__(self, tokens: Tokens) -> None:
        super().__init__(tokens)
        self._values: dict[str, Expr] = {}  # of %0, %1, ... in the expression that is read

    # ------------------------------------------------------------------ what statements ask for

    def expr(self) -> Expr:
        """An expression; `where` may follow it."""
        values = self._where()
        outside, self._values = self._values, {**self._values, **values[0]}
        found = self._part(_SELECT)
        self._values = outside
        if values[0]:
            self.tokens.back_to(values[1])
        return found

    def operand(self) -> Expr:
        return self._part(_SELECT)

    def typed(self, dtype: DType, what: str) -> Expr:
        """An expression of a dtype."""
        token = self.tokens.next
        found = self.expr()
        if found.dtype is not dtype:
            hint = f"; cast(..., {dtype})" if dtype is INDEX else ""
            raise self.tokens.error(f"{what} is of dtype {dtype}, found {found.dtype}{hint}", token)
        return found

    def scalar(self, dtype: DType, what: str) -> Expr:
        """A scalar of a dtype."""
        token = self.tokens.next
        found = self.typed(dtype, what)
        if self.lanes(found) != 1:
            raise self.tokens.error(f"{what} is a scalar, found a vector of {self.lanes(found)} lanes", token)
        return found

    def access(self, buffer: Buffer, place: Token) -> tuple[tuple[Expr, ...], Expr | None]:
        """`[indices; mask]` of a buffer, the mask where it has one."""
        self.open("[")
        indices: list[Expr] = []
        mask: Expr | None = None
        while self.tokens.next.text not in ("]", ";"):
            indices.append(self.typed(INDEX, "an index"))
            if self.tokens.next.text not in ("]", ";"):
                self.tokens.expect(",")
        if self.tokens.accept(";"):
            mask = self.typed(BOOL, "a mask")
        self.close("]")
        if len(indices) != len(buffer.shape):
            raise self.tokens.error(
                f"buffer {buffer.name} has {len(buffer.shape)} dims, found {len(indices)} indices", place
            )
        return tuple(indices), mask

    # ------------------------------------------------------------------ operators

    def _where(self) -> tuple[dict[str, Expr], int]:
        """The values behind `where` of the expression that begins here, and where reading goes on behind them."""
        start = self.tokens.position
        depth, token = 0, self.tokens.next
        while token.kind != "end" and (depth or self.is_on_line()):
            if token.kind == "mark":
                depth += (token.text in "([") - (token.text in ")]")
                if depth < 0 or (not depth and token.text in (",", ";", ":", "=")):
                    break
            elif not depth and token.text == "where" and token.kind == "name" and not token.suffix:
                return self._definitions(start)
            self.tokens.take()
            token = self.tokens.next
        self.tokens.back_to(start)
        return {}, start

    def _definitions(self, start: int) -> tuple[dict[str, Expr], int]:
        """`where %0 = expr, %1 = expr`, each over those before it."""
        self.tokens.expect("where")
        found: dict[str, Expr] = {}
        outside = self._values
        while True:
            name = self.tokens.expect_kind("var", "%0, %1, ...").text
            self.tokens.expect("=")
            self._values = {**outside, **found}
            found[name] = self._part(_SELECT)
            if not (self.tokens.next.text == "," and self.tokens.after_next.kind == "var"):
                break
            position = self.tokens.position
            self.tokens.take()
            self.tokens.take()
            if self.tokens.next.text != "=":  # what follows is another expression
                self.tokens.back_to(position)
                break
            self.tokens.back_to(position + 1)
        self._values = outside
        end = self.tokens.position
        self.tokens.back_to(start)
        return found, end

    def _part(self, level: int) -> Expr:
        """An expression whose operators bind at least as tightly as `level`."""
        left = self._unary()
        compared = False
        while self.is_on_line():
            token = self.tokens.next
            if token.kind == "var":  # `i %4` and `i%n`, where % is the operator
                self.tokens.split_next(1, "number" if token.text[1:].isdigit() else "name")
                token = self.tokens.next
            if token.suffix or token.kind not in ("mark", "name"):
                break
            if token.kind == "name":
                made = self._word(token, left, level)
                if made is None:
                    break
                left = made
            elif token.text in _COMPARISONS and level <= _COMPARE:
                if compared:
                    raise self.tokens.error("comparisons do not chain; use parentheses and `and`")
                self.tokens.take()
                right = self._part(_COMPARE + 1)
                self.require_same(token, token.text, left, right)
                left = self.shared(Compare(BOOL, _COMPARISONS[token.text], left, right))
                compared = True
            elif token.text in _INFIX and level <= _INFIX[token.text][1]:
                self.tokens.take()
                op, own = _INFIX[token.text]
                left = self.binary(token, op, left, self._part(own + 1))
            else:
                break
        return left

    def _word(self, token: Token, left: Expr, level: int) -> Expr | None:
        """`and`, `or` and `if` behind an operand; None where the expression ends here."""
        if token.text == "and" and level <= _AND:
            self.tokens.take()
            self.require_bool(left, token)
            return self._select(token, left, self._part(_AND + 1), _FALSE)
        if token.text == "or" and level <= _OR:
            self.tokens.take()
            self.require_bool(left, token)
            return self._select(token, left, _TRUE, self._part(_OR + 1))
        if token.text == "if" and level <= _SELECT:
            return self._choice(left)
        return None

    def _choice(self, then: Expr) -> Expr:
        """`then if condition else ...`, a chain of choices as long as it is."""
        chain: list[tuple[Token, Expr, Expr]] = []
        while self.is_on_line() and self.tokens.next.text == "if" and not self.tokens.next.suffix:
            token = self.tokens.take()
            condition = self._part(_OR)
            self.require_bool(condition, token)
            self.tokens.expect("else")
            chain.append((token, condition, then))
            then = self._part(_OR)
        for token, condition, chosen in reversed(chain):
            then = self._select(token, condition, chosen, then)
        return then

    def _select(self, place: Token, condition: Expr, then: Expr, otherwise: Expr) -> Expr:
        self.require_same(place, "a choice", then, otherwise)
        self.require_same_lanes(place, "a choice", condition, then, otherwise)
        return self.shared(Select(then.dtype, condition, self.shared(then), self.shared(otherwise)))

    def binary(self, place: Token, op: str, a: Expr, b: Expr) -> Expr:
        self.require_same(place, place.text, a, b)
        dtype = a.dtype
        fits = {"div": dtype.is_float, "shl": dtype.is_int, "shr": dtype.is_int}.get(op)
        if fits is None:
            bits = op in ("and", "or", "xor")
            fits = not dtype.is_float if bits else not dtype.is_bool or op in ("min", "max")
        if not fits:
            raise self.tokens.error(f"{place.text} of {dtype}", place)
        return self.shared(Binary(dtype, op, a, b))

    # ------------------------------------------------------------------ operands

    def _unary(self) -> Expr:
        token = self.tokens.next
        if not self.is_on_line():
            raise self.tokens.error("expected an expression before the end of the line")
        if token.text == "~" and token.kind == "mark":
            self.deeper(token)
            self.tokens.take()
            a = self._unary()
            self.shallower()
            if a.dtype.is_float:
                raise self.tokens.error(f"~ of {a.dtype}", token)
            return self.shared(Not(a.dtype, a))
        if token.kind == "number" or (token.text == "-" and token.kind == "mark"):
            return self._number(None)
        if token.text == "(":
            self.open("(")
            found = self._part(_SELECT)
            self.close(")")
            return found
        if token.text == "[":
            return self._table(None)
        if token.kind == "var":
            self.tokens.take()
            if token.text not in self._values:
                raise self.tokens.error(f"{token.text} has no value behind `where`", token)
            return self._values[token.text]
        if token.kind == "name":
            return self._name(self.tokens.take())
        raise self.tokens.error("expected an expression")

    def _name(self, token: Token) -> Expr:
        quoted = bool(token.suffix)
        following = self.tokens.next.text if self.is_on_line() and self.tokens.next.kind == "mark" else ""
        if not quoted and token.text in ("True", "False"):
            return self.shared(const(token.text == "True", BOOL))
        if not quoted and (token.text in DTYPES or token.text == "index") and following in ("(", "["):
            return self._typed_literal(DType(token.text))
        if not quoted and following == "(":
            return self.function(token)
        found = self.scope.get(token.text)
        if isinstance(found, Buffer):
            if following != "[":
                raise self.tokens.error(f"buffer {token.text} is read at indices, {token.text}[...]", token)
            indices, mask = self.access(found, token)
            self.require_same_lanes(token, "a read", *indices, *([] if mask is None else [mask]))
            return self.shared(Load(found.dtype, found, indices, mask))
        if found is None:
            raise self.tokens.error(
                f"{token.text} is not defined here{did_you_mean(token.text, self.scope)}", token
            )
        return found

    def _typed_literal(self, dtype: DType) -> Expr:
        if self.tokens.next.text == "[":
            return self._table(dtype)
        self.open("(")
        found = self._number(dtype)
        self.close(")")
        return found

    def _number(self, dtype: DType | None) -> Const:
        """A literal, of `dtype` where it says one."""
        token = self.tokens.next
        value = self._value()
        natural = BOOL if isinstance(value, bool) else FLOAT32 if isinstance(value, float) else INDEX
        try:
            made = const(value, dtype or natural)
        except DTypeError as error:
            raise self.tokens.error(str(error), token) from None
        shared = self.shared(made)
        assert isinstance(shared, Const)
        return shared

    def _value(self) -> bool | int | float:
        """A number or truth value in the text."""
        for word in (True, False):
            if self.tokens.accept(str(word)):
                return word
        negative = self.tokens.accept("-")
        token = self.tokens.expect_kind("number", "a number")
        if token.text.isdigit():
            return self.int_of(token, negative)
        if token.suffix:
            raise self.tokens.error(
                f"unknown suffix {token.suffix!r} of a number; int32(3) has a dtype", token
            )
        return -float(token.text) if negative else float(token.text)

    def _table(self, dtype: DType | None) -> Expr:
        place = self.tokens.next
        self.open("[")
        values = [self._number(dtype)]
        while self.tokens.accept(","):
            values.append(self._number(dtype or values[0].dtype))
        self.close("]")
        self.open("[")
        index = self.expr()
        self.close("]")
        if not index.dtype.is_int:
            raise self.tokens.error(f"a table is read at an integer, found {index.dtype}", place)
        return self.shared(Table(values[0].dtype, tuple([each.value for each in values]), index))

    # ------------------------------------------------------------------ functions
