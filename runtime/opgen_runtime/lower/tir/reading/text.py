"""What reading loop IR from text begins with: lines, brackets, names, numbers, and what operands must have alike."""

from __future__ import annotations

from typing import Final, TypeAlias

from ....base.arith.expr import Expr, Var
from ....base.arith.structural import label
from ....base.arith.tokens import Token, Tokens
from ....base.errors import did_you_mean
from ....base.vocabulary import BOOL, DTYPES, DType
from ..nodes.stmt import Buffer
from ..nodes.vector import Lanes

_MAX_DEPTH: Final = 100  # of brackets and complements inside each other

Named: TypeAlias = Var | Buffer


class TextReader:
    """Reads marks, names and numbers; a statement ends with its line, but for what stands in brackets."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.scope: dict[str, Named] = {}
        self.vectors: dict[Var, int] = {}  # names that hold vectors, and how many lanes those have
        self._lanes = Lanes(self.vectors)
        self._nodes: dict[tuple[object, ...], Expr] = {}
        self._depth = 0  # of brackets and complements
        self._brackets = 0
        self._line_end = 0

    def begin_line(self) -> None:
        """What is read from here on ends with this line, but for what stands in brackets."""
        self._depth = self._brackets = 0
        self._end_line(self.tokens.next)

    def is_on_line(self) -> bool:
        """Whether the next token belongs to the statement that is read."""
        return self.tokens.next.kind != "end" and self.tokens.next.place < self._line_end

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

    def integer(self, what: str, least: int, most: int | None = None) -> int:
        """A number in the text that is an int within bounds."""
        token = self.tokens.next
        negative = self.tokens.accept("-")
        number = self.tokens.expect_kind("number", what)
        value = self.int_of(number, negative)
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
        self.deeper(token)
        self._brackets += 1
        self._line_end = len(self.tokens.text)

    def close(self, mark: str) -> None:
        """The bracket that closes the last one that was opened."""
        token = self.tokens.expect(mark)
        self.shallower()
        self._brackets -= 1
        if self._brackets == 0:
            self._end_line(token)

    def shared(self, node: Expr) -> Expr:
        """The node, or an equal one that was read before."""
        if isinstance(node, Var):
            return node
        key = (label(node), *[id(child) for child in node.children()])
        return self._nodes.setdefault(key, node)

    def _end_line(self, token: Token) -> None:
        end = self.tokens.text.find("\n", token.place)
        self._line_end = len(self.tokens.text) if end < 0 else end

    def deeper(self, token: Token) -> None:
        """One bracket or complement more.  Raises ParseError where there are too many."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self.tokens.error(f"brackets may nest {_MAX_DEPTH} deep", token)

    def shallower(self) -> None:
        """One bracket or complement less."""
        self._depth -= 1

    def int_of(self, token: Token, negative: bool) -> int:
        """The integer that a token is.  Raises ParseError for another number."""
        if not token.text.isdigit() or token.suffix or len(token.text) > 20:
            raise self.tokens.error(
                f"expected an integer of 64 bits, found {token.text}{token.suffix}", token
            )
        return -int(token.text) if negative else int(token.text)

    def require_bool(self, e: Expr, place: Token) -> None:
        """Raises ParseError for a condition that is no bool."""
        if e.dtype is not BOOL:
            raise self.tokens.error(f"a condition is a bool, found {e.dtype}", place)

    def require_same(self, place: Token, what: str, *parts: Expr) -> None:
        """Operands are of one dtype, vectors among them of one width, else ParseError."""
        dtypes = list(dict.fromkeys(part.dtype for part in parts))
        if len(dtypes) > 1:
            raise self.tokens.error(
                f"{what} is of one dtype, found {' and '.join(dtypes)}; cast(x, dtype), or a literal as "
                f"{dtypes[0]}(1)",
                place,
            )
        self.require_same_lanes(place, what, *parts)

    def require_same_lanes(self, place: Token, what: str, *parts: Expr) -> None:
        """Vectors among operands are of one width, else ParseError."""
        lanes = sorted({self.lanes(part) for part in parts} - {1})
        if len(lanes) > 1:
            raise self.tokens.error(f"{what} joins vectors of {' and '.join(map(str, lanes))} lanes", place)
