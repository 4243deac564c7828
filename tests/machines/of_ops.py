"""The first declared cases of each op, compiled for another machine and run there, compared with this machine.

Bools, ints and element functions are equal to the bit (a NaN is a NaN); other floats are as near as the suites ask.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

import opgen_runtime as rt
from opgen_runtime.base.vocabulary import OpPattern, is_float_array
from opgen_runtime.declaration.structure import structure_of
from opgen_runtime.ir import Call
from opgen_runtime.run.compile.interpret import wrap
from opgen_runtime.testing.cases import Case, case_call, declaration_of
from opgen_runtime.testing.compare import assert_close
from opgen_runtime.testing.suite import Suite
from opgen_runtime.testing.values import flattened, operands_of
from tests.campaign import Tally
from tests.gradients import suites

from .batch import Arrays, Exported, results_there
from .emulated import Emulated
from .reference import HERE, flat

CASES = 2
_TOGETHER = 128  # programs that are linked into one


def why_left_out(suite: type[Suite]) -> str | None:
    """Why an op is not run on other machines; None for those that are."""
    declaration = declaration_of(suite.op)
    if declaration.extern is not None:
        return "a hand-written function in Python"
    if declaration.signature.dynamic:
        return "sizes that depend on data"
    return None


def checked(machine: Emulated, names: Iterable[str] = (), limit: int | None = None) -> tuple[Tally, int]:
    """What went wrong with cases of these ops, of all without a name, and how many ops were run.

    `limit`: how many ops, evenly spread.
    """
    chosen = [suite for suite in suites(tuple(names)) if why_left_out(suite) is None]
    if limit is not None:
        chosen = chosen[:: max(len(chosen) // limit, 1)]
    tally = Tally()
    made: list[_Trial] = []
    for suite in chosen:
        for case in suite.declared_cases[:CASES]:
            made.append(_Trial(machine, suite, case))
    for start in range(0, len(made), _TOGETHER):
        part = made[start : start + _TOGETHER]
        with tempfile.TemporaryDirectory() as folder:
            found = results_there(machine, [trial.exported for trial in part], Path(folder))
        for trial, results in zip(part, found, strict=True):
            tally.tried += 1
            tally.failures += list(trial.problems(results))
    return tally, len(chosen)


class _Trial:
    """One case of an op: compiled for both machines, and what this one gives."""

    def __init__(self, machine: Emulated, suite: type[Suite], case: Case) -> None:
        self.title = f"{suite.op.name}({case})"
        self.call, variables = case_call(suite.op, case)
        self.pattern = declaration_of(suite.op).pattern
        function = rt.Function(tuple(variables), self.call)
        here = rt.build(function, target=HERE)
        self.type = function.body.checked_type
        calls = [
            tuple(flattened(operands_of(suite.op, case, special_values))) for special_values in (False, True)
        ]
        with np.errstate(all="ignore"):
            self.expected = [flat(here.run(list(given))) for given in calls]
        there = rt.build(function, target=machine.target)
        assert isinstance(there, rt.Crossed), self.title
        self.exported = Exported(self.title, there, tuple(calls), tuple(self.expected))

    def problems(self, results: list[Arrays | str]) -> Iterator[str]:
        """What is wrong with the results of the calls on the other machine."""
        for given, wanted, found in zip(self.exported.calls, self.expected, results, strict=True):
            if isinstance(found, str):
                yield f"{self.title}: {found}"
                continue
            try:
                self._check(given, wanted, found)
            except AssertionError as error:
                yield str(error)

    def _check(self, given: Arrays, wanted: Arrays, found: Arrays) -> None:
        assert isinstance(self.call, Call)
        operator = self.call.op
        assert isinstance(operator, rt.Op)
        if self.pattern <= OpPattern.BROADCAST:
            for one, other in zip(found, wanted, strict=True):
                different = _bits(one) != _bits(other)
                assert not different.any(), (
                    f"{self.title}: {int(different.sum())} of {one.size} elements differ in their bits: "
                    f"{one[different][:3]}, here {other[different][:3]}"
                )
            return
        structure = structure_of(operator, self.call.attrs, [arg.checked_type for arg in self.call.args])
        is_one = not isinstance(self.type, rt.TupleType)
        values = (wrap(found[0]), wanted[0]) if is_one else (wrap(found), wanted)
        assert_close(*values, self.type, list(given), self.pattern, self.title, structure)


def _bits(array: np.ndarray) -> np.ndarray:
    """The elements as integers; all NaNs are one."""
    if is_float_array(array.dtype):
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return array.view(f"u{array.dtype.itemsize}")
