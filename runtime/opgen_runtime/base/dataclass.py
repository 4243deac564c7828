"""`dataclass`, as in the standard library: frozen classes with slots are made in a tenth of its time.

There each method of a class is compiled by itself, five of them: half a millisecond, for hundreds of classes in each
process that imports them.  Here one text holds the methods that are called often, with numbers in place of names, so
that classes of as many fields share its code; closures are the rest, and fields are set by the descriptors of their
slots, in two thirds of the time that `object.__setattr__` takes.  What can be seen of a class is the same, but for the
docstring of one without, and that a field which is the same object is equal (a NaN, too), as it was before Python 3.13.
Classes of other kinds are left to the standard library.

It stays while an import is faster by more than 5 ms for it: that of `rt.jit` and a few ops took .22 s of
processor time with it and .33 s with the standard library's (minima of three, compiled modules on disk).
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from functools import lru_cache, partial
from reprlib import recursive_repr
from types import CodeType, FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, ClassVar, Final

Fields = Sequence[Field[Any]]


@dataclasses.dataclass(frozen=True, slots=True)
class _Sample:
    """What the standard library notes of a class, and of either kind of field."""

    own: int
    shared: ClassVar[int] = 0


_NOTED: Final[Any] = _Sample.__dataclass_params__  # type: ignore[attr-defined]  # typeshed knows the fields alone
_OWN, _SHARED = [each._field_type for each in _Sample.__dataclass_fields__.values()]  # type: ignore[attr-defined]  # nor these


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
    if others or not (frozen and slots) or _is_unusual(cls):
        return dataclasses.dataclass(cls, frozen=frozen, slots=slots, eq=eq, repr=repr, **others)
    stated = dict(vars(cls))
    made = _with_slots(cls, repr, eq)
    own = fields(made)
    methods = _compiled(made, own, eq)
    methods |= {"__repr__": _shown([each.name for each in own if each.repr])} if repr else {}
    methods |= {"__getstate__": _state, "__setstate__": _restore}
    for name, method in methods.items():
        if name not in stated or (name == "__hash__" and stated[name] is None and "__eq__" in stated):
            setattr(made, name, method)
    made.__setattr__, made.__delattr__ = _refusing(made, frozenset([each.name for each in own]))
    return made


def _is_unusual(cls: type[Any]) -> bool:
    """Whether the standard library has more to do for a class: parameters that are no fields, errors."""
    stated, annotations = vars(cls), cls.__annotations__
    if "__setattr__" in stated or "__delattr__" in stated or "__slots__" in stated:
        return True
    noted = [getattr(base, "__dataclass_params__", _NOTED) for base in cls.__mro__[1:]]
    if not all([each.frozen for each in noted]):
        return True
    for kind in annotations.values():
        if "InitVar" in str(kind) or "KW_ONLY" in str(kind):
            return True
    for name, value in stated.items():
        if isinstance(value, Field):
            if name not in annotations or _is_shared(annotations[name]) or _is_mutable(value.default):
                return True
        elif name in annotations and _is_mutable(value):
            return True
    return False


def _is_shared(kind: object) -> bool:
    return "ClassVar" in str(kind)


def _is_mutable(value: object) -> bool:
    return value.__class__.__hash__ is None


def _with_slots(cls: type[Any], repr: bool, eq: bool) -> Any:
    """The class again, with slots for its fields, and what the standard library notes of it; no methods yet."""
    found: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        found |= getattr(base, "__dataclass_fields__", {})
    for name, kind in cls.__annotations__.items():
        found[name] = _field(getattr(cls, name, MISSING), name, kind)
    own: list[Any] = [each for each in found.values() if each._field_type is _OWN]  # type: ignore[attr-defined]  # as above
    parameters = copy.copy(_NOTED)
    parameters.repr, parameters.eq = repr, eq
    inherited = {name for base in cls.__mro__[1:-1] for name in _slots_of(base)}
    left_out = {"__dict__", "__weakref__", *[each.name for each in own]}
    body = {name: value for name, value in vars(cls).items() if name not in left_out}
    body |= {
        "__dataclass_fields__": found,
        "__dataclass_params__": parameters,
        "__slots__": tuple([each.name for each in own if each.name not in inherited]),
    }
    body.setdefault("__match_args__", tuple([each.name for each in own if each.init and not each.kw_only]))
    if not cls.__doc__:  # else the signature is written there
        body["__doc__"] = cls.__name__
    metaclass: Any = type(cls)
    made = metaclass(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


def _field(default: Any, name: str, kind: Any) -> Field[Any]:
    """The field of a name, as the class states it."""
    if isinstance(default, MemberDescriptorType):  # the slot of a class that it extends
        default = MISSING
    found: Any = default if isinstance(default, Field) else dataclasses.field(default=default)
    found.name, found.type = name, kind
    found._field_type = _SHARED if _is_shared(kind) else _OWN
    if found.kw_only is MISSING and found._field_type is _OWN:
        found.kw_only = False
    made: Field[Any] = found
    return made


def _slots_of(cls: type[Any]) -> Sequence[str]:
    slots = vars(cls).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _compiled(cls: Any, own: Fields, eq: bool) -> dict[str, Callable[..., Any]]:
    """`__init__`, and where equality is that of the fields `__eq__` and `__hash__`."""
    order = sorted(own, key=lambda each: bool(each.kw_only))
    names = {f"__field{number}__": each.name for number, each in enumerate(order)}
    places = {name: place for place, name in names.items()}
    names["__self__"] = "__dataclass_self__" if "self" in places else "self"
    scope: dict[str, Any] = {"__name__": cls.__module__, "__dataclass_set__": object.__setattr__}
    lines, defaults = _init_text(cls, order, scope)
    if eq:
        compared = [places[each.name] for each in own if each.compare]
        hashed = [places[each.name] for each in own if (each.compare if each.hash is None else each.hash)]
        lines += [
            "def __eq__(self, other):",
            " if other.__class__ is self.__class__:",
            f"  return {_tuple('self', compared)} == {_tuple('other', compared)}",
            " return NotImplemented",
            "def __hash__(self):",
            f" return hash({_tuple('self', hashed)})",
        ]
    made: dict[str, Callable[..., Any]] = {}
    for name, code in _codes("\n".join(lines)).items():
        own_code = code.replace(
            co_varnames=tuple([names.get(each, each) for each in code.co_varnames]),
            co_names=tuple([names.get(each, each) for each in code.co_names]),
            co_qualname=f"{cls.__qualname__}.{name}",
        )
        made[name] = FunctionType(own_code, scope)
    init: Any = made["__init__"]
    init.__defaults__ = tuple([value for each, value in defaults if not each.kw_only]) or None
    init.__kwdefaults__ = {each.name: value for each, value in defaults if each.kw_only} or None
    init.__annotations__ = {each.name: each.type for each in own if each.init} | {"return": None}
    return made


@lru_cache(maxsize=512)
def _codes(text: str) -> dict[str, CodeType]:
    """The code of the functions that a text defines, by name; classes of the same kinds of fields have one text."""
    constants = compile(text, "<string>", "exec").co_consts
    return {each.co_name: each for each in constants if isinstance(each, CodeType)}


def _init_text(
    cls: Any, order: Fields, scope: dict[str, Any]
) -> tuple[list[str], list[tuple[Field[Any], Any]]]:
    """The lines of `__init__`, with the number of each field in its name's place, and the fields with defaults.

    What the lines name beside goes to `scope`.
    """
    parameters = ["__self__"]
    defaults: list[tuple[Field[Any], Any]] = []
    body = []
    for number, each in enumerate(order):
        name, default, factory = (
            f"__{what}{number}__" for what in ("field", "dataclass_default", "dataclass_factory")
        )
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
        if each.init and default in scope:
            defaults.append((each, scope[default]))
            parameters.append(f"{name}=None")
        elif each.init:
            parameters.append(name)
        slot = getattr(cls, each.name, None)
        if isinstance(slot, MemberDescriptorType):
            scope[f"__dataclass_set{number}__"] = slot.__set__
            body.append(f" __dataclass_set{number}__(__self__, {value})")
        else:  # a class that it extends has no slots
            body.append(f" __dataclass_set__(__self__, {each.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append(" __self__.__post_init__()")
    return [f"def __init__({', '.join(parameters)}):", *(body or [" pass"])], defaults


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
