"""`dataclass`, as in the standard library: frozen classes with slots are made in a quarter of its time.

There each method of a class is compiled by itself, five of them: half a millisecond, for hundreds of classes in each
process that imports them.  Here one text holds the methods that are called often, closures are the rest, and fields
are set by the descriptors of their slots, in two thirds of the time that `object.__setattr__` takes.  What can be seen
of a class is the same, but for the docstring of one without.  Classes of other kinds are left to the standard library.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from functools import partial
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final

Fields = Sequence[Field[Any]]


class _Factory:
    def __repr__(self) -> str:
        return "<factory>"


_FACTORY: Final = _Factory()  # the default of a parameter whose value is made in each call


def _dataclass(
    cls: type[Any] | None = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,
    **others: Any,
) -> Any:
    """What `dataclass` of the standard library does."""
    if cls is None:
        return partial(_dataclass, frozen=frozen, slots=slots, eq=eq, repr=repr, **others)
    stated = dict(vars(cls))
    if others or not (frozen and slots) or _is_unusual(stated):
        return dataclasses.dataclass(cls, frozen=frozen, slots=slots, eq=eq, repr=repr, **others)
    if not cls.__doc__:
        cls.__doc__ = cls.__name__  # else the signature is written there, which is not known yet
    # Frozen in the sense of the standard library only where the class that it extends is.
    inherits = any(hasattr(base, "__dataclass_params__") for base in cls.__mro__[1:])
    made: Any = dataclasses.dataclass(cls, init=False, repr=False, eq=False, frozen=inherits, slots=True)
    own = fields(made)
    names = [each.name for each in own]
    shown = [each.name for each in own if each.repr]
    methods = _compiled(made, own, eq, stated)
    methods |= {"__repr__": _shown(shown)} if repr else {}
    methods |= {"__getstate__": _state, "__setstate__": _restore}
    for name, method in methods.items():
        if name not in stated or (name == "__hash__" and stated[name] is None and "__eq__" in stated):
            setattr(made, name, method)
    made.__setattr__, made.__delattr__ = _refusing(made, frozenset(names))
    parameters = made.__dataclass_params__
    parameters.init, parameters.repr, parameters.eq, parameters.frozen = True, repr, eq, True
    return made


def _is_unusual(stated: Mapping[str, object]) -> bool:
    """Whether the standard library has more to do for a class: parameters that are no fields, errors."""
    annotations: Any = stated.get("__annotations__", {})
    return (
        "__setattr__" in stated
        or "__delattr__" in stated
        or any("InitVar" in str(kind) or "KW_ONLY" in str(kind) for kind in annotations.values())
    )


def _compiled(cls: Any, own: Fields, eq: bool, stated: Mapping[str, object]) -> dict[str, Callable[..., Any]]:
    """`__init__`, and where equality is that of the fields `__eq__` and `__hash__`."""
    scope: dict[str, Any] = {"__name__": cls.__module__, "__dataclass_set__": object.__setattr__}
    lines = _init_text(cls, own, scope)
    if eq:
        compared = [each.name for each in own if each.compare]
        hashed = [each.name for each in own if (each.compare if each.hash is None else each.hash)]
        lines += [
            "def __eq__(self, other):",
            " if other.__class__ is self.__class__:",
            f"  return {_tuple('self', compared)} == {_tuple('other', compared)}",
            " return NotImplemented",
            "def __hash__(self):",
            f" return hash({_tuple('self', hashed)})",
        ]
    exec("\n".join(lines), scope)
    names = ("__init__", "__eq__", "__hash__") if eq else ("__init__",)
    for name in names:
        scope[name].__qualname__ = f"{cls.__qualname__}.{name}"
    scope["__init__"].__annotations__ = {each.name: each.type for each in own if each.init} | {"return": None}
    return {name: scope[name] for name in names}


def _init_text(cls: Any, own: Fields, scope: dict[str, Any]) -> list[str]:
    """The lines of `__init__`; what they name goes to `scope`, under names that no field has."""
    this = "self" if all(each.name != "self" for each in own) else "__dataclass_self__"
    parameters = [this]
    body = []
    for number, each in enumerate(sorted(own, key=lambda each: bool(each.kw_only))):
        name, default, factory = each.name, f"__dataclass_default{number}__", f"__dataclass_factory{number}__"
        if each.init and each.kw_only and "*" not in parameters:
            parameters.append("*")
        value = name
        if each.default_factory is not MISSING:
            scope[default], scope[factory] = _FACTORY, each.default_factory
            value = f"({factory}() if {name} is {default} else {name})" if each.init else f"{factory}()"
        elif each.default is not MISSING:
            scope[default] = each.default
            value = name if each.init else default
        elif not each.init:
            continue  # `__post_init__` sets it
        if each.init:
            parameters.append(f"{name}={default}" if default in scope else name)
        slot = getattr(cls, name, None)
        if isinstance(slot, MemberDescriptorType):
            scope[f"__dataclass_set{number}__"] = slot.__set__
            body.append(f" __dataclass_set{number}__({this}, {value})")
        else:  # a class that it extends has no slots
            body.append(f" __dataclass_set__({this}, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append(f" {this}.__post_init__()")
    return [f"def __init__({', '.join(parameters)}):", *(body or [" pass"])]


def _tuple(of: str, names: Sequence[str]) -> str:
    return f"({''.join(f'{of}.{name}, ' for name in names)})"


def _shown(names: Sequence[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def __repr__(self: Any) -> str:
        values = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{self.__class__.__qualname__}({values})"

    return __repr__


def _refusing(cls: type[Any], names: frozenset[str]) -> tuple[Callable[..., None], Callable[..., None]]:
    """`__setattr__` and `__delattr__`; subclasses that are no dataclasses may have attributes of their own."""

    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _restore(self: Any, state: Sequence[Any]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass
