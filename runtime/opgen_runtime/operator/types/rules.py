"""The parts of a signature: operands, the entries of their shapes, and rules."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ...base.arith.expr import Dim
from ...base.vocabulary import dataclass

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True, eq=False)
class Static:
    """An equation in a shape pattern: the dim equals `function(...)`, an int or a symbolic dim.

    `text` is the declared expression, for messages.
    """

    function: Function
    text: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """An equation for several dims (starred): `function(...)` gives a tuple of dims."""

    function: Function
    text: str = ""


Entry = Dim | str | Static | Spread
"""One entry of a shape: an int; a name `"M"` (one dim) or `"*A"` (a tuple of dims); an equation.

A name binds in an input's pattern unless it is an attr's, which makes it an equation (an attr that is None
constrains nothing).  A name whose value is a tuple may also stand alone and unstarred: the whole shape.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Input:
    """An operand.

    `shape`: None for any shape, or a pattern.  `dtype`: a dtype name, a class of `vocabulary.DTYPE_CLASSES`,
    a dtype variable of the signature, or a tuple of dtype names.  `layout`: (name of the layout attr, the
    canonical layout): the pattern, and `.shape` in rules, are canonical; the type stores the attr's layout.
    """

    name: str
    shape: tuple[Entry, ...] | None = None
    dtype: str | tuple[str, ...] = "any"
    doc: str = ""
    optional: bool = False
    variadic: bool = False
    layout: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """A result.

    `shape`: entries, a function that gives the tuple, or the text `"<input>.shape"`, which also runs
    backwards.  `dtype`: a dtype variable, a dtype name, the text `"<input>.dtype"`, the name of a dtype attr,
    or a function.  `variadic`: a function that gives the number of results; `index` is then the name that
    shape and dtype functions may ask for, the position of the result.  `layout` as for inputs.
    """

    name: str
    shape: tuple[Entry, ...] | Function | str = ()
    dtype: str | Function = "any"
    doc: str = ""
    variadic: Function | None = None
    layout: tuple[str, str] | None = None
    index: str = "j"


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """The bounds of an attr that need inputs: `function` gives a bool, or an Expr if dims are symbolic.

    The parameter named like the attr is its value; for an attr that is a list, each element in turn.  An
    attr that is None is not checked.
    """

    attr: str
    function: Function
    text: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Let:
    """Static names: `function` gives the value, or with several names a tuple of values."""

    names: tuple[str, ...]
    function: Function
    text: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Require:
    """A predicate: `function` gives a bool, or an Expr if dims are symbolic.

    With `binds`, the predicate is `<binds> == function(...)`: `function` gives the right-hand side alone, and
    the name takes that value if no pattern has bound it.  A right-hand side that is None demands nothing.
    `error` replaces the message.
    """

    function: Function
    text: str = ""
    error: str | None = None
    binds: str | None = None


Rule = Bound | Let | Require


def needs_of(function: Function) -> tuple[str, ...]:
    """The names that a rule's function asks for: its parameters without a default."""
    code = getattr(function, "__code__", None)
    if code is None:
        parameters = inspect.signature(function).parameters.values()
        return tuple(p.name for p in parameters if p.default is p.empty)
    count: int = code.co_argcount + code.co_kwonlyargcount
    defaults = len(getattr(function, "__defaults__", None) or ())
    names: tuple[str, ...] = code.co_varnames[: count - defaults]
    return names
