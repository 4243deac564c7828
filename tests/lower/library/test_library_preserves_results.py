"""Law: the schedules of the library give what the tensor expressions give, on every target width."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime.base.target import Target
from opgen_runtime.lower.library import schedules
from tests.lower.tir.programs import (
    Program,
    centred,
    chain,
    check_lowered,
    padded,
    positions,
    product,
    programs,
)

WIDTHS = ("x86-64", "x86-64-v3", "x86-64-v4")


def target(cpu: str, threads: int = 2) -> Target:
    return replace(Target.parse(f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={cpu}"), num_threads=threads)


class EagerlyParallel(Target):
    """A target on which every loop is worth sharing, so that small programs have parallel loops."""

    @property
    def parallel_threshold(self) -> int:
        return 8


def eager(cpu: str) -> Target:
    base = target(cpu)
    return EagerlyParallel(
        base.kind, base.triple, base.cpu, base.features, base.keys, base.num_threads, base.machine
    )


@settings(max_examples=40)
@given(programs(st.integers(1, 24)), st.sampled_from(WIDTHS), st.booleans())
def test_generic(program: Program, cpu: str, shared: bool) -> None:
    chosen = eager(cpu) if shared else target(cpu)
    check_lowered(program, schedules.generic(program.outputs, chosen))


@pytest.mark.parametrize("cpu", WIDTHS)
@pytest.mark.parametrize(
    "program",
    [
        chain(3, 37),
        chain(16, 64),
        centred(5, 33),
        product(9, 70, 5),
        padded(2, 50),
        positions("argmax", 3, 70, 1),
        positions("argmin", 70, 19, 0),
    ],
)
def test_shapes_with_tails(program: Program, cpu: str) -> None:
    check_lowered(program, schedules.generic(program.outputs, target(cpu)))


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 16, 17, 64, 100])
def test_every_length(n: int) -> None:
    program = chain(1, n)
    check_lowered(program, schedules.generic(program.outputs, target("x86-64-v4")))
