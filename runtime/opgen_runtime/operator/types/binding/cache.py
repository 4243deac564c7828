"""Bindings that are kept: a call that is made is bound, and again where it is compiled or evaluated."""

from __future__ import annotations

from typing import Final

from ....base.lru_cache import LRUCache
from ...attrs import Attrs
from ..signature import Signature
from ..type import Type
from .result import Binding
from .run import bind

_bindings: Final[LRUCache[Binding]] = LRUCache(4096)  # by signature, attrs and operand types


def binding_of(
    signature: Signature, op_name: str, attrs: Attrs | None, types: tuple[Type, ...], site: object | None
) -> Binding:
    """The binding of a call whose operands' types are known, found once and kept.  Raises what `bind` raises."""
    key = (signature, attrs, types)
    found = _bindings.get(key)
    if found is None:
        found = _bindings.put(key, bind(signature, op_name, attrs, types, site=site))
    return found
