"""A sample of `python -m tests.fuzz rewrites`, and that its programs are what the rules are about."""

from __future__ import annotations

import pytest

from opgen_runtime.transform import DivToMul, PassMaker, RecogniseOps, SimplifyAlgebra, SimplifyExpr
from tests.fuzz.rewrites import case, program


@pytest.mark.parametrize("seed", range(20))
def test_programs_mean_the_same(seed: int) -> None:
    case(seed)


@pytest.mark.parametrize("make", [DivToMul, RecogniseOps, SimplifyAlgebra, SimplifyExpr], ids=str)
def test_random_programs_are_what_the_rules_are_about(make: PassMaker) -> None:  # type: ignore[type-arg]  # of functions
    programs = [program(seed, tame=True) for seed in range(12)]
    assert sum(make()(each) is not each for each in programs) >= 2
