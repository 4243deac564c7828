"""Inference both ways: relations on types that are not known, and the solver."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import pytest

from opgen_runtime.base.arith import Any, dim
from opgen_runtime.base.errors import DTypeError, OpgenError, ShapeError, TypeInferenceError
from opgen_runtime.operator.attrs import Attrs, attr
from opgen_runtime.operator.types import (
    FuncType,
    IncompleteType,
    Input,
    Let,
    Output,
    Require,
    Signature,
    Spread,
    Static,
    TensorType,
    TupleType,
    Type,
    TypeRelation,
    TypeSolver,
    TypeVar,
    broadcast,
    relate,
)


def t(*shape: object, dtype: str = "float32") -> TensorType:
    return TensorType(shape, dtype)  # type: ignore[arg-type]


def infer(signature: Signature, attrs: Attrs | None, *types: object) -> tuple[bool, list[Type]]:
    """Solves one relation; None stands for a type that is not known. The last type is the result's."""
    solver = TypeSolver()
    given: list[Type] = [IncompleteType(f"{k}") if each is None else each for k, each in enumerate(types)]  # type: ignore[misc]
    solver.add_relation(
        partial(relate, signature), given, len(given) - 1, attrs, op_name="op", site="model.py:7"
    )
    done = solver.solve()
    return done, [solver.resolve(each) for each in given]


class DenseAttrs(Attrs):
    type_key = "attrs.dense"
    units: int | None = attr("int", default=None)


DENSE = Signature(
    inputs=(
        Input("data", shape=("*B", "K"), dtype="T"),
        Input("weight", shape=("F", "K"), dtype="T"),
        Input("bias", shape=("F",), dtype="T", optional=True),
    ),
    rules=(Require(lambda units: units, "F == units", binds="F"),),
    outputs=(Output("out", shape=("*B", "F"), dtype="T"),),
    dtypes={"T": "float"},
)


def test_dense_parameters_from_data_and_units() -> None:
    done, types = infer(DENSE, DenseAttrs(units=16), t(7, 8), None, None, None)
    assert done
    assert types == [t(7, 8), t(16, 8), t(16), t(7, 16)]


def test_dense_parameters_from_data_and_result() -> None:
    done, types = infer(DENSE, DenseAttrs(), t(2, 7, 8), None, TupleType(()), t(2, 7, 16))
    assert done
    assert types == [t(2, 7, 8), t(16, 8), TupleType(()), t(2, 7, 16)]


def test_dense_waits_for_units() -> None:
    done, types = infer(DENSE, DenseAttrs(), t(7, 8), None, None, None)
    assert not done
    assert not any(each.is_complete for each in types[1:])


def test_dense_data_from_weight_and_result() -> None:
    done, types = infer(DENSE, DenseAttrs(), None, t(16, 8), None, t(7, 16))
    assert done
    assert types[0] == t(7, 8)


def test_a_wrong_result_is_refused() -> None:
    for result in (t(7, 5), t(8, 16), t(7, 16, 1)):
        with pytest.raises(ShapeError, match=r"op: result 'out'.*\n  at model.py:7"):
            infer(DENSE, DenseAttrs(units=16), t(7, 8), None, None, result)
    with pytest.raises(DTypeError, match=r"op: result 'out' has dtype float16, but T is float32"):
        infer(DENSE, DenseAttrs(units=16), t(7, 8), None, None, t(7, 16, dtype="float16"))


class ConvAttrs(Attrs):
    type_key = "attrs.conv"
    groups: int = attr("int", default=1)
    channels: int | None = attr("int", default=None)
    kernel_size: tuple[int, ...] | None = attr("ints", default=None)
    kernel_layout: str = attr("layout", default="OIHW")


