"""Rules of the scheduler: they match without a change, say why not, and the cheaper of two is applied."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from opgen_runtime.base import Target
from opgen_runtime.compute import te
from opgen_runtime.compute.te import Tensor
from opgen_runtime.lower.library.schedules import (
    REWRITES,
    RULES,
    Rule,
    Trial,
    WhyNot,
    apply_rules,
    generic,
    trials_text,
)
from opgen_runtime.lower.library.schedules.common.plan import inline_cheap
from opgen_runtime.lower.schedule import Schedule, Stage, create_schedule
from opgen_runtime.lower.schedule import te as dsl
from tests.lower.tir.programs import product

TARGET = Target.parse("llvm -mcpu=x86-64-v3 -num-threads=2")


def softmax(rows: int = 8, columns: int = 100) -> tuple[Tensor, ...]:
    x = dsl.placeholder((rows, columns), name="x")
    k, j = dsl.reduce_axis((0, columns), name="k"), dsl.reduce_axis((0, columns), name="j")
    m = dsl.compute((rows,), lambda i: dsl.max(x[i, k], axis=k), name="m")
    e = dsl.compute((rows, columns), lambda i, c: dsl.exp(x[i, c] - m[i]), name="e")
    s = dsl.compute((rows,), lambda i: dsl.sum(e[i, j], axis=j), name="s")
    return (dsl.compute((rows, columns), lambda i, c: e[i, c] / s[i], name="out"),)


def results_of(outputs: Sequence[Tensor]) -> dict[str, str]:
    """The rule that made the loops of each stage."""
    trials: list[Trial] = []
    generic(te.normalize(outputs), TARGET, trials=trials)
    return {trial.stage: trial.rule for trial in trials if trial.why_not is None}


def test_names_are_told_apart() -> None:
    names = [rule.name for rule in (*REWRITES, *RULES)]
    assert len(set(names)) == len(names)


def test_softmax_is_computed_row_by_row() -> None:
    assert results_of(softmax()) == {"out": "rows"}
    schedule = generic(te.normalize(softmax()), TARGET)
    assert {stage.name: stage.rule for stage in schedule.stages if not stage.is_placeholder} == dict.fromkeys(
        ("m", "e", "s", "out"), "rows"
    )


def test_a_product_is_a_contraction() -> None:
    assert set(results_of(product(64, 64, 64).outputs).values()) == {"contraction"}


@pytest.mark.parametrize("outputs", [softmax(), product(64, 64, 64).outputs, product(2, 300, 70).outputs])
def test_matching_changes_nothing(outputs: Sequence[Tensor]) -> None:
    schedule = create_schedule(te.normalize(outputs))
    inline_cheap(schedule, TARGET)
    before = str(schedule.trace), str(schedule)
    for rule in (*REWRITES, *RULES):
        for stage in schedule.stages:
            if stage.body is not None and not stage.inlined:
                rule.match(schedule, stage, TARGET)
        assert (str(schedule.trace), str(schedule)) == before, rule.name


def rule(name: str, cycles: float | None, refuses: str | None = None) -> Rule[Stage]:
    """A rule that matches any stage with a body and makes its loops parallel."""

    def match(schedule: Schedule, stage: Stage, target: Target) -> Stage | WhyNot:
        return stage if refuses is None else WhyNot(refuses)

    def apply(schedule: Schedule, stage: Stage, target: Target) -> tuple[Stage]:
        stage.parallel(stage.axes[0])
        return (stage,)

    return Rule(name, match, apply, None if cycles is None else lambda stage, target: cycles)


def one() -> Schedule:
    x = dsl.placeholder((4,), name="x")
    return create_schedule((dsl.compute((4,), lambda i: x[i] + 1, name="y"),))


@pytest.mark.parametrize(
    ("costs", "chosen"),
    [((None, None), "a"), ((5.0, 7.0), "a"), ((7.0, 5.0), "b"), ((5.0, 5.0), "a"), ((7.0, None), "a")],
)
def test_the_first_that_matches_unless_a_later_one_is_cheaper(
    costs: tuple[float | None, float | None], chosen: str
) -> None:
    schedule = one()
    apply_rules(schedule, TARGET, [rule("a", costs[0]), rule("b", costs[1])])
    assert schedule.stages[-1].rule == chosen


def test_text() -> None:
    rules = [rule("wide", None, "has one row"), rule("dear", 1234.5), rule("cheap", 10.0), rule("rest", None)]
    assert trials_text(apply_rules(one(), TARGET, rules)) == (
        "wide   y: has one row\n"
        "dear   y: is cheaper by rule cheap (1,234 cycles)\n"
        "cheap  y: matches (10 cycles)\n"
        "rest   no stage is left"
    )


def test_a_rule_of_a_users_own_comes_first() -> None:
    outputs = te.normalize(softmax())
    own = rule("mine", None)
    trials: list[Trial] = []
    schedule = generic(outputs, TARGET, rules=(own,), trials=trials)
    assert {stage.rule for stage in schedule.stages if not stage.is_placeholder} == {"mine"}
    assert [trial.rule for trial in trials][:4] == ["mine"] * 4
