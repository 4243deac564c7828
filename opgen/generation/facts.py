"""What must be known of a declaration before it is decided whether to check it: read once for each text."""

from __future__ import annotations

from typing import Any

from ..digests import digest
from ..sources import Source
from .outline import Facts
from .records import Records


def known_facts(source: Source, records: Records) -> tuple[Facts, ...] | None:
    """The facts of each document of a file, in order, if an earlier run found them out."""
    known = records.get(_key(source))
    if known is None:
        return None
    documents: Any = known["documents"]
    return tuple(Facts(n, p, a, d, tuple(s), tuple(c), tuple(x), k) for n, p, a, d, s, c, x, k in documents)


def found_facts(source: Source, records: Records) -> tuple[Facts, ...] | None:
    """The facts of each document of a file, in order; None of a file that cannot be read without a mistake."""
    from .reading import read_facts  # and with it PyYAML and pydantic, which nothing else here needs

    found = read_facts(source)
    if found is not None:
        parts = [
            [f.name, f.parent, f.is_abstract, f.digest, f.externs, f.calls, f.expands, f.line] for f in found
        ]
        records.add(_key(source), {"documents": parts})
    return found


def _key(source: Source) -> str:
    return digest("facts", source.path, source.text)
