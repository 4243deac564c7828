"""Nodes: types at construction, constants, operators, modules."""

from __future__ import annotations

import numpy as np
import pytest

from opgen_runtime import ir, ops
from opgen_runtime.base.arith import Any, dim
from opgen_runtime.base.errors import CallError, DTypeError, RegistryError, ShapeError, TypeInferenceError
from opgen_runtime.operator.registry import is_instance, type_info
from opgen_runtime.operator.types import FuncType, IncompleteType, TensorType, TupleType
from opgen_runtime.run.calls import eager

F = TensorType((2, 3), "float32")
BOOL = TensorType((), "bool")


def test_types_are_known_when_nodes_are_made() -> None:
    n = dim("n")
    x, y = ir.var("x", TensorType((n, 3), "float32")), ir.var("y", F)
    assert (x + y).checked_type == TensorType((2, 3), "float32")
    assert ops.sum(x, axis=1).checked_type == TensorType((n,), "float32")
    pair = ir.Tuple((x, y))
    assert pair.checked_type == TupleType((x.checked_type, F))
    assert pair[1].checked_type == F
    assert [item.checked_type for item in pair] == [x.checked_type, F]
    assert ir.Let(ir.Var("v", F), y, x).checked_type == x.checked_type
    function = ir.Function((y,), ops.exp(y))
    assert function.checked_type == FuncType((F,), F)
    assert function(y).checked_type == F
    assert isinstance(ops.exp(ir.var("u")).checked_type, IncompleteType)


def test_types_follow_the_attrs_of_each_call() -> None:
    x = ir.var("x", F)
    shapes = [ops.sum(x, axis=axis, keepdims=keep).checked_type for axis in (0, 1) for keep in (False, True)]
    assert [t.shape for t in shapes] == [(3,), (1, 3), (2,), (2, 1)]  # type: ignore[attr-defined]  # tensor types


