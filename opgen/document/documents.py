"""Files of declarations as documents, each text composed once in a process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opgen_runtime.base.lru_cache import LRUCache

from ..diagnostics import Diagnostics
from .compose import compose
from .node import Document
from .source import make_source

_KEPT: Final = 512  # files
_read: Final[LRUCache[tuple[Sequence[str], tuple[Document, ...]]]] = LRUCache(_KEPT)


def read_documents(path: str, text: str, diagnostics: Diagnostics) -> tuple[Document, ...]:
    """All documents of a file that can be read; every problem is reported.

    What is sound is kept: facts are told of a file before it is known who checks it, a fork has what was read before it
    began, and a file of which several jobs have a part, or which others extend, is read by the first of them alone.
    """
    known = _read.get((path, text))
    if known is None:
        before = diagnostics.count
        source = make_source(path, text, diagnostics)
        if source is None:
            return ()
        documents = tuple(compose(source, diagnostics))
        if diagnostics.count > before:
            return documents
        known = _read.put((path, text), (source.lines, documents))
    lines, documents = known
    diagnostics.add_source(path, lines)
    return documents