CONV = Signature(
    inputs=(
        Input("data", shape=("N", "C", "*S"), dtype="T"),
        Input(
            "weight",
            shape=("F", Static(lambda C, groups: C // groups), "*K"),
            dtype="T",
            layout=("kernel_layout", "OIHW"),
        ),
    ),
    rules=(
        Require(lambda channels: channels, "F == channels", binds="F"),
        Require(lambda kernel_size: kernel_size, "K == kernel_size", binds="K"),
    ),
    outputs=(
        Output(
            "out",
            shape=("N", "F", Spread(lambda S, K: tuple(s - k + 1 for s, k in zip(S, K, strict=True)))),
            dtype="T",
        ),
    ),
    dtypes={"T": "float"},
)


@pytest.mark.parametrize(
    ("layout", "weight"), [("OIHW", (64, 8, 3, 3)), ("HWIO", (3, 3, 8, 64)), ("OIHW4i", (64, 2, 3, 3, 4))]
)
def test_conv_weight_from_data_and_attrs(layout: str, weight: tuple[int, ...]) -> None:
    attrs = ConvAttrs(groups=4, channels=64, kernel_size=(3, 3), kernel_layout=layout)
    done, types = infer(CONV, attrs, t(1, 32, 8, 8), None, None)
    assert done
    assert types[1:] == [t(*weight), t(1, 64, 6, 6)]


class BatchNormAttrs(Attrs):
    type_key = "attrs.batch_norm"
    axis: int = attr("int", default=1)


BATCH_NORM = Signature(
    inputs=(
        Input("data", dtype="T"),
        *(Input(name, shape=("C",), dtype="T") for name in ("gamma", "beta", "moving_mean", "moving_var")),
    ),
    rules=(
        Let(("a",), lambda axis, data: axis % data.ndim),
        Require(lambda data, a: data.shape[a], "C == data.shape[a]", binds="C"),
    ),
    outputs=(
        Output("out", shape="data.shape", dtype="T"),
        Output("mean", shape=("C",), dtype="T"),
        Output("var", shape=("C",), dtype="T"),
    ),
    dtypes={"T": "float"},
)


def test_batch_norm_parameters() -> None:
    n = dim("n")
    done, types = infer(BATCH_NORM, BatchNormAttrs(), t(n, 3, 8), None, None, None, None, None)
    assert done
    assert types[1:] == [t(3), t(3), t(3), t(3), TupleType((t(n, 3, 8), t(3), t(3)))]


def test_batch_norm_from_its_results() -> None:
    result = TupleType((t(5, 3, 8), t(3), t(3)))
    done, types = infer(BATCH_NORM, BatchNormAttrs(), None, None, None, None, None, result)
    assert done
    assert types[0] == t(5, 3, 8)


RELU = Signature(inputs=(Input("x", dtype="float"),), outputs=(Output("out", "x.shape", "x.dtype"),))


def test_identity_both_ways() -> None:
    n = dim("n")
    assert infer(RELU, None, None, t(n, 3)) == (True, [t(n, 3), t(n, 3)])
    assert infer(RELU, None, t(n, 3), None) == (True, [t(n, 3), t(n, 3)])
    assert infer(RELU, None, None, None)[0] is False
    assert infer(RELU, None, t(Any(), 3), t(4, 3))[1][0] == t(Any(), 3)
    with pytest.raises(DTypeError, match="argument 'x' has dtype int8, expected float"):
        infer(RELU, None, None, t(3, dtype="int8"))


def test_a_result_dim_that_is_a_name_times_a_static() -> None:
    signature = Signature(
        inputs=(Input("x", shape=("N", "K"), dtype="float32"),),
        outputs=(
            Output(
                "out",
                shape=(Static(lambda N, groups: N * groups, "N * groups"), Static(lambda K: K + 1, "K + 1")),
                dtype="float32",
            ),
        ),
    )
    attrs = ConvAttrs(groups=4)
    assert infer(signature, attrs, None, t(20, 8)) == (True, [t(5, 7), t(20, 8)])
    with pytest.raises(
        ShapeError, match=r"result 'out': dim 0 = 21 cannot be x.shape\[0\] \* 4: 21 is not a multiple of 4"
    ):
        infer(signature, attrs, None, t(21, 8))
    with pytest.raises(ShapeError, match=r"cannot be x.shape\[1\] \+ 1: x.shape\[1\] would be -1"):
        infer(signature, attrs, None, t(20, 0))


ADD = Signature(
    inputs=(Input("lhs", shape=("*A",), dtype="T"), Input("rhs", shape=("*B",), dtype="T")),
    outputs=(Output("out", shape=(Spread(lambda A, B: broadcast(A, B)),), dtype="T"),),
    dtypes={"T": "number"},
)


def test_broadcast_relation() -> None:
    assert infer(ADD, None, t(10, 20), t(10, 1), None)[1][2] == t(10, 20)
    assert infer(ADD, None, t(10, 20), None, t(10, 20))[0] is False
    with pytest.raises(
        ShapeError, match=r"op: shapes \(10, 20\) and \(10, 2\) do not broadcast.*\n  at model.py:7"
    ):
        infer(ADD, None, t(10, 20), t(10, 2), None)


def test_every_relation_on_unknown_types_returns_false() -> None:
    for signature, attrs in (
        (DENSE, DenseAttrs()),
        (CONV, ConvAttrs()),
        (BATCH_NORM, BatchNormAttrs()),
        (RELU, None),
        (ADD, None),
    ):
        count = len(signature.inputs)
        done, types = infer(signature, attrs, *([None] * (count + 1)))
        assert not done
        assert not any(each.is_complete for each in types)


def test_a_chain_is_solved_from_its_end() -> None:
    solver = TypeSolver()
    chain: list[Type] = [solver.fresh(str(k)) for k in range(50)]
    for a, b in pairwise(chain):
        solver.add_relation(partial(relate, RELU), (a, b), 1, None, op_name="relu")
    assert not solver.solve()
    assert len(solver.unresolved()) == 49
    solver.assign(chain[-1], t(3))
    assert solver.solve()
    assert solver.resolve(chain[0]) == t(3)


def test_an_unresolved_relation_wakes_when_another_gives_its_input() -> None:
    solver = TypeSolver()
    w, hidden, bias, out = (solver.fresh(name) for name in ("w", "hidden", "bias", "out"))
    solver.add_relation(
        partial(relate, DENSE), (hidden, w, bias, out), 3, DenseAttrs(units=4), op_name="dense"
    )
    solver.add_relation(partial(relate, RELU), (t(2, 3), hidden), 1, None, op_name="relu")
    assert solver.solve()
    assert [solver.resolve(each) for each in (w, bias, out)] == [t(4, 3), t(4), t(2, 4)]


def test_unify() -> None:
    solver = TypeSolver()
    a, b = solver.fresh("a"), solver.fresh("b")
    solver.unify(TupleType((a, t(2))), TupleType((t(3), b)))
    assert solver.resolve(TupleType((a, b))) == TupleType((t(3), t(2)))
    n, m = dim("n"), dim("m")
    assert solver.unify(t(n, Any()), t(4, m)) == t(4, m)
    assert [each.text for each in solver.assumptions] == [": n == 4"]
    x, y = TypeVar("x"), TypeVar("y")
    assert solver.unify(FuncType((x,), x, (x,)), FuncType((y,), y, (y,))) == FuncType((y,), y, (y,))


@pytest.mark.parametrize(
    ("a", "b", "kind", "message"),
    [
        (
            t(2, 3),
            t(2, 4),
            ShapeError,
            r"cannot unify Tensor\[\(2, 3\), float32\] with .*: dim 1: 3 against 4",
        ),
        (t(2), t(2, 4), ShapeError, "1 dims against 2"),
        (t(2), t(2, dtype="int8"), DTypeError, "dtype float32 against int8"),
        (t(2), TupleType((t(2),)), TypeInferenceError, "of different kinds"),
        (TupleType((t(2),)), TupleType(()), TypeInferenceError, "1 fields against 0"),
    ],
)
def test_what_cannot_be_unified(a: Type, b: Type, kind: type[OpgenError], message: str) -> None:
    with pytest.raises(kind, match=message):
        TypeSolver().unify(a, b)


def test_occurs_check() -> None:
    solver = TypeSolver()
    a, b = solver.fresh("a"), solver.fresh("b")
    with pytest.raises(
        TypeInferenceError, match=r"cannot unify \?a with \(\?a, \?a\): the type would contain itself"
    ):
        solver.unify(a, TupleType((a, a)))
    solver.unify(b, TupleType((a,)))
    with pytest.raises(TypeInferenceError, match="would contain itself"):
        solver.unify(a, TupleType((b,)))
    c, d = solver.fresh("c"), solver.fresh("d")
    solver.unify(c, d)
    solver.unify(d, c)  # the same unknown on both sides is no cycle
    assert solver.find(c) is solver.find(d)


def test_constraints_of_a_function_type() -> None:
    def same(types: Sequence[Type], num_inputs: int, attrs: object, reporter: object) -> bool:
        reporter.assign(types[0], types[1])  # type: ignore[attr-defined]
        return True

    x, out = TypeVar("x"), TypeVar("out")
    generic = FuncType((x,), out, (x, out), (TypeRelation("same", same, (x, out), 1),))
    solver = TypeSolver()
    result = solver.fresh("result")
    (constraint,) = generic.instantiate((t(3), result)).constraints
    solver.add_constraint(constraint)
    assert solver.solve()
    assert solver.resolve(result) == t(3)
