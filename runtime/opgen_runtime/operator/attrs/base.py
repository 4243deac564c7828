"""`Attrs`: one class an op, whose fields are declared once and drive everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self, dataclass_transform

from ...base.arith import free_vars
from ...base.arith.expr import AnyDim, Expr, Var
from ...base.errors import AttrError, OpenConditionError, call_site, did_you_mean, shown
from .expressions import DimTable
from .field import REQUIRED, AttrField, attr
from .kinds import KindError, same_value_key, value_text
from .objects import AttrObject, classes_of
from .visitors import AttrVisitor, NonDefaultVisitor


@dataclass_transform(kw_only_default=True, frozen_default=True, eq_default=True, field_specifiers=(attr,))
class Attrs(AttrObject):
    """Base of the attrs of all ops; immutable, compared by class and values.

    A subclass states its `type_key` ("attrs.<op>") and its fields (`name: type = attr(kind, ...)`); fields of
    a base class come first.  Values are normalised (numpy ints to int, an int to a tuple where ints are
    meant, dtype names to DType), so that equal attrs are equal however they were written.

    Raises AttrError at construction for an unknown field, a missing one, a value of the wrong type, or one
    outside the part of its bounds that needs no input.
    """

    type_key: ClassVar[str] = "attrs"
    _fields: ClassVar[dict[str, AttrField]] = {}
    _version: ClassVar[int] = 1  # of the op; later ones stand in JSON
    _upgrade: ClassVar[Callable[[int, Mapping[str, object], DimTable], dict[str, object]] | None] = None
    __slots__ = ("_hash", "_key", "_open_bounds", "_values")

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        fields = dict(cls._fields)
        for name, declared in list(cls.__dict__.items()):
            if isinstance(declared, AttrField):
                fields[name] = declared.with_name(name)
                delattr(cls, name)
        cls._fields = fields

    def __init__(self, *args: object, **kwargs: object) -> None:
        fields = self._fields
        values: dict[str, object] = {}
        if args:
            kwargs = _pack(type(self), args, kwargs)
        for name, field in fields.items():
            if name in kwargs:
                try:
                    values[name] = field.normalise(kwargs[name])
                except KindError as error:
                    raise _wrong_type(type(self), field, kwargs[name], str(error)) from None
            elif field.default is REQUIRED:
                raise _missing(type(self), field)
            else:
                values[name] = field.default
        if len(kwargs) > len(fields) or not kwargs.keys() <= fields.keys():
            raise _unknown(type(self), [name for name in kwargs if name not in fields])
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_hash", None)
        object.__setattr__(self, "_key", None)
        open_bounds: list[tuple[str, Expr]] = []
        for field in fields.values():
            if field.check is not None:
                open_bounds.extend(_check(self, field, values[field.name]))
        object.__setattr__(self, "_open_bounds", tuple(open_bounds))

    _values: Mapping[str, object]
    _hash: int | None
    _key: object  # what compares, made when it is first needed
    _open_bounds: tuple[tuple[str, Expr], ...]

    def __getattr__(self, name: str) -> Any:
        values = object.__getattribute__(self, "_values")
        try:
            return values[name]
        except KeyError:
            near = did_you_mean(name, self._fields, 1)
            raise AttributeError(
                f"{type(self).__name__} has no attr {name!r}{near}", name=name, obj=self
            ) from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; use replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def keys(self) -> tuple[str, ...]:
        return tuple(self._values)

    def as_dict(self) -> dict[str, object]:
        """All fields with their values, in order of declaration."""
        return dict(self._values)

    @property
    def is_value(self) -> bool:
        return not self.open_dims

    @property
    def open_bounds(self) -> tuple[tuple[str, Expr], ...]:
        """The bounds that need no input but the values of dims: their text, and what must hold."""
        return self._open_bounds

    @property
    def open_dims(self) -> tuple[Var, ...]:
        """The symbolic dims that values are made of, in the order in which they occur."""
        values = [
            v for value in self._values.values() for v in (value if isinstance(value, tuple) else (value,))
        ]
        found = [free_vars(v) for v in values if isinstance(v, Expr) and not isinstance(v, AnyDim)]
        return tuple(dict.fromkeys([var for each in found for var in each])) if found else ()

    def replace(self, **changes: object) -> Self:
        """The same attrs with some values changed; checked like a construction."""
        return type(self)(**{**self._values, **changes})

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or not isinstance(other, Attrs):
            return NotImplemented
        return self._same_key() == other._same_key()

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", hash((self.type_key, self._same_key())))
        assert self._hash is not None
        return self._hash

    def _same_key(self) -> object:
        """The values as a key, equal exactly for the same ones."""
        if self._key is None:
            object.__setattr__(self, "_key", same_value_key(tuple(self._values.values())))
        return self._key

    def __repr__(self) -> str:
        listed = ", ".join(f"{name}={value_text(value)}" for name, value in self._values.items())
        return f"{type(self).__name__}({listed})"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), dict(self._values))

    def to_text(self, dim: Callable[[Expr], str] = str) -> str:
        """The non-default attrs as IR text prints them, for example `axis=1, mode="wrap"`; `dim` writes expressions."""
        return ", ".join(f"{name}={value_text(value, dim)}" for name, _, value in self._non_default())

    def to_json(self, dims: DimTable | None = None) -> dict[str, object]:
        """A JSON-able mapping of `type_key` (`attrs.scaled@2` of an op's second version) and every field.

        Symbolic dims are known by their names there; `dims` is extended by them.  Raises AttrError for two of one name.
        """
        listed: dict[str, object] = {"type_key": self._versioned_key()}
        table = {} if dims is None else dims
        for name, value in self._values.items():
            try:
                listed[name] = self._fields[name].to_json(value, table)
            except KindError as error:
                raise AttrError(
                    f"{self.op_name()}: attr {name!r} cannot be written as JSON: {error}"
                ) from None
        return listed

    @classmethod
    def from_json(cls, data: Mapping[str, object], dims: DimTable | None = None) -> Self:
        """The attrs that `to_json` wrote. Raises AttrError if they are of another class or do not check.

        `dims`: symbolic dims by name; those that it lacks are made, and added.
        """
        type_key, _, stated = str(data.get("type_key")).partition("@")
        version = int(stated) if stated.isdecimal() else 1
        if type_key != cls.type_key or version > cls._version:
            raise AttrError(
                f"{cls.op_name()}: expected attrs of type {cls._versioned_key()!r}, found {data.get('type_key')!r}"
            )
        given = {name: value for name, value in data.items() if name != "type_key"}
        table = {} if dims is None else dims
        if version < cls._version:
            assert cls._upgrade is not None
            return cls(**cls._upgrade(version, given, table))
        for name in given.keys() & cls._fields.keys():
            try:
                given[name] = cls._fields[name].read_json(given[name], table)
            except KindError as error:
                raise _wrong_type(cls, cls._fields[name], given[name], str(error)) from None
        return cls(**given)

    @classmethod
    def _versioned_key(cls) -> str:
        return cls.type_key if cls._version == 1 else f"{cls.type_key}@{cls._version}"

    def visit_fields(self, visitor: AttrVisitor) -> None:
        """Calls `visitor.visit(name, kind, value)` for every field, in order of declaration."""
        for name, field in self._fields.items():
            visitor.visit(name, field.kind, self._values[name])

    def visit_non_default(self, visitor: NonDefaultVisitor) -> None:
        """Calls `visitor.visit(name, kind, value)` for each field whose value is not its default."""
        for name, kind, value in self._non_default():
            visitor.visit(name, kind, value)

    def _non_default(self) -> Iterator[tuple[str, str, object]]:
        for name, field in self._fields.items():
            value = self._values[name]
            if field.default is REQUIRED or same_value_key(value) != same_value_key(field.default):
                yield name, field.kind, value

    @classmethod
    def init_by_packed_args(cls, *args: object, **kwargs: object) -> Self:
        """Attrs from positional values, in order of declaration, and keywords.

        Raises AttrError for more values than fields, or a field given twice.
        """
        return cls(*args, **kwargs)

    @classmethod
    def init_allow_unknown(cls, *args: object, **kwargs: object) -> tuple[Self, dict[str, object]]:
        """As `init_by_packed_args`, and the keywords that name no field, which are no mistake here."""
        known = {name: value for name, value in kwargs.items() if name in cls._fields}
        return cls(*args, **known), {name: value for name, value in kwargs.items() if name not in known}

    @classmethod
    def list_field_info(cls) -> tuple[tuple[str, str, str], ...]:
        """(name, type text such as `int, default=0, 0 <= axis`, description) for each field."""
        return tuple((field.name, field.type_text, field.doc) for field in cls._fields.values())

    @classmethod
    def fields(cls) -> tuple[AttrField, ...]:
        """The declared fields, in order."""
        return tuple(cls._fields.values())

    @classmethod
    def op_name(cls) -> str:
        """The name of the op that these are the attrs of: the type key without its `attrs.`."""
        return cls.type_key.removeprefix("attrs.")


def attrs_from_json(data: Mapping[str, object], dims: DimTable | None = None) -> Attrs:
    """Attrs of the loaded class that `data["type_key"]` names. Raises AttrError if there is none, or several.

    `dims`: symbolic dims by name; those that it lacks are made, and added.
    """
    return attrs_class(str(data.get("type_key")).partition("@")[0]).from_json(data, dims)


def attrs_class(key: str) -> type[Attrs]:
    """The loaded class of that type key.  Raises AttrError if there is none, or several."""
    found = [cls for cls in classes_of(key) if issubclass(cls, Attrs)]
    if not found:
        raise AttrError(f"no loaded Attrs class has the type key {key!r}")
    if len(found) > 1:
        listed = " and ".join(f"{cls.__module__}.{cls.__qualname__}" for cls in found)
        raise AttrError(f"type key {key!r} is that of {listed}; use from_json of the one meant")
    return found[0]


def document_attrs(kind: type[Attrs], docs: Mapping[str, str]) -> None:
    """Gives the fields of an Attrs class that have no description theirs, and a class without a docstring one."""
    kind._fields = {
        name: field.with_doc(docs[name]) if name in docs and not field.doc else field
        for name, field in kind._fields.items()
    }
    if kind.__doc__ is None:
        kind.__doc__ = f"The attrs of {kind.op_name()}."


def _rebuild(cls: type[Attrs], values: dict[str, object]) -> Attrs:
    return cls(**values)


def _pack(cls: type[Attrs], args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
    names = tuple(cls._fields)
    if len(args) > len(names):
        raise _error(cls, f"takes {_count(len(names))}, but {len(args)} values were given")
    packed = dict(zip(names, args, strict=False))
    twice = [name for name in kwargs if name in packed]
    if twice:
        raise _error(cls, f"attr {twice[0]!r} is given both by position and by name")
    return {**packed, **kwargs}


def _check(attrs: Attrs, field: AttrField, value: object) -> Iterator[tuple[str, Expr]]:
    """Checks the bounds of a field that need no input; gives those that only the values of dims decide."""
    assert field.check is not None
    if value is None:
        return
    for item in value if field.is_list and isinstance(value, tuple) else (value,):
        try:
            holds = field.check(item, attrs)
        except OpenConditionError as error:
            if not isinstance(error.condition, Expr):
                raise
            yield field.bounds or f"bounds of {field.name}", error.condition
            continue
        if not holds:
            found = value_text(value) + (f" (element {value_text(item)})" if field.is_list else "")
            bound = field.bounds or "its check fails"
            message = f"attr {field.name!r} is {found}, outside its bounds: {bound}"
            raise _error(type(attrs), message, attr=field.name, value=value, bound=bound)


def _error(cls: type[Attrs], message: str, **about: Any) -> AttrError:
    if cls._fields:
        listed = "; ".join(f"{field.name} ({field.type_text})" for field in cls._fields.values())
        possible = f"\n  attrs of {cls.op_name()}: {listed}"
    else:
        possible = f"\n  {cls.op_name()} has no attrs"
    return AttrError(f"{cls.op_name()}: {message}{possible}\n  at {call_site()}", op=cls.op_name(), **about)


def _wrong_type(cls: type[Attrs], field: AttrField, value: object, expected: str) -> AttrError:
    found = f"{shown(value):.80} of type {type(value).__name__}"
    return _error(cls, f"attr {field.name!r} must be {expected}, found {found}")


def _missing(cls: type[Attrs], field: AttrField) -> AttrError:
    return _error(cls, f"attr {field.name!r} is required")


def _unknown(cls: type[Attrs], names: list[str]) -> AttrError:
    return _error(cls, f"unknown attr {names[0]!r}{did_you_mean(names[0], cls._fields, 1)}")


def _count(n: int) -> str:
    return "no attrs" if n == 0 else "1 attr" if n == 1 else f"{n} attrs"
