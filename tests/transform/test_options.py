"""Options of passes, names of passes, requirements that undo each other, and the instruments that we bring."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from opgen_runtime import ir, ops
from opgen_runtime.base.errors import PassError, RegistryError
from opgen_runtime.operator.registry import get_global_func, list_global_func_names, remove_global_func
from opgen_runtime.operator.types import TensorType
from opgen_runtime.transform import (
    DiffIR,
    FuseOps,
    InferType,
    Option,
    PassContext,
    PassInfo,
    PassTiming,
    PrintIR,
    Sequential,
    VerifyIR,
    all_passes,
    function_pass,
    module_pass,
)

X = ir.var("x", TensorType((2,), "float32"))
MODULE = ir.IRModule.from_expr(ir.Function((X,), ops.exp(ops.tanh(X))))
OPTIONS = {"times": Option(2, "How often.", least=0), "exact": Option(True, "Whether.")}


def bound(times: int, exact: bool) -> str:
    return "" if exact else f"{times} ulp"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    before = set(list_global_func_names("transform"))
    yield
    for name in set(list_global_func_names("transform")) - before:
        remove_global_func(name)


def repeat(found: list[tuple[int, bool]]) -> object:
    @function_pass(name="Repeat", options=OPTIONS, error_bound=bound, opt_level=1)
    def pass_(
        function: ir.Function, module: ir.IRModule, context: PassContext, *, times: int, exact: bool
    ) -> ir.Function:
        found.append((times, exact))
        body = function.body
        for _ in range(times):
            body = ops.abs(body)
        return ir.Function(function.params, body)

    return pass_


def test_options_are_given_by_name_by_place_and_by_the_config() -> None:
    seen: list[tuple[int, bool]] = []
    make = repeat(seen)
    assert get_global_func("transform.Repeat") is make
    make()(MODULE)  # type: ignore[operator]
    make(3)(MODULE)  # type: ignore[operator]
    make(exact=False, times=1)(MODULE)  # type: ignore[operator]
    with PassContext(config={"Repeat.times": 5, "Repeat.exact": False}):
        make()(MODULE)  # type: ignore[operator]
        make(times=4)(MODULE)  # type: ignore[operator]
    assert seen == [(2, True), (3, True), (1, False), (5, False), (4, False)]
    assert repr(make(times=4)) == "FunctionPass(Repeat, opt_level=1, times=4)"  # type: ignore[operator]


def test_a_pass_states_its_error_bound() -> None:
    told: list[PassInfo] = []

    class Told(VerifyIR):
        def run_after_pass(self, module: ir.IRModule, info: PassInfo) -> None:
            super().run_after_pass(module, info)
            told.append(info)

    make = repeat([])
    assert not make.info.changes_values  # type: ignore[attr-defined]
    with PassContext(instruments=[Told()], config={"Repeat.times": 3}):
        make()(MODULE)  # type: ignore[operator]
        make(exact=False)(MODULE)  # type: ignore[operator]
    assert [info.error_bound for info in told] == ["", "3 ulp"]
    assert told[1].changes_values


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (
            (),
            {"tims": 1},
            r"pass Repeat has no option 'tims'; did you mean 'times'\? \(known: exact, times\)",
        ),
        ((), {"times": "1"}, "pass Repeat: option 'times' takes int, found '1' of str"),
        ((), {"exact": 1}, "pass Repeat: option 'exact' takes bool, found 1 of int"),
        ((), {"times": -1}, "pass Repeat: option 'times' is at least 0, found -1"),
        ((1,), {"times": 1}, "pass Repeat: option 'times' is given twice"),
        ((1, True, 2), {}, "pass Repeat has 2 options, found 3 values"),
    ],
)
def test_wrong_options_are_refused(
    values: tuple[object, ...], options: dict[str, object], message: str
) -> None:
    make = repeat([])
    with pytest.raises(PassError, match=message):
        make(*values, **options)  # type: ignore[operator]
    with pytest.raises(PassError, match=r"configuration key 'Repeat.times' is at least 0, found -1"):
        PassContext(config={"Repeat.times": -1})
    with pytest.raises(PassError, match=r"unknown configuration key 'FuseOps.max_opps'; did you mean"):
        PassContext(config={"FuseOps.max_opps": 1})


def test_options_of_our_own_passes() -> None:
    assert [o for p in all_passes() if p is FuseOps for o in p.options] == ["max_ops"]
    fused = FuseOps(max_ops=1)(MODULE["main"])
    assert isinstance(fused, ir.Function)
    assert str(fused).count("Primitive") == 2
    assert str(FuseOps()(MODULE)).count("Primitive") == 1


def test_names_of_passes_are_checked() -> None:
    for setting in ("disabled", "required"):
        with pytest.raises(PassError, match=rf"PassContext\({setting}=...\) names 'FuseOp', which no pass"):
            PassContext(**{setting: ["FuseOp"]})  # type: ignore[arg-type]
        with pytest.raises(PassError, match="is a list of names of passes, found the text 'FuseOps'"):
            PassContext(**{setting: "FuseOps"})  # type: ignore[arg-type]


def test_a_second_pass_of_a_name_is_refused_unless_it_overrides() -> None:
    @module_pass(name="Twice")
    def one(module: ir.IRModule, context: PassContext) -> ir.IRModule:
        return module

    def two(module: ir.IRModule, context: PassContext) -> ir.IRModule:
        return module

    with pytest.raises(RegistryError, match=r"'transform.Twice' belongs to .*one; .*two cannot take it"):
        module_pass(name="Twice")(two)
    other = module_pass(name="Twice", override=True)(two)
    assert get_global_func("transform.Twice") is other


def test_nested_sequentials_honour_their_level_and_disabled() -> None:
    inner = Sequential([FuseOps()], name="Inner", opt_level=3)
    outer = Sequential([InferType(), inner], name="Outer")

    def fused(**settings: object) -> bool:
        with PassContext(**settings):  # type: ignore[arg-type]
            return "Primitive" in str(outer(MODULE))

    assert not fused(opt_level=2)
    assert fused(opt_level=3)
    assert fused(opt_level=2, required=["Inner"])
    assert not fused(opt_level=3, disabled=["Inner"])
    assert not fused(opt_level=3, disabled=["FuseOps"])


def changed(module: ir.IRModule) -> ir.IRModule:
    main = module["main"]
    return module.with_function("main", main.with_attrs(changes=int(str(main.attrs.get("changes", 0))) + 1))


def requiring(*names: str, preserves: tuple[str, ...] = ()) -> Sequential:
    """A pass that requires TestA, which always changes the module, and TestB, which preserves what is given."""
    module_pass(name="TestA")(lambda module, context: changed(module))
    module_pass(name="TestB", preserves=preserves)(lambda module, context: changed(module))
    return Sequential([module_pass(name="TestNeeds", required=names)(lambda module, context: module)()])


def ran(module: ir.IRModule, what: Sequential) -> list[str]:
    timing = PassTiming()
    with PassContext(instruments=[timing]):
        what(module)
    return [run.name for run in timing.runs]


def test_a_requirement_that_another_undoes_is_run_again() -> None:
    module_pass(name="TestFirst")(lambda module, context: module)
    needs = requiring("TestFirst", "TestB")
    # TestB changes the module, so TestFirst does not hold any more; running it again changes nothing
    assert ran(MODULE, needs) == ["TestFirst", "TestB", "TestFirst", "TestNeeds"]


def test_requirements_that_undo_each_other_are_refused() -> None:
    needs = requiring("TestA", "TestB")
    with pytest.raises(PassError, match="TestNeeds requires TestA, TestB, which undo each other"):
        needs(MODULE)


def test_requirements_that_leave_each_other_valid_run_once() -> None:
    assert ran(MODULE, requiring("TestA", "TestB", preserves=("TestA",))) == ["TestA", "TestB", "TestNeeds"]


def test_types_are_inferred_of_changed_functions_alone() -> None:
    two = InferType()(MODULE.with_function("f", ir.Function((Y,), ops.exp(Y))))
    assert two.typed == {two["main"], two["f"]}
    z = ir.var("z")
    half = two.with_function("f", ir.Function((Y,), ir.Let(z, Y, ops.exp(z))))
    assert half.typed == {two["main"]}
    typed = InferType()(half)
    assert typed["main"] is two["main"]
    assert typed["f"].body.checked_type == Y.type


def test_a_callee_of_another_type_types_its_callers_again() -> None:
    f = ir.GlobalVar("f", ir.Function((Y,), ops.exp(Y)).checked_type)
    main = ir.Function((X,), ir.Call(f, (X,)))
    module = ir.IRModule({f: ir.Function((Y,), ops.exp(Y)), ir.GlobalVar("main"): main})
    typed = InferType()(module)
    z = ir.var("z")
    other = typed.with_function("f", ir.Function((Y,), ir.Let(z, Y, ops.cast(z, dtype="int32"))))
    assert str(InferType()(other)["main"].body.checked_type) == "Tensor[(2,), int32]"


Y = ir.var("y", TensorType((2,), "float32"))


def test_instruments_for_text_difference_and_time() -> None:
    written: list[str] = []
    clock = iter([0.0, 1.0, 2.0, 5.0]).__next__
    timing = PassTiming(clock)
    watch = [DiffIR(written.append, context_lines=0), timing]
    with PassContext(instruments=watch):
        FuseOps()(MODULE)
    assert timing.text() == "FuseOps       1x    3000.000 ms\nInferType     1x    1000.000 ms"
    assert written == [
        "--- before FuseOps\n+++ after FuseOps\n@@ -2,2 +2,5 @@\n"
        "-  %0 = tanh(%x);\n-  exp(%0)\n"
        "+  %0 = fn (%x_1: Tensor[(2,), float32], Primitive=1) {\n"
        "+    %1 = tanh(%x_1);\n+    exp(%1)\n+  };\n+  %0(%x)"
    ]
    written.clear()
    with PassContext(instruments=[PrintIR(before=["FuseOps"], write=written.append)]):
        FuseOps()(MODULE)
    assert written == [f"// before FuseOps\n{MODULE}"]
    written.clear()
    with PassContext(instruments=[PrintIR(write=written.append)]):
        InferType()(MODULE)
    assert written == [f"// after InferType\n{MODULE}"]


def test_the_verifying_instrument_names_the_pass() -> None:
    @function_pass(name="Wrong")
    def wrong(function: ir.Function, module: ir.IRModule, context: PassContext) -> ir.Function:
        return ir.Function(function.params, ops.exp(Y))

    wrong.__module__ = wrong._function.__module__ = "opgen_runtime.transform.wrong"  # as if it were ours
    assert "%y" in str(wrong()(MODULE))
    with (
        pytest.raises(PassError, match="pass Wrong: @main: variable %y is free"),
        PassContext(instruments=[VerifyIR()]),
    ):
        wrong()(MODULE)


@pytest.mark.parametrize("level", ["2", -1, True, 1.5, None])
def test_levels_are_numbers(level: object) -> None:
    with pytest.raises(PassError, match=r"opt_level is .*, expected an int of at least 0"):
        PassContext(level)  # type: ignore[arg-type]
    if level is not None:
        with pytest.raises(PassError, match=r"opt_level is .*, expected an int of at least 0"):
            PassContext(2).at_level(level)  # type: ignore[arg-type]


def test_the_keys_of_configurations_are_listed() -> None:
    listed = PassContext.list_configs()
    assert (listed["FuseOps.max_ops"].kind, listed["FuseOps.max_ops"].default) == (int, 256)
    assert listed["tir.vectorize.disable"].kind is bool
