"""The object type index: every node class has a type key and an index; children lie inside the parent's range.

A type owns a half-open range of indices and its own index is the first of it.  Each child takes the next of
the equal slots that the rest of the range is divided into, so that "is a" is a test of two comparisons.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ...base.errors import RegistryError
from .op import load_op

_FANOUT: Final = 1 << 16  # children of one parent
_ROOT_RANGE: Final = 1 << 256  # 16 levels of them


@dataclass(eq=False, slots=True)
class TypeInfo:
    """A registered type: its key, its index, and the end of its range (index <= child < end)."""

    type_key: str
    index: int
    end: int
    parent: TypeInfo | None
    final: bool
    children: list[TypeInfo] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"TypeInfo({self.type_key})"


ROOT: Final = TypeInfo("Object", 0, _ROOT_RANGE, None, False)
_by_key: Final[dict[str, TypeInfo]] = {ROOT.type_key: ROOT}
_by_class: Final[dict[type, TypeInfo]] = {}


def register_type(type_key: str, parent: str = "Object", final: bool = False) -> TypeInfo:
    """Registers a type below `parent`; the same registration again returns the same entry.

    Raises RegistryError if the key is registered with another parent or finality, if the parent is unknown or
    final, or if the parent has no slot left.
    """
    above = type_info(parent)
    found = _by_key.get(type_key)
    if found is not None:
        if found.parent is not above or found.final != final:
            raise RegistryError(
                f"type {type_key!r} is registered with parent {found.parent.type_key if found.parent else None!r}, "
                f"final={found.final}; found parent {parent!r}, final={final}"
            )
        return found
    if above.final:
        raise RegistryError(f"type {parent!r} is final; {type_key!r} cannot be its child")
    slot = (above.end - above.index - 1) // _FANOUT
    if slot < 1 or len(above.children) == _FANOUT:
        raise RegistryError(f"type {parent!r} has no index left for the child {type_key!r}")
    index = above.index + 1 + slot * len(above.children)
    made = TypeInfo(type_key, index, index + (1 if final else slot), above, final)
    above.children.append(made)
    _by_key[type_key] = made
    return made


def type_info(type_key: str) -> TypeInfo:
    """The entry of a type key; a class that has it is registered, and the op that it is the attrs of loaded.

    Raises RegistryError if there is none.
    """
    found = _by_key.get(type_key)
    if found is None:
        cls = _class_of(type_key)
        if cls is None:
            load_op(type_key.removeprefix("attrs."))
            cls = _class_of(type_key)
        if cls is None:
            raise RegistryError(f"no type has the key {type_key!r}")
        found = class_info(cls)
    return found


def _class_of(type_key: str) -> type | None:
    pending = list(_by_class)
    while pending:
        cls = pending.pop()
        if cls.__dict__.get("type_key") == type_key:
            return cls
        pending.extend(type.__subclasses__(cls))
    return None


def register_class(cls: type, final: bool = False) -> TypeInfo:
    """Registers a class by its `type_key`, below its nearest base that has a type key of its own.

    Raises RegistryError for a key that a class of another module has.
    """
    key = cls.__dict__.get("type_key")
    if not isinstance(key, str):
        raise RegistryError(f"class {cls.__qualname__} has no type_key of its own")
    parent = next((base for base in cls.__mro__[1:] if isinstance(base.__dict__.get("type_key"), str)), None)
    above = class_info(parent) if parent is not None else ROOT
    for known, entry in _by_class.items():
        if entry.type_key == key and known.__module__ != cls.__module__:
            raise RegistryError(
                f"type key {key!r} belongs to {known.__module__}.{known.__qualname__}; "
                f"{cls.__module__}.{cls.__qualname__} needs one of its own"
            )
    info = register_type(key, above.type_key, final)
    _by_class[cls] = info
    return info


def class_info(cls: type) -> TypeInfo:
    """The entry of a class; it is registered on first use. Raises RegistryError for a class without type keys."""
    found = _by_class.get(cls)
    if found is not None:
        return found
    if "type_key" in cls.__dict__:
        return register_class(cls)
    for base in cls.__mro__[1:]:
        if "type_key" in base.__dict__:
            return class_info(base)
    raise RegistryError(f"class {cls.__qualname__} has no type_key")


def is_instance(value: object, type_key: str) -> bool:
    """Whether a node is of the type or one of its descendants: a range test on indices."""
    wanted = type_info(type_key)
    return wanted.index <= class_info(type(value)).index < wanted.end


def registered_types() -> Iterator[TypeInfo]:
    """All registered types, parents before their children."""
    stack = [ROOT]
    while stack:
        info = stack.pop()
        yield info
        stack.extend(reversed(info.children))
