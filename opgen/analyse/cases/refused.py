"""Cases that the type relation refuses, for the generated suite: a relation that has become too lax fails there.

Each changes one operand or list attr of a declared test so that it no longer fits: another dtype than the declaration
admits, an extent that disagrees or is 0, an axis too many or too few, entries too many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from opgen_runtime.base.errors import DTypeError, ShapeError

from ...document.kinds import ValueProblem
from ...model import CheckedCase, CheckedSignature, Refusal
from ..proofs.samples import varied_sample
from ..proofs.trials import Refused, Trials
from ..signatures.values import parse_operand
from .sampled import DTYPES_TRIED, Operand, Shape, admitted, mapped

MAX_REFUSED: Final = 16
_NUMBER: Final = re.compile(r"[0-9]+")
_LONGER: Final = 4  # entries more in a list attr
_BASES: Final = 3  # declared tests that are changed


def refused_cases(
    trials: Trials,
    signature: CheckedSignature,
    varied: Iterable[CheckedCase],
    cases: Sequence[CheckedCase],
) -> tuple[Refusal, ...]:
    """Refusals, at most `MAX_REFUSED` of each source.

    The first source changes one operand: one refusal of each kind, for the first test where it is one.  The second
    takes the variations of the tests (`varied`) that do not fit: one of each message.
    """
    kinds: dict[str, Refusal] = {}
    for case in cases[:_BASES]:
        for kind, changed in _changes(case, signature):
            if kind not in kinds and len(kinds) < MAX_REFUSED:
                error = _refusal(trials, changed)
                if error is not None:
                    kinds[kind] = Refusal(changed, type(error).__name__)
    messages: dict[str, Refusal] = {}
    for changed in varied:
        if len(messages) == MAX_REFUSED:
            break
        error = _refusal(trials, changed)
        if error is not None:
            messages.setdefault(_NUMBER.sub("0", str(error)), Refusal(changed, type(error).__name__))
    return (*kinds.values(), *(one for one in messages.values() if one not in kinds.values()))


def _refusal(trials: Trials, case: CheckedCase) -> DTypeError | ShapeError | None:
    """The error with which the signature refuses a case, if it is one of dtypes or shapes."""
    try:
        sample = varied_sample(case)
    except ValueProblem:
        return None  # too many elements
    found = trials.bind(sample)
    error = found.error if isinstance(found, Refused) else None
    return error if isinstance(error, DTypeError | ShapeError) else None


def _changes(case: CheckedCase, signature: CheckedSignature) -> Iterator[tuple[str, CheckedCase]]:
    for operand in signature.inputs:
        value = case.inputs[operand.name]
        if value is None:
            continue
        fits = admitted(operand.dtype, signature.dtypes)
        for dtype in [name for name in DTYPES_TRIED if name not in fits][:1]:
            yield f"{operand.name} dtype", _with(case, operand.name, value, dtype=dtype)
        if isinstance(operand.dtype, str) and operand.dtype in signature.dtypes:
            for dtype in fits[:2]:
                yield f"{operand.name} mixed", _with(case, operand.name, value, dtype=dtype)
        for axis in range(max(map(len, _shapes(value)), default=0)):
            yield f"{operand.name} extent {axis}", _with(case, operand.name, value, axis=axis)
            yield f"{operand.name} empty {axis}", _with(case, operand.name, value, axis=axis, empty=True)
        yield f"{operand.name} rank +", _with(case, operand.name, value, rank=1)
        yield f"{operand.name} rank -", _with(case, operand.name, value, rank=-1)
    for name, given in case.attrs.items():
        if isinstance(given, tuple) and given:
            longer = {**case.attrs, name: (*given, *given[:1] * _LONGER)}
            yield f"{name} length", replace(case, attrs=longer)


def _shapes(value: str | tuple[str, ...]) -> list[Shape]:
    return [parse_operand(text)[1] for text in (value if isinstance(value, tuple) else (value,))]


def _with(
    case: CheckedCase,
    name: str,
    value: Operand,
    dtype: str | None = None,
    axis: int | None = None,
    rank: int = 0,
    empty: bool = False,
) -> CheckedCase:
    """The case with one operand changed; limits of its values are dropped."""

    def turn(text: str) -> str:
        own, shape = parse_operand(text)
        if axis is not None:
            shape = tuple(
                (0 if empty else extent + 1) if k == axis else extent for k, extent in enumerate(shape)
            )
        if rank:
            shape = (2, *shape) if rank > 0 else shape[1:]
        return f"{dtype or own}[{', '.join(map(str, shape))}]"

    return CheckedCase({**case.inputs, name: mapped(value, turn)}, case.attrs, case.place)
