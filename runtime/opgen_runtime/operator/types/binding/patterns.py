"""Shape patterns: matching an operand's shape binds dims and leaves equations."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any

from ....base.arith.expr import Dim, Expr
from ....base.errors import ShapeError, UndecidedError
from ....base.vocabulary import dataclass
from ..rules import Entry, Input, Spread, Static, needs_of
from ..shapes import dim_text
from ..type import TensorType
from .frame import MISSING, Frame, MismatchError, value_of


class Role(Enum):
    """What one entry of a pattern does."""

    BIND = "binds a dim"
    BIND_MANY = "binds a tuple of dims"
    CONSTANT = "is a number"
    EQUATION = "must equal a value"
    EQUATION_MANY = "must equal a tuple of values"


_MANY = (Role.BIND_MANY, Role.EQUATION_MANY)


@dataclass(frozen=True, slots=True, eq=False)
class PatternEntry:
    """One entry: `name` of a binding or of a named equation; `rule` of an expression; `number` of a constant."""

    role: Role
    text: str
    name: str = ""
    rule: Static | Spread | None = None
    needs: tuple[str, ...] = ()
    number: int = 0

    @property
    def many(self) -> bool:
        return self.role in _MANY

    def value(self, frame: Frame) -> Any:
        """What the equation says the dim (or dims) must be."""
        if self.rule is None:
            return frame.names[self.name]
        return frame.evaluate(self.rule.function, self.needs, f"the shape entry {self.text}")


def entry_text(entry: Entry) -> str:
    """An entry as the declaration writes it."""
    if isinstance(entry, str):
        return entry
    if isinstance(entry, (Static, Spread)):
        star = "*" if isinstance(entry, Spread) else ""
        return entry.text or f"{star}<{', '.join(needs_of(entry.function))}>"
    return dim_text(entry)


class Pattern:
    """The pattern of one input, compiled: `matches` a type, then each of its `equations` is checked."""

    def __init__(
        self,
        declared: Input,
        entries: Sequence[Entry],
        fixed_names: AbstractSet[str],
        tuple_names: AbstractSet[str],
    ) -> None:
        """`fixed_names`: names that entries do not bind (attrs, lets); `tuple_names`: names starred anywhere."""
        self.declared = declared
        lone = len(entries) == 1
        self.entries = tuple(_compile(e, fixed_names, tuple_names, lone) for e in entries)
        self.text = f"({', '.join(entry.text for entry in self.entries)})"
        self.many = tuple(entry for entry in self.entries if entry.many)
        self.fixed = len(self.entries) - len(self.many)
        # a lone equation may turn out to be a tuple, the whole shape; its rank is checked then
        self.lone_equation = lone and self.entries[0].role is Role.EQUATION
        self.binds = frozenset(e.name for e in self.entries if e.role in (Role.BIND, Role.BIND_MANY))
        self.equations = tuple(e for e in self.entries if e.role in (Role.EQUATION, Role.EQUATION_MANY))
        self.names: frozenset[str] = frozenset().union(
            *({entry.name, *entry.needs} for entry in self.entries)
        )

    def unresolved(self, known: AbstractSet[str]) -> int:
        """How many starred entries have a length that is not known from these names."""
        return sum(1 for entry in self.many if not _known_length(entry, known))

    def match(self, frame: Frame, t: TensorType, element: int | None) -> None:
        """Binds the dims of `t`. Raises ShapeError for a rank or a dim that does not fit."""
        shape, names = t.shape, frame.names
        widths = None
        if self.many:
            widths = self._widths(frame, t, element)
        elif len(shape) != self.fixed and not self.lone_equation:
            raise self._rank(frame, t, element)
        position = 0
        for entry in self.entries:
            role = entry.role
            if role is Role.BIND:
                found = shape[position]
                known = names.get(entry.name, MISSING)
                if known is MISSING or known is None:
                    names[entry.name] = found
                elif known is not found:
                    names[entry.name] = self._merge(frame, entry, known, found, position, t, element)
                position += 1
                continue
            if role is Role.CONSTANT:
                if shape[position] != entry.number:
                    self._merge(frame, entry, entry.number, shape[position], position, t, element)
                position += 1
                continue
            width = 1 if widths is None or not entry.many else widths[id(entry)]
            if role is Role.BIND_MANY:
                dims = shape[position : position + width]
                known = names.get(entry.name, MISSING)
                if known is not MISSING and known is not None:
                    dims = self._merge(frame, entry, known, dims, position, t, element)
                names[entry.name] = dims
            else:
                frame.spans[(id(entry), element)] = (position, position + width)
            position += width

    def check_equation(self, frame: Frame, entry: PatternEntry, t: TensorType, element: int | None) -> None:
        """Checks one equation of a type that has been matched."""
        try:
            value = entry.value(frame)
        except UndecidedError as error:
            raise frame.error(ShapeError, f"{self._who(frame, element)}: {entry.text}: {error}") from None
        if value is None:
            return
        start, stop = frame.spans[(id(entry), element)]
        if self.lone_equation and isinstance(value, (tuple, list)):
            self._merge(frame, entry, tuple(value), t.shape, 0, t, element)
        elif entry.many:
            self._merge(frame, entry, tuple(value), t.shape[start:stop], start, t, element)
        elif self.lone_equation and len(t.shape) != 1:
            raise self._rank(frame, t, element)
        else:
            self._merge(frame, entry, value, t.shape[start], start, t, element)

    def _widths(self, frame: Frame, t: TensorType, element: int | None) -> dict[int, int]:
        rest = len(t.shape) - self.fixed
        widths: dict[int, int] = {}
        open_entry: PatternEntry | None = None
        for entry in self.many:
            if len(self.many) == 1:
                open_entry = entry
                break
            value = frame.names.get(entry.name) if entry.rule is None else self._try(frame, entry)
            if isinstance(value, (tuple, list)):
                widths[id(entry)] = len(value)
                rest -= len(value)
            else:
                open_entry = entry
        if rest < 0 or (open_entry is None and rest):
            raise self._rank(frame, t, element)
        if open_entry is not None:
            widths[id(open_entry)] = rest
        return widths

    def _try(self, frame: Frame, entry: PatternEntry) -> Any:
        return entry.value(frame) if all(name in frame.names for name in entry.needs) else None

    def _merge(
        self,
        frame: Frame,
        entry: PatternEntry,
        known: Any,
        found: Any,
        position: int,
        t: TensorType,
        element: int | None,
    ) -> Any:
        """The one value of two. Raises ShapeError where they differ."""
        try:
            return frame.merge(known, found, f"{entry.text} of {self.declared.name}")
        except MismatchError:
            pass
        where = "the dims" if isinstance(found, tuple) else f"dim {position}"
        raise frame.error(
            ShapeError,
            f"{self._who(frame, element)} has {value_of(found).removeprefix(' = ')} as {where}, "
            f"expected {self._expected(frame, entry, known)}\n  expected shape {self.text}, found {t}",
        )

    def _expected(self, frame: Frame, entry: PatternEntry, known: Any) -> str:
        if entry.role is Role.CONSTANT:
            return str(entry.number)
        expected = f"{entry.text}{value_of(known)}"
        if entry.rule is not None:
            return expected + frame.where(entry.needs)
        source = _source(frame, entry.name, self.declared.name)
        return f"{expected} ({source})" if source else expected

    def _rank(self, frame: Frame, t: TensorType, element: int | None) -> Exception:
        fixed, found = self.fixed, len(t.shape)
        expected = f"{'at least ' if self.many else ''}{fixed} dim{'' if fixed == 1 else 's'}"
        return frame.error(
            ShapeError,
            f"{self._who(frame, element)} has {found} dim{'' if found == 1 else 's'}, expected {expected}"
            f"\n  expected shape {self.text}, found {t}",
        )

    def _who(self, frame: Frame, element: int | None) -> str:
        return frame.argument(self.declared.name, element)


def _known_length(entry: PatternEntry, known: AbstractSet[str]) -> bool:
    return entry.name in known if entry.rule is None else all(name in known for name in entry.needs)


def _compile(
    entry: Entry, fixed_names: AbstractSet[str], tuple_names: AbstractSet[str], lone: bool
) -> PatternEntry:
    text = entry_text(entry)
    if isinstance(entry, Static):
        return PatternEntry(Role.EQUATION, text, rule=entry, needs=needs_of(entry.function))
    if isinstance(entry, Spread):
        return PatternEntry(Role.EQUATION_MANY, text, rule=entry, needs=needs_of(entry.function))
    if isinstance(entry, str):
        name = entry.removeprefix("*")
        starred = name != entry or (lone and name in tuple_names)
        if name in fixed_names:
            role = Role.EQUATION_MANY if starred else Role.EQUATION
            return PatternEntry(role, text, name=name, needs=(name,))
        return PatternEntry(Role.BIND_MANY if starred else Role.BIND, text, name=name)
    if isinstance(entry, Expr):
        return PatternEntry(Role.EQUATION, text, rule=Static(lambda: entry, text))
    return PatternEntry(Role.CONSTANT, text, number=entry)


def _source(frame: Frame, name: str, but: str) -> str:
    """Where a dim's value comes from: `dim 1 of argument 'a'`, or an attr."""
    for declared in frame.signature.inputs:
        group = frame.names.get(declared.name)
        if declared.name == but or declared.shape is None or not isinstance(group, TensorType):
            continue
        for k, entry in enumerate(declared.shape):
            if entry == name:
                starred = any(
                    isinstance(e, Spread) or (isinstance(e, str) and e[0] == "*") for e in declared.shape[:k]
                )
                position = group.ndim - (len(declared.shape) - k) if starred else k
                return f"dim {position} of {frame.argument(declared.name)}"
            if entry == f"*{name}":
                return f"from {frame.argument(declared.name)}"
    return f"attr {name!r}" if frame.attrs is not None and name in frame.attrs.keys() else ""  # noqa: SIM118


__all__ = ["Dim", "Pattern", "PatternEntry", "Role", "entry_text"]
