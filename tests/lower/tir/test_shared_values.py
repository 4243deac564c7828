"""Expressions of a few hundred nodes with 2**60 paths from top to bottom: every part of the compiler passes them.

Values that many choices share must be looked at once, not once for every way that leads to them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from types import FrameType
from typing import Any

import numpy as np
import pytest

from opgen_runtime.base.arith import (
    Analyzer,
    Expr,
    ValueNumbers,
    Var,
    bit_and,
    bit_xor,
    cast,
    const,
    evaluate_scalar,
    logical_and,
    logical_or,
    maximum,
    minimum,
    ne,
    select,
    shift_left,
    structural_equal,
    structural_hash,
    to_text,
)
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import INDEX, DType
from opgen_runtime.codegen import choose_pipeline, emit, optimise_and_compile
from opgen_runtime.compute import te
from opgen_runtime.compute.te.tensor import Scan, State, Tensor
from opgen_runtime.lower import tir
from opgen_runtime.lower.library import schedules
from tests.codegen.conftest import run
from tests.fuzz import selects

DEPTH = 60
CALLS = 2_000_000  # of Python functions; the slowest part makes a tenth of them
TARGET = Target.host()
X = te.placeholder("x", (64,), "int32")


def bounded(work: Callable[[], Any]) -> Any:
    """The result of `work`, which may call so many Python functions and no more."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += 1
        assert calls < CALLS, f"more than {CALLS} calls, here in {frame.f_code.co_qualname}"

    sys.setprofile(count)
    try:
        return work()
    finally:
        sys.setprofile(None)


def bit(v: Expr) -> Expr:
    """One step of a cyclic redundancy check."""
    return select(ne(bit_and(v, 128), 0), bit_xor(shift_left(v, 1), 7), shift_left(v, 1))


def body(i: Expr) -> Expr:
    """Choices on values, on positions that guard reads, and between reads at computed positions."""
    v: Expr = te.read(X, i)
    for k in range(DEPTH):
        if k % 3 == 0:
            v = bit(v)
        elif k % 3 == 1:
            v = select(i >= k, v + te.read(X, i - k), v)
        else:
            v = select(i < 64 - k, bit_xor(te.read(X, i + k), v), v + v)
    return v


OUT = te.compute("out", (64,), "int32", body)
PARTS: dict[str, Callable[[Any], Any]] = {
    "normalize": lambda _: te.normalize((OUT,)),
    "pattern": lambda outputs: (te.derive_pattern(outputs, (X,)), outputs)[1],
    "schedule": lambda outputs: (schedules.generic(outputs, TARGET), outputs),
    "lower": lambda made: tir.lower(made[0], (X,), made[1], "kernel"),
    **{row.name: row.run for row in tir.PHASES},
}


@cache
def after(number: int) -> Any:
    """What the parts up to a number make of the program."""
    part = list(PARTS.values())[number]
    before = after(number - 1) if number else None
    return bounded(lambda: part(before))


@pytest.mark.parametrize("number", range(len(PARTS)), ids=list(PARTS))
def test_a_part_looks_at_each_node_once(number: int) -> None:
    assert after(number) is not None


def test_code_and_texts_are_short_and_right() -> None:
    func = after(len(PARTS) - 1)
    text = bounded(lambda: emit(func, TARGET))
    assert len(text) < 100_000
    assert len(bounded(lambda: tir.to_text(func))) < 100_000
    assert len(bounded(lambda: te.to_text((OUT,)))) < 100_000
    values = np.arange(64, dtype=np.int32)
    (found,) = run(func, [values])
    (expected,) = te.evaluate([OUT], {X: values})
    np.testing.assert_array_equal(found, expected)
    assert bounded(lambda: optimise_and_compile(text, TARGET, choose_pipeline(func))).object_code


def test_a_text_names_what_it_would_repeat() -> None:
    i = Var(INDEX, "i")
    v: Expr = i * 7 + 3
    for _ in range(40):
        v = v * v
    shown = bounded(lambda: to_text(v))
    assert shown.startswith("%39 * %39 where %0 = i * 7 + 3, %1 = %0 * %0, %2 = %1 * %1")
    assert shown.endswith("%39 = %38 * %38")
    assert to_text((i + 1000000) * (i + 1000000)) == "(i + 1000000) * (i + 1000000)"


