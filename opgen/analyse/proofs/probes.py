"""Values just inside and just outside each bound, found by asking the signature itself."""

from __future__ import annotations

import ast
import math
import struct
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Final

from opgen_runtime.base.errors import OpgenError
from opgen_runtime.base.vocabulary import DTYPES

from ...document.kinds import KINDS
from ...model import AttrValue, BoundProbe, CheckedAttr
from .located import PYTHON_ERRORS
from .samples import Sample
from .trials import BoundSample, Trials

REACH: Final = 1 << 16  # how far from the test's value the end of a bound is looked for
_PLACES: Final = 3
_GUESSES: Final = 2  # ends of other attrs and tests that are tried before one is searched for
_NO_SUCH_TEXT: Final = "no_such_value"
_OTHER_NUMBERS: Final = 100

End = tuple[int | float, int | float]
"""Two neighbouring numbers, the last inside and the first outside a bound."""


def find_probes(
    trials: Trials, bound: Sequence[BoundSample], attrs: Sequence[CheckedAttr]
) -> tuple[BoundProbe, ...]:
    """Both ends of the bounds of every attr, or each of its choices.

    Where an end depends on the test, at most `_PLACES` of its places; each at the first test that has it, and accepts
    the value inside, if any does.  The attrs have equal shares of half the work that is left to the op: one whose
    values are expensive, such as a number of outputs, leaves the others theirs.
    """
    by_case = {item.sample.case: item for item in bound if item.sample.case is not None}
    # Tests of one signature have the same ends: the first of them stands for all.
    first: dict[Hashable, int] = {}
    for number in sorted(by_case):
        first.setdefault(by_case[number].sample.key, number)
    tests = [(number, by_case[number]) for number in first.values()]
    found: list[BoundProbe] = []
    seen: dict[int, list[End]] = {-1: [], 1: []}
    bounded = [attr for attr in attrs if attr.bound is not None]
    begun = trials.meter.used
    for position, attr in enumerate(bounded, 1):
        share = begun + (1 - begun) * 0.5 * position / len(bounded)
        if attr.choices:
            found += _choices(trials, tests, attr, share)
            continue
        ends: dict[int, dict[str, BoundProbe]] = {-1: {}, 1: {}}
        for number, test in tests:
            for end, probe in _probes(trials, test, attr, number, share, seen):
                known = ends[end].get(place := str(probe.outside))
                is_new = known is None and len(ends[end]) < _PLACES
                if is_new or (known is not None and probe.accepted > known.accepted):
                    ends[end][place] = probe
        found += [probe for places in ends.values() for probe in places.values()]
    return tuple(found)


def _choices(
    trials: Trials, tests: Sequence[tuple[int, BoundSample]], attr: CheckedAttr, share: float
) -> Iterator[BoundProbe]:
    """Each choice, at the first test that accepts it, if any does, beside a value that is none."""
    others: tuple[AttrValue, ...] = (_NO_SUCH_TEXT, *DTYPES, *range(_OTHER_NUMBERS))
    for choice in attr.choices or ():
        best: BoundProbe | None = None
        for number, test in tests:
            if trials.meter.spent(share):
                break
            wrap = _wrapper(getattr(test.attrs, attr.name))
            values = (wrap(value) for value in others)
            outside = next((v for v in values if trials.is_out_of_bounds(test, attr, v)), None)
            if outside is not None and (best is None or not best.accepted):
                fits = _fits(trials, test, attr.name, wrap(choice))
                best = (
                    best if best and not fits else BoundProbe(number, attr.name, wrap(choice), outside, fits)
                )
        if best is not None:
            yield best


def _probes(
    trials: Trials,
    bound: BoundSample,
    attr: CheckedAttr,
    case: int,
    share: float,
    seen: Mapping[int, list[End]],
) -> Iterator[tuple[int, BoundProbe]]:
    """The lower end (-1) and the upper end (1).  None where `share` of the work is spent before.

    Attrs and tests of one op mostly end at the same values: those `seen` last are tried first.
    """

    def is_outside(value: int | float) -> bool | None:
        if trials.meter.spent(share):
            return None
        return trials.is_out_of_bounds(bound, attr, wrap(value))

    value = getattr(bound.attrs, attr.name)
    if value is None or value == ():
        value = _start(trials, bound, attr)
    element = value[0] if isinstance(value, tuple) else value
    if not isinstance(element, int | float) or isinstance(element, bool):
        return
    wrap = _wrapper(value)
    for step in (-1, 1):
        guesses = seen[step][: -_GUESSES - 1 : -1]
        found = (
            _guessed(element, step, guesses, is_outside)
            or _end(element, step, is_outside)
            or _guessed(element, step, _stated(attr, element, step), is_outside)
        )
        if found is not None:
            seen[step][:] = [*(end for end in seen[step] if end != found), found]
            inside, outside = map(wrap, found)
            fits = _fits(trials, bound, attr.name, inside)
            yield step, BoundProbe(case, attr.name, inside, outside, fits)


