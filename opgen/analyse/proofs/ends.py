"""Integer attrs at the ends of their bounds: every access is proved there, too, or the declaration is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from opgen_runtime.base.errors import AccessError
from opgen_runtime.compute import lang

from ...document.kinds import KINDS
from ...model import BoundProbe, CheckedAttr
from .findings import Finder, Finding
from .probes import REACH, with_attr
from .trials import BoundSample, Trials

_TESTS: Final = 3  # declared tests at which the ends are tried
_TRIED: Final = 60  # values of all attrs together; one of many attrs has fewer


def check_ends(
    trials: Trials,
    finder: Finder,
    bound: Sequence[BoundSample],
    attrs: Sequence[CheckedAttr],
    probes: Sequence[BoundProbe],
) -> list[Finding]:
    """The first access of each attr that is not proved at an end of its bound.

    The ends are those that `probes` found; where there is none, a value far away stands for it.  A value that does not
    fit the rest of the signature is no call.
    """
    tests = [found for found in bound if found.sample.case is not None][:_TESTS]
    whole = [attr for attr in attrs if KINDS[attr.kind].is_position]
    found: list[Finding] = []
    for attr in whole:
        own = [probe for probe in probes if probe.attr == attr.name]
        found += _check(trials, finder, tests, attr, own, _TRIED // len(whole))
    return found


def _check(
    trials: Trials,
    finder: Finder,
    tests: Sequence[BoundSample],
    attr: CheckedAttr,
    probes: Sequence[BoundProbe],
    most: int,
) -> list[Finding]:
    calls = (
        (found, value) for found in tests for value in _values(getattr(found.attrs, attr.name), attr, probes)
    )
    for found, value in islice(calls, most):
        if trials.meter.spent(0.5):
            return []
        bound = trials.bind(with_attr(found, attr.name, value))
        error = trials.why_not_built(bound) if isinstance(bound, BoundSample) else None
        if isinstance(bound, BoundSample) and isinstance(error, AccessError):
            admits = "it has no bounds" if attr.bound is None else f"its bounds are {attr.bound.text}"
            hint = f"`{attr.name}` may be {value}: {admits}; bound it by what it indexes, or guard the access"
            return [finder.of_failure(bound, lang.Failure(error), hint)]
    return []


def _values(given: Any, attr: CheckedAttr, probes: Sequence[BoundProbe]) -> Iterator[Any]:
    """The ends, far values on the sides without one, and where the sign turns."""
    if given is None or given == ():
        return
    yield from (probe.inside for probe in probes if probe.accepted)
    if attr.choices:
        return
    bounded = {_is_above(probe) for probe in probes}
    first = given[0] if isinstance(given, tuple) else given
    for above, far in ((True, REACH), (False, -REACH)):
        if above not in bounded:
            yield _with_first(given, first + far)
    yield _with_first(given, 0)
    yield _with_first(given, -1)


def _with_first(given: Any, value: int) -> Any:
    return (value, *given[1:]) if isinstance(given, tuple) else value


def _is_above(probe: BoundProbe) -> bool:
    inside: Any = probe.inside
    outside: Any = probe.outside
    return bool(outside > inside)
