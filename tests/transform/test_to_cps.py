"""ToCPS and UnCPS: whole programs before and after, and what they compute."""

from __future__ import annotations

import numpy as np
import pytest

from opgen_runtime import create_executor, errors, ir, ops, parse_module, to_text
from opgen_runtime.operator.types import FuncType, TensorType
from opgen_runtime.transform import InferType, PassContext, Sequential, ToCPS, UnCPS, VerifyIR
from tests.fuzz.passes import check, program

MAIN = "def @main(%x: Tensor[(2), float32], %b: Tensor[(), bool]) "
HELPER = "\ndef @f(%y: Tensor[(2), float32]) -> Tensor[(2), float32] { exp(%y) }"
F = "Tensor[(2), float32]"
CPS = f"def @main[A](%x: {F}, %b: Tensor[(), bool], %k: fn ({F}) -> A) -> A "
CPS_HELPER = f"\ndef @f[A](%y: {F}, %k: fn ({F}) -> A) -> A {{ let %a = exp(%y); %k(%a) }}"
CASES = {
    "ops alone": ("{ tanh(exp(%x)) }", "{ let %a = exp(%x); let %c = tanh(%a); %k(%c) }"),
    "a call": (
        "{ tanh(@f(exp(%x))) }",
        f"{{ let %a = exp(%x); @f(%a, fn (%c: {F}) -> A {{ let %d = tanh(%c); %k(%d) }}) }}",
    ),
    "a call at the end": ("{ @f(exp(%x)) }", "{ let %a = exp(%x); @f(%a, %k) }"),
    "a branch": (
        "{ tanh(if (%b) { @f(%x) } else { %x }) }",
        f"{{ let %j = fn (%c: {F}) -> A {{ let %d = tanh(%c); %k(%d) }}; if (%b) {{ @f(%x, %j) }} else {{ %j(%x) }} }}",
    ),
    "a branch at the end": (
        "{ if (%b) { @f(%x) } else { exp(%x) } }",
        "{ if (%b) { @f(%x, %k) } else { let %a = exp(%x); %k(%a) } }",
    ),
    "a function of its own": (
        f"{{ let %g = fn (%y: {F}) {{ add(%y, %x) }}; %g(%x) }}",
        f"{{ let %g = fn (%y: {F}, %j: fn ({F}) -> A) -> A {{ let %a = add(%y, %x); %j(%a) }}; %g(%x, %k) }}",
    ),
    "a function whose ops are not looked at": (
        f'{{ let %g = fn (%y: {F}, Composite="one") {{ exp(%y) }}; tanh(%g(%x)) }}',
        f"""{{
          let %g = fn (%y: {F}, Composite="one") {{ let %e = exp(%y); %e }};
          let %c = %g(%x);
          let %d = tanh(%c);
          %k(%d)
        }}""",
    ),
    "a function of the module as a value": (
        "{ let %g = @f; %g(%g(%x)) }",
        f"""{{
          let %g = fn (%y: {F}, %j: fn ({F}) -> A) -> A {{ @f(%y, %j) }};
          %g(%x, fn (%c: {F}) -> A {{ %g(%c, %k) }})
        }}""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_whole(name: str) -> None:
    before, after = CASES[name]
    module = InferType()(parse_module(MAIN + before + HELPER))
    expected = InferType()(parse_module(CPS + after + CPS_HELPER))
    with PassContext(instruments=[VerifyIR()]):
        found = ToCPS()(module)
        back = UnCPS()(found)
    for each in ("main", "f"):
        assert ir.structural_equal(found[each], expected[each]), f"{to_text(found)}\nexpected\n{expected}"
    assert ir.structural_equal(parse_module(to_text(found)), found)
    assert back["main"].checked_type == module["main"].checked_type
    for b in (True, False):
        arrays = np.array([0.5, -1.0], np.float32), np.array(b)
        for kind in ("debug", "graph"):
            one, other = (create_executor(kind, each).evaluate()(*arrays).numpy() for each in (module, back))
            np.testing.assert_array_equal(one, other)


def test_recursion() -> None:
    text = f"""def @main(%x: {F}, %n: Tensor[(), int32]) -> {F} {{
      if (less(%n, 1)) {{ %x }} else {{ add(%x, @main(tanh(%x), subtract(%n, 1))) }}
    }}"""
    module = InferType()(parse_module(text))
    with PassContext(instruments=[VerifyIR()]):
        back = UnCPS()(ToCPS()(module))
    assert [var.name for var in back] == ["main", "main_cps"]
    x, n = np.array([0.5, -1.0], np.float32), np.array(5, np.int32)
    one, other = (create_executor("debug", each).evaluate()(x, n).numpy() for each in (module, back))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int) -> None:
    check(Sequential([ToCPS(), UnCPS()]), program(seed, tame=False), seed)


def test_deep_programs() -> None:
    x = ir.var("x", TensorType((2,), "float32"))
    name = ir.GlobalVar("f", FuncType((x.checked_type,), x.checked_type))
    body: ir.Expr = x
    for _ in range(3000):
        body = ir.Call(name, (body,))
    y = ir.var("y", TensorType((2,), "float32"))
    module = ir.IRModule({ir.GlobalVar("main"): ir.Function((x,), body), name: ir.Function((y,), ops.exp(y))})
    found = ToCPS()(InferType()(module))
    assert len(ir.post_order(found["main"])) > 3000


def test_refused() -> None:
    module = InferType()(parse_module(MAIN + "{ %x }"))
    assert ir.structural_equal(UnCPS()(module), module)
    with pytest.raises(errors.PassError, match=r"ToCPS: @main has type parameters, expected none"):
        ToCPS()(ToCPS()(module))
    with pytest.raises(errors.PassError, match="the module has no function @g; it has main"):
        UnCPS(entry=("g",))(ToCPS()(module))
    gives = InferType()(parse_module(f"def @main(%x: {F}) {{ fn (%y: {F}) {{ add(%x, %y) }} }}"))
    with pytest.raises(errors.PassError, match="expected a result without functions"):
        UnCPS()(ToCPS()(gives))
