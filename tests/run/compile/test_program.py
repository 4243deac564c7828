"""The table of programs: every prefix computes the same, plans keep their rules, hooks see them; texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.errors import ExecutorError, PassError
from opgen_runtime.run.compile import pipeline, programs, stage_texts
from opgen_runtime.run.compile.interpret import run_op_by_op
from opgen_runtime.run.compile.program import arena, planning
from opgen_runtime.run.compile.program.plan import Donation, Plan
from opgen_runtime.run.compile.program.plan_contract import PLAN, View
from opgen_runtime.run.compile.program.program_records import Planned, Sections
from opgen_runtime.run.compile.store import artifact
from opgen_runtime.run.executor.driver import asked, build_program
from opgen_runtime.transform import PassContext
from tests.run.compile.planted_programs import DATA, KERNELS, MORE, RIGHT, TWO, X

RANDOM = np.random.default_rng(3)
N = rt.dim("n")
OPEN = ir.Var("o", rt.TensorType((N, 4), "float32"))
PART = ir.Var("p", rt.TensorType((N, 1), "float32"))
COUNT = """
def @main(%n: Tensor[(), int64], %w: Tensor[(3,), float32]) { @sum(%n, %w, multiply(%w, 0f)) }
def @sum(%n: Tensor[(), int64], %w: Tensor[(3,), float32], %s: Tensor[(3,), float32]) -> Tensor[(3,), float32] {
  if (greater(%n, 0i64)) { @sum(subtract(%n, 1i64), %w, add(%s, %w)) } else { %s }
}
"""
ROWS = """
def @main(%n: Tensor[(), int64], %s: Tensor[(3,), float32], %all: Tensor[(4, 3), float32])
    -> Tensor[(4, 3), float32] {
  if (less(%n, 4i64)) { @main(add(%n, 1i64), exp(%s), scatter_nd(%all, reshape(%n, newshape=[1, 1]),
                              reshape(%s, newshape=[1, 3]))) } else { %all }
}
"""


def f32(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


PROGRAMS: dict[str, tuple[ir.Function | ir.IRModule, list[np.ndarray]]] = {
    "one kernel": (ir.Function((X,), ops.exp(X)), [f32(4)]),
    "two, and weights": (TWO, [f32(8, 128)]),
    "a tuple": (ir.Function((X,), ir.Tuple((X, ops.sort(X), ops.exp(X)))), [f32(4)]),
    "open dims": (ir.Function((OPEN,), ops.softmax(ops.cumsum(OPEN, axis=0), axis=0)), [f32(5, 4)]),
    "what depends on data": (DATA, [np.array([1, -1, 2, 0], np.float32)]),
    "an if": (
        ir.Function((X,), ir.If(ops.greater(ops.sum(X), ir.const(np.float32(0))), ops.cumsum(X), ops.exp(X))),
        [np.array([1, -1, 2, 0], np.float32)],
    ),
    "a loop": (rt.parse_module(COUNT), [np.array(3), f32(3)]),
    "rows": (rt.parse_module(ROWS), [np.array(0), f32(3) * 0, f32(4, 3)]),
}  # fmt: skip


def expected(program: ir.Function | ir.IRModule, arrays: list[np.ndarray]) -> Any:
    module = rt.transform.InferType()(
        ir.IRModule.from_expr(program) if isinstance(program, ir.Function) else program
    )
    main = module["main"]
    return run_op_by_op(main.body, dict(zip(main.params, arrays, strict=True)), module)


def compare(found: Any, wanted: Any) -> None:
    pairs = zip(*[value if isinstance(value, tuple) else (value,) for value in (found, wanted)], strict=True)
    for got, want in pairs:
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_prefix_computes_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPGEN_VERIFY", "1")
    program, arrays = PROGRAMS[name]
    wanted = expected(program, arrays)
    seen: list[str] = []
    for stage, record in programs.through_program(asked(program)):
        assert stage.oracle is not None
        compare(stage.oracle(record, arrays), wanted)
        seen.append(stage.name)
    assert seen == [stage.name for stage in pipeline.PROGRAM]
    compare(rt.build(program).run(arrays), wanted)


Y = ir.Var("y", X.checked_type)
DONATED: dict[str, tuple[ir.Function, list[np.ndarray], tuple[Donation, ...], list[str]]] = {
    "written in place": (ir.Function((X, Y), ops.exp(ops.cumsum(X))), [f32(4), f32(4)], (Donation(0, 0),), []),
    "copied at the end": (ir.Function((X,), ops.exp(X)), [f32(4)], (Donation(0, 0),), ["Copy"]),
    "two by turns": (
        ir.Function((X, Y), ir.Tuple((ops.exp(ops.cumsum(Y)), ops.exp(ops.cumsum(X))))),
        [f32(4), f32(4)],
        (Donation(0, 0), Donation(1, 1)),
        ["Copy"],
    ),
    "a slice of open dims": (
        ir.Function((OPEN, PART), ops.put_slice(OPEN, PART, axis=1, start=2)),
        [f32(5, 4), f32(5, 1)],
        (Donation(0, 0),),
        ["PutSlice"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DONATED)
def test_every_prefix_computes_the_same_of_donated_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPGEN_VERIFY", "1")
    function, arrays, donations, kinds = DONATED[name]
    wanted = expected(function, arrays)
    for stage, record in programs.through_program(asked(function, donations=donations)):
        assert stage.oracle is not None
        compare(stage.oracle(record, arrays), wanted)
        if isinstance(record, Planned):
            assert record.plan is not None
            assert [kind for each in record.plan.code if (kind := type(each).__name__) != "Run"] == kinds
    given = [array.copy() for array in arrays]
    found = build_program(function, donations=donations).run(given)
    compare(found, wanted)
    results = found if isinstance(found, tuple) else (found,)
    assert all([results[each.result] is given[each.param] for each in donations])


def test_a_result_that_is_written_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPGEN_VERIFY", "1")
    monkeypatch.setattr(planning, "in_donated", lambda code, *_: list(code))
    function, _, donations, _ = DONATED["copied at the end"]
    with pytest.raises(ExecutorError, match="rule: donated memory is filled when it is read no more"):
        build_program(function, donations=donations)


def test_the_stages_are_these() -> None:
    names = [stage.name for stage in pipeline.PROGRAM]
    assert names == [
        "bind",
        "cut",
        "partition",
        "evaluate",
        "specialise",
        "compile",
        "prepare",
        "plan",
        "link",
    ]
    listed = {stage for stage, _, _ in pipeline.contracts()}
    assert {"cut", "specialise", "compile", "prepare", "plan", "link", "FuseOps", "lower"} <= listed


def test_sections_go_through_the_table_by_themselves() -> None:
    found = programs.compile_program(asked(DATA))
    assert isinstance(found, Sections)
    assert [section.takes for section in found.cut.sections] == [(0,), (1,)]
    assert all([linked.whole is not None for linked in found.linked])


# ------------------------------------------------------------------ the contract of plans


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_keeps_the_contract(name: str) -> None:
    PLAN.verify(View(RIGHT[name], KERNELS), name)


@pytest.mark.parametrize(("make", "message"), MORE, ids=[message for _, message in MORE])
def test_further_mistakes_of_plans(make: Callable[[], View], message: str) -> None:
    with pytest.raises(ExecutorError) as caught:
        PLAN.verify(make(), "here")
    assert message in str(caught.value)


def test_a_plan_of_a_file_is_held_to_the_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose digests are right, and whose plan reads what nothing has filled."""
    monkeypatch.delenv("OPGEN_VERIFY", raising=False)
    made = rt.build(TWO)
    made.save(tmp_path / "right")
    np.testing.assert_array_equal(
        rt.load(tmp_path / "right").run([f32(8, 128) * 0]), made.run([f32(8, 128) * 0])
    )
    contents = made._contents()
    assert isinstance(contents, artifact.Contents)
    assert contents.plan is not None
    spoiled = replace(contents.plan, code=contents.plan.code[1:])
    artifact.write(tmp_path / "wrong", replace(contents, plan=spoiled))
    with pytest.raises(
        ExecutorError, match=r"wrong: instruction 0, Run, reads %\d, which is not filled .*rule: fill"
    ):
        rt.load(tmp_path / "wrong")


