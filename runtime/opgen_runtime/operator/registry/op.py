"""Operators: `Op`, its attributes with priorities, and the table of ops by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import local
from typing import Any, ClassVar, Final, Self

from ...base.altered import op_altered
from ...base.errors import RegistryError, did_you_mean, hide_from_call_sites
from ...base.forks import import_module
from ...base.functions import add_finder, get_global_func
from ...base.vocabulary import dataclass
from ..attrs import Attrs, attrs_class
from ..types import FuncType, RelationFunction, TypeRelation, TypeVar

DEFAULT_PLEVEL: Final = 10
RELATIONS: Final = "types.type_relation."
"""The namespace of type relations among the global functions."""
KERNELS: Final = "kernel"
"""The namespace of ops that are kernels of this process, each named for its text."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A documented operand."""

    name: str
    type: str = "Tensor"
    description: str = ""


@dataclass(frozen=True, slots=True)
class _Entry:
    value: Any
    plevel: int
    origin: str


class Op:
    """An operator: one object a name, found by `Op.get(name)`.

    The setters return the op, so that they chain, in any order.  `origin` is the file that registered it.
    """

    type_key: ClassVar[str] = "Op"
    __slots__ = (
        "__weakref__", "_attrs", "_attrs_type", "_num_inputs", "_op_type", "_relation", "arguments", "description",
        "name", "origin", "support_level",
    )  # fmt: skip

    def __init__(self, name: str, origin: str) -> None:
        self.name = name
        self._attrs: dict[str, list[_Entry]] = {}
        self._begin(origin)

    def _begin(self, origin: str) -> None:
        """Forgets what the registering file said, and keeps what others have added."""
        self.origin = origin
        self.description = ""
        self.support_level = 10
        self.arguments: tuple[Argument, ...] = ()
        self._num_inputs: int | None = None
        self._attrs_type: type[Attrs] | str | None = None
        self._relation: tuple[str, RelationFunction] | None = None
        self._op_type: FuncType | None = None
        for key, entries in list(self._attrs.items()):
            self._attrs[key] = [entry for entry in entries if entry.origin != origin]

    @staticmethod
    def get(name: str) -> Op:
        """The op of that name; its module is imported if need be. Raises RegistryError, listing near names."""
        found = _ops.get(name)
        if found is not None:
            return found
        if load_op(name) and name in _ops:
            return _ops[name]
        raise RegistryError(f"no op is named {name!r}{_why_not(name)}")

    @staticmethod
    def list_op_names() -> list[str]:
        """The names of all ops, of those not imported yet too, sorted."""
        return list_ops()

    @property
    def num_inputs(self) -> int:
        """The number of operands; -1 if it varies."""
        return len(self.arguments) if self._num_inputs is None else self._num_inputs

    def describe(self, text: str) -> Self:
        self.description = text
        return self

    def set_num_inputs(self, count: int) -> Self:
        """Raises RegistryError if another number has been set."""
        if self._num_inputs not in (None, count):
            raise RegistryError(f"op {self.name!r} has {self._num_inputs} inputs; cannot set {count}")
        self._num_inputs, self._op_type = count, None
        return self

    def add_argument(self, name: str, type: str = "Tensor", description: str = "") -> Self:
        """Documents the next operand. Raises RegistryError for a name that another operand has."""
        if any(argument.name == name for argument in self.arguments):
            raise RegistryError(f"op {self.name!r} already has an argument {name!r}")
        self.arguments = (*self.arguments, Argument(name, type, description))
        self._op_type = None
        return self

    def set_support_level(self, level: int) -> Self:
        self.support_level = level
        return self

    def set_attrs_type(self, kind: type[Attrs]) -> Self:
        """Sets the class of the attrs of calls, which text, JSON and pickles are read by.

        Raises RegistryError for what is no class of attrs, and where another one is set.
        """
        if not (isinstance(kind, type) and issubclass(kind, Attrs) and "type_key" in kind.__dict__):
            raise RegistryError(f"op {self.name!r}: {kind!r:.80} is no class of Attrs with a type_key")
        return self._set_attrs_type(kind, kind.type_key)

    def set_attrs_type_key(self, key: str) -> Self:
        """As `set_attrs_type`, by the type key of the class, which may be defined later."""
        return self._set_attrs_type(key, key)

    def _set_attrs_type(self, kind: type[Attrs] | str, key: str) -> Self:
        known = self._attrs_type
        if known is not None and key != (known if isinstance(known, str) else known.type_key):
            raise RegistryError(f"op {self.name!r} already has attrs of type {known!r}; cannot set {kind!r}")
        self._attrs_type = kind
        return self

    @property
    def attrs_type(self) -> type[Attrs] | None:
        """The class of the attrs of calls; None where calls have none.

        Raises AttrError for a type key that no loaded class has, or several.
        """
        if isinstance(self._attrs_type, str):
            self._attrs_type = attrs_class(self._attrs_type)
        return self._attrs_type

    def add_type_rel(self, name: str, function: RelationFunction | None = None) -> Self:
        """Sets the type relation; without `function` the global function `types.type_relation.<name>`.

        Raises RegistryError if there is one already, and for a name of no function.
        """
        if self._relation is not None:
            raise RegistryError(f"op {self.name!r} already has the type relation {self._relation[0]!r}")
        found = get_global_func(RELATIONS + name) if function is None else function
        self._relation, self._op_type = (name, found), None
        return self

    @property
    def op_type(self) -> FuncType:
        """One type parameter for each input, one `out`, and the relation between them.

        Raises RegistryError if the op has no type relation, or its arguments are not as many as its inputs.
        """
        if self._op_type is None:
            if self._relation is None:
                raise RegistryError(f"op {self.name!r} has no type relation")
            if self._num_inputs not in (None, -1, len(self.arguments)) and self.arguments:
                raise RegistryError(
                    f"op {self.name!r} has {self._num_inputs} inputs, but {len(self.arguments)} documented arguments"
                )
            names = [a.name for a in self.arguments] or [f"in{k}" for k in range(max(self.num_inputs, 0))]
            inputs = tuple(TypeVar(name) for name in names)
            out = TypeVar("out")
            relation = TypeRelation(self._relation[0], self._relation[1], (*inputs, out), len(inputs))
            self._op_type = FuncType(inputs, out, (*inputs, out), (relation,))
        return self._op_type

    def set_attr(self, key: str, value: Any, plevel: int = DEFAULT_PLEVEL) -> Self:
        """Gives an attribute; of several the one with the highest `plevel` counts.

        Raises RegistryError if the attribute has a value at this level.
        """
        return self._add(key, _Entry(value, plevel, self.origin))

    def _add(self, key: str, entry: _Entry) -> Self:
        entries = self._attrs.setdefault(key, [])
        same = next((e for e in entries if e.plevel == entry.plevel), None)
        if same is not None:
            raise RegistryError(
                f"attribute {key!r} of op {self.name!r} has a value at plevel {entry.plevel} (from {same.origin}); "
                f"a second one (from {entry.origin}) needs another plevel"
            )
        if _ops.get(self.name) is self:
            op_altered(self.name)
        entries.append(entry)
        entries.sort(key=lambda e: -e.plevel)
        return self

    def reset_attr(self, key: str, plevel: int | None = None) -> Self:
        """Forgets all values of an attribute, or that of one level."""
        op_altered(self.name)
        entries = self._attrs.pop(key, [])
        if plevel is not None:
            self._attrs[key] = [entry for entry in entries if entry.plevel != plevel]
        return self

    def has_attr(self, key: str) -> bool:
        return bool(self._attrs.get(key))

    def get_attr(self, key: str, default: Any = None) -> Any:
        """The value of an attribute at the highest level, or `default`."""
        entries = self._attrs.get(key)
        return entries[0].value if entries else default

    def attr_keys(self) -> list[str]:
        """The keys of the attributes that have a value, sorted."""
        return sorted(key for key, entries in self._attrs.items() if entries)

    def __repr__(self) -> str:
        return f"Op({self.name})"

    def __reduce__(self) -> tuple[Callable[[str], Op], tuple[str]]:
        return Op.get, (self.name,)


