"""How attrs read the text of a type or of other attrs: by the parser of the text form."""

from __future__ import annotations

from ..operator import set_object_reader


def _read(text: str) -> object:
    from .type_parser import object_from_text  # with the first text

    return object_from_text(text)


set_object_reader(_read)