def test_branches_join_their_types() -> None:
    c = ir.var("c", BOOL)
    a, b = ir.var("a", TensorType((2, Any()), "float32")), ir.var("b", F)
    assert repr(ir.If(c, a, b).checked_type) == "Tensor[(2, ?), float32]"
    with pytest.raises(
        ShapeError, match=r"branches of an if differ in shape: Tensor\[\(2, 3\).*Tensor\[\(4,"
    ):
        ir.If(c, b, ir.var("d", TensorType((4, 3), "float32")))
    with pytest.raises(TypeInferenceError, match=r"condition of an if must be Tensor\[\(\), bool\]"):
        ir.If(b, b, b)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda x: ir.TupleGetItem(ir.Tuple((x,)), 1), TypeInferenceError, "field 1 of a tuple of 1 fields"),
        (lambda x: ir.TupleGetItem(x, 0), TypeInferenceError, "no tuple"),
        (lambda x: ir.Call(x, ()), CallError, "which is no function"),
        (lambda x: ir.Function((x,), x)(x, x), CallError, "1 parameters is called with 2"),
        (
            lambda x: ir.Function((x,), x)(ir.const(1.0)),
            TypeInferenceError,
            "parameter 0 and its argument differ",
        ),
        (
            lambda x: ir.Function((x,), x, BOOL),
            TypeInferenceError,
            "declared result of a function and its body",
        ),
        (lambda x: bool(x), CallError, "no truth value"),
        (lambda x: x + "text", TypeError, "unsupported operand"),
        (lambda x: ir.const(np.array(["a"])), DTypeError, "dtype <U1 is not possible"),
        (lambda x: ops.axis_abs(x, axis=2), ValueError, "axis_abs"),
        (lambda x: x + ir.const(1), DTypeError, "add"),
    ],
)
def test_mistakes_are_named(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make(ir.var("x", F))  # type: ignore[operator]  # a table of functions


def test_python_numbers_are_weak_beside_expressions() -> None:
    half = ir.var("h", TensorType((3,), "float16"))
    for expr in (half * 2, 2 * half, half + 0.5, ops.maximum(half, 0)):
        assert expr.checked_type == TensorType((3,), "float16")
    byte = ir.var("b", TensorType((3,), "uint8"))
    assert (byte + 255).checked_type.dtype == "uint8"  # type: ignore[attr-defined]  # a tensor type
    with pytest.raises(DTypeError, match="256 does not fit dtype uint8"):
        byte + 256
    with pytest.raises(DTypeError, match=r"the float 0.5 does not suit dtype uint8"):
        byte * 0.5
    with pytest.raises(DTypeError, match="the bool True does not suit dtype float16"):
        half + True
    assert repr(ir.const(1).checked_type) == "Tensor[(), int32]"
    assert repr(ir.const([1.5, 2]).checked_type) == "Tensor[(2,), float32]"
    assert repr(ir.const(np.float64(1.5)).checked_type) == "Tensor[(), float64]"


def test_operators_find_the_ops_that_declare_them(monkeypatch: pytest.MonkeyPatch) -> None:
    x = ir.var("x", F)
    array = np.ones((2, 3), np.float32)
    assert str(array - x).splitlines()[-1].startswith("subtract(const(")
    names = [
        (x + x, "add"), (x - 1, "subtract"), (1 - x, "subtract"), (x * x, "multiply"), (x / 2, "divide"),
        (x < x, "less"), (x >= 1, "greater_equal"), (-x, "negative"), (abs(x), "abs"), (x**2, "power"),
    ]  # fmt: skip
    assert [call.op.name for call, _ in names] == [name for _, name in names]  # type: ignore[union-attr]
    monkeypatch.setitem(ir.OPERATORS, "@", None)
    with pytest.raises(RegistryError, match="no op declares operator '@'"):
        x @ x
    with pytest.raises(RegistryError, match="operator '\\+', which is bound to op 'add' already"):
        ir.bind_operator("+", "other")
    with pytest.raises(RegistryError, match="the operators are"):
        ir.bind_operator("===", "other")


def test_constants_are_read_only_and_do_not_follow_their_source() -> None:
    source = np.arange(3, dtype=np.float32)
    constant = ir.Constant(source)
    source[0] = 7
    assert constant.data[0] == 0
    assert not constant.data.flags.writeable
    swapped = ir.Constant(np.arange(3, dtype=">f4"))
    assert swapped.data.dtype.isnative
    assert list(swapped.data) == [0, 1, 2]


def test_nodes_are_immutable_and_in_the_object_type_index() -> None:
    x = ir.var("x", F)
    with pytest.raises(AttributeError):
        x.name_hint = "y"  # type: ignore[misc]  # the point of the test
    assert is_instance(x, "ir.Expr")
    assert not is_instance(x, "ir.Call")
    assert type_info("ir.Call").final
    assert repr(ops.exp(x)) == "<Call exp: Tensor[(2, 3), float32]>"


def test_modules_are_values() -> None:
    x = ir.var("x", F)
    module = ir.IRModule.from_expr(ops.exp(x))
    assert module["main"].params == (x,)
    larger = module.with_function("f", ir.Function((x,), x))
    assert [var.name for var in larger] == ["main", "f"]
    assert ("f" in larger, "f" in module, len(larger.without_function("f"))) == (True, False, 1)
    with pytest.raises(RegistryError, match="no function @g; it has main, f"):
        larger["g"]
    with pytest.raises(RegistryError, match="two functions of a module are named @f"):
        ir.IRModule({ir.GlobalVar("f"): module["main"], ir.GlobalVar("f"): module["main"]})


def test_eager_ops_refuse_expressions() -> None:
    with pytest.raises(CallError, match="must be an array or a number, found an expression"):
        eager.exp(ir.var("x", F))


def test_nodes_are_visited() -> None:
    """What a visitor sees of each node makes the node again."""

    class Collect(dict[str, object]):
        def visit(self, name: str, kind: str, value: object) -> None:
            kinds.append(kind)
            self[name] = value

    kinds: list[str] = []
    x = ir.Var("x", F)
    call = ops.softmax(x, axis=0)
    flag = ir.Var("flag", TensorType((), "bool"))
    pair = ir.Tuple((call, x))
    body = ir.Let(ir.Var("y"), ir.TupleGetItem(pair, 0), ir.If(flag, x, call))
    function = ir.Function((x, flag), body).with_attrs(Primitive=1)
    for node in (x, ir.GlobalVar("main"), ir.const(1.0), call, pair, body.value, body.body, body, function):
        seen = Collect()
        node.visit_fields(seen)
        assert ir.structural_equal(type(node)(**seen), node, map_free_vars=True)
    assert kinds[:9] == ["str", "object", "str", "object", "tensor", "object", "array", "object", "array"]
    assert kinds[9:] == [
        *["array", "object", "int", "object", "object", "object", "object", "object", "object"],
        *["array", "object", "object", "array", "map"],
    ]
