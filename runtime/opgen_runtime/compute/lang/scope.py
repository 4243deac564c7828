"""What is known at a place of a compute expression: domains of indices, guards on the path; access proofs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...base import arith
from ...base.arith.expr import AnyDim, Dim, Expr, Shape, Var
from ...base.errors import AccessError, LanguageError
from ...base.vocabulary import UINT64
from ..te.access import analysis, bearing_on, is_inside, is_plainly_inside, not_inside
from ..te.proved import Proved
from ..te.tensor import IterVar


class Readable(Protocol):
    """What is read with one index a dim."""

    def __getitem__(self, key: Any) -> Any: ...


@dataclass(slots=True)
class Scope:
    """The domains and guards under which an expression is built.

    `extents` holds the extent of each bound index, so that the usual access (a bare index over a dim with the
    index' own extent) is proved by a look-up.  The analyzer is filled only when a proof needs it.
    """

    extents: dict[Var, Dim] = field(default_factory=dict)
    guards: list[Expr] = field(default_factory=list)
    dead: int = 0  # inside a branch that is never taken
    unproved: list[str] | None = None  # collects what symbolic dims leave open; None: raise
    assumptions: tuple[Expr, ...] = ()  # true everywhere (relations between dims)
    # more and more facts of the values that an index reads
    values: Callable[[Expr], Iterator[tuple[Expr, ...]]] | None = None
    proved: Proved | None = None  # what was proved, or refused, in other builds
    trusted: bool = False  # every access is taken to be in bounds
    elements: bool = False  # inside a definition or an update, where a range is a loop
    rows: Mapping[object, Readable] | None = None  # in a step of a `while`: what its tensors are by then

    def apart(self, dead: int = 0, elements: bool = False) -> Scope:
        """A place of the same build where no index is bound and no guard holds."""
        return Scope(
            {}, [], dead, self.unproved, self.assumptions, self.values, self.proved, self.trusted, elements
        )

    def prove_access(self, name: str, position: int, index: Expr, extent: Dim) -> None:
        """Prove 0 <= index < extent, or raise AccessError; LanguageError (code "dtype") for uint64."""
        if index.dtype == UINT64:
            raise LanguageError(
                f"index {position} of {name} is uint64, an index is a signed integer; use cast(..., int64)",
                "dtype",
            )
        known = (*self.assumptions, *self.guards)
        if self.dead or self.trusted or is_plainly_inside(index, extent, self.extents, known):
            return
        message = self._why_not_inside(name, position, index, extent, known)
        for facts in () if message is None or self.values is None else self.values(index):
            message = self._why_not_inside(name, position, index, extent, (*known, *facts))
            if message is None:
                break
        if message is None:
            return
        if self.unproved is None or not self._is_symbolic(index, extent):
            raise AccessError(message)
        self.unproved.append(message)

    def _why_not_inside(
        self, name: str, position: int, index: Expr, extent: Dim, known: tuple[Expr, ...]
    ) -> str | None:
        bearing = bearing_on(index, extent, self.extents, known)
        if bearing is not None and self._is_proved(index, extent, *bearing):
            return None
        if self._is_proved(index, extent, self.extents, known):
            return None
        return not_inside(f"index {position} of {name}", index, extent, self.extents, known)

    def _is_proved(
        self, index: Expr, extent: Dim, extents: Mapping[Var, Dim], facts: tuple[Expr, ...]
    ) -> bool:
        """Whether an access is inside for such domains, where facts hold; sought once."""
        proved = self.proved
        form = None if proved is None else proved.form(index, extent, extents, facts)
        verdict = None if proved is None or form is None else proved.verdict(form)
        if verdict is None:
            verdict = is_inside(index, extent, extents, facts)
            if proved is not None and form is not None:
                proved.add(form, verdict)
        return verdict

    def _is_symbolic(self, index: Expr, extent: Dim) -> bool:
        exprs = [index, *self.guards, *(e for e in (extent, *self.extents.values()) if isinstance(e, Expr))]
        return any(isinstance(symbol, AnyDim) or symbol.size for e in exprs for symbol in _symbols(e))

    @contextmanager
    def analysis(self) -> Iterator[arith.Analyzer]:
        """An analyzer that knows the domains and guards of this place."""
        with analysis(self.extents, (*self.assumptions, *self.guards)) as analyzer:
            yield analyzer


def _symbols(expr: Expr) -> Iterator[Var | AnyDim]:
    for node in arith.post_order(expr):
        if isinstance(node, Var | AnyDim):
            yield node


_CURRENT: ContextVar[Scope] = ContextVar("opgen_scope")


def current() -> Scope:
    """The scope of the expression being built.

    Raises LanguageError outside `build`.
    """
    try:
        return _CURRENT.get()
    except LookupError:
        raise LanguageError(
            "compute functions run only inside opgen_runtime.compute.lang.build", "stage"
        ) from None


def among_elements() -> bool:
    """True inside a definition or an update; False in static code, in and out of a build."""
    scope = _CURRENT.get(None)
    return scope is not None and scope.elements


# Classes, since a build enters thousands of these: a generator takes three times as long.


class static_code:
    """A static place inside a definition: ranges unroll."""

    __slots__ = ("_before", "_scope")

    def __enter__(self) -> None:
        self._scope = scope = _CURRENT.get(None)
        if scope is not None:
            self._before = scope.elements
            scope.elements = False

    def __exit__(self, *raised: object) -> None:
        if self._scope is not None:
            self._scope.elements = self._before


class entered:
    """Makes `scope` the current one."""

    __slots__ = ("_scope", "_token")

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __enter__(self) -> Scope:
        self._token = _CURRENT.set(self._scope)
        return self._scope

    def __exit__(self, *raised: object) -> None:
        _CURRENT.reset(self._token)


class bound:
    """Adds the domains of `axes` to the current scope."""

    __slots__ = ("_axes", "_extents")

    def __init__(self, axes: tuple[IterVar, ...]) -> None:
        self._axes = axes

    def __enter__(self) -> None:
        self._extents = current().extents
        for axis in self._axes:
            self._extents[axis.var] = axis.extent

    def __exit__(self, *raised: object) -> None:
        for axis in self._axes:
            del self._extents[axis.var]


class stepping:
    """Inside, each tensor of `rows` is read as its row, by a `def` too; what is built on the way is not inside."""

    __slots__ = ("_before", "_rows", "_scope")

    def __init__(self, rows: Mapping[object, Readable]) -> None:
        self._rows = rows

    def __enter__(self) -> None:
        self._scope = current()
        self._before, self._scope.rows = self._scope.rows, self._rows

    def __exit__(self, *raised: object) -> None:
        self._scope.rows = self._before


class guarded:
    """Adds a condition that holds on this path; under a static False nothing is read.

    Rules of a signature (bounds, requirements, shapes) run outside `build`; they read nothing, so that there is
    nothing to guard.
    """

    __slots__ = ("_condition", "_scope")

    def __init__(self, condition: Expr | bool) -> None:
        self._condition = condition

    def __enter__(self) -> None:
        self._scope = scope = _CURRENT.get(None)
        if scope is None:
            return
        if self._condition is False:
            scope.dead += 1
        elif self._condition is not True:
            assert isinstance(self._condition, Expr)
            scope.guards.append(self._condition)

    def __exit__(self, *raised: object) -> None:
        if self._scope is None:
            return
        if self._condition is False:
            self._scope.dead -= 1
        elif self._condition is not True:
            self._scope.guards.pop()


def concrete(shape: Shape) -> bool:
    """True if every dim is an int."""
    return all(isinstance(d, int) for d in shape)
