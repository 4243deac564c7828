"""Operands of declared ops that are not known, from the others, the attrs and the result."""

from __future__ import annotations

import pytest

from opgen_runtime import ir, ops
from opgen_runtime.base.arith import dim
from opgen_runtime.base.errors import DTypeError, ShapeError, TypeInferenceError
from opgen_runtime.ir import Call, Var
from opgen_runtime.operator.registry import Op
from opgen_runtime.operator.types import TensorType, TypeSolver, is_absent
from opgen_runtime.transform import infer_type

N = dim("n")


def t(*shape: object, dtype: str = "float32") -> TensorType:
    return TensorType(shape, dtype)  # type: ignore[arg-type]


def v(name: str, *shape: object, dtype: str = "float32") -> Var:
    return Var(name, t(*shape, dtype=dtype))


def operands(call: Call, result: TensorType | None = None) -> list[object]:
    """The types of a call's operands, with its result's given."""
    solver = TypeSolver()
    types = [arg.checked_type for arg in call.args]
    assert isinstance(call.op, Op)
    (relation,) = call.op.op_type.constraints
    out = solver.fresh("out")
    solver.add_relation(relation.function, (*types, out), len(types), call.attrs, op_name=call.op.name)
    if result is not None:
        solver.unify(out, result)
    solver.solve()
    return [solver.resolve(type_) for type_ in types if not is_absent(type_)]


X, W, B = Var("x"), Var("w"), Var("b")
IMAGE, SIGNAL, VOLUME = v("d", 1, 32, 8, 8), v("d", 1, 32, 8), v("d", 1, 32, 8, 8, 8)
CONV = {"groups": 4, "channels": 64}
FOLLOWS: list[tuple[Call, TensorType | None, list[TensorType]]] = [
    # a predicate that an attr may switch off
    (ops.dense(v("d", N, 8), W, units=5), None, [t(5, 8)]),
    (ops.dense(X, v("w", 5, 8)), t(2, 3, 5), [t(2, 3, 8)]),
    (ops.conv1d(SIGNAL, W, kernel_size=(3,), **CONV), None, [t(64, 8, 3)]),
    (ops.conv2d(IMAGE, W, kernel_size=(3, 3), **CONV), None, [t(64, 8, 3, 3)]),
    (ops.conv3d(VOLUME, W, kernel_size=(3, 1, 2), **CONV), None, [t(64, 8, 3, 1, 2)]),
    (ops.conv1d_transpose(SIGNAL, W, kernel_size=(3,), **CONV), None, [t(32, 16, 3)]),
    (ops.conv2d_transpose(IMAGE, W, kernel_size=(3, 2), **CONV), None, [t(32, 16, 3, 2)]),
    (ops.conv3d_transpose(VOLUME, W, kernel_size=(3, 1, 2), **CONV), None, [t(32, 16, 3, 1, 2)]),
    # in any layout
    (
        ops.conv2d(
            v("d", 1, 8, 8, 32), W, kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWIO", **CONV
        ),
        None,
        [t(3, 3, 8, 64)],
    ),
    (
        ops.conv2d(
            v("d", 1, 2, 8, 8, 16),
            W,
            kernel_size=(3, 3),
            data_layout="NCHW16c",
            kernel_layout="OIHW4i",
            **CONV,
        ),
        None,
        [t(64, 2, 3, 3, 4)],
    ),
    # parameters of an axis
    (ops.prelu(v("d", 1, N, 8), W), None, [t(N)]),
    (ops.group_norm(v("d", 1, 32, 8), W, B, num_groups=8), None, [t(32), t(32)]),
    (ops.layer_norm(v("d", 2, 8), W, B), None, [t(8), t(8)]),
    (ops.rms_norm(X, v("gamma", 8)), t(4, 8), [t(4, 8)]),
    (ops.rms_norm(v("d", 4, N, 8), W, axis=-2), None, [t(N, 8)]),
    # results that are other places of an operand
    (ops.transpose(X, axes=(1, 2, 0)), t(1, N, 8), [t(8, 1, N)]),
    (ops.transpose(X), t(1, 2, 3), [t(3, 2, 1)]),
    (ops.expand_dims(X, axis=-1, num_newaxis=2), t(N, 2, 1, 1), [t(N, 2)]),
    (ops.squeeze(X, axis=(1,)), t(2, 3), [t(2, 1, 3)]),
    # broadcasting, where the other operand's extents are all 1
    (ops.add(v("d", 1, 1), X), t(3, N), [t(3, N)]),
    (ops.add(X, v("d")), t(3, 4), [t(3, 4)]),
]


@pytest.mark.parametrize(("call", "result", "expected"), FOLLOWS, ids=[c.op.name for c, _, _ in FOLLOWS])
def test_an_operand_follows(call: Call, result: TensorType | None, expected: list[TensorType]) -> None:
    unknown = [k for k, arg in enumerate(call.args) if not arg.checked_type.is_complete]
    found = operands(call, result)
    assert [found[k] for k in unknown] == expected


OPEN: list[tuple[Call, TensorType | None]] = [
    (ops.dense(v("d", 2, 8), W), None),
    (ops.add(v("d", 3, 4), X), t(3, 4)),  # (3, 4), (4,), (1, 4), ...
    (ops.add(v("d", N), X), t(N)),  # (1,) as well as (n,)
    (ops.sum(X, axis=(0,)), t(3)),
    (ops.reshape(X, newshape=(3, 4)), t(3, 4)),
    (ops.cast(X, dtype="float16"), t(3, 4, dtype="float16")),
]


@pytest.mark.parametrize(("call", "result"), OPEN, ids=[call.op.name for call, _ in OPEN])
def test_an_operand_does_not_follow(call: Call, result: TensorType | None) -> None:
    assert not all(type_.is_complete for type_ in operands(call, result))  # type: ignore[attr-defined]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ShapeError, match="groups do not fit the channels; with groups = 4, C = 33"):
        operands(ops.conv2d(v("d", 1, 33, 8, 8), W, kernel_size=(3, 3), **CONV))
    with pytest.raises(ShapeError, match=r"result 'out': dim 0 = 3 cannot be 1"):
        operands(ops.expand_dims(X), t(3, 4))
    with pytest.raises(DTypeError, match="result 'out' has dtype bool, expected arithmetic"):
        operands(ops.dense(X, W), t(3, 4, dtype="bool"))


def test_a_shape_waits_for_its_dtype() -> None:
    w, data = Var("w"), v("data", 2, 8, dtype="float16")
    product = ops.dense(data, ops.cast(ops.transpose(w), dtype="float16"), units=5)
    with pytest.raises(TypeInferenceError, match=r"cast\(\?[^,]* of shape \(5, 8\), .*\)"):
        infer_type(product)
    both = ir.Tuple((product, ops.add(w, v("y", 8, 5, dtype="int8"))))
    (found,) = [
        node for node in ir.post_order(infer_type(both)) if isinstance(node, Var) and node.name_hint == "w"
    ]
    assert found.checked_type == t(8, 5, dtype="int8")
