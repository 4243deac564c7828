"""Texts of kernels with mistakes: `python -m tests.fuzz mutated_texts`.

A case changes the text of a kernel of a suite until it is none: characters, words, numbers, lines and indentation.
What is refused is refused with a line and a column of the text and nothing else; what is still a kernel prints, reads
and obeys the rules of loop IR.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache
from typing import Final

from opgen_runtime.base.contract import Contract, When
from opgen_runtime.base.errors import LoweringError, ParseError
from opgen_runtime.lower import tir
from opgen_runtime.lower.tir.nodes.contract import COMMON, LANES, View
from tests.fuzz.kernel_texts import kernels_of

COUNT: Final = 3000
_TEXTS: Final = 200  # different kernels, which cases share
_MAX_TRIES: Final = 200
_MAX_LINES: Final = 60
_WORDS: Final = (
    "for", "in", "range", "if", "else", "and", "or", "where", "while", "of", "operations", "allocate", "local", "pass",
    "kind 0", "do 0", "transpose", "nontemporal", "prefetch", "outlined", "seen", "dims n", "parallel", "vectorized",
    "float32", "int8", "index", "bool", "splat(0, 8)", "ramp(0, 1, 99999)", "min", "exp", "dot4", "cast(1, int8)",
    "nan", "1e999", "99999999999999999999999", "-1", "0.5", "[1, 2][0]", "`x`", "%0", "(", ")", "[", "]", ";", ":", "=",
    ",",    "->", "~", "<<", "//", "\t", "\n", "/*", "é", "\0", '"',
)  # fmt: skip
_RULES: Final = (*[rule for rule in tir.LOWERED.rules if rule is not COMMON], LANES)
_CONTRACT: Final[Contract[View]] = Contract("read loop IR", LoweringError, When.ALWAYS, _RULES)


def case(seed: int) -> None:
    """One text that is refused, and those before it that were not."""
    chance = random.Random(seed)
    text = _text(seed % _TEXTS)
    for _ in range(_MAX_TRIES):
        changed = text
        for _ in range(chance.choice((1, 1, 1, 2, 5))):
            changed = chance.choice(_CHANGES)(chance, changed)
        if refused(changed):
            return
    raise AssertionError(f"{_MAX_TRIES} changes, and still loop IR:\n{text}")


def refused(text: str) -> bool:
    """Whether a text is refused; AssertionError where it is neither refused as it should be nor loop IR."""
    message = ""
    try:
        func = tir.parse(text)
    except ParseError as error:
        message = str(error)
    if message:
        place = re.match(r"line (\d+), column (\d+): ", message)
        assert place is not None, f"{message}\n{text}"
        lines = text.split("\n")
        line, column = int(place[1]), int(place[2])
        assert 1 <= line <= len(lines), f"{message}\n{text}"
        assert 1 <= column <= len(lines[line - 1]) + 1, f"{message}\n{text}"
        return True
    printed = tir.to_text(func)
    assert tir.to_text(tir.parse(printed)) == printed, f"{text}\n{printed}"
    tir.check(_CONTRACT, func, "reading", own=False)
    return False


@cache
def _text(number: int) -> str:
    """The text of a kernel of a suite that is not too long."""
    seed = 7 * number
    while True:
        texts = [tir.to_text(func) for lowered, _ in kernels_of(seed) for func in lowered.funcs]
        short = [text for text in texts if text.count("\n") <= _MAX_LINES]
        if short:
            return short[number % len(short)]
        seed += 1


# ------------------------------------------------------------------ changes


def _cut(chance: random.Random, text: str) -> str:
    at = chance.randrange(len(text))
    return text[:at] + text[at + chance.choice((1, 1, 2, 9)) :]


def _character(chance: random.Random, text: str) -> str:
    at = chance.randrange(len(text))
    return (
        text[:at]
        + chance.choice("()[]{};:,=+-*/%<>&|^~.x0 9\n\t`\"@#$'\\é")
        + text[at + chance.randint(0, 1) :]
    )


def _word(chance: random.Random, text: str) -> str:
    """A word in place of another, or between two."""
    found = list(re.finditer(r"\w+|[^\w\s]", text))
    at = chance.choice(found)
    return (
        text[: at.start()]
        + chance.choice(_WORDS)
        + " " * chance.randint(0, 1)
        + text[chance.choice(at.span()) :]
    )


def _swap(chance: random.Random, text: str) -> str:
    """A word of the text in place of another of it."""
    found = list(re.finditer(r"[\w.]+", text))
    at, other = chance.choice(found), chance.choice(found)
    return text[: at.start()] + other[0] + text[at.end() :]


def _line(chance: random.Random, text: str) -> str:
    """A line twice, elsewhere, gone, or indented otherwise."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    line = lines.pop(at)
    how = chance.randrange(4)
    if how == 0:
        lines[at:at] = [line, line]
    elif how == 1:
        lines.insert(chance.randrange(len(lines) + 1), line)
    elif how == 2:
        lines.insert(at, " " * chance.randint(0, 9) + line.strip())
    return "\n".join(lines)


def _nested(chance: random.Random, text: str) -> str:
    """Very many brackets, choices or complements inside each other."""
    found = list(re.finditer(r"\w+", text))
    at = chance.choice(found)
    count = chance.choice((3, 500, 20_000))
    left, right = chance.choice(
        (("(", ")"), ("~", ""), ("min(1, ", ")"), ("1 if True else ", ""), ("x[", "]"))
    )
    return text[: at.start()] + left * count + at[0] + right * count + text[at.end() :]


_CHANGES: Final[tuple[Callable[[random.Random, str], str], ...]] = (
    _cut, _cut, _character, _character, _word, _word, _word, _swap, _swap, _swap, _line, _line, _line, _nested,
)  # fmt: skip
