"""What the text of a kernel declares: its parameters, dims and outputs that are seen in part, and names.

declared  = name ":" dtype "[" extents "]"
dims      = "dims" name ["from" least ["to" most]], ...    more that is known of dims, their order
seen      = "seen" output ":" count "rows" "of" width
"""

from __future__ import annotations

from typing import Final

from ....base.arith.expr import Const, Dim, Var
from ....base.arith.tokens import Token, Tokens
from ....base.vocabulary import INDEX
from ..nodes.stmt import Buffer, Seen
from .expressions import ExprReader
from .text import Named

MOST: Final = (1 << 63) - 1


class DeclarationReader:
    """Reads declarations; the names that they make are in the scope of its reader of expressions."""

    def __init__(self, text: str) -> None:
        self.tokens = Tokens(text)
        self.reader = ExprReader(self.tokens)
        self.inputs: tuple[Buffer, ...] = ()

    def parameters(self) -> tuple[Buffer, ...]:
        """`(inputs) -> (outputs)`; gives the outputs."""
        self.inputs = self.declared_list()
        self.tokens.expect("->")
        outputs = self.declared_list()
        if not outputs:
            raise self.tokens.error("expected an output")
        return outputs

    def declared_list(self) -> tuple[Buffer, ...]:
        found: list[Buffer] = []
        self.reader.open("(")
        while self.tokens.next.text != ")":
            found.append(self.declared("global", makes_dims=True))
            if self.tokens.next.text != ")":
                self.tokens.expect(",")
        self.reader.close(")")
        return tuple(found)

    def declared(self, scope: str, makes_dims: bool = False) -> Buffer:
        """`x: float32[8, n]`; the name is in scope from here on."""
        token = self.tokens.expect_kind("name", "the name of a buffer")
        self.tokens.expect(":")
        place = self.tokens.next
        dtype = self.reader.dtype()
        if dtype is INDEX and makes_dims:
            raise self.tokens.error("a parameter is of a dtype that arrays have, found index", place)
        self.reader.open("[")
        shape: list[Dim] = []
        while self.tokens.next.text != "]":
            shape.append(self.extent(makes_dims))
            if self.tokens.next.text != "]":
                self.tokens.expect(",")
        self.reader.close("]")
        buffer = Buffer(token.text, tuple(shape), dtype, scope)
        self.bind(token, buffer)
        return buffer

    def extent(self, makes_dims: bool) -> Dim:
        """An int, or an expression of dims, which the shapes of parameters introduce."""
        token = self.tokens.next
        if token.kind == "name" and makes_dims and self.tokens.after_next.text != "(":
            self.reader.scope.setdefault(token.text, Var(INDEX, token.text, size=True))
        found = self.reader.scalar(INDEX, "an extent")
        if not isinstance(found, Const):
            return found
        if found.value < 0:
            raise self.tokens.error(f"an extent is at least 0, found {found.value}", token)
        return int(found.value)

    def dims(self) -> tuple[Var, ...]:
        """`dims n from 1 to 64, m`."""
        self.reader.begin_line()
        self.tokens.expect("dims")
        found: dict[str, Var] = {}
        while self.reader.is_on_line():
            token = self.tokens.expect_kind("name", "a dim")
            least = self.reader.integer("the least", 0, MOST) if self.tokens.accept("from") else 0
            most = self.reader.integer("the most", least, MOST) if self.tokens.accept("to") else None
            if token.text in found:
                raise self.tokens.error(f"the dim {token.text} is named twice", token)
            found[token.text] = Var(INDEX, token.text, size=True, least=least, most=most)
            if not self.tokens.accept(","):
                break
        self.end_line()
        return tuple(found.values())

    def seen(self, outputs: tuple[Buffer, ...]) -> Seen:
        """`seen y: count rows of width`."""
        self.reader.begin_line()
        self.tokens.expect("seen")
        positions: list[int] = []
        for mark in (":", "rows"):
            token = self.tokens.next
            buffer = self.reader.buffer("an output")
            if buffer not in outputs:
                raise self.tokens.error(f"{buffer.name} is no output", token)
            positions.append(outputs.index(buffer))
            self.tokens.expect(mark)
        self.tokens.expect("of")
        width = self.extent(makes_dims=False)
        self.end_line()
        return Seen(positions[0], positions[1], width)

    def bind(self, token: Token, meaning: Named) -> None:
        """Give a name its meaning; it has none here yet."""
        if token.text in self.reader.scope:
            raise self.tokens.error(f"{token.text} is defined here already", token)
        self.reader.scope[token.text] = meaning

    def end_line(self) -> None:
        if self.reader.is_on_line():
            raise self.tokens.error("expected the end of the line")
