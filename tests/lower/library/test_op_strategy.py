"""The choice between implementations, and what it says about itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from opgen_runtime.base import Target
from opgen_runtime.base.arith import dim, lt
from opgen_runtime.base.errors import StrategyError
from opgen_runtime.base.vocabulary import OpPattern
from opgen_runtime.declaration import StrategyEntry
from opgen_runtime.lower.library.strategy import (
    GenericFunction,
    OpStrategy,
    StrategyCall,
    choose,
    library,
    schedule_named,
)
from opgen_runtime.operator.registry import Op, register_op, register_op_attr, remove_op
from opgen_runtime.operator.types import TensorType


@dataclass
class FakeTarget:
    keys: tuple[str, ...] = ("avx512", "cpu")


def schedule(outputs: Any, target: Any) -> str:
    return "scheduled"


def select(strategy: OpStrategy, target: FakeTarget | None = None, **names: Any) -> Any:
    return strategy.select("op", {**names, "target": target or FakeTarget()})


def test_plevel_15_beats_10_in_either_order() -> None:
    for levels in ((10, 15), (15, 10)):
        strategy = OpStrategy()
        for level in levels:
            strategy.add_implementation(None, schedule, f"at{level}", level)
        chosen = select(strategy)
        assert chosen.implementation.name == "at15"
        assert chosen.explain() == (
            "op: at15, plevel 15: the highest plevel of those that apply\n"
            "  not at10, plevel 10: applies, but 15 beats 10"
        )


def test_a_false_condition_excludes() -> None:
    strategy = OpStrategy()
    strategy.add_implementation(None, schedule, "plain")
    with strategy.under(lambda n: n >= 64, "n >= 64"):
        strategy.add_implementation(None, schedule, "big", 15)
        strategy.add_implementation(None, schedule, "even", 20, lambda n: n % 2 == 0, "n % 2 == 0")
    assert select(strategy, n=3).implementation.name == "plain"
    assert select(strategy, n=65).implementation.name == "big"
    assert select(strategy, n=66).implementation.name == "even"
    assert select(strategy, n=65).explain() == (
        "op: big, plevel 15: the highest plevel of those that apply; n >= 64 holds\n"
        "  not plain, plevel 10: applies, but 15 beats 10\n"
        "  not even, plevel 20: n % 2 == 0 is false"
    )


def test_a_condition_on_a_symbol_is_not_held_to_be_true() -> None:
    strategy = OpStrategy()
    strategy.add_implementation(None, schedule, "plain")
    strategy.add_implementation(None, schedule, "chained", 15, lambda n: 0 < n < 4, "0 < n < 4")
    strategy.add_implementation(None, schedule, "small", 20, lambda n: lt(n, 4), "n < 4")
    chosen = select(strategy, n=dim("n"))
    assert chosen.implementation.name == "plain"
    assert "n < 4 cannot be decided" in chosen.explain()
    with pytest.raises(StrategyError, match=r"0 < n < 4 asks for 'n'; known are m, target"):
        select(strategy, m=1)


def test_no_candidate_says_why() -> None:
    strategy = OpStrategy().add_implementation(None, schedule, "gpu_only", keys=("gpu", "tpu"))
    strategy.add_implementation(None, schedule, "odd", condition=lambda n: n % 2, text="n % 2")
    with pytest.raises(StrategyError) as caught:
        select(strategy, n=4)
    assert str(caught.value) == (
        "op: no implementation applies:\n"
        "  gpu_only: it is for targets with gpu or tpu; the target's keys are avx512, cpu\n"
        "  odd: n % 2 is false"
    )
    with pytest.raises(StrategyError, match="no implementation applies: there is none"):
        select(OpStrategy())


def test_features_of_the_instruction_set_are_keys() -> None:
    strategy = OpStrategy().add_default(schedule, "plain")
    strategy.add_implementation(None, schedule, "wide", keys=("avx512f",))
    chosen = {
        cpu: strategy.select("op", {"target": Target(f"llvm -mcpu={cpu}")}).implementation.name
        for cpu in ("x86-64-v3", "x86-64-v4")
    }
    assert chosen == {"x86-64-v3": "plain", "x86-64-v4": "wide"}


def test_equal_plevels_are_refused_unless_the_targets_keys_decide() -> None:
    strategy = OpStrategy().add_implementation(None, schedule, "a").add_implementation(None, schedule, "b")
    with pytest.raises(StrategyError, match="implementations 'a' and 'b' both apply at plevel 10"):
        select(strategy)
    with pytest.raises(StrategyError, match="already has an implementation 'a'"):
        strategy.add_implementation(None, schedule, "a")
    by_key = OpStrategy().add_implementation(None, schedule, "any")
    by_key.add_implementation(None, schedule, "on_cpu", keys=("cpu",))
    by_key.add_implementation(None, schedule, "on_avx512", keys=("avx512",))
    assert select(by_key).implementation.name == "on_avx512"
    assert select(by_key, FakeTarget(("cpu", "avx512"))).implementation.name == "on_cpu"
    assert select(by_key, FakeTarget(("gpu",))).implementation.name == "any"
    assert "on_avx512 is for an earlier key of the target" in select(by_key).explain()


def call_of(**names: Any) -> StrategyCall:
    return StrategyCall(None, (), TensorType((3,)), names)


@pytest.fixture
def op(monkeypatch: pytest.MonkeyPatch) -> Iterator[Op]:
    for name in ("special", "plain"):
        monkeypatch.setattr(library.schedules, name, schedule, raising=False)
    monkeypatch.setattr(library.schedules, "generic", schedule)
    yield register_op("test_strategy.op", "a.py").set_attr("TOpPattern", OpPattern.ELEMWISE)
    remove_op("test_strategy.op")


def test_an_op_without_entries_takes_the_schedule_of_its_pattern(op: Op) -> None:
    op.set_attr("strategy", ())
    chosen = choose(op, call_of(), FakeTarget())
    assert chosen.explain() == "test_strategy.op: generic.elemwise, plevel 0: the only one that applies"
    assert chosen.implementation.schedule is schedule


def test_declared_entries(op: Op) -> None:
    entries = (
        StrategyEntry(
            "big", schedule="special", when=lambda data: data > 64, when_text="data > 64", plevel=15
        ),
        StrategyEntry("gpu", target="gpu", plevel=20),
    )
    op.set_attr("strategy", entries)
    assert choose(op, call_of(data=100), FakeTarget()).implementation.name == "big"
    assert choose(op, call_of(data=3), FakeTarget()).implementation.name == "generic.elemwise"
    assert choose(op, call_of(data=3), FakeTarget(("gpu",))).implementation.name == "gpu"


def test_a_registered_strategy_outranks_the_declared_one(op: Op) -> None:
    op.set_attr("strategy", ())
    mine = GenericFunction("mine")
    mine.register(
        lambda attrs, inputs, out_type: OpStrategy().add_implementation(
            None, schedule, f"mine{out_type.ndim}"
        ),
        keys="cpu",
    )
    register_op_attr("test_strategy.op", "strategy", mine, plevel=11)
    chosen = choose(op, call_of(n=5), FakeTarget())
    assert (
        chosen.explain() == "test_strategy.op: mine1, plevel 10 (strategy of cpu): the only one that applies"
    )
    with pytest.raises(StrategyError, match="keys gpu, and no default"):
        choose(op, call_of(n=5), FakeTarget(("gpu",)))
    register_op_attr("test_strategy.op", "strategy", lambda attrs, inputs, out_type: 5, plevel=12)
    with pytest.raises(StrategyError, match="the strategy function gave 5, expected an OpStrategy"):
        choose(op, call_of(), FakeTarget())


def test_schedules_by_name(op: Op) -> None:
    assert schedule_named("special") is schedule
    with pytest.raises(StrategyError, match="has no function 'speciall'; did you mean 'special'"):
        schedule_named("speciall")
    with pytest.raises(StrategyError, match="cannot import 'nowhere'"):
        schedule_named("nowhere:f")
    assert schedule_named("os.path:join").__name__ == "join"


def test_what_an_op_has_of_its_own_goes_before_its_pattern_whatever_its_plevel(op: Op) -> None:
    op.set_attr("strategy", (StrategyEntry("lone", schedule="special", plevel=-5),))
    chosen = choose(op, call_of(), FakeTarget())
    assert chosen.explain() == (
        "test_strategy.op: lone, plevel -5: the only one that applies\n"
        "  not generic.elemwise, plevel 0: applies, where nothing else does"
    )


def test_a_strategy_may_ask_for_the_target(op: Op) -> None:
    def strategy(attrs: Any, inputs: Any, out_type: TensorType, target: FakeTarget) -> OpStrategy:
        return OpStrategy().add_implementation(None, schedule, f"{target.keys[-1]}_{out_type.ndim}", plevel=0)

    op.set_attr("strategy", strategy)
    assert choose(op, call_of(), FakeTarget()).implementation.name == "cpu_1"