# ------------------------------------------------------------------ hooks and texts


def spread(plan: Plan) -> Plan:
    """The plan with an arena twice as large."""
    return replace(plan, space=2 * plan.arena)


def test_a_hook_changes_the_plan() -> None:
    data = f32(8, 128)
    plain = rt.build(TWO)
    with PassContext(hooks={"plan": spread}):
        hooked = rt.build(TWO)
    assert plain.plan is not None
    assert hooked.plan is not None
    assert hooked.plan.arena == 2 * plain.plan.arena > 0
    np.testing.assert_array_equal(hooked.run([data]), plain.run([data]))


WRONG: dict[str, tuple[Callable[[Plan], Any], str]] = {
    "nothing": (lambda plan: None, "the hook after plan gave None, expected a Plan"),
    "its own mistake": (lambda plan: plan.nothing, "the hook after plan raised AttributeError"),  # type: ignore[attr-defined]
    "a plan that breaks a rule": (
        lambda plan: replace(plan, offsets=dict.fromkeys(plan.offsets, 0)),
        r"the hook after plan: .*fills %\d at 0 to 4096, where .*rule: what lives at one time lies apart",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_hook_that_gives_what_is_no_plan_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPGEN_VERIFY", raising=False)
    hook, message = WRONG[name]
    with PassContext(hooks={"plan": hook}), pytest.raises(ExecutorError, match=message):
        rt.build(TWO)


def test_a_hook_after_a_stage_that_takes_none_is_refused() -> None:
    with (
        PassContext(hooks={"link": spread}),
        pytest.raises(PassError, match=r"no stage 'link' to hook.*, plan$"),
    ):
        rt.build(TWO)


def test_texts_of_a_program() -> None:
    texts = dict(stage_texts.program_texts(TWO, PassContext()))
    assert list(texts) == ["prepare", "plan", "driver"]
    assert texts["plan"].splitlines()[0] == "%0 is input m"
    assert "bytes of memory between kernels" in texts["plan"]
    assert "define i32 @opgen_driver" in texts["driver"]
    cut = dict(stage_texts.program_texts(DATA, PassContext()))
    assert list(cut) == ["sections", "plan"]
    assert cut["plan"].startswith("none: ")


# ------------------------------------------------------------------ mistakes of ours


def shorter_lives(code: Any) -> dict[int, tuple[int, int]]:
    return {slot: (first, max(first, last - 1)) for slot, (first, last) in LIVES(code).items()}


LIVES: Any = arena.lives
MISTAKES: dict[str, tuple[Any, str, Any, str]] = {
    "lives end early": (arena, "lives", shorter_lives, "what lives at one time lies apart"),
    "places too small": (arena, "_padded", lambda size: 64, "places are aligned and in the arena"),
    "nothing is filled": (planning._Body, "_fill", lambda *_: None, "results are filled"),
    "something runs twice": (
        planning,
        "in_place",
        lambda code, *_: [*code, code[-1]],
        "filled once on each way",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_of_the_planner_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPGEN_VERIFY", "1")
    x = ir.var("x", shape=(64, 64))
    y = ops.add(ops.matmul(x, ops.softmax(x)), ops.softmax(ops.matmul(x, x)))
    place, what, other, rule = MISTAKES[name]
    monkeypatch.setattr(place, what, other)
    with pytest.raises(ExecutorError, match=rf"^@main, after plan: .*rule: {rule}"):
        rt.build(ir.Function((x,), ops.softmax(y)))
