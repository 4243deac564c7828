"""Patterns of graph expressions, as data.

    capture("x")                     ?x             any expression
    capture("c", "constant")         ?c: constant   a constant
    capture("c", "known")            ?c: known      elements that are known: a constant, or one number for all
    capture("x", "float")            ?x: float      a tensor of a dtype class
    apply("divide", x, c)            divide(?x, ?c)
    form("div", x, c)                ?x / ?c        any op that is this operator, element by element
    form("permutation", x, axes=p)   form.permutation(?x, axes=?p)
    fields(x, rest("xs"))            (?x, *?xs)     a tuple

Attrs that a pattern does not name must have their defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ..base.errors import PassError
from ..base.vocabulary import DTYPE_CLASSES, DTYPES, dataclass

CONSTANT: Final = "constant"
KNOWN: Final = "known"
COMMUTATIVE: Final = frozenset({"add", "mul", "and", "or", "xor"})
"""Operators whose operands change places without a change of any bit."""
BINARY: Final = (
    "add", "sub", "mul", "div", "floordiv", "floormod", "truncdiv", "truncmod", "min", "max", "and", "or", "xor",
    "shl", "shr",
)  # fmt: skip
MOVES: Final[Mapping[str, str]] = {"copy": "", "permutation": "axes", "conversion": "dtype", "reshape": ""}
"""Forms of one operand -> the attr that they have."""
FORMS: Final = (*BINARY, *MOVES)


@dataclass(frozen=True, slots=True)
class Capture:
    """Whatever stands there, under a name; the same name means the same expression, or an equal value."""

    name: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value of an attr."""

    value: object


@dataclass(frozen=True, slots=True)
class Rest:
    """Any number of fields of a tuple."""

    name: str


@dataclass(frozen=True, slots=True)
class Fields:
    """A tuple."""

    parts: tuple[Pattern | Rest, ...]


@dataclass(frozen=True, slots=True)
class Apply:
    """A call: of the op of a name, or of any op that has a form (`is_form`).

    `any_attrs`: attrs that it does not name may have any value, not their defaults alone.
    """

    name: str
    args: tuple[Pattern, ...]
    attrs: tuple[tuple[str, Capture | Literal], ...]
    is_form: bool
    any_attrs: bool = False

    @property
    def key(self) -> tuple[bool, str]:
        """What a call must be to be looked at."""
        return self.is_form, self.name

    @property
    def takes_constant(self) -> bool:
        """Whether an operand must be a constant."""
        return any([isinstance(arg, Capture) and arg.kind == CONSTANT for arg in self.args])


Pattern = Capture | Fields | Apply


def capture(name: str, kind: str = "") -> Capture:
    """`?name: kind`. Raises PassError for an unknown kind."""
    if kind and kind not in KINDS:
        raise PassError(f"?{name}: {kind}: the kinds are {', '.join(KINDS)}")
    return Capture(name, kind)


def rest(name: str) -> Rest:
    return Rest(name)


def fields(*parts: Pattern | Rest) -> Fields:
    return Fields(parts)


def apply(name: str, /, *args: Pattern, **attrs: Capture | Literal) -> Apply:
    """A call of the op `name`."""
    return Apply(name, args, tuple(attrs.items()), False)


def form(name: str, /, *args: Pattern, **attrs: Capture | Literal) -> Apply:
    """A call of any op of a form. Raises PassError for an unknown form, and for operands that it does not have."""
    if name not in FORMS:
        raise PassError(f"form.{name}: the forms are {', '.join(FORMS)}")
    count, allowed = (1, MOVES[name]) if name in MOVES else (2, "")
    if len(args) != count:
        raise PassError(f"form.{name} has {count} operand{'s' * (count > 1)}, found {len(args)}")
    for attr in attrs:
        if attr != allowed:
            raise PassError(
                f"form.{name} has {f'the attr {allowed}' if allowed else 'no attrs'}, found {attr}"
            )
    return Apply(name, args, tuple(attrs.items()), True)


def with_any_attrs(pattern: Apply) -> Apply:
    """The pattern of the same calls with whatever values of the attrs that it does not name."""

    def part(each: Pattern | Rest) -> Any:
        if isinstance(each, Fields):
            return Fields(tuple(map(part, each.parts)))
        return with_any_attrs(each) if isinstance(each, Apply) else each

    return replace(pattern, args=tuple(map(part, pattern.args)), any_attrs=True)


def literal(value: object) -> Literal:
    return Literal(value)


KINDS: Final = (CONSTANT, KNOWN, *DTYPE_CLASSES, *DTYPES)
