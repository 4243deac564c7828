"""What the words after a test operand ask of its values: `float64[5] sorted unique in 0..9`, `float32[4, 4] spd`."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from typing import Final

from ..base.vocabulary import DType, dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """What one word asks, and what it suits."""

    asks: str
    kinds: str  # what dtypes, by the letters of DType.kind; "" for any
    rank: int = 1  # dims at least
    limits: bool | None = False  # whether `in low..high` stands with it: must, must not, or may (None)
    square: bool = False


WORDS: Final = {
    "sorted": Word("growing along the last dim, equal ones side by side", "iuf", limits=None),
    "unique": Word("no two alike along the last dim", "iuf", limits=None),
    "permutation": Word("the numbers from 0 to the last dim's extent, each once", "iu"),
    "offsets": Word("where parts begin and the last one ends: growing from `low` to `high - 1`", "iu", limits=True),
    "one_hot": Word("one 1 along the last dim, and 0 elsewhere", "biuf"),
    "probabilities": Word("positive, with the sum 1 along the last dim", "f"),
    "spd": Word("symmetric and positive definite over the last two dims", "f", rank=2, square=True),
}  # fmt: skip
_TOGETHER: Final = ("sorted", "unique")  # the only two words that may stand together
_KINDS: Final = {"biuf": "real values", "iuf": "numbers", "iu": "integers", "f": "floats"}


def why_not_words(dtype: DType, shape: Sequence[int], limited: bool, words: Sequence[str]) -> str | None:
    """Why no operand of this dtype and shape, its values in a range if `limited`, can be what `words` ask."""
    for word in words:
        if word not in WORDS:
            return f"`{word}` is no word for the values of an operand; the words are {', '.join(WORDS)}"
        row = WORDS[word]
        if row.kinds and dtype.kind not in row.kinds:
            return f"`{word}` is for {_KINDS[row.kinds]}, not for {dtype}"
        if len(shape) < row.rank:
            return f"`{word}` needs {row.rank} dim{'s' * (row.rank > 1)}, found {list(shape)}"
        if row.square and shape[-1] != shape[-2]:
            return f"`{word}` needs a square in the last two dims, found {list(shape)}"
        if row.limits is not None and row.limits != limited:
            return (
                f"`{word}` needs `in low..high`"
                if row.limits
                else f"`{word}` has its own range; leave `in` out"
            )
    if len(words) > 1 and tuple(sorted(words)) != _TOGETHER:
        return f"`{words[0]}` and `{words[1]}` do not stand together; only {' and '.join(_TOGETHER)} do"
    return None


def domains(traits: Mapping[str, object]) -> dict[str, tuple[float, float]]:
    """The least and the greatest value of operands, of `gradient: {domain: -1 < data < 1}`."""
    stated = traits.get("gradient")
    text = stated.get("domain") if isinstance(stated, Mapping) else None
    if text is None:
        return {}
    found: dict[str, tuple[float, float]] = {}
    body = ast.parse(text, mode="eval").body
    for part in body.values if isinstance(body, ast.BoolOp) else [body]:
        assert isinstance(part, ast.Compare), f"the domain {text!r} is no comparison of inputs with numbers"
        low, high, name = -math.inf, math.inf, ""
        for a, sign, b in zip([part.left, *part.comparators], part.ops, part.comparators, strict=False):
            below = isinstance(sign, ast.Lt | ast.LtE)  # a < b
            if isinstance(a, ast.Name):
                name, bound = a.id, float(ast.literal_eval(b))
                low, high = (low, bound) if below else (bound, high)
            elif isinstance(b, ast.Name):
                name, bound = b.id, float(ast.literal_eval(a))
                low, high = (bound, high) if below else (low, bound)
        found[name] = (low, high)
    return found
