"""The words of the handler's LLVM IR text: positions in onnxruntime's structs and in our own records, codes, texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ...codegen import fill
from .api import API, CUSTOM_OP_WORDS, FLOOR, Code
from .requests import Kind
from .tables_text import DOMAINS, Attr, Entry, Own, Row, Value, text_global

_WORD: Final = re.compile(r"\$(\w+)")
MESSAGE_BYTES: Final = 4096
"""Of a message: a word that says how much is written, and the text."""

_WORDS: Final[Mapping[str, object]] = {
    **{slot.name: slot.position for slot in API},
    **{f"CODE_{each.name}": int(each) for each in Code},
    **{f"KIND_{each.name}": int(each) for each in Kind},
    **{f"OWN_{each.name}": int(each) for each in Own},
    **{f"ROW_{each.name}": int(each) for each in Row},
    **{f"ATTR_{each.name}": int(each) for each in Attr},
    **{f"VALUE_{each.name}": int(each) for each in Value},
    **{f"ENTRY_{each.name}": int(each) for each in Entry},
    "ROW_WORDS": len(Row),
    "VALUE_WORDS": len(Value),
    "ATTR_WORDS": Attr.DEFAULT + len(Value),
    "CUSTOM_OP_WORDS": CUSTOM_OP_WORDS,
    "FLOOR": FLOOR,
    "DOMAINS": DOMAINS,
    "MESSAGE_BYTES": MESSAGE_BYTES,
}


def filled(text: str, texts: Mapping[str, str], **words: object) -> str:
    """Text written by hand with the words that it uses, and globals `@text.NAME` of `texts`, which end in a zero."""
    used = set(_WORD.findall(text))
    known = {name: word for name, word in _WORDS.items() if name in used}
    globals_ = [text_global(f"text.{name}", content) for name, content in texts.items()]
    return "\n".join((*globals_, fill(text, **known, **words)))
