"""FoldScaleAxis and SimplifyInference: whole outputs, what must not fire, and equal values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from opgen_runtime import ir, ops
from opgen_runtime.transform import (
    BackwardFoldScaleAxis,
    FoldConstant,
    FoldScaleAxis,
    ForwardFoldScaleAxis,
    InferType,
    PassContext,
    Sequential,
    SimplifyInference,
    VerifyIR,
)
from tests.transform.whole import arrays_for, function, gives, run

C = 4
POSITIVE = np.array([0.5, 2, 3, 0.25], np.float32)
MIXED = np.array([0.5, -2, 3, 0.25], np.float32)


def x(*shape: int) -> ir.Var:
    return ir.var("x", shape=shape or (2, C, 6, 6))


def per_channel(values: np.ndarray) -> ir.Constant:
    return ir.const(values.reshape(-1, 1, 1))


def weights(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(-1, 1, shape or (5, C, 3, 3)).astype(np.float32)


def multiplications(program: ir.Function) -> int:
    return str(program).count("multiply(")


def folds(made: object, program: ir.Function, left: int = 0) -> ir.Function:
    """`made` leaves that many multiplications, valid IR and the values."""
    with PassContext(instruments=[VerifyIR()]):
        found: ir.Function = made(program)  # type: ignore[operator]
    assert multiplications(found) == left, f"\n{found}"
    arrays = arrays_for(program)
    for one, other in zip(run(program, arrays), run(found, arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4)
    return found


def stays(made: object, program: ir.Function) -> None:
    assert made(program) is program  # type: ignore[operator]


def conv(data: ir.Expr, w: np.ndarray | ir.Expr, **attrs: object) -> ir.Expr:
    weight = w if isinstance(w, ir.Expr) else ir.const(w)
    return ops.conv2d(data, weight, padding=(1, 1), **attrs)  # type: ignore[arg-type]


# ------------------------------------------------------------------ forward


def test_forward_whole() -> None:
    gives(
        ForwardFoldScaleAxis(),
        "fn (%x: [2, 4, 10, 10], %s: [4], %w: [3, 4, 3, 3]) { %0 = expand_dims(%s, axis=1, num_newaxis=2); "
        "%1 = multiply(%x, %0); conv2d(%1, %w) }",
        "fn (%x: [2, 4, 10, 10], %s: [4], %w: [3, 4, 3, 3]) { %0 = expand_dims(%s, axis=1, num_newaxis=2); "
        "%1 = multiply(%w, %0); conv2d(%x, %1) }",
    )
    gives(
        ForwardFoldScaleAxis(),
        "fn (%x: [8, 4], %s: [4], %w: [2, 4]) { %1 = multiply(%x, %s); dense(%1, %w) }",
        "fn (%x: [8, 4], %s: [4], %w: [2, 4]) { %1 = multiply(%w, %s); dense(%x, %1) }",
    )


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("through", ["", "relu", "max_pool", "negative", "avg_pool"])
def test_forward_through_what_commutes(groups: int, through: str) -> None:
    data = x()
    made: ir.Expr = ops.multiply(data, per_channel(POSITIVE))
    if through == "max_pool":
        made = ops.max_pool2d(made, pool_size=(2, 2))
    elif through == "avg_pool":
        made = ops.avg_pool2d(made, pool_size=(2, 2))
    elif through:
        made = getattr(ops, through)(made)
    program = ir.Function((data,), conv(made, weights(8, C // groups, 3, 3), groups=groups))
    folds(ForwardFoldScaleAxis(), program)


@pytest.mark.parametrize("groups", [1, 2])
def test_transposed_convolutions(groups: int) -> None:
    """Their weights have the channels of the data first; in groups, the results' are spread over two axes."""
    data, w = x(), ir.const(weights(C, 8 // groups, 3, 3))
    scaled = ops.relu(ops.multiply(data, per_channel(POSITIVE)))
    made = ops.conv2d_transpose(scaled, w, groups=groups, strides=(2, 2))
    folds(ForwardFoldScaleAxis(), ir.Function((data,), made))
    after = ops.multiply(ops.conv2d_transpose(data, w, groups=groups), per_channel(np.tile(MIXED, 2)))
    program = InferType()(ir.Function((data,), after))
    if groups == 1:
        folds(BackwardFoldScaleAxis(), program)
    else:
        stays(BackwardFoldScaleAxis(), program)


def test_forward_of_layouts_and_of_several_readers() -> None:
    data = x(2, 6, 6, C)
    made = ops.multiply(data, ir.const(POSITIVE))
    folds(
        ForwardFoldScaleAxis(),
        ir.Function((data,), conv(made, weights(3, 3, C, 5), data_layout="NHWC", kernel_layout="HWIO")),
    )
    data = x()
    made = ops.relu(ops.multiply(data, per_channel(POSITIVE)))
    two = ops.add(conv(made, weights()), conv(ops.abs(made), weights()))
    folds(ForwardFoldScaleAxis(), ir.Function((data,), two))


BLOCKED = ir.const(POSITIVE.reshape(1, 2, 1, 1, 2))


def blocked_conv(data: ir.Expr) -> ir.Expr:
    """From channels in blocks of two to such: a scale of them has two axes, and is none of one axis."""
    return conv(data, weights(2, 2, 3, 3, 2, 2), data_layout="NCHW2c", kernel_layout="OIHW2i2o")


def forward_stays() -> dict[str, ir.Function]:
    data = x()
    mixed, positive = (ops.multiply(data, per_channel(s)) for s in (MIXED, POSITIVE))
    other = ir.var("other", shape=(2, C, 6, 6))
    small = x(1, C, 3, 3)
    s = ir.var("s", shape=(C, 1, 1))
    large = ir.var("w", shape=(5, C, 3, 3))
    zero = ops.multiply(data, per_channel(np.array([1, 0, 1, 1], np.float32)))
    blocked = x(2, C // 2, 6, 6, 2)
    v = ir.var("v", shape=(2, C, 6, 6))
    return {
        "a blocked layout": ir.Function((blocked,), blocked_conv(ops.multiply(blocked, BLOCKED))),
        "a negative scale through relu, blocked": ir.Function(
            (blocked,), blocked_conv(ops.relu(ops.multiply(blocked, ir.const(-BLOCKED.data))))
        ),
        "a negative scale through leaky_relu, and another reader": ir.Function(
            (data,), ops.add(conv(ops.leaky_relu(mixed, alpha=0.1), weights(C, C, 3, 3)), mixed)
        ),
        "a cast": ir.Function(
            (data,), conv(ops.cast(positive, dtype="float64"), weights().astype(np.float64))
        ),
        "a let": ir.Function((data,), ir.Let(v, ops.relu(positive), conv(v, weights()))),
        "a let, and another reader": ir.Function(
            (data,), ir.Let(v, positive, ops.add(conv(v, weights(C, C, 3, 3)), positive))
        ),
        "a negative scale through relu": ir.Function((data,), conv(ops.relu(mixed), weights())),
        "a scale of 0 through relu": ir.Function((data,), conv(ops.relu(zero), weights())),
        "unknown signs through relu": ir.Function(
            (data, s), conv(ops.relu(ops.multiply(data, s)), weights())
        ),
        "another reader": ir.Function((data,), ir.Tuple((conv(positive, weights()), positive))),
        "a reader that does not commute": ir.Function(
            (data,), ops.add(conv(positive, weights()), conv(ops.tanh(positive), weights()))
        ),
        "a sum on the way": ir.Function((data, other), conv(ops.add(positive, other), weights())),
        "no axis of channels": ir.Function(
            (data,), conv(ops.multiply(data, ir.const(np.arange(1, 7, dtype=np.float32))), weights())
        ),
        "no convolution": ir.Function((data,), ops.relu(positive)),
        "weights that are computed and larger": ir.Function(
            (small, large), ops.conv2d(ops.multiply(small, per_channel(POSITIVE)), large)
        ),
        "an infinite scale": ir.Function(
            (data,), conv(ops.multiply(data, per_channel(np.array([1, np.inf, 1, 1], np.float32))), weights())
        ),
        "a product that overflows": ir.Function(
            (data,),
            conv(ops.multiply(data, per_channel(POSITIVE * np.float32(1e38))), weights() * np.float32(1e10)),
        ),
    }


@pytest.mark.parametrize("name", forward_stays())
def test_forward_stays(name: str) -> None:
    stays(ForwardFoldScaleAxis(), forward_stays()[name])


def test_forward_of_three_spatial_dims() -> None:
    data = x(2, C, 5, 5, 5)
    scaled = ops.relu(ops.multiply(data, ir.const(POSITIVE.reshape(C, 1, 1, 1))))
    made = ops.conv3d(scaled, ir.const(weights(2, C, 3, 3, 3)), padding=(1, 1, 1))
    folds(ForwardFoldScaleAxis(), ir.Function((data,), made))


def test_forward_into_two_depthwise_layers() -> None:
    data = x(2, 6, 6, C)
    scaled = ops.relu(ops.multiply(data, ir.const(POSITIVE)))
    two = [
        conv(scaled, weights(3, 3, 1, C), data_layout="NHWC", kernel_layout="HWIO", groups=C) for _ in "ab"
    ]
    folds(ForwardFoldScaleAxis(), ir.Function((data,), ops.add(*two)))


# ------------------------------------------------------------------ backward


def test_backward_whole() -> None:
    gives(
        BackwardFoldScaleAxis(),
        "fn (%x: [2, 4, 10, 10], %s: [3], %w: [3, 4, 3, 3]) { %0 = conv2d(%x, %w); "
        "%1 = expand_dims(%s, axis=1, num_newaxis=2); multiply(%0, %1) }",
        "fn (%x: [2, 4, 10, 10], %s: [3], %w: [3, 4, 3, 3]) { %0 = expand_dims(%s, axis=1, num_newaxis=3); "
        "%1 = multiply(%w, %0); conv2d(%x, %1) }",
    )


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("through", ["", "relu", "bias", "bias relu", "negative", "abs", "pool"])
def test_backward_through_what_commutes(groups: int, through: str) -> None:
    data = x()
    made = conv(data, weights(C, C // groups, 3, 3), groups=groups)
    if "bias" in through:
        made = ops.bias_add(made, ir.const(MIXED))
    if "relu" in through:
        made = ops.relu(made)
    if through in ("negative", "abs"):
        made = getattr(ops, through)(made)
    if through == "pool":
        made = ops.max_pool2d(made, pool_size=(2, 2))
    folds(BackwardFoldScaleAxis(), ir.Function((data,), ops.multiply(made, per_channel(POSITIVE))))


def test_backward_of_layouts_and_dense() -> None:
    data = x(2, 6, 6, C)
    made = conv(data, weights(3, 3, C, 4), data_layout="NHWC", kernel_layout="HWIO")
    folds(BackwardFoldScaleAxis(), ir.Function((data,), ops.multiply(made, ir.const(MIXED))))
    flat = x(8, 5)
    made = ops.dense(flat, ir.const(weights(4, 5)))
    folds(BackwardFoldScaleAxis(), ir.Function((flat,), ops.multiply(made, ir.const(MIXED))))
    folds(BackwardFoldScaleAxis(), ir.Function((flat,), ops.multiply(made, -3.0)))


def test_backward_of_three_spatial_dims() -> None:
    data = x(2, C, 5, 5, 5)
    made = ops.relu(ops.conv3d(data, ir.const(weights(C, C, 3, 3, 3)), padding=(1, 1, 1)))
    scale = ir.const(POSITIVE.reshape(C, 1, 1, 1))
    folds(BackwardFoldScaleAxis(), ir.Function((data,), ops.multiply(made, scale)))


def test_backward_into_both_sides_of_a_sum() -> None:
    data = x()
    one, other = (ops.relu(conv(data, weights(C, C, 3, 3))) for _ in "ab")
    total = ops.add(one, other)
    folds(BackwardFoldScaleAxis(), ir.Function((data,), ops.multiply(total, per_channel(POSITIVE))))


def test_backward_of_a_layer_with_two_readers() -> None:
    """Each scale is read once; the layer below, whose scale went into its weights, is read twice."""

    def layer(below: ir.Expr) -> ir.Expr:
        return ops.relu(ops.multiply(conv(below, weights(C, C, 3, 3)), per_channel(POSITIVE)))

    data = x()
    below = layer(data)
    folds(BackwardFoldScaleAxis(), ir.Function((data,), ops.add(layer(below), layer(below))))


def backward_stays() -> dict[str, ir.Function]:
    data, s = x(), ir.var("s", shape=(C, 1, 1))
    made = conv(data, weights(C, C, 3, 3))
    square, blocked = x(C, C, 6, 6), x(2, C // 2, 6, 6, 2)
    upright, turned = (ops.relu(conv(square, weights(C, C, 3, 3))) for _ in "ab")
    v = ir.var("v", shape=(2, C, 6, 6))
    return {
        "another axis on one side of a sum": ir.Function(
            (square,),
            ops.multiply(ops.add(upright, ops.transpose(turned, axes=(1, 0, 2, 3))), per_channel(POSITIVE)),
        ),
        "a reader beside the scale": ir.Function(
            (data,), ops.add(ops.multiply(made, per_channel(POSITIVE)), ops.relu(made))
        ),
        "a blocked layout": ir.Function((blocked,), ops.multiply(blocked_conv(blocked), BLOCKED)),
        "a cast": ir.Function(
            (data,), ops.multiply(ops.cast(made, dtype="float64"), ir.const(np.full((C, 1, 1), 0.1)))
        ),
        "a let": ir.Function((data,), ir.Let(v, made, ops.multiply(v, per_channel(POSITIVE)))),
        "a negative scale through relu": ir.Function(
            (data,), ops.multiply(ops.relu(made), per_channel(MIXED))
        ),
        "unknown signs through relu": ir.Function((data, s), ops.multiply(ops.relu(made), s)),
        "another reader": ir.Function((data,), ir.Tuple((ops.multiply(made, per_channel(MIXED)), made))),
        "two scales of one": ir.Function(
            (data,),
            ops.add(ops.multiply(made, per_channel(MIXED)), ops.multiply(made, per_channel(POSITIVE))),
        ),
        "what does not commute": ir.Function((data,), ops.multiply(ops.tanh(made), per_channel(POSITIVE))),
        "no axis of channels": ir.Function(
            (data,), ops.multiply(made, ir.const(np.arange(1, 7, dtype=np.float32)))
        ),
        "no weights": ir.Function((data,), ops.multiply(ops.relu(data), per_channel(POSITIVE))),
        "the result itself": ir.Function((data,), made),
    }


@pytest.mark.parametrize("name", backward_stays())
def test_backward_stays(name: str) -> None:
    stays(BackwardFoldScaleAxis(), backward_stays()[name])


# ------------------------------------------------------------------ inference


def test_dropout_and_batch_norm() -> None:
    gives(SimplifyInference(), "fn (%x: [2, 3]) { %0 = dropout(%x); %0.0 }", "fn (%x: [2, 3]) { %x }")
    parts = "%g: [3], %b: [3], %m: [3], %v: [3]"
    gives(
        SimplifyInference(),
        f"fn (%x: [2, 3, 4, 4], {parts}) {{ %0 = batch_norm(%x, %g, %b, %m, %v); %0.0 }}",
        f"fn (%x: [2, 3, 4, 4], {parts}) {{ "
        "%0 = expand_dims(%m, axis=1, num_newaxis=2); %1 = subtract(%x, %0); "
        "%2 = add(%v, 9.999999747378752e-06f); %3 = rsqrt(%2); %4 = multiply(%3, %g); "
        "%5 = expand_dims(%4, axis=1, num_newaxis=2); %6 = multiply(%1, %5); "
        "%7 = expand_dims(%b, axis=1, num_newaxis=2); add(%6, %7) }",
    )
    gives(
        SimplifyInference(),
        f"fn (%x: [2, 3, 4, 4], {parts}) {{ %0 = batch_norm(%x, %g, %b, %m, %v); %0.1 }}",
        f"fn (%x: [2, 3, 4, 4], {parts}) {{ %m }}",
    )


@pytest.mark.parametrize(
    "text",
    [
        "fn (%x: [2, 3]) { dropout(%x) }",  # a tuple as it is
        "fn (%x: [2, 3], %g: [3], %b: [3]) { layer_norm(%x, %g, %b) }",
        "fn (%x: [2, 3]) { softmax(%x) }",
        "fn (%x: [2, 3]) { relu(%x) }",
    ],
)
def test_what_inference_leaves(text: str) -> None:
    gives(SimplifyInference(), text)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("attrs", ["", ", scale=False", ", center=False", ", axis=0"])
def test_batch_norm_keeps_every_bit(dtype: str, attrs: str) -> None:
    program = function(
        "fn (%x: [3, 3, 2], %g: [3], %b: [3], %m: [3], %v: [3]) "
        f"{{ %0 = batch_norm(%x, %g, %b, %m, %v{attrs}); %0.0 }}",
        dtype,
    )
    arrays = {
        var: abs(array) if var.name_hint == "v" else array for var, array in arrays_for(program).items()
    }
    found = SimplifyInference()(program)
    assert "batch_norm" not in str(found)
    for one, other in zip(run(program, arrays), run(found, arrays), strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_layer_with_batch_norm_has_the_scale_in_its_weights() -> None:
    data = x()
    rng = np.random.default_rng(0)
    parts = [ir.const(rng.uniform(0.5, 2, 5).astype(np.float32)) for _ in range(4)]
    made = ops.relu(ops.batch_norm(conv(data, weights()), *parts)[0])
    program = ir.Function((data,), made)
    simpler = Sequential([SimplifyInference(), FoldConstant()])(ir.IRModule.from_expr(program))["main"]
    assert multiplications(simpler) == 1
    folds(FoldScaleAxis(), simpler)


@pytest.mark.parametrize("between", [None, ops.relu, ops.max_pool2d])
def test_factors_of_elements_are_not_joined(between: Callable[[ir.Expr], ir.Expr] | None) -> None:
    """(x * 1e30) * 1e-30 is infinite where x is 1e20; as x * 1.0 it would not be."""
    data = x()
    first = ops.multiply(data, ir.const(np.float32(1e30)))
    made = first if between is None else between(first)
    program = InferType()(ir.Function((data,), ops.multiply(made, ir.const(np.float32(1e-30)))))
    for made in (BackwardFoldScaleAxis(), ForwardFoldScaleAxis(), FoldScaleAxis()):
        stays(made, program)
