"""Functions in the text of loop IR: `max(a, b)`, `exp(x)`, `cast(x, int8)`, `ramp(i, 1, 8)`, `reduce_sum(v)`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

from ....base.arith.expr import Bitcast, Call, Cast, Expr
from ....base.arith.intrinsics import ELEMENT_FUNCTIONS
from ....base.arith.tokens import Token, Tokens
from ....base.errors import did_you_mean
from ....base.vocabulary import BOOL, DType
from ..nodes.stmt import Aligned, HorizontalReduce, Packed, Ramp, Shuffle, Splat
from ..nodes.vector import MAX_LANES
from .text import TextReader

_TWO: Final = {"min": "min", "max": "max", "trunc_div": "truncdiv", "trunc_mod": "truncmod"}
_COMBINERS: Final = ("sum", "prod", "min", "max", "and", "or")


class FunctionReader(TextReader, ABC):
    """Reads calls of functions, whose operands are expressions."""

    def __init__(self, tokens: Tokens) -> None:
        super().__init__(tokens)
        self._functions: dict[str, Callable[[Token], Expr]] = {
            "cast": self._cast,
            "bitcast": self._bitcast,
            "ramp": self._ramp,
            "splat": self._splat,
            "packed": self._packed,
            "shuffle": self._shuffle,
            "aligned": self._aligned,
        }

    @abstractmethod
    def operand(self) -> Expr:
        """An expression inside another one."""

    @abstractmethod
    def binary(self, place: Token, op: str, a: Expr, b: Expr) -> Expr:
        """An operation on two operands, which are of one dtype that has it."""

    def function(self, token: Token) -> Expr:
        """The call of a function whose name has been read."""
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
            return self.binary(token, _TWO[name], *args)
        if row is None:
            return self.shared(HorizontalReduce(args[0].dtype, combiner, args[0]))
        self.require_same(token, name, *args)
        needed = row.why_not(args[0].dtype)
        if needed is not None:
            raise self.tokens.error(f"{name} needs {needed}, found {args[0].dtype}", token)
        return self.shared(Call(BOOL if row.gives_bool else args[0].dtype, name, args))

    def _args(self) -> tuple[Expr, ...]:
        self.open("(")
        args = [self.operand()]
        while self.tokens.accept(","):
            args.append(self.operand())
        self.close(")")
        return tuple(args)

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
        a = self.operand()
        self.tokens.expect(",")
        return a, self.dtype()

    def _ramp(self, token: Token) -> Expr:
        base = self.operand()
        self.tokens.expect(",")
        stride = self.operand()
        self.tokens.expect(",")
        self.require_same(token, "ramp", base, stride)
        if not base.dtype.is_int or self.lanes(base) != 1 or self.lanes(stride) != 1:
            raise self.tokens.error("a ramp begins at an integer and goes on by one, scalars both", token)
        return self.shared(Ramp(base.dtype, base, stride, self.integer("the lanes", 2, MAX_LANES)))

    def _splat(self, token: Token) -> Expr:
        value = self.operand()
        self.tokens.expect(",")
        if self.lanes(value) != 1:
            raise self.tokens.error("a splat is of a scalar", token)
        return self.shared(Splat(value.dtype, value, self.integer("the lanes", 2, MAX_LANES)))

    def _packed(self, token: Token) -> Expr:
        value = self.operand()
        self.tokens.expect(";")
        mask = self.operand()
        self.require_bool(mask, token)
        if self.lanes(value) != self.lanes(mask):
            raise self.tokens.error("packed is of a vector and a mask of its lanes", token)
        return self.shared(Packed(value.dtype, value, mask))

    def _shuffle(self, token: Token) -> Expr:
        vectors = [self.operand()]
        while self.tokens.accept(","):
            vectors.append(self.operand())
        self.tokens.expect(";")
        self.require_same(token, "shuffle", *vectors)
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
