"""Texts of attrs and test operands to values.  YAML's own idea of a value is never used."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from opgen_runtime.base.vocabulary import DTYPES, DType
from opgen_runtime.declaration.operands import why_not_words

from ...document import TextNode
from ...document.kinds import KINDS, AttrValue, ValueProblem, parse_texts

_NULL: Final = frozenset({"null", "~"})
_NONE: Final = frozenset({"None", "none"}) | _NULL
_LIMIT = r"-?[0-9]{1,9}(?:\.[0-9]{1,9})?"
_WORD = r"(?!in\b)[a-z_]{1,20}\b"
_OPERAND = re.compile(
    rf"(?P<dtype>[a-z]+[0-9]*(?:_[a-z0-9]+)?)\[(?P<dims>[0-9, ]*)\](?P<words>(?:\s+{_WORD}){{0,4}})"
    rf"(\s+in\s+(?P<low>{_LIMIT})\.\.(?P<high>{_LIMIT}))?(?P<after>(?:\s+{_WORD}){{0,4}})\Z"
)
MAX_TEST_ELEMENTS: Final = 1 << 22
MAX_TEST_RANK: Final = 32  # numpy's own limit, before its second version


def parse_value(kind: str, texts: Sequence[TextNode], optional: bool) -> AttrValue:
    """The value of an attr of `kind`; None for a kind that was wrong (and reported).  Raises ValueProblem."""
    if not kind:
        return None
    if is_none(texts, optional, text=KINDS[kind].is_text):
        return None
    return parse_texts(kind, [text.value for text in texts])


def is_none(texts: Sequence[TextNode], optional: bool, text: bool = False) -> bool:
    """True of an unquoted `null`, `~`, `none` or `None`; with `text`, where a text may stand, of the first two.

    Raises ValueProblem where None is not admitted, and where `none` may mean either.
    """
    if len(texts) != 1 or texts[0].scalar.style or texts[0].value.strip() not in _NONE:
        return False
    shown = texts[0].value.strip()
    if text and shown not in _NULL:
        if optional:
            raise ValueProblem(f"`{shown}` may be None or a text here; write `null`, or quote it")
        return False
    if not optional:
        hint = "; quote it to mean the text" if text else ""
        raise ValueProblem(f"`{shown}` is None, which needs `optional: true`{hint}")
    return True


@lru_cache(maxsize=4096)  # the variations of a test are asked for theirs many times
def parse_operand(text: str) -> tuple[str, tuple[int, ...]]:
    """dtype and shape of `int32[4, 4, 1]`, `int64[3] in 0..4` or `float32[5] sorted`.  Raises ValueProblem."""
    match = _OPERAND.match(text.strip())
    if match is None or match["dtype"] not in DTYPES:
        raise ValueProblem(f"expected `dtype[dims]` such as `int32[4, 4, 1]`, found `{text[:60]}`")
    parts = [part.strip() for part in match["dims"].split(",")]
    if parts == [""]:
        parts = []
    if any(not part or len(part) > 9 or " " in part for part in parts):
        raise ValueProblem(f"expected dims such as `[4, 4, 1]`, found `[{match['dims'][:60]}]`")
    shape = tuple(int(part) for part in parts)
    if len(shape) > MAX_TEST_RANK:
        raise ValueProblem(f"a test operand has at most {MAX_TEST_RANK} dims, found {len(shape)}")
    if math.prod(max(extent, 1) for extent in shape) > MAX_TEST_ELEMENTS:
        raise ValueProblem(f"a test has at most {MAX_TEST_ELEMENTS} elements an operand")
    if match["low"] is not None and float(match["low"]) >= float(match["high"]):
        raise ValueProblem(f"the range {match['low']}..{match['high']} is empty")
    reason = why_not_words(DType(match["dtype"]), shape, match["low"] is not None, _words(match))
    if reason is not None:
        raise ValueProblem(reason)
    return match["dtype"], shape


def normal_operand(text: str) -> str:
    """The text with single spaces."""
    dtype, shape = parse_operand(text)
    match = _OPERAND.match(text.strip())
    assert match is not None
    values = "" if match["low"] is None else f" in {match['low']}..{match['high']}"
    words = "".join(f" {word}" for word in _words(match))
    return f"{dtype}[{', '.join(map(str, shape))}]{words}{values}"


def _words(match: re.Match[str]) -> list[str]:
    """What is asked of the values, before or after their range."""
    return [*match["words"].split(), *match["after"].split()]
