"""Operators on strings.

No op computes with strings: they are values of the call at hand, like shapes.  What they give is computed where the
node is converted, and the program is good for inputs with the same strings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ....ir import Expr, const
from ..errors import ModelError
from ..rules import Flag, converts
from ..texts import Texts
from ._tools import broadcast_shape


@converts("StringConcat", since=20)
def string_concat(x: Texts, y: Texts) -> Texts:
    broadcast_shape(x.array.shape, y.array.shape)
    return Texts(_objects(x.array + y.array))


@converts("StringSplit", since=20)
def string_split(x: Texts, *, delimiter: str | None = None, maxsplit: int | None = None) -> tuple[Any, ...]:
    """The parts of each string, filled up with empty ones to the most, and how many there are."""
    parts = [text.split(delimiter or None, -1 if maxsplit is None else maxsplit) for text in x.array.flat]
    counts = [len(each) for each in parts]
    most = max(counts, default=0)
    filled = [text for each in parts for text in (*each, *[""] * (most - len(each)))]
    found = _objects(filled).reshape(*x.array.shape, most)
    return Texts(found), const(np.array(counts, np.int64).reshape(x.array.shape))


@converts("RegexFullMatch", since=20)
def regex_full_match(x: Texts, *, pattern: str = "") -> Expr:
    try:
        whole = re.compile(pattern)
    except re.error as error:
        raise ModelError(f"the pattern {pattern!r:.80} is no regular expression: {error}") from None
    found = [whole.fullmatch(text) is not None for text in x.array.flat]
    return const(np.array(found, np.bool_).reshape(x.array.shape))


@converts("StringNormalizer", since=10)
def string_normalizer(
    x: Texts,
    *,
    case_change_action: Literal["LOWER", "UPPER", "NONE"] = "NONE",
    is_case_sensitive: Flag = 0,
    locale: str | None = None,
    stopwords: Sequence[str] = (),
) -> Texts:
    """Without the stopwords, in one case; where none is left there is one empty string."""
    if x.array.ndim not in (1, 2) or (x.array.ndim == 2 and x.array.shape[0] != 1):
        raise ModelError(f"strings of shape {list(x.array.shape)}, expected [C] or [1, C]")
    words = set(stopwords) if is_case_sensitive else {word.casefold() for word in stopwords}
    kept = [t for t in x.array.flat if (t if is_case_sensitive else t.casefold()) not in words]
    if case_change_action != "NONE":
        kept = [t.lower() if case_change_action == "LOWER" else t.upper() for t in kept]
    return Texts(_objects(kept or [""]).reshape((1,) * (x.array.ndim - 1) + (-1,)))


def _objects(values: Any) -> np.ndarray:
    return np.asarray(values, object)
