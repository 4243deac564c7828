"""Branches and loops as blocks of the native program: values, what is no block and why, files, limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

import opgen_runtime as rt
from opgen_runtime.frontend.onnx import (
    Limits,
    ModelError,
    UnsupportedOperatorError,
    load,
    prepare,
    run,
)
from opgen_runtime.frontend.onnx.program import Program
from opgen_runtime.run.compile.program.plan import If, Loop
from tests.frontend.onnx.test_program import f32, model

COUNTED = """g (float[3] x, int64 n) => (float[3] y) {
    y = Loop (n, , x) <body = b (int64 i, bool go, float[3] s) => (bool more, float[3] d)
        { more = Identity (go)  d = Add (s, x) }> }"""
UNTIL = """g (float[3] x) => (float[3] y, int64 k) {
    yes = Constant <value = bool {1}> ()  zero = Constant <value_int = 0> ()
    y, k = Loop (, yes, x, zero) <body = b (int64 i, bool go, float[3] s, int64 j) => (bool more, float[3] d, int64 l)
        { d = Add (s, s)  top = ReduceMax <keepdims = 0> (d)  most = Constant <value_float = 100.0> ()
          more = Less (top, most)  one = Constant <value_int = 1> ()  l = Add (j, one) }> }"""
CHOSEN = """g (float[3] x, bool c) => (float[3] y) {
    y = If (c) <then_branch = t () => (float[3] a) { a = Neg (x) },
                else_branch = e () => (float[3] b) { b = Identity (x) }> }"""


def specialisations(program: Program) -> list[Any]:
    return [each for known in map(program._compiled.get, program._compiled) for each in known or ()]


def plan_of(program: Program) -> Any:
    """The plan of the only specialisation, which asks for no values."""
    (one,) = specialisations(program)
    assert not one.checks
    return one.executable.plan


def test_a_loop_of_as_many_steps_as_the_data_says() -> None:
    program = prepare(model(COUNTED))
    x = f32(3)
    for count in (0, 1, 2, 1000):
        (found,) = program([x, np.array(count)])
        np.testing.assert_allclose(found, x * (count + 1), rtol=1e-4)
    (loop,) = [each for each in plan_of(program).code if isinstance(each, Loop)]
    assert len(loop.params) == 2  # the step, and what it carries


def test_a_loop_until_a_condition_fails() -> None:
    program = prepare(model(UNTIL))
    for start in (60.0, 1.0, 1e-5):
        x = np.array([start, 0, -start], np.float32)
        steps = int(np.ceil(np.log2(100 / start)))
        found, count = program([x])
        np.testing.assert_allclose(found, x * 2.0**steps, rtol=1e-6)
        assert count == steps
    assert plan_of(program) is not None


def test_a_branch_is_taken_by_the_program() -> None:
    program = prepare(model(CHOSEN))
    x = f32(3)
    np.testing.assert_array_equal(program([x, np.array(True)])[0], -x)
    np.testing.assert_array_equal(program([x, np.array(False)])[0], x)
    assert isinstance(plan_of(program).code[0], If)


@pytest.mark.parametrize("steps", [3, 40])
@pytest.mark.parametrize("dtype", ["float", "bool", "int8"])
@pytest.mark.parametrize("back", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_scans(steps: int, dtype: str, back: tuple[int, int]) -> None:
    """Few steps are written out; more are a loop that fills a row at a time."""
    directions = f"scan_input_directions = [{back[0]}], scan_output_directions = [{back[1]}]"
    combine = "Or" if dtype == "bool" else "Max"
    text = f"""g ({dtype}[2, {steps}] x, {dtype}[2] h) => ({dtype}[2] last, {dtype}[2, {steps}] all) {{
        last, all = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [-1], {directions},
            body = b ({dtype}[2] s, {dtype}[2] a) => ({dtype}[2] o, {dtype}[2] c)
            {{ o = {combine} (s, a)  c = Identity (o) }}> (h, x) }}"""
    kind = {"float": np.float32, "bool": np.bool_, "int8": np.int8}[dtype]
    x: np.ndarray = (f32(2, steps) * 3).astype(kind)
    h: np.ndarray = np.zeros(2, kind)
    walked = x[:, ::-1] if back[0] else x
    rows = np.maximum.accumulate(np.concatenate([h[:, None], walked], axis=1), axis=1)[:, 1:]
    program = prepare(model(text))
    last, all_ = program([x, h])
    np.testing.assert_array_equal(last, rows[:, -1])
    np.testing.assert_array_equal(all_, rows[:, ::-1] if back[1] else rows)
    assert any(isinstance(each, Loop) for each in plan_of(program).code) == (steps > 16)


NESTED = """g (float[3] x, int64 n) => (float[3] y) {
    m = Constant <value_int = 30> ()
    y = Loop (n, , x) <body = b (int64 i, bool go, float[3] s) => (bool more, float[3] d) {
        more = Identity (go)  c = CastLike (i, s)
        e = Loop (m, , s) <body = b2 (int64 j, bool go2, float[3] s2) => (bool more2, float[3] d2)
            { more2 = Identity (go2)  t = Mul (x, c)  d2 = Add (s2, t) }>
        d = Neg (e) }> }"""


def test_a_loop_within_a_loop() -> None:
    program = prepare(model(NESTED))
    x = f32(3)
    for count in (0, 4):
        wanted = x.astype(np.float64)
        for i in range(count):
            wanted = -(wanted + 30 * i * x)
        np.testing.assert_allclose(program([x, np.array(count)])[0], wanted, rtol=1e-4)
    assert len([each for each in plan_of(program).code if isinstance(each, Loop)]) == 2


@pytest.mark.parametrize("text", [COUNTED, UNTIL, CHOSEN, NESTED])
def test_models_with_blocks_are_loaded_built_and_saved(text: str, tmp_path: Path) -> None:
    module, weights = load(model(text))
    executable = rt.build(module, weights)
    assert executable.why_interpreted is None
    executable.save(tmp_path / "program")
    arrays = [np.ones(3, np.float32), np.array(True if "bool c" in text else 3)][: len(executable.inputs)]
    found = rt.load(tmp_path / "program").run(arrays)
    for one, other in zip(
        found if isinstance(found, tuple) else [found], run(model(text), arrays), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-6)


GROWING = """g (float[3] x, int64 n) => (float[q] y) {
    y = Loop (n, , x) <body = b (int64 i, bool go, float[p] s) => (bool more, float[r] d)
        { more = Identity (go)  d = Concat <axis = 0> (s, x) }> }"""
ROWS = """g (float[3] x, int64 n) => (float[3] last, float[q, 3] y) {
    last, y = Loop (n, , x) <body = b (int64 i, bool go, float[3] s) => (bool more, float[3] d, float[3] row)
        { more = Identity (go)  d = Neg (s)  row = Neg (x) }> }"""
CHANGING = """g (float[3] x, int64 n) => (float[3] y) {
    y = Loop (n, , x) <body = b (int64 i, bool go, float[3] s) => (bool more, float[3] d)
        { more = Identity (go)  z = Mul (s, x)  c = ReduceSum <keepdims = 0> (z)  k = Cast <to = 7> (c)
          a = Constant <value_ints = [0]> ()  l = Unsqueeze (k, a)  e = Expand (go, l)  d = Add (s, x) }> }"""


EARLY = """g (float[3] x) => (float[3] last, float[q, 3] y) {
    m = Constant <value_int = 40> ()  top = Constant <value_float = 100.0> ()
    last, y = Loop (m, , x) <body = b (int64 i, bool go, float[3] s) => (bool more, float[3] d, float[3] row)
        { d = Add (s, x)  c = ReduceMax <keepdims = 0> (d)  more = Less (c, top)  row = Neg (d) }> }"""


@pytest.mark.parametrize("scale", [1.0, 20.0, 1000.0, -1.0])
def test_a_loop_that_ends_early_collects_the_rows_of_its_steps(scale: float) -> None:
    module, weights = load(model(EARLY))
    executable = rt.build(module, weights)
    x = np.array([0.25, 1.0, 3.0], np.float32) * np.float32(scale)
    wanted, total = [], x
    for _ in range(40):
        total = total + x
        wanted.append(-total)
        if total.max() >= 100:
            break
    last, rows = executable.run([x])
    np.testing.assert_allclose(last, total, rtol=1e-6)
    np.testing.assert_allclose(rows, np.array(wanted), rtol=1e-6)
    for one, other in zip(run(model(EARLY), [x]), (last, rows), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            GROWING,
            r"value 0 is carried as Tensor\[\(3,\), float32\], and a step gives Tensor\[\(6,\), float32\]",
        ),
        (ROWS, "it collects as many rows as the data says"),
        (CHANGING, "a value that is another one in each step of a loop"),
    ],
)
def test_what_is_no_block_says_why_and_is_unrolled_where_there_are_arrays(text: str, reason: str) -> None:
    with pytest.raises(UnsupportedOperatorError, match=reason):
        load(model(text))
    x = np.zeros(3, np.float32)
    *_, found = run(model(text), [x, np.array(2)])
    assert found.shape == {GROWING: (9,), ROWS: (2, 3), CHANGING: (3,)}[text]


def test_branches_of_two_shapes_are_chosen_for_each_call() -> None:
    text = CHOSEN.replace("b = Identity (x)", "b = Concat <axis = 0> (x, x)").replace("[3] b", "[6] b")
    program = prepare(model(text.replace("float[3] y", "float[q] y")))
    x = f32(3)
    for flag in (True, False, True):
        (found,) = program([x, np.array(flag)])
        np.testing.assert_array_equal(found, -x if flag else np.concatenate([x, x]))
    assert len(specialisations(program)) == 2


def test_a_branch_that_fits_other_inputs_is_an_error_only_where_it_is_taken() -> None:
    """Two models in one, such as one for each sampling rate: the inputs fit one of them."""
    text = """g (float[n] x, bool c) => (float[q] y) {
        three = Constant <value = float[3] {1, 2, 3}> ()  four = Constant <value = float[4] {1, 2, 3, 4}> ()
        y = If (c) <then_branch = t () => (float[3] a) { a = Add (x, three) },
                    else_branch = e () => (float[4] b) { b = Add (x, four) }> }"""
    program = prepare(model(text))
    for size in (3, 4, 3):
        x = f32(size)
        (found,) = program([x, np.array(size == 3)])
        np.testing.assert_array_equal(found, x + np.arange(1, size + 1, dtype=np.float32))
        with pytest.raises(ModelError, match="Add"):
            program([x, np.array(size != 3)])


def test_loops_that_do_not_end_are_refused() -> None:
    for text, arrays in ((UNTIL, [np.zeros(3, np.float32)]), (COUNTED, [f32(3), np.array(1 << 62)])):
        with pytest.raises(ModelError, match=r"a loop of more than 50 steps \(Limits\.steps\)"):
            prepare(model(text), limits=Limits(steps=50))(arrays)
    (found,) = prepare(model(COUNTED), limits=Limits(steps=50))([np.ones(3, np.float32), np.array(50)])
    np.testing.assert_array_equal(found, np.full(3, 51, np.float32))
