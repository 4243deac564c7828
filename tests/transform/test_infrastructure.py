"""Passes: levels, requirements, contexts, configuration, instruments."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from opgen_runtime import ir
from opgen_runtime.base.errors import PassError
from opgen_runtime.operator.registry import get_global_func, remove_global_func
from opgen_runtime.operator.types import TensorType
from opgen_runtime.transform import (
    FuseOps,
    InferType,
    PassContext,
    PassInfo,
    PassInstrument,
    Sequential,
    find_pass,
    function_pass,
    module_pass,
    register_config,
)

MODULE = ir.IRModule.from_expr(ir.var("x", TensorType((2,), "float32")))


class Log(PassInstrument):
    def __init__(self, refused: str = "", failing: str = "") -> None:
        self.events: list[str] = []
        self.refused, self.failing = refused, failing

    def _event(self, event: str) -> None:
        self.events.append(event)
        if event == self.failing:
            raise ValueError(event)

    def enter_pass_context(self) -> None:
        self._event("enter")

    def exit_pass_context(self) -> None:
        self._event("exit")

    def should_run(self, module: ir.IRModule, info: PassInfo) -> bool:
        return info.name != self.refused

    def run_before_pass(self, module: ir.IRModule, info: PassInfo) -> None:
        self._event(f"before {info.name}")

    def run_after_pass(self, module: ir.IRModule, info: PassInfo) -> None:
        self._event(f"after {info.name}")


def rebuilt(module: ir.IRModule, context: PassContext) -> ir.IRModule:
    return ir.IRModule(module.functions)


@pytest.fixture(autouse=True)
def passes() -> Iterator[None]:
    module_pass(name="TestA")(lambda module, context: module)
    module_pass(name="TestB", required=["TestA"], preserves=["TestA"])(rebuilt)
    module_pass(name="TestC", required=["TestB", "TestA"])(rebuilt)
    module_pass(name="TestHigh", opt_level=3)(lambda module, context: module)
    module_pass(name="TestLoop", required=["TestPool"])(rebuilt)
    module_pass(name="TestPool", required=["TestLoop"])(rebuilt)
    module_pass(name="TestLost", required=["TestNowhere"])(rebuilt)
    yield
    for name in ("A", "B", "C", "High", "Loop", "Pool", "Lost"):
        remove_global_func(f"transform.Test{name}")


def ran(module: ir.IRModule, *names: str, **settings: object) -> list[str]:
    log = Log()
    with PassContext(instruments=[log], **settings):  # type: ignore[arg-type]  # settings of a table
        Sequential([find_pass(name) for name in names])(module)
    return [event.removeprefix("before ") for event in log.events if event.startswith("before")]


def test_requirements_are_resolved_everywhere_and_recursively() -> None:
    log = Log()
    with PassContext(instruments=[log]):
        find_pass("TestC")(MODULE)  # outside any Sequential
    started = [event.removeprefix("before ") for event in log.events if event.startswith("before")]
    assert started == ["TestA", "TestB", "TestC"]


def test_what_is_still_valid_is_not_run_again() -> None:
    assert ran(MODULE, "TestA", "TestB") == ["TestA", "TestB"]
    assert ran(MODULE, "TestB", "TestC") == ["TestA", "TestB", "TestC"]
    # TestC changes the module and preserves nothing
    assert ran(MODULE, "TestC", "TestC") == ["TestA", "TestB", "TestC", "TestA", "TestB", "TestC"]
    # a pass that changes nothing invalidates nothing
    assert ran(MODULE, "TestA", "TestHigh", "TestB", opt_level=3) == ["TestA", "TestHigh", "TestB"]


def test_levels_required_and_disabled() -> None:
    assert ran(MODULE, "TestHigh") == []
    assert ran(MODULE, "TestHigh", opt_level=3) == ["TestHigh"]
    assert ran(MODULE, "TestHigh", required=["TestHigh"]) == ["TestHigh"]
    assert ran(MODULE, "TestA", disabled=["TestA"]) == []
    with pytest.raises(PassError, match="TestB requires TestA, which the context disables"):
        ran(MODULE, "TestB", disabled=["TestA"])


def test_impossible_requirements() -> None:
    with pytest.raises(PassError, match="in a circle: TestLoop -> TestPool -> TestLoop"):
        find_pass("TestLoop")(MODULE)
    with pytest.raises(PassError, match="TestLost requires TestNowhere: no global function"):
        find_pass("TestLost")(MODULE)


def test_configuration() -> None:
    key = register_config("test.size", int, 3, "A size.")
    assert register_config("test.size", int, 3, "A size.") == key
    assert PassContext().value(key) == 3
    assert PassContext(config={"test.size": 5}).value(key) == 5
    with pytest.raises(PassError, match=r"unknown configuration key 'test.sise'; did you mean 'test.size'\?"):
        PassContext(config={"test.sise": 5})
    with pytest.raises(PassError, match=r"'test\.size' takes int, found '5' of str"):
        PassContext(config={"test.size": "5"})
    with pytest.raises(PassError, match="registered already"):
        register_config("test.size", int, 4, "A size.")


def test_contexts_nest_and_belong_to_their_thread() -> None:
    found: list[int] = []
    with PassContext(opt_level=1) as outer:
        with PassContext(opt_level=3):
            assert PassContext.current().opt_level == 3
            thread = threading.Thread(target=lambda: found.append(PassContext.current().opt_level))
            thread.start()
            thread.join()
        assert PassContext.current() is outer
        with outer:  # again
            pass
        assert PassContext.current() is outer
    assert PassContext.current().opt_level == 2
    assert found == [2]


@pytest.mark.parametrize("failing", ["enter", "before TestA", "after TestA", "exit"])
def test_an_instrument_that_raises_leaves_the_context_clean(failing: str) -> None:
    first, broken = Log(), Log(failing=failing)
    before = PassContext.current()
    with pytest.raises(ValueError, match=failing), PassContext(instruments=[first, broken]):
        find_pass("TestA")(MODULE)
    assert PassContext.current() is before
    assert first.events[0] == "enter"
    assert first.events[-1] == "exit"
    assert first.events.count("exit") == 1
    assert broken.events.count("exit") == (failing != "enter")


def test_instruments_are_overridden_while_a_context_is_entered() -> None:
    first, second = Log(), Log()
    with PassContext(instruments=[first]) as context:
        find_pass("TestA")(MODULE)
        context.override_instruments([second])
        assert first.events == ["enter", "before TestA", "after TestA", "exit"]
        find_pass("TestA")(MODULE)
    assert first.events[4:] == []
    assert second.events == ["enter", "before TestA", "after TestA", "exit"]
    with context:
        context.override_instruments(None)
        find_pass("TestA")(MODULE)
    assert second.events[4:] == ["enter", "exit"]
    with pytest.raises(PassError, match=r"override_instruments is for a context that is entered"):
        context.override_instruments([first])


def test_an_instrument_that_raises_when_it_overrides_leaves_none() -> None:
    first, second, broken = Log(), Log(), Log(failing="enter")
    with PassContext(instruments=[first]) as context, context:
        with pytest.raises(ValueError, match="enter"):
            context.override_instruments([second, broken])
        find_pass("TestA")(MODULE)
        assert context.instruments == ()
    assert first.events == ["enter", "enter", "exit", "exit"]
    assert second.events == ["enter", "exit"]


def test_instruments_may_refuse_a_pass_but_not_a_requirement() -> None:
    log = Log(refused="TestA")
    with PassContext(instruments=[log]):
        find_pass("TestA")(MODULE)
        assert log.events == ["enter"]
        find_pass("TestB")(MODULE)
    assert log.events[1:5] == ["before TestA", "after TestA", "before TestB", "after TestB"]


def test_function_passes_keep_what_they_do_not_change() -> None:
    @function_pass(name="TestSwap")
    def swap(function: ir.Function, module: ir.IRModule, context: PassContext) -> ir.Function:
        return function if "keep" in function.attrs else function.with_attrs(keep=1)

    two = MODULE.with_function("f", MODULE["main"].with_attrs(keep=1))
    result = swap()(two)
    assert result["f"] is two["f"]
    assert dict(result["main"].attrs) == {"keep": 1}
    assert swap()(result).functions == result.functions
    remove_global_func("transform.TestSwap")


def test_passes_are_global_functions() -> None:
    assert get_global_func("transform.FuseOps") is FuseOps
    assert repr(InferType()) == "ModulePass(InferType, opt_level=0)"
