"""What passes that users write give back is held to the rules of `transform/contract.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from opgen_runtime import ops
from opgen_runtime.base.errors import OpgenError, PassError, ShapeError
from opgen_runtime.ir import Call, Constant, Function, IRModule, Let, Var, const
from opgen_runtime.operator.registry import Op, has_global_func, remove_global_func
from opgen_runtime.operator.types import TensorType
from opgen_runtime.transform import PassContext, function_pass, module_pass

X = Var("x", TensorType((2, 3), "float32"))
MODULE = IRModule.from_expr(Function((X,), ops.softmax(ops.exp(X), axis=1)))
BODY = MODULE["main"].body
assert isinstance(BODY, Call)


def forged(node: Any, **fields: object) -> Any:
    """The node with fields that making it would have refused."""
    for name, value in fields.items():
        object.__setattr__(node, name, value)
    return node


def a_call() -> Call:
    """A new call of softmax."""
    assert isinstance(BODY, Call)
    return Call(BODY.op, BODY.args, BODY.attrs)


def main(body: Any) -> Function:
    return Function((X,), body)


Y = Var("y", TensorType((2, 3), "float32"))
WRONG: dict[str, tuple[Callable[[Function], Any], str]] = {
    "nothing": (lambda f: None, "of @main it made None, expected a Function"),
    "an expression": (lambda f: X, "of @main it made <Var x: .*>, expected a Function"),
    "a foreign node": (
        lambda f: main(forged(a_call(), args=(3.0,))),
        r"@main: an operand of the call of softmax is 3.0, expected a node of the IR \(rule: made of nodes\)",
    ),
    "a foreign op": (
        lambda f: main(forged(a_call(), op="softmax")),
        r"@main: a call of 'softmax', expected an op or a function",
    ),
    "an op of its own": (
        lambda f: main(forged(a_call(), op=Op("softmax", "elsewhere.py"))),
        r"@main: the call of softmax calls an op 'softmax' that is not the registered one",
    ),
    "no attrs": (
        lambda f: main(forged(a_call(), attrs=None)),
        r"@main: the call of softmax has attrs None, expected SoftmaxAttrs \(rule: attrs",
    ),
    "too many operands": (
        lambda f: main(forged(a_call(), args=(X, X))),
        r"@main: the call of softmax has 2 operands, expected 1",
    ),
    "a free variable": (lambda f: main(ops.exp(Y)), r"@main: variable %y is free \(rule: bound once"),
    "bound twice": (
        lambda f: main(Let(Y, X, Let(Y, ops.exp(X), Y))),
        r"@main: variable %y is bound twice \(rule: bound once",
    ),
    "a wrong type": (
        lambda f: main(forged(a_call(), checked_type=TensorType((2, 3), "int32"))),
        r"the call of softmax says that its type is Tensor\[\(2, 3\), int32\]; its operands give Tensor\[",
    ),
    "an open type": (
        lambda f: main(Let(z := Var("z"), X, z)),
        r"@main: the type of %z is not known, and was before \(rule: types stay complete\)",
    ),
    "another type of main": (
        lambda f: main(ops.sum(X)),
        r"@main had the type .*, now it has .*; a pass that means to change it says changes_type=True",
    ),
    "its own mistake": (lambda f: f.bdy, "pass Wrong raised AttributeError: 'Function' object has no"),
    "an error of ours": (lambda f: main(ops.matmul(X, X)), "^pass Wrong: matmul"),
}


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    if has_global_func("transform.Wrong"):
        remove_global_func("transform.Wrong")


@pytest.mark.parametrize("name", WRONG)
def test_what_a_wrong_pass_gives_is_refused(name: str) -> None:
    make, message = WRONG[name]
    kind = ShapeError if name == "an error of ours" else PassError

    @function_pass(name="Wrong")
    def wrong(function: Function, module: IRModule, context: PassContext) -> Function:
        return make(function)  # type: ignore[no-any-return]

    with pytest.raises(OpgenError, match=message) as caught:
        wrong()(MODULE)
    assert isinstance(caught.value, kind)
    assert str(caught.value).startswith("pass Wrong")


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "pass Wrong gave None, expected an IRModule"),
        (MODULE["main"], "pass Wrong gave <Function: .*>, expected an IRModule"),
        (IRModule(), "@main is gone; the module has no function"),
        (forged(IRModule(MODULE.functions), functions={"main": MODULE["main"]}), "the module maps 'main' to"),
    ],
)
def test_what_a_wrong_module_pass_gives_is_refused(result: Any, message: str) -> None:
    @module_pass(name="Wrong")
    def wrong(module: IRModule, context: PassContext) -> IRModule:
        return result  # type: ignore[no-any-return]

    with pytest.raises(PassError, match=message):
        wrong()(MODULE)


def test_a_right_pass_is_left_alone_and_may_declare_another_type() -> None:
    @function_pass(name="Wrong", changes_type=True)
    def right(function: Function, module: IRModule, context: PassContext) -> Function:
        return Function(function.params, ops.sum(function.body))

    assert str(right()(MODULE)["main"].checked_type).endswith("Tensor[(), float32]")


def test_a_pass_runs_on_a_module_or_a_function() -> None:
    @function_pass(name="Wrong")
    def right(function: Function, module: IRModule, context: PassContext) -> Function:
        return function

    with pytest.raises(PassError, match="pass Wrong runs on an IRModule or a Function, found Call"):
        right()(MODULE["main"].body)  # type: ignore[call-overload]
    assert right()(MODULE["main"]) is MODULE["main"]
    constant = Function((), const(1.0, "float32"))
    assert isinstance(right()(IRModule.from_expr(constant))["main"].body, Constant)


def test_our_own_passes_keep_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    from opgen_runtime.transform import FuseOps

    monkeypatch.setenv("OPGEN_VERIFY", "1")
    assert "Primitive" in str(FuseOps()(MODULE))