def nested(i: Expr) -> tuple[Expr, Expr]:
    """An index and a condition of choices that share values."""
    v, c = i, i > 3
    for k in range(DEPTH):
        v = select(v > k, minimum(v - 1, 60), maximum(v + 2, 0))
        c = select(c, logical_or(c, i > k), logical_and(c, i < k))
    return v, c


def test_the_analyzer_is_bounded() -> None:
    i = Var(INDEX, "i")
    v, c = nested(i)
    analyzer = Analyzer()
    analyzer.bind(i, 0, 64)
    value, condition = bounded(lambda: analyzer.simplify(v)), bounded(lambda: analyzer.simplify(c))
    bounded(lambda: analyzer.interval(v))
    bounded(lambda: analyzer.prove(v >= -1000))
    bounded(lambda: analyzer.prove(c))
    with analyzer.assume(logical_and(c, v > 2)):
        bounded(lambda: analyzer.simplify(v))
    for at in (0, 5, 63):
        assert evaluate_scalar(value, {i: at}) == evaluate_scalar(v, {i: at})
        assert evaluate_scalar(condition, {i: at}) == evaluate_scalar(c, {i: at})


def test_each_bound_of_an_index_is_proved_by_itself() -> None:
    """What it takes to look into a deep value for one bound leaves as much for the other."""
    i = Var(INDEX, "i")
    v = te.read(X, minimum(maximum(i, 0), 63))
    for k in range(DEPTH):
        v = select(v > k, te.read(X, minimum(maximum(cast(v, INDEX), 0), 63)) + v, select(i > k, v + v, v))
    index = cast(v, INDEX)
    clipped = minimum(maximum(index, 0), 63)
    inside = logical_and(index >= 0, index < 64)
    analyzer = Analyzer()
    analyzer.bind(i, 0, 64)
    assert bounded(lambda: analyzer.prove(logical_and(clipped >= 0, clipped < 64)))
    with analyzer.assume(inside):
        assert bounded(lambda: analyzer.prove(logical_and(index >= 0, index < 64)))


def test_equality_and_numbers_are_linear() -> None:
    i = Var(INDEX, "i")
    a, b = nested(i)[0], nested(i)[0]
    assert bounded(lambda: structural_equal(a, b))
    assert bounded(lambda: structural_hash(a)) == bounded(lambda: structural_hash(b))
    numbers = ValueNumbers()
    assert bounded(lambda: numbers.of(a)) == bounded(lambda: numbers.of(b))
    assert numbers.of(a) != numbers.of(a + 1)


def test_a_checksum_in_a_scan_is_quick_and_right() -> None:
    axes = te.data_axes((40,))
    state = State(axes, 0)
    crc = Tensor("crc", (40,), DType("int32"), Scan((state,), 40, 1))
    state.tensor = crc
    x = te.placeholder("x", (40,), "int32")
    t = axes[0].var
    v: Expr = bit_xor(select(t > 0, te.read(crc, t - 1), const(0, "int32")), te.read(x, t))
    for _ in range(8):
        v = bit_and(bit(v), 255)
    state.body = v
    outputs = te.normalize((crc,))
    func = bounded(
        lambda: tir.run_phases(tir.lower(schedules.generic(outputs, TARGET), (x,), outputs, "crc"))
    )
    values = np.random.default_rng(0).integers(0, 256, 40, dtype=np.int32)
    expected, last = [], 0
    for value in values.tolist():
        last ^= value
        for _ in range(8):
            last = ((last << 1) ^ 7 if last & 128 else last << 1) & 255
        expected.append(last)
    assert run(func, [values])[0].tolist() == expected


@pytest.mark.parametrize("seed", [5, 7])
def test_calls_grow_with_the_depth_alone(seed: int) -> None:
    """Masks of vectors that lie far apart, and reductions inside of choices."""
    selects.case(seed)
