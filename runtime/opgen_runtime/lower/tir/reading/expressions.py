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

from collections.abc import Callable
from typing import Final

from ....base.arith.expr import Binary, Bitcast, Call, Cast, Compare, Const, Expr, Not, Select, Table, Var
from ....base.arith.intrinsics import ELEMENT_FUNCTIONS
from ....base.arith.literals import const
from ....base.arith.structural import label
from ....base.arith.tokens import Token, Tokens
from ....base.errors import DTypeError, did_you_mean
from ....base.vocabulary import BOOL, DTYPES, FLOAT32, INDEX, DType
from ..nodes.stmt import Aligned, Buffer, HorizontalReduce, Load, Packed, Ramp, Shuffle, Splat
from ..nodes.vector import MAX_LANES, Lanes

_SELECT, _OR, _AND, _COMPARE = range(4)
_TERM: Final = 9
_INFIX: Final[dict[str, tuple[str, int]]] = {
    "|": ("or", 4), "^": ("xor", 5), "&": ("and", 6), "<<": ("shl", 7), ">>": ("shr", 7),
    "+": ("add", 8), "-": ("sub", 8),
    "*": ("mul", _TERM), "/": ("div", _TERM), "//": ("floordiv", _TERM), "%": ("floormod", _TERM),
}  # fmt: skip
_COMPARISONS: Final = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_TWO: Final = {"min": "min", "max": "max", "trunc_div": "truncdiv", "trunc_mod": "truncmod"}
_COMBINERS: Final = ("sum", "prod", "min", "max", "and", "or")
_MAX_DEPTH: Final = 100  # of brackets and complements inside each other
_FALSE, _TRUE = Const(BOOL, False), Const(BOOL, True)
_INT64: Final = DType("int64")

Named = Var | Buffer