def _start(trials: Trials, bound: BoundSample, attr: CheckedAttr) -> AttrValue:
    """A value inside the bound, one that fits if any does."""
    values = KINDS[attr.kind].starts
    fitting = (value for value in values if _fits(trials, bound, attr.name, value))
    inside = (value for value in values if not trials.is_out_of_bounds(bound, attr, value))
    return next(fitting, next(inside, None))


def _wrapper(value: AttrValue) -> Callable[[AttrValue], AttrValue]:
    """Puts an element in the place of the first one of a list, or of the value itself."""
    return (lambda element: (element, *value[1:])) if isinstance(value, tuple) else (lambda element: element)


def _guessed(
    start: int | float, step: int, guesses: Sequence[End], is_outside: Callable[[int | float], bool | None]
) -> End | None:
    """The first guess beyond `start` that is an end here too."""
    for inside, outside in guesses:
        beyond = type(inside) is type(start) and (inside - start) * step >= 0
        if beyond and is_outside(outside) and is_outside(inside) is False:
            return inside, outside
    return None


def _stated(attr: CheckedAttr, like: int | float, step: int) -> list[End]:
    """Lower (-1) or upper (1) ends at the numbers that the bound states: they may be farther than any search goes."""
    parts = [] if attr.bound is None else [attr.bound.check, attr.bound.function]
    stated: set[int | float] = set()
    for node in [node for part in parts if part is not None for node in ast.walk(part)]:
        number = node.value if isinstance(node, ast.Constant) else None
        if isinstance(number, int | float) and not isinstance(number, bool):
            stated |= {number, -number}
    ranks = sorted({_rank(type(like)(each)) for each in stated if isinstance(each, int | type(like))})
    insides = [inside for rank in ranks for inside in (rank, rank - step)]
    return [(_number(inside, like), _number(inside + step, like)) for inside in insides]


def _end(start: int | float, step: int, is_outside: Callable[[int | float], bool | None]) -> End | None:
    """Two neighbouring numbers, the last inside and the first outside a bound.

    None if `REACH` does not leave it, or if `is_outside` gives up (None).

    Floats are neighbours if none lies between them, so that a bound is told from the same one without its end.
    """
    inside: int | float = start
    distance = 1
    while not (far := is_outside(outside := start + step * distance)):
        inside, distance = outside, 2 * distance
        if far is None or distance > REACH:
            return None
    low, high = _rank(inside), _rank(outside)
    while abs(high - low) > 1:
        middle = (low + high) // 2
        far = is_outside(_number(middle, like=start))
        if far is None:
            return None
        low, high = (low, middle) if far else (middle, high)
    return _number(low, like=start), _number(high, like=start)


def _rank(number: int | float) -> int:
    """The position of a number among those of its type; zero is at 0, and has no sign."""
    if isinstance(number, int):
        return number
    (bits,) = struct.unpack("<q", struct.pack("<d", abs(number)))
    return int(math.copysign(bits, number))


def _number(rank: int, like: int | float) -> int | float:
    """The number of the type of `like` at a rank."""
    if isinstance(like, int):
        return rank
    (number,) = struct.unpack("<d", struct.pack("<q", abs(rank)))
    return -number if rank < 0 else float(number)


def with_attr(bound: BoundSample, name: str, value: Any) -> Sample:
    """A made-up sample: a bound one with another value for an attr."""
    values: Mapping[str, AttrValue] = {**bound.sample.attrs, name: value}
    return Sample(bound.sample.operands, values)


def _fits(trials: Trials, bound: BoundSample, name: str, value: Any) -> bool:
    try:
        return trials.fits(with_attr(bound, name, value))
    except (OpgenError, *PYTHON_ERRORS):
        return False
