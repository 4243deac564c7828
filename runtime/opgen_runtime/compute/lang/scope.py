"""What is known at a place of a compute expression: domains of indices, guards on the path; access proofs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from ...base import arith
from ...base.arith.expr import AnyDim, Dim, Expr, Shape, Var
from ...base.errors import AccessError, LanguageError
from ...base.vocabulary import UINT64
from ..te.access import analysis, is_plainly_inside, why_not_inside
from ..te.proved import Proved
from ..te.tensor import IterVar


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
    proved: Proved | None = None  # what was proved in other builds
    trusted: bool = False  # every access is taken to be in bounds
    elements: bool = False  # inside a definition or an update, where a range is a loop

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
        form = None if self.proved is None else self.proved.form(index, extent, self.extents, known)
        if self.proved is not None and form is not None and form in self.proved:
            return None
        message = why_not_inside(name, position, index, extent, self.extents, known)
        if message is None and self.proved is not None and form is not None:
            self.proved.add(form)
        return message

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


@contextmanager
def static_code() -> Iterator[None]:
    """A static place inside a definition: ranges unroll."""
    scope = _CURRENT.get(None)
    before = scope is not None and scope.elements
    try:
        if scope is not None:
            scope.elements = False
        yield
    finally:
        if scope is not None:
            scope.elements = before


@contextmanager
def entered(scope: Scope) -> Iterator[Scope]:
    """Make `scope` the current one."""
    token = _CURRENT.set(scope)
    try:
        yield scope
    finally:
        _CURRENT.reset(token)


@contextmanager
def bound(axes: tuple[IterVar, ...]) -> Iterator[None]:
    """Add the domains of `axes` to the current scope."""
    scope = current()
    for axis in axes:
        scope.extents[axis.var] = axis.extent
    try:
        yield
    finally:
        for axis in axes:
            del scope.extents[axis.var]


@contextmanager
def guarded(condition: Expr | bool) -> Iterator[None]:
    """Add a condition that holds on this path; under a static False nothing is read.

    Rules of a signature (bounds, requirements, shapes) run outside `build`; they read nothing, so that there is
    nothing to guard.
    """
    scope = _CURRENT.get(None)
    if condition is True or scope is None:
        yield
    elif condition is False:
        scope.dead += 1
        try:
            yield
        finally:
            scope.dead -= 1
    else:
        assert isinstance(condition, Expr)
        scope.guards.append(condition)
        try:
            yield
        finally:
            scope.guards.pop()


def concrete(shape: Shape) -> bool:
    """True if every dim is an int."""
    return all(isinstance(d, int) for d in shape)