class ExprReader:
    """Reads expressions over the names that are in scope."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.scope: dict[str, Named] = {}
        self.vectors: dict[Var, int] = {}  # names that hold vectors, and how many lanes those have
        self._lanes = Lanes(self.vectors)
        self._nodes: dict[tuple[object, ...], Expr] = {}
        self._values: dict[str, Expr] = {}  # of %0, %1, ... in the expression that is read
        self._depth = 0  # of brackets and complements
        self._brackets = 0
        self._line_end = 0
        self._functions: dict[str, Callable[[Token], Expr]] = {
            "cast": self._cast,
            "bitcast": self._bitcast,
            "ramp": self._ramp,
            "splat": self._splat,
            "packed": self._packed,
            "shuffle": self._shuffle,
            "aligned": self._aligned,
        }

    # ------------------------------------------------------------------ what statements ask for

    def begin_line(self) -> None:
        """What is read from here on ends with this line, but for what stands in brackets."""
        self._depth = self._brackets = 0
        self._end_line(self.tokens.next)

    def is_on_line(self) -> bool:
        """Whether the next token belongs to the statement that is read."""
        return self.tokens.next.kind != "end" and self.tokens.next.place < self._line_end

    def expr(self) -> Expr:
        """An expression; `where` may follow it."""
        values = self._where()
        outside, self._values = self._values, {**self._values, **values[0]}
        found = self._part(_SELECT)
        self._values = outside
        if values[0]:
            self.tokens.back_to(values[1])
        return found

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

    def lanes(self, e: Expr) -> int:
        """How many lanes an expression has, 1 for a scalar."""
        return self._lanes.of(e)

    def buffer(self, what: str = "the name of a buffer") -> Buffer:
        """A buffer by its name."""
        token = self.tokens.expect_kind("name", what)
        found = self.scope.get(token.text)
        if not isinstance(found, Buffer):
            known = [name for name, each in self.scope.items() if isinstance(each, Buffer)]
            problem = "is no buffer" if found is not None else "is not defined here"
            raise self.tokens.error(f"{token.text} {problem}{did_you_mean(token.text, known)}", token)
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

    def integer(self, what: str, least: int, most: int | None = None) -> int:
        """A number in the text that is an int within bounds."""
        token = self.tokens.next
        negative = self.tokens.accept("-")
        number = self.tokens.expect_kind("number", what)
        value = self._int(number, negative)
        if value < least or (most is not None and value > most):
            bounds = f"at least {least}" if most is None else f"{least} to {most}"
            raise self.tokens.error(f"{what} is {bounds}, found {value}", token)
        return value

    def dtype(self) -> DType:
        """A dtype by its name, `index` among them."""
        token = self.tokens.expect_kind("name", "a dtype")
        if token.text not in DTYPES and token.text != "index":
            raise self.tokens.error(f"unknown dtype {token.text!r}{did_you_mean(token.text, DTYPES)}", token)
        return DType(token.text)

    def open(self, mark: str) -> None:
        """An opening bracket; until it is closed, lines do not end what is read."""
        token = self.tokens.expect(mark)
        self._deeper(token)
        self._brackets += 1
        self._line_end = len(self.tokens.text)

    def close(self, mark: str) -> None:
        """The bracket that closes the last one that was opened."""
        token = self.tokens.expect(mark)
        self._depth -= 1
        self._brackets -= 1
        if self._brackets == 0:
            self._end_line(token)

    def shared(self, node: Expr) -> Expr:
        """The node, or an equal one that was read before."""
        if isinstance(node, Var):
            return node
        key = (label(node), *[id(child) for child in node.children()])
        return self._nodes.setdefault(key, node)

    # ------------------------------------------------------------------ operators

    def _end_line(self, token: Token) -> None:
        end = self.tokens.text.find("\n", token.place)
        self._line_end = len(self.tokens.text) if end < 0 else end

    def _deeper(self, token: Token) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self.tokens.error(f"brackets may nest {_MAX_DEPTH} deep", token)

    def _where(self) -> tuple[dict[str, Expr], int]:
        """The values behind `where` of the expression that begins here, and where reading goes on behind them."""
        start = self.tokens.position
        depth, token = 0, self.tokens.next
        while token.kind != "end" and (depth or token.place < self._line_end):
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
                self._same(token, token.text, left, right)
                left = self.shared(Compare(BOOL, _COMPARISONS[token.text], left, right))
                compared = True
            elif token.text in _INFIX and level <= _INFIX[token.text][1]:
                self.tokens.take()
                op, own = _INFIX[token.text]
                left = self._binary(token, op, left, self._part(own + 1))
            else:
                break
        return left

    def _word(self, token: Token, left: Expr, level: int) -> Expr | None:
        """`and`, `or` and `if` behind an operand; None where the expression ends here."""
        if token.text == "and" and level <= _AND:
            self.tokens.take()
            self._bool(left, token)
            return self._select(token, left, self._part(_AND + 1), _FALSE)
        if token.text == "or" and level <= _OR:
            self.tokens.take()
            self._bool(left, token)
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
            self._bool(condition, token)
            self.tokens.expect("else")
            chain.append((token, condition, then))
            then = self._part(_OR)
        for token, condition, chosen in reversed(chain):
            then = self._select(token, condition, chosen, then)
        return then

    def _bool(self, e: Expr, place: Token) -> None:
        if e.dtype is not BOOL:
            raise self.tokens.error(f"a condition is a bool, found {e.dtype}", place)

    def _same(self, place: Token, what: str, *parts: Expr) -> None:
        """Operands are of one dtype; vectors among them of one width."""
        dtypes = list(dict.fromkeys(part.dtype for part in parts))
        if len(dtypes) > 1:
            raise self.tokens.error(
                f"{what} is of one dtype, found {' and '.join(dtypes)}; cast(x, dtype), or a literal as "
                f"{dtypes[0]}(1)",
                place,
            )
        self._same_lanes(place, what, *parts)

    def _same_lanes(self, place: Token, what: str, *parts: Expr) -> None:
        lanes = sorted({self.lanes(part) for part in parts} - {1})
        if len(lanes) > 1:
            raise self.tokens.error(f"{what} joins vectors of {' and '.join(map(str, lanes))} lanes", place)

    def _select(self, place: Token, condition: Expr, then: Expr, otherwise: Expr) -> Expr:
        self._same(place, "a choice", then, otherwise)
        self._same_lanes(place, "a choice", condition, then, otherwise)
        return self.shared(Select(then.dtype, condition, self.shared(then), self.shared(otherwise)))

    def _binary(self, place: Token, op: str, a: Expr, b: Expr) -> Expr:
        self._same(place, place.text, a, b)
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
            self._deeper(token)
            self.tokens.take()
            a = self._unary()
            self._depth -= 1
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
            return self._function(token)
        found = self.scope.get(token.text)
        if isinstance(found, Buffer):
            if following != "[":
                raise self.tokens.error(f"buffer {token.text} is read at indices, {token.text}[...]", token)
            indices, mask = self.access(found, token)
            self._same_lanes(token, "a read", *indices, *([] if mask is None else [mask]))
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
            return self._int(token, negative)
        if token.suffix:
            raise self.tokens.error(
                f"unknown suffix {token.suffix!r} of a number; int32(3) has a dtype", token
            )
        return -float(token.text) if negative else float(token.text)

    def _int(self, token: Token, negative: bool) -> int:
        if not token.text.isdigit() or token.suffix or len(token.text) > 20:
            raise self.tokens.error(
                f"expected an integer of 64 bits, found {token.text}{token.suffix}", token
            )
        return -int(token.text) if negative else int(token.text)

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

    def _function(self, token: Token) -> Expr:
        name = token.text
        own = self._functions.get(name)
        if own is not None:
            self.open("(")
            found = own(token)
            self.close(")")
            return found
        combiner = name.removeprefix("reduce_")
        known = [*_TWO, *ELEMENT_FUNCTIONS, *self._functions, *[f"reduce_{each}" for each in _COMBINERS]]
        if name not in known:
            raise self.tokens.error(f"there is no function {name}{did_you_mean(name, known)}", token)
        args = self._args()
        row = ELEMENT_FUNCTIONS.get(name)
        arity = 2 if name in _TWO else 1 if row is None else row.arity
        if len(args) != arity:
            raise self.tokens.error(f"{name} takes {arity} operands, found {len(args)}", token)
        if name in _TWO:
            return self._binary(token, _TWO[name], *args)
        if row is None:
            return self.shared(HorizontalReduce(args[0].dtype, combiner, args[0]))
        self._same(token, name, *args)
        needed = row.why_not(args[0].dtype)
        if needed is not None:
            raise self.tokens.error(f"{name} needs {needed}, found {args[0].dtype}", token)
        return self.shared(Call(BOOL if row.gives_bool else args[0].dtype, name, args))

    def _args(self) -> tuple[Expr, ...]:
        self.open("(")
        args = [self._part(_SELECT)]
        while self.tokens.accept(","):
            args.append(self._part(_SELECT))
        self.close(")")
        return tuple(args)

    def _operand(self) -> Expr:
        return self._part(_SELECT)

    def _cast(self, token: Token) -> Expr:
        a, dtype = self._converted()
        return self.shared(Cast(dtype, a))

    def _bitcast(self, token: Token) -> Expr:
        a, dtype = self._converted()
        if a.dtype.bits != dtype.bits or BOOL in (a.dtype, dtype):
            raise self.tokens.error(
                f"bitcast is between dtypes of one width, found {a.dtype} and {dtype}", token
            )
        return self.shared(Bitcast(dtype, a))

    def _converted(self) -> tuple[Expr, DType]:
        a = self._operand()
        self.tokens.expect(",")
        return a, self.dtype()

    def _ramp(self, token: Token) -> Expr:
        base = self._operand()
        self.tokens.expect(",")
        stride = self._operand()
        self.tokens.expect(",")
        self._same(token, "ramp", base, stride)
        if not base.dtype.is_int or self.lanes(base) != 1 or self.lanes(stride) != 1:
            raise self.tokens.error("a ramp begins at an integer and goes on by one, scalars both", token)
        return self.shared(Ramp(base.dtype, base, stride, self.integer("the lanes", 2, MAX_LANES)))

    def _splat(self, token: Token) -> Expr:
        value = self._operand()
        self.tokens.expect(",")
        if self.lanes(value) != 1:
            raise self.tokens.error("a splat is of a scalar", token)
        return self.shared(Splat(value.dtype, value, self.integer("the lanes", 2, MAX_LANES)))

    def _packed(self, token: Token) -> Expr:
        value = self._operand()
        self.tokens.expect(";")
        mask = self._operand()
        self._bool(mask, token)
        if self.lanes(value) != self.lanes(mask):
            raise self.tokens.error("packed is of a vector and a mask of its lanes", token)
        return self.shared(Packed(value.dtype, value, mask))

    def _shuffle(self, token: Token) -> Expr:
        vectors = [self._operand()]
        while self.tokens.accept(","):
            vectors.append(self._operand())
        self.tokens.expect(";")
        self._same(token, "shuffle", *vectors)
        last = max(self.lanes(vector) for vector in vectors) * len(vectors) - 1
        indices = [self.integer("a lane", 0, last)]
        while self.tokens.accept(","):
            indices.append(self.integer("a lane", 0, last))
        return self.shared(Shuffle(vectors[0].dtype, tuple(vectors), tuple(indices)))

    def _aligned(self, token: Token) -> Expr:
        buffers = [self.buffer()]
        while self.tokens.accept(","):
            buffers.append(self.buffer())
        self.tokens.expect(";")
        return self.shared(Aligned(BOOL, tuple(buffers), self.integer("the bytes", 1)))
