"""Values just inside and just outside each bound, found by asking the signature itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from opgen_runtime.errors import AttrError, OpgenError

from ..model import AttrValue, BoundProbe, CheckedAttr, CheckedCase
from .located import PYTHON_ERRORS
from .run import Bound, Runner
from .samples import Sample

_REACH: Final = 64  # how far from the test's value an end of an int's bound is looked for
_NO_SUCH_TEXT: Final = "no_such_value"


def find_probes(
    runner: Runner, bound: Sequence[Bound], attrs: Sequence[CheckedAttr], cases: Sequence[CheckedCase]
) -> tuple[BoundProbe, ...]:
    """Both ends of the bounds of every attr, at the first test where the value inside fits, if any does."""
    by_case = {item.sample.case: item for item in bound if item.sample.case is not None}
    found: list[BoundProbe] = []
    for attr in attrs:
        if attr.bound is None:
            continue
        ends: dict[int, BoundProbe] = {}
        for number in range(len(cases)):
            for end, probe in _probes(runner, by_case[number], attr, number) if number in by_case else ():
                if end not in ends or (ends[end].inside is None and probe.inside is not None):
                    ends[end] = probe
        found += [ends[end] for end in sorted(ends)]
    return tuple(found)


def _probes(runner: Runner, bound: Bound, attr: CheckedAttr, case: int) -> Iterator[tuple[int, BoundProbe]]:
    """The lower end (-1) and the upper end (1); a text has one end."""
    value = getattr(bound.attrs, attr.name)
    if value is None:
        return
    element = value[0] if isinstance(value, tuple) and value else value
    wrap = (lambda v: (v, *value[1:])) if isinstance(value, tuple) else (lambda v: v)
    if isinstance(element, str):
        if _is_outside(runner, bound, attr.name, wrap(_NO_SUCH_TEXT)):
            yield 1, BoundProbe(case, attr.name, value, wrap(_NO_SUCH_TEXT))
    elif isinstance(element, int | float) and not isinstance(element, bool):
        for step in (-1, 1):
            inside = element
            for _ in range(_REACH):
                outside = inside + step
                if _is_outside(runner, bound, attr.name, wrap(outside)):
                    fits = _fits(runner, bound, attr.name, wrap(inside))
                    yield step, BoundProbe(case, attr.name, wrap(inside) if fits else None, wrap(outside))
                    break
                inside = outside


def _with(bound: Bound, name: str, value: Any) -> Sample:
    values: Mapping[str, AttrValue] = {**bound.sample.attrs, name: value}
    return Sample(bound.sample.operands, values)


def _is_outside(runner: Runner, bound: Bound, name: str, value: Any) -> bool:
    """True if the value is refused for being out of bounds."""
    refused: list[tuple[Sample, BaseException]] = []
    runner.bind(_with(bound, name, value), refused)
    return any(isinstance(error, AttrError) and f"attr {name!r}" in str(error) for _, error in refused)


def _fits(runner: Runner, bound: Bound, name: str, value: Any) -> bool:
    try:
        return runner.bind(_with(bound, name, value), []) is not None
    except (OpgenError, *PYTHON_ERRORS):
        return False
