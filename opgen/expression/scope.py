"""The one namespace of a declaration, and the local names of an expression."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum
from typing import Final

from opgen_runtime.base.vocabulary import dataclass

from ..diagnostics import Diagnostics, Place, did_you_mean, meant
from . import syntax as s
from .vocabulary import CONSTANTS, DTYPE_NAMES, LIBRARY, ORDERS, why_reserved

_SHORT: Final = 3
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}\Z")


class Kind(Enum):
    """What a name stands for, in the words of messages."""

    INPUT = "an input"
    VARIADIC = "a variadic input"
    ATTR = "an attr"
    DIM = "a dim"
    DIMS = "a tuple of dims"
    DTYPE = "a dtype variable"
    LET = "a `let` name"
    DEF = "a `def`"
    OUTPUT = "an output"
    OUTPUTS = "a variadic output"
    TENSOR = "an intermediate"
    CALLED = "what an op gives"
    STATIC = "a static name"
    INDEX = "an index"
    INDICES = "an index tuple"
    LOOP = "a loop variable"
    LOCAL = "a local name"
    PARAMETER = "a parameter"


TENSORS = frozenset({Kind.INPUT, Kind.OUTPUT, Kind.TENSOR, Kind.CALLED})
ELEMENTS = frozenset({Kind.INDEX, Kind.INDICES, Kind.LOOP})


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name of the declaration.  `parameters` and `star` describe a `def`; `has_fields` an attr whose value is an
    object.
    """

    name: str
    kind: Kind
    place: Place
    parameters: int = 0
    star: bool = False
    has_fields: bool = False


def is_order(value: s.Expression, symbols: Mapping[str, Symbol]) -> bool:
    """True of a sort of a tensor, whose function no `def` of that name hides."""
    if not isinstance(value, s.Call) or value.function.name not in ORDERS:
        return False
    symbol = symbols.get(value.function.name)
    return symbol is None or symbol.kind is not Kind.DEF


@dataclass(slots=True)
class Namespace:
    """All names of a declaration, in order; a name is declared once."""

    diagnostics: Diagnostics
    symbols: dict[str, Symbol] = field(default_factory=dict)
    lost: frozenset[str] = frozenset()  # names that parts which could not be read may have bound

    def declare(self, symbol: Symbol) -> None:
        """Add a name; a reserved or repeated one is reported (the first stays)."""
        self.is_fresh(symbol.name, symbol.place, (), symbol.kind is Kind.ATTR)
        self.symbols.setdefault(symbol.name, symbol)

    def is_fresh(self, name: str, place: Place, local: Iterable[str], attr: bool = False) -> bool:
        """True if `name` may be bound here; else why not is reported."""
        if _IDENTIFIER.match(name) is None:
            text = f"a name is made of ASCII letters, digits and `_`, not `{name[:60]}`"
            self.diagnostics.error("bad-name", text, place)
            return False
        reason = why_reserved(name, attr)
        if reason is not None:
            text = f"{reason}; choose another name, such as `{name.strip('_') or 'x'}_`"
            self.diagnostics.error("reserved-name", text, place)
            return False
        before = self.symbols.get(name)
        if before is not None:
            message = f"`{name[:60]}` is already {before.kind.value}; names shadow nothing"
            self.diagnostics.error(
                "duplicate-name", message, place, None, [("first bound here", before.place)]
            )
            return False
        if name in local:
            self.diagnostics.error(
                "duplicate-name", f"`{name[:60]}` is already bound here; names shadow nothing", place
            )
            return False
        return True

    def hint(self, name: str, local: Iterable[str] = ()) -> str | None:
        """The nearest name that could have been meant."""
        known = [*self.symbols, *local, *LIBRARY, *CONSTANTS, *DTYPE_NAMES]
        if len(name) < _SHORT:  # every short name is near: `n` and `N` only
            known = [other for other in known if other.lower() == name.lower()]
            return meant(name, known[0]) if known else None
        return did_you_mean(name, known)

    def used(self, *nodes: s.Node) -> tuple[str, ...]:
        """The names of the declaration that stand in the trees, in order of declaration.

        A function of the library that is called is none of them, though a name bound elsewhere be the same.
        """
        inside = [n for node in nodes for n in s.walk(node)]
        called = {n.function for n in inside if isinstance(n, s.Call | s.Comprehension)}
        found = {n.name for n in inside if isinstance(n, s.Name) and (n not in called or self.is_def(n.name))}
        return tuple(name for name in self.symbols if name in found)

    def is_def(self, name: str) -> bool:
        return name in self.symbols and self.symbols[name].kind is Kind.DEF


Local = Mapping[str, Kind]
