"""Tokens of the text forms (of the graph, of loop IR), with their places for messages."""

from __future__ import annotations

import bisect
import re
from typing import Final, NamedTuple

from ..errors import ParseError

_TOKEN: Final = re.compile(
    r"""(?P<space>(?:\s+|/\*.*?\*/)+)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<var>%[A-Za-z_]\w*|%\d+)
      | (?P<version>@\d+)
      | (?P<global>@[A-Za-z_]\w*)
      | (?P<quoted>`[^`\n]+`)
      | (?P<number>
          (?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|(?:inf|nan)(?=(?:f(?:16|64)?|bf16)?\b))
          (?P<suffix>(?:[iuf](?:8|16|32|64)?|bf16)\b|\b)?)
      | (?P<name>[A-Za-z_][\w.]*)
      | (?P<mark>->|//|<<|>>|[<>=!]=|[-,(){}\[\]:;=<>+*/%?.&|^~])
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """kind: string var global version name number mark end.

    `suffix`: of a number its dtype suffix; of a name the quote that it stands in, so that it is no word.
    """

    kind: str
    text: str
    place: int
    suffix: str = ""


class Tokens:
    """The tokens of a text, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = _scan(text)
        self._at = 0
        self._line_ends = [match.start() for match in re.finditer("\n", text)]

    @property
    def next(self) -> Token:
        return self._tokens[self._at]

    @property
    def after_next(self) -> Token:
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    def take(self) -> Token:
        token = self._tokens[self._at]
        if token.kind != "end":
            self._at += 1
        return token

    def accept(self, text: str) -> bool:
        """Take the next token if it is that mark or word."""
        token = self._tokens[self._at]
        if token.text == text and token.kind in ("mark", "name") and not token.suffix:
            self._at += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        token = self._tokens[self._at]
        if not self.accept(text):
            raise self.error(f"expected {text!r}")
        return token

    def expect_kind(self, kind: str, what: str) -> Token:
        if self.next.kind != kind:
            raise self.error(f"expected {what}")
        return self.take()

    def error(self, message: str, token: Token | None = None) -> ParseError:
        """A ParseError at a token, by default the next one, which it then shows as what was found."""
        found = f", found {self.next.text or 'the end of the text'!r}" if token is None else ""
        return parse_error(self.text, (token or self.next).place, message + found)

    def line(self, token: Token) -> int:
        """The line of a token, from 1."""
        return bisect.bisect_left(self._line_ends, token.place) + 1

    def column(self, token: Token) -> int:
        """The column of a token in its line, from 1."""
        line = self.line(token)
        return token.place - (self._line_ends[line - 2] if line > 1 else -1)

    @property
    def position(self) -> int:
        """Where reading stands, for `back_to`."""
        return self._at

    def back_to(self, position: int) -> None:
        """Read on from a position where reading stood."""
        self._at = position

    def split_next(self, length: int, kind: str) -> None:
        """Read the next token, of kind "var", as a mark of so many characters and a token of another kind."""
        token = self._tokens[self._at]
        first = Token("mark", token.text[:length], token.place)
        rest = Token(kind, token.text[length:], token.place + length)
        self._tokens[self._at : self._at + 1] = [first, rest]


def parse_error(text: str, place: int, message: str) -> ParseError:
    """A ParseError with line and column (both from 1) of `place`."""
    line = text.count("\n", 0, place) + 1
    column = place - (text.rfind("\n", 0, place) + 1) + 1
    return ParseError(f"line {line}, column {column}: {message}")


def _scan(text: str) -> list[Token]:
    tokens: list[Token] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise parse_error(text, place, f"unexpected character {text[place]!r}")
        kind = match.lastgroup or ""
        if match["number"] is not None:
            suffix = match["suffix"] or ""
            tokens.append(Token("number", match["number"].removesuffix(suffix), place, suffix))
        elif kind == "quoted":
            tokens.append(Token("name", match[0][1:-1], place, "`"))
        elif kind != "space":
            tokens.append(Token(kind, match[0], place))
        place = match.end()
    tokens.append(Token("end", "", len(text)))
    return tokens
