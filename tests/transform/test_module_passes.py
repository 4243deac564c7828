"""Inline and RemoveUnusedFunctions: whole outputs, and what must stay."""

from __future__ import annotations

import pytest

from opgen_runtime import ir
from opgen_runtime.base.errors import PassError
from opgen_runtime.transform import Inline, Pass, PassContext, RemoveUnusedFunctions, VerifyIR

T = "Tensor[(2,), float32]"


def module(**bodies: str) -> ir.IRModule:
    return ir.parse_module(
        " ".join([f"def @{name}(%x: {T}) -> {T} {{ {body} }}" for name, body in bodies.items()])
    )


def turns(made: Pass, before: ir.IRModule, after: ir.IRModule) -> None:
    with PassContext(instruments=[VerifyIR()]):
        found = made(before)
    assert ir.structural_equal(found, after), f"\nfound:\n{found}\nexpected:\n{after}"


def unchanged(found: ir.IRModule, before: ir.IRModule) -> None:
    assert found.functions == before.functions


def test_calls_become_bodies() -> None:
    turns(
        Inline(),
        module(main="%0 = @f(%x); @f(%0)", f="%0 = @g(%x); add(%0, %x)", g="exp(%x)"),
        module(
            main="%0 = exp(%x); %1 = add(%0, %x); %2 = exp(%1); add(%2, %1)",
            f="%0 = exp(%x); add(%0, %x)",
            g="exp(%x)",
        ),
    )


def test_what_a_body_binds_is_bound_once_a_copy() -> None:
    found = Inline()(module(main="%0 = @f(%x); @f(%0)", f="let %v = exp(%x); add(%v, %v)"))
    assert ir.well_formed(found)
    assert "@f(" not in str(found["main"])


def test_functions_that_call_themselves_stay() -> None:
    before = module(main="@f(%x)", f="%0 = @f(%x); exp(%0)")
    unchanged(Inline()(before), before)
    circle = Inline()(module(main="@f(%x)", f="%0 = @g(%x); exp(%0)", g="@f(%x)"))
    assert ir.well_formed(circle)
    assert "@f" in str(circle["f"].body)


def test_the_size_of_bodies_is_limited() -> None:
    before = module(main="%0 = @f(%x); @f(%0)", f="exp(%x)")
    assert str(Inline(max_nodes=7)(before)["main"]).count("@f(") == 1
    unchanged(Inline(max_nodes=0)(before), before)


def test_functions_that_nothing_calls_go() -> None:
    turns(
        RemoveUnusedFunctions(),
        module(main="@f(%x)", f="%0 = @f(%x); exp(%0)", g="@f(%x)", h="@h(%x)"),
        module(main="@f(%x)", f="%0 = @f(%x); exp(%0)"),
    )
    all_called = module(main="@f(%x)", f="exp(%x)")
    unchanged(RemoveUnusedFunctions()(all_called), all_called)
    library = module(f="exp(%x)", g="tanh(%x)")
    unchanged(RemoveUnusedFunctions()(library), library)
    assert list(RemoveUnusedFunctions(entry=("g",))(library).functions) == [library.global_var("g")]
    with pytest.raises(PassError, match="the module has no function @h; it has f, g"):
        RemoveUnusedFunctions(entry=("h",))(library)
