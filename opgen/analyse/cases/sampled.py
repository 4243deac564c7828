"""Further cases for the generated suite: the declared tests with other shapes, dtypes and attrs that fit.

Each is a small change of a declared test (an extent becomes 0 or 1, a leading axis comes or goes, another dtype
that the declaration admits, the end of a bound, the other value of a flag), kept if the signature accepts it and the
compute expression can be built for it.  Where integers are limited, shapes and attrs stay: the limits follow from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from opgen_runtime.base.vocabulary import DTYPE_CLASSES

from ...document.kinds import KINDS, ValueProblem
from ...model import AttrValue, BoundProbe, CheckedAttr, CheckedCase, CheckedSignature
from ..proofs.samples import varied_sample
from ..proofs.trials import BoundSample, Trials
from ..signatures.values import parse_operand

MAX_SAMPLED: Final = 16  # with the declared tests well below 40 compiled signatures an op
_BASES: Final = 4  # declared tests that are varied
_LONG: Final = 67  # more than a vector of any target holds, and no multiple of one
_LONG_ELEMENTS: Final = 1_500  # the operands' elements in such a case
# Each stands for its kind; the order is that in which they are tried.
DTYPES_TRIED: Final = (
    "float32", "int32", "float16", "float64", "uint8", "int64", "bool", "int8", "uint64", "int16", "uint32", "uint16",
)  # fmt: skip

Operand = str | tuple[str, ...] | None
Shape = tuple[int, ...]


def sample_cases(
    trials: Trials, varied: Iterable[CheckedCase], cases: Sequence[CheckedCase]
) -> tuple[CheckedCase, ...]:
    """At most `MAX_SAMPLED` of the variations of `cases`, none of them declared."""
    found: list[CheckedCase] = []
    seen = {_key(case) for case in cases}
    for case in varied:
        key = _key(case)
        if key in seen:
            continue
        seen.add(key)
        if _fits(trials, case):
            found.append(case)
            if len(found) == MAX_SAMPLED:
                break
    return tuple(found)


def _key(case: CheckedCase) -> str:
    return f"{dict(case.inputs)} {sorted(case.attrs.items(), key=lambda item: item[0])}"


def _fits(trials: Trials, case: CheckedCase) -> bool:
    try:
        sample = varied_sample(case)
    except ValueProblem:
        return False  # too many elements
    bound = trials.bind(sample)
    return isinstance(bound, BoundSample) and trials.can_build(bound)


def variations(
    signature: CheckedSignature,
    attrs: Sequence[CheckedAttr],
    cases: Sequence[CheckedCase],
    probes: Sequence[BoundProbe],
) -> Iterator[CheckedCase]:
    """One change of each kind in turn, over the first declared tests."""
    bases = cases[:_BASES]
    kinds = (
        [case for base in bases for case in _other_extents(base)],
        [case for base in bases[:1] for case in _other_dtypes(base, signature)],
        list(_other_attrs(bases, attrs, probes)),
        [case for base in bases for case in _other_ranks(base)],
    )
    for row in zip_longest(*kinds):
        yield from (case for case in row if case is not None)


# ------------------------------------------------------------------ shapes


def _other_extents(case: CheckedCase) -> Iterator[CheckedCase]:
    """One extent (everywhere it occurs) is 0, 1, another or large; equal ones stay equal."""
    extents = sorted({extent for shape in _shapes(case) for extent in shape if extent > 1}, reverse=True)
    changes = [(old, new) for new in (0, _LONG, 1, 5) for old in extents[:2]]
    for old, new in changes:
        change = _replacing(old, new)
        changed = _with_shapes(case, change)
        if changed is not None and (new < _LONG or _elements(map(change, _shapes(case))) <= _LONG_ELEMENTS):
            yield changed


def _elements(shapes: Iterable[Shape]) -> int:
    return sum(map(math.prod, shapes))


def _replacing(old: int, new: int) -> Callable[[Shape], Shape]:
    return lambda shape: tuple(new if extent == old else extent for extent in shape)


def _other_ranks(case: CheckedCase) -> Iterator[CheckedCase]:
    """All operands are scalars, or have a leading axis more or less."""
    changes: tuple[Callable[[Shape], Shape], ...] = (
        lambda shape: (),
        lambda shape: (2, *shape),
        lambda shape: shape[1:],
        lambda shape: (2, 1, 3, *shape),
    )
    for change in changes:
        changed = _with_shapes(case, change)
        if changed is not None:
            yield changed


def _shapes(case: CheckedCase) -> Iterator[Shape]:
    for operand in case.inputs.values():
        for text in operand if isinstance(operand, tuple) else (operand,) if operand is not None else ():
            yield parse_operand(text)[1]


def _with_shapes(case: CheckedCase, change: Callable[[Shape], Shape]) -> CheckedCase | None:
    """None where the integers of an operand are limited."""
    if _has_limited_integers(case):
        return None

    def turn(text: str) -> str:
        dtype, shape = parse_operand(text)
        return f"{dtype}[{', '.join(map(str, change(shape)))}]{text[text.index(']') + 1 :]}"

    inputs = {name: mapped(operand, turn) for name, operand in case.inputs.items()}
    return CheckedCase(inputs, case.attrs, case.place)


def _has_limited_integers(case: CheckedCase) -> bool:
    """Whether an operand holds integers of a range: positions, which extents and attrs bound."""
    return any(
        " in " in text and not text.startswith(("float", "bfloat"))
        for operand in case.inputs.values()
        for text in (operand if isinstance(operand, tuple) else (operand,))
        if text is not None
    )


def mapped(operand: Operand, turn: Callable[[str], str]) -> Operand:
    if isinstance(operand, tuple):
        return tuple(turn(text) for text in operand)
    return None if operand is None else turn(operand)


# ------------------------------------------------------------------ dtypes


def _other_dtypes(case: CheckedCase, signature: CheckedSignature) -> Iterator[CheckedCase]:
    """Each dtype variable, and each input without one, in the other dtypes that it admits."""
    groups: dict[str, list[str]] = {}
    for operand in signature.inputs:
        variable = isinstance(operand.dtype, str) and operand.dtype in signature.dtypes
        groups.setdefault(str(operand.dtype) if variable else f"input {operand.name}", []).append(
            operand.name
        )
    declared = {operand.name: operand.dtype for operand in signature.inputs}
    for members in groups.values():
        for dtype in admitted(declared[members[0]], signature.dtypes):

            def turn(text: str, dtype: str = dtype) -> str:
                return dtype + text[text.index("[") :]

            inputs = {n: mapped(o, turn) if n in members else o for n, o in case.inputs.items()}
            yield CheckedCase(inputs, case.attrs, case.place)


def admitted(dtype: str | tuple[str, ...], variables: Mapping[str, str | tuple[str, ...]]) -> list[str]:
    if isinstance(dtype, str):
        dtype = variables.get(dtype, dtype)
    if isinstance(dtype, str):
        dtype = tuple(map(str, DTYPE_CLASSES.get(dtype, (dtype,))))
    return [name for name in DTYPES_TRIED if name in dtype]


# ------------------------------------------------------------------ attrs


def _other_attrs(
    bases: Sequence[CheckedCase], attrs: Sequence[CheckedAttr], probes: Sequence[BoundProbe]
) -> Iterator[CheckedCase]:
    """One attr at an end of its bound, another choice, another flag, another number, or absent; the attrs in turn."""
    changes = [
        [change for number, base in enumerate(bases) for change in _of_attr(base, number, attr, probes)]
        for attr in attrs
    ]
    for row in zip_longest(*changes):
        yield from (case for case in row if case is not None)


def _of_attr(
    case: CheckedCase, number: int, attr: CheckedAttr, probes: Sequence[BoundProbe]
) -> Iterator[CheckedCase]:
    if _has_limited_integers(case):
        return
    given = case.attrs.get(attr.name, attr.default)
    for value in (*_values(attr, given), *_ends(attr, number, probes)):
        if value != given or type(value) is not type(given):
            yield CheckedCase(case.inputs, {**case.attrs, attr.name: value}, case.place)


def _values(attr: CheckedAttr, given: AttrValue) -> tuple[AttrValue, ...]:
    if attr.choices:
        return attr.choices
    kind = KINDS[attr.kind]
    absent: tuple[AttrValue, ...] = (None,) if attr.optional else ()
    return absent if kind.is_position and attr.bound is None else (*absent, *kind.near(given))


def _ends(attr: CheckedAttr, number: int, probes: Sequence[BoundProbe]) -> tuple[AttrValue, ...]:
    """The ends inside, without the floats beside an end, whose results hang on the last bit."""
    if attr.choices:
        return ()
    inside = (p.inside for p in probes if p.attr == attr.name and p.case == number and p.accepted)
    return tuple(end for end in inside if not isinstance(end, float) or end == round(end, 3))
