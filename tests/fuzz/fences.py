"""Kernels of the suites between pages that nobody may touch: `python -m tests.fuzz fences`.

A case is one call of an op's suite on one target, run twice: all operands and results lie first behind a fence, then
before one, operands in pages that may only be read.  Whatever touches a byte outside ends the child process; the
results are those of arrays that lie anywhere.
"""

from __future__ import annotations

import importlib
from contextlib import ExitStack
from functools import cache
from typing import Final

import numpy as np

from opgen_runtime import ir, ops
from opgen_runtime.base.target import Target
from opgen_runtime.run.compile import pipeline
from opgen_runtime.run.compile.kernel.extern import ExternKernel
from opgen_runtime.testing import Case, case_call, ordinary, suite_of
from opgen_runtime.testing.cases import specs_of
from opgen_runtime.testing.suite import Suite
from tests.fenced import Fenced

COUNT: Final = 7500  # of two guarded runs each
_TARGETS: Final = tuple(
    f"llvm {options}"
    for options in (
        "-num-threads=1",
        "-mcpu=x86-64-v3 -num-threads=1",
        "-num-threads=3",
        "-mcpu=x86-64 -num-threads=1",
    )
)


@cache
def _suite(name: str) -> type[Suite]:
    return suite_of(importlib.import_module(f"tests.generated.test_{name}"))


def case(number: int) -> None:
    """One call: the ops take turns, then their cases, then the targets."""
    turn, which = divmod(number, len(ops.__all__))
    suite = _suite(ops.__all__[which])
    cases = (*suite.declared_cases, *suite.sampled_cases)
    again, place = divmod(turn, len(cases))
    target = Target.parse(_TARGETS[again % len(_TARGETS)])
    if target.is_host:
        check(suite, cases[place], target, str(number))


def check(suite: type[Suite], case: Case, target: Target, seed: str) -> None:
    """Runs a call on a target between fences, on ordinary values of a seed."""
    call, variables = case_call(suite.op, case)
    kernel = pipeline.compile_segment(ir.Function(tuple(variables), call), target)
    if isinstance(kernel, ExternKernel):
        return  # it runs in Python
    given = [
        ordinary(spec, f"{seed} {k}")
        for k, specs in enumerate(specs_of(suite.op, case))
        if specs is not None
        for spec in (specs if isinstance(specs, tuple) else (specs,))
    ]
    expected = [each.copy() for each in kernel.run(given)]
    blank = [np.zeros(slot.shape, slot.dtype) for slot in kernel.outputs]
    for at_end in (False, True):
        with ExitStack() as fences:
            operands = [fences.enter_context(Fenced(each, at_end, writable=False)) for each in given]
            results = [fences.enter_context(Fenced(each, at_end)) for each in blank]
            for found, wanted in zip(kernel.run(operands, results), expected, strict=True):
                np.testing.assert_array_equal(found, wanted, err_msg=f"{suite.op.name}({case}) on {target}")