Loader = Callable[[str], bool]
# Sets the loader of declared ops.  It stands above this layer, so that it is imported by name.
_INDEX: Final = f"{__name__.partition('.')[0]}.declaration.index"

_ops: Final[dict[str, Op]] = {}
_loaders: Final[list[Loader]] = []
_names: Final[list[Callable[[], Iterable[str]]]] = []


def register_op(
    name: str, origin: str | None = None, override: bool = False, fill: Callable[[Op], object] | None = None
) -> Op:
    """The op of that name, made or, when the file `origin` made it before, begun anew (a reload).

    `origin` defaults to the caller's file.  With `override` an op of another file is begun anew, too, and loses
    all its attributes.  `fill` gives a new op what it has before anyone finds it by its name, so that no thread sees
    half of an op.  Raises RegistryError if another file has registered the name or announces it: an op that
    is loaded on first use has its name before.
    """
    origin = origin or origin_of(sys._getframe(1).f_globals)
    if name not in _ops:
        load_op(name)
    known = _ops.get(name)
    if known is None:
        if not all(part.isidentifier() for part in name.split(".")):
            raise RegistryError(f"{name!r} cannot name an op; expected identifiers joined by dots")
        if Path(origin).name.startswith("_"):  # a generated module, `_<op>.py`
            hide_from_call_sites(origin)
        made = Op(name, origin)
        if fill is not None:
            fill(made)
        return _ops.setdefault(name, made)
    op_altered(name)
    if known.origin != origin:
        if not override:
            raise RegistryError(
                f"op {name!r} is registered by {known.origin}; {origin} cannot register it again: choose another "
                f"name; or give an attribute of it at a higher plevel (register_op_attr({name!r}, key, value, "
                f"plevel={DEFAULT_PLEVEL + 1})); or pass override=True to replace the op as a whole"
            )
        known._attrs.clear()
    known._begin(origin)
    if fill is not None:
        fill(known)
    return known


