"""Passes of decorated classes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from opgen_runtime import ir, ops
from opgen_runtime.base.errors import PassError
from opgen_runtime.operator.registry import list_global_func_names, remove_global_func
from opgen_runtime.operator.types import TensorType
from opgen_runtime.transform import Option, PassContext, Sequential, find_pass, function_pass, module_pass

X = ir.var("x", TensorType((2,), "float32"))
MODULE = ir.IRModule.from_expr(ir.Function((X,), ops.exp(X)))


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    before = set(list_global_func_names("transform"))
    yield
    for name in set(list_global_func_names("transform")) - before:
        remove_global_func(name)


def test_a_class_of_functions() -> None:
    @function_pass(opt_level=1, required=["InferType"], options={"negate": Option(False, "Whether.")})
    class Wrapped:
        """The body wrapped some times."""

        def __init__(self, times: int) -> None:
            if times < 0:
                raise ValueError("times is negative")
            self.times = times

        def transform_function(
            self, function: ir.Function, module: ir.IRModule, context: PassContext, *, negate: bool
        ) -> ir.Function:
            body = function.body
            for _ in range(self.times):
                body = ops.abs(body)
            return ir.Function(function.params, ops.negative(body) if negate else body)

    assert Wrapped.__doc__ == "The body wrapped some times."
    made = Wrapped(2)
    assert repr(made) == "FunctionPass(Wrapped, opt_level=1)"
    assert ir.structural_equal(made(MODULE)["main"], ir.Function((X,), ops.abs(ops.abs(ops.exp(X)))))
    with PassContext(opt_level=1):
        found = Sequential([Wrapped(times=1, negate=True)])(MODULE)["main"]
    assert ir.structural_equal(found, ir.Function((X,), ops.negative(ops.abs(ops.exp(X)))))
    with pytest.raises(PassError, match=r"pass Wrapped cannot be made of what is given: missing .* 'times'"):
        find_pass("Wrapped")
    with pytest.raises(PassError, match=r"pass Wrapped cannot be made of what is given: .* 'twice'"):
        Wrapped(1, twice=True)
    with pytest.raises(PassError, match=r"pass Wrapped raised ValueError: times is negative"):
        Wrapped(-1)
    with pytest.raises(PassError, match=r"pass Wrapped: option 'negate' takes bool, found 3 of int"):
        Wrapped(1, negate=3)


def test_a_class_of_modules() -> None:
    @module_pass(name="TestMain")
    class Kept:
        def transform_module(self, module: ir.IRModule, context: PassContext) -> ir.IRModule:
            return ir.IRModule({var: f for var, f in module.functions.items() if var.name == "main"})

    two = MODULE.with_function("other", MODULE["main"])
    assert list(find_pass("TestMain")(two).functions) == list(Kept()(two).functions)
    assert [var.name for var in Kept()(two).functions] == ["main"]


def test_what_a_class_gives_is_held_to_the_contract() -> None:
    @function_pass()
    class TestFree:
        def transform_function(
            self, function: ir.Function, module: ir.IRModule, context: PassContext
        ) -> ir.Function:
            return ir.Function(function.params, ops.exp(ir.var("y", X.checked_type)))

    with pytest.raises(PassError, match=r"pass TestFree: @main: variable %y is free"):
        TestFree()(MODULE)


def test_a_class_without_the_method_is_refused() -> None:
    with pytest.raises(PassError, match="pass Wrong: the class Wrong has no method transform_module"):

        @module_pass()
        class Wrong:
            def transform_function(self) -> None: ...
