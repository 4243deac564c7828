"""Kernels of the generated suites as text and back: `python -m tests.fuzz kernel_texts`.

A case takes a call of a suite and each of its kernels twice: as it is lowered, and after the last phase.  The text is
read, prints as it was, and means the same node for node.  What was read after the last phase gives the same bits: its
LLVM text is equal; else its object code is (in what was read equal parts of an expression are one node, which LLVM
makes of them anyway); else its results on the suite's data are.  What was read as it was lowered goes through all
phases, too; which parts are one node, and which loops have one variable, decides the order of terms in an index there,
and so, in one kernel of thousands, how LLVM adds up a float sum: ints are the same, floats within a few roundings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import Final

import numpy as np

from opgen_runtime import ir
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import is_float_array
from opgen_runtime.codegen import choose_pipeline, emit, optimise_and_compile
from opgen_runtime.lower import tir
from opgen_runtime.lower.library.segment import Segment
from opgen_runtime.run.compile.kernel.records import Lowered
from opgen_runtime.run.compile.kernel.segments import segments_of
from opgen_runtime.run.compile.pipeline import optimise, requested, through_kernel, upto
from opgen_runtime.testing import Suite
from opgen_runtime.testing.cases import Case, case_call
from opgen_runtime.testing.data import Spec, ordinary
from opgen_runtime.transform import PassContext
from tests.codegen.conftest import run
from tests.fuzz.values import suite, suites
from tests.lower.tir.same import why_not_same

COUNT: Final = 2500
_LAST: Final = tir.PHASES[-1].name


def case(seed: int) -> None:
    """The kernels of a call that has one, drawn without repetition."""
    for n in range(len(_calls())):
        kernels = list(kernels_of(seed + n * COUNT))
        if kernels:
            break
    for lowered, stage in kernels:
        for func in lowered.funcs:
            check_text(func, stage, lowered, seed)


@cache
def _calls() -> list[tuple[type[Suite], Case]]:
    """Every call of every suite, in a random order."""
    loaded = [suite(path) for path in suites()]
    found = [(of, case) for of in loaded for case in (*of.declared_cases, *of.sampled_cases)]
    Random(0).shuffle(found)
    return found


def kernels_of(seed: int) -> Iterator[tuple[Lowered, str]]:
    """The kernels of a call, as lowered and after the last phase; none where nothing is compiled."""
    of, given = _calls()[seed % len(_calls())]
    try:
        call, variables = case_call(of.op, given)
        module = optimise(ir.IRModule.from_expr(ir.Function(tuple(variables), call)))
    except OpgenError:
        return
    for segment in segments_of(*module.functions.values()).functions:
        request = requested(segment, Target.host(), PassContext.current())
        for stage, record in through_kernel(request, upto(_LAST)):
            if isinstance(record, Lowered) and stage.name in ("lower", _LAST):
                yield record, stage.name


def check_text(func: tir.PrimFunc, stage: str, lowered: Lowered | None = None, seed: int = 0) -> None:
    """Raises AssertionError unless a kernel's text reads as the kernel; with `lowered`, also as code."""
    text = tir.to_text(func)
    read = tir.parse(text)
    assert tir.to_text(read) == text
    assert why_not_same(func, read) is None, f"{why_not_same(func, read)}\n{text}"
    if lowered is None:
        return
    target = Target.host()
    read = replace(read, vectors=func.vectors, machine=func.machine)
    pair = (func, read) if stage == _LAST else (tir.run_phases(func), tir.run_phases(read))
    texts = [emit(each, target) for each in pair]
    if texts[0] == texts[1]:
        return
    passes = choose_pipeline(func)
    codes = [optimise_and_compile(llvm, target, passes).object_code for llvm in texts]
    if codes[0] != codes[1]:
        _check_results(pair, lowered, seed, stage == _LAST)


def _check_results(pair: Sequence[tir.PrimFunc], lowered: Lowered, seed: int, exact: bool) -> None:
    """Both give the same bits, or unless `exact` the same within a few roundings of floats."""
    segment = lowered.segment
    assert isinstance(segment, Segment)
    arrays = [
        ordinary(Spec.parse(_spec(param)), f"{seed} {position}")
        for position, param in enumerate(segment.function.params)
    ]
    feeds = list(segment.feeds(arrays).values())
    for a, b in zip(*(run(each, feeds) for each in pair), strict=True):
        if exact or not is_float_array(a.dtype):
            assert a.tobytes() == b.tobytes(), str(pair[0])
        else:
            np.testing.assert_allclose(a.astype("f8"), b.astype("f8"), 1e-5, 1e-5, err_msg=str(pair[0]))


def _spec(param: ir.Var) -> str:
    """A parameter's type as a spec of data."""
    type_ = param.checked_type
    return f"{type_.dtype}[{','.join(map(str, type_.shape))}]"  # type: ignore[attr-defined]  # of one tensor