def register_op_attr(
    op_name: str, key: str, value: Any = None, plevel: int = DEFAULT_PLEVEL, origin: str | None = None
) -> Any:
    """Gives an attribute of an existing op and returns the value; without a value it is a decorator.

    The same file may give it again (a reload); `origin` is the caller's by default.  Raises RegistryError if there is
    no such op, or if the
    attribute has a value at this level from elsewhere.
    """
    origin = origin or origin_of(sys._getframe(1).f_globals)

    def add(given: Any) -> Any:
        op = Op.get(op_name)
        entries = op._attrs.get(key, [])
        op._attrs[key] = [e for e in entries if e.origin != origin or e.plevel != plevel]
        op._add(key, _Entry(given, plevel, origin))
        return given

    return add if value is None else add(value)


def origin_of(scope: dict[str, Any]) -> str:
    """The file whose global names these are, as `Op.origin` says it."""
    # one origin for all cells of a notebook, whose file names differ
    return (
        "__main__"
        if scope.get("__name__") == "__main__"
        else str(scope.get("__file__", scope.get("__name__")))
    )


def has_op(name: str) -> bool:
    """Whether the op is registered, or can be by importing its module."""
    return name in _ops or (load_op(name) and name in _ops)


def remove_op(name: str) -> None:
    """Forgets an op (tests, notebooks). Raises RegistryError if there is none."""
    if _ops.pop(name, None) is None:
        raise RegistryError(f"no op {name!r} to remove")
    op_altered(name)


def list_ops() -> list[str]:
    """The names of all ops, of those not imported yet too, sorted."""
    if not _names:
        import_module(_INDEX)
    return sorted(set(_ops).union(*(names() for names in _names)))


def _why_not(name: str) -> str:
    """What else to say of a name that no op has: what is near to it, or how a kernel comes to have it."""
    namespace, _, kernel = name.partition(".")
    if namespace != KERNELS or not kernel:
        return did_you_mean(name, list_ops())
    own = kernel.rpartition("_")[0] or kernel
    others = [each for each in list_ops() if each.startswith(f"{KERNELS}.{own}_")]
    found = f"; of another text is {' and '.join(others)}" if others else ""
    return (
        f": it is that of the kernel {own!r}, written by hand in the process that printed it{found}; an op has the "
        f"name as soon as a kernel of the same text is called here, on variables or in a traced function"
    )


def loaded_ops() -> list[Op]:
    """The ops registered so far, sorted by name."""
    return [_ops[name] for name in sorted(_ops)]


def set_op_loader(loader: Loader, names: Callable[[], Iterable[str]] | None = None) -> None:
    """Asks `loader(name)` for an op that is not registered: it imports the op's module and returns True.

    `names` lists what it can load.  The last loader set is asked first.
    """
    if loader not in _loaders:
        _loaders.insert(0, loader)
        if names is not None:
            _names.append(names)


class _Loading(local):
    """The names that the loaders of this thread are asked for."""

    def __init__(self) -> None:
        self.names: set[str] = set()


_loading: Final = _Loading()


def load_op(name: str) -> bool:
    """Ask the loaders; what a loader itself registers is not asked for again."""
    if name in _loading.names:
        return False
    if not _loaders:
        import_module(_INDEX)
    _loading.names.add(name)
    try:
        return any(loader(name) for loader in list(_loaders))
    finally:
        _loading.names.discard(name)


add_finder("op._make", load_op)
