"""ConvertLayout and AlterOpLayout: whole outputs, what must stay, and equal values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops, te
from opgen_runtime.base.errors import OpgenError, PassError
from opgen_runtime.declaration import StrategyEntry
from opgen_runtime.lower.library.schedules import generic
from opgen_runtime.lower.library.strategy import OpStrategy
from opgen_runtime.operator.registry import Op
from opgen_runtime.operator.types import TensorType
from opgen_runtime.transform import AlterOpLayout, ConvertLayout, Pass, PassContext, VerifyIR
from tests.transform.whole import arrays_for, function, gives, run

NHWC = {"conv2d": "NHWC"}
LAID = 'data_layout="NHWC", kernel_layout="HWIO"'

WHOLE = (
    "fn (%x: [1, 4, 6, 6], %w: [8, 4, 3, 3]) { %0 = conv2d(%x, %w); relu(%0) }",
    "fn (%x: [1, 4, 6, 6], %w: [8, 4, 3, 3]) { "
    '%0 = layout_transform(%x, src_layout="NCHW", dst_layout="NHWC"); '
    '%1 = layout_transform(%w, src_layout="OIHW", dst_layout="HWIO"); '
    f"%2 = conv2d(%0, %1, {LAID}); %3 = relu(%2); "
    'layout_transform(%3, src_layout="NHWC", dst_layout="NCHW") }',
)


def test_a_convolution_whole() -> None:
    gives(ConvertLayout(NHWC), *WHOLE)


def transforms(made: Pass, program: ir.Function, count: int) -> ir.Function:
    """`made` leaves so many changes of layout, and every bit."""
    with PassContext(instruments=[VerifyIR()]):
        found = made(program)
    assert str(found).count("layout_transform") == count, str(found)
    arrays = arrays_for(program)
    for one, other in zip(run(program, arrays), run(found, arrays), strict=True):
        np.testing.assert_array_equal(one, other)
    return found


def x(*shape: int) -> ir.Var:
    return ir.var("x", shape=shape or (1, 4, 6, 6))


def conv(data: ir.Expr, out: int = 4, **attrs: object) -> ir.Expr:
    weight = np.random.default_rng(0).uniform(-1, 1, (out, 4, 3, 3)).astype(np.float32)
    return ops.conv2d(data, ir.const(weight), padding=(1, 1), **attrs)  # type: ignore[arg-type]


def test_what_lies_between_convolutions_keeps_the_layout() -> None:
    data = x()
    bias = ir.const(np.arange(4, dtype=np.float32).reshape(4, 1, 1))
    first = ops.relu(ops.add(conv(data), bias))
    pooled = ops.max_pool2d(first, pool_size=(2, 2))
    second = ops.multiply(conv(ops.tanh(pooled)), 0.5)
    program = ir.Function((data,), ops.add(second, pooled))
    # the data once, two weights, the result
    transforms(ConvertLayout(NHWC), program, 4)


def test_a_value_that_is_needed_as_it_was() -> None:
    data = x()
    made = conv(data)
    program = ir.Function((data,), ir.Tuple((ops.softmax(made, axis=1), ops.relu(made))))
    transforms(ConvertLayout(NHWC), program, 4)


def test_vectors_that_are_computed() -> None:
    data, bias = x(), ir.var("b", shape=(4, 1, 1))
    program = ir.Function((data, bias), ops.add(conv(data), bias))
    transforms(ConvertLayout(NHWC), program, 4)


def test_places_that_matter_stay() -> None:
    """An elementwise op that looks at the place."""
    data = x()
    program = ir.Function((data,), ops.axis_abs(conv(data), axis=1, indice=1))
    transforms(ConvertLayout(NHWC), program, 3)


def test_biases_keep_the_layout() -> None:
    """They broadcast along an axis that an attr names."""
    data, given = x(), ir.var("b", shape=(4,))
    for bias, params in ((ir.const(np.arange(4, dtype=np.float32)), ()), (given, (given,))):
        first = ops.relu(ops.bias_add(conv(data), bias))
        second = ops.bias_add(conv(ops.max_pool2d(first, pool_size=(2, 2))), bias)
        # the data, two weights, the result
        transforms(ConvertLayout(NHWC), ir.Function((data, *params), second), 4)
    data = x(1, 4, 4, 4)
    along_rows = ops.bias_add(conv(data), ir.const(np.arange(4, dtype=np.float32)), axis=2)
    transforms(ConvertLayout(NHWC), ir.Function((data,), along_rows), 3)


def test_ops_that_name_axes_keep_the_layout() -> None:
    data = x()
    made, weights = conv(data), 2  # the data and a weight
    parts = ops.split(ops.tanh(made), indices_or_sections=2, axis=1)
    channel = [ir.const(np.linspace(0.5, 2, 4, dtype=np.float32)) for _ in range(4)]
    cases: tuple[tuple[ir.Expr, int], ...] = (
        (ops.concatenate([ops.relu(made), made], axis=1), weights + 1),
        (ops.relu(ops.batch_norm(made, *channel)[0]), weights + 1),
        (ops.add(ops.relu(parts[0]), parts[1]), weights + 1),
        (ops.mean(made, axis=(2, 3)), weights),
        (ops.batch_flatten(ops.global_avg_pool2d(made)), weights),
        (ops.transpose(made, axes=(0, 2, 3, 1)), weights),
        (ops.concatenate([made, data, ops.abs(data)], axis=1), weights + 1),  # more would move than stays
        (
            ops.strided_slice(made, begin=(0,), end=(2,), axes=(1,)),
            weights + 1,
        ),  # its elements stand where they stood
    )
    for body, count in cases:
        transforms(ConvertLayout(NHWC), ir.Function((data,), body), count)


def test_a_value_of_several_results_as_it_was() -> None:
    data = x()
    body = ops.split(conv(data), indices_or_sections=2, axis=1)
    transforms(ConvertLayout(NHWC), ir.Function((data,), body), 4)


def test_blocked_layouts() -> None:
    data = x()
    program = ir.Function((data,), ops.relu(conv(data, data_layout="NCHW")))
    transforms(ConvertLayout({"conv2d": "NCHW4c"}), program, 2)
    pooled = ops.relu(ops.max_pool2d(conv(data), pool_size=(2, 2)))  # height and width stay where they are
    transforms(ConvertLayout({"conv2d": "NCHW4c"}), ir.Function((data,), pooled), 2)
    odd = ir.Function((data,), ops.relu(conv(data, out=6)))
    assert ConvertLayout({"conv2d": "NCHW4c"})(odd) is odd  # 4 does not divide 6


BLOCKED = {"conv2d": ["NCHW4c", "OIHW4i4o"]}


@pytest.mark.parametrize("shape", [(8, 1, 1), (1,), (6, 6), (1, 8, 1, 6), (1, 1, 6, 1)])
def test_what_broadcasts_goes_beside_blocks(shape: tuple[int, ...]) -> None:
    """As a constant, which is stored anew, and as a parameter; through a pool, to a second convolution."""
    data = x()
    bias = ir.var("bias", shape=shape)
    weight = np.random.default_rng(1).uniform(-1, 1, (4, 8, 1, 1)).astype(np.float32)
    values = np.random.default_rng(2).uniform(-1, 1, shape).astype(np.float32)
    for beside, moved in ((ir.const(values), 0), (bias, 1 if shape in ((8, 1, 1), (1, 8, 1, 6)) else 0)):
        params = (data, bias) if beside is bias else (data,)
        added = ops.relu(ops.add(conv(data, out=8), beside))
        program = ir.Function(params, ops.conv2d(ops.max_pool2d(added, pool_size=(2, 2)), ir.const(weight)))
        transforms(ConvertLayout(BLOCKED), program, 4 + moved)


def test_a_bias_beside_blocks_whole() -> None:
    program = "fn (%x: [1, 4, 6, 6], %w: [8, 4, 1, 1], %b: [8, 1, 1]) { add(conv2d(%x, %w), %b) }"
    gives(
        ConvertLayout(BLOCKED),
        program,
        "fn (%x: [1, 4, 6, 6], %w: [8, 4, 1, 1], %b: [8, 1, 1]) { "
        '%0 = layout_transform(%x, src_layout="NCHW", dst_layout="NCHW4c"); '
        '%1 = layout_transform(%w, src_layout="OIHW", dst_layout="OIHW4i4o"); '
        '%2 = conv2d(%0, %1, data_layout="NCHW4c", kernel_layout="OIHW4i4o"); '
        "%3 = reshape(%b, newshape=[1, 8, 1, 1]); "
        '%4 = layout_transform(%3, src_layout="NCHW", dst_layout="NCHW4c"); %5 = add(%2, %4); '
        'layout_transform(%5, src_layout="NCHW4c", dst_layout="NCHW") }',
    )


def test_what_has_the_layout_stays() -> None:
    gives(ConvertLayout(NHWC), f"fn (%x: [1, 6, 6, 4], %w: [3, 3, 4, 8]) {{ conv2d(%x, %w, {LAID}) }}")
    gives(ConvertLayout(), "fn (%x: [1, 4, 6, 6], %w: [8, 4, 3, 3]) { conv2d(%x, %w) }")
    gives(ConvertLayout({"max_pool2d": "NHWC"}), "fn (%x: [1, 4, 6, 6], %w: [8, 4, 3, 3]) { conv2d(%x, %w) }")


def test_weights_may_be_given_a_layout() -> None:
    data = x()
    found = transforms(ConvertLayout({"conv2d": ["NHWC", "OHWI"]}), ir.Function((data,), conv(data)), 3)
    assert 'kernel_layout="OHWI"' in str(found)


@pytest.mark.parametrize(
    ("layouts", "message"),
    [
        ({"relu": "NHWC"}, "op relu has no operand with a layout"),
        ({"conv2d": "NHWX"}, "conv2d: layout 'NHWX' does not have the axes of NCHW"),
        (
            {"conv2d": 3},
            "the layouts of conv2d are 3, expected a layout or a list of data_layout and kernel_layout",
        ),
        ({"conv2dd": "NHWC"}, "conv2dd"),
    ],
)
def test_wrong_layouts(layouts: dict[str, object], message: str) -> None:
    data = x()
    with pytest.raises(OpgenError, match=message):
        ConvertLayout(layouts)(ir.Function((data,), conv(data)))
    with pytest.raises(PassError, match="option 'layouts' takes dict, found 'NHWC' of str"):
        ConvertLayout("NHWC")


def by_rows(attrs: object, inputs: list[te.Tensor], out_type: TensorType) -> OpStrategy:
    """A strategy of convolutions: channels last where there is one image, as it is otherwise."""
    found = OpStrategy().add_default(generic, "plain")
    with found.under(lambda N: N == 1, "N == 1"):
        found.add_implementation(None, generic, "rows", layouts={"data_layout": "NHWC"})
    return found


@pytest.fixture
def asking() -> Iterator[Op]:
    """While a test runs, conv2d has that strategy."""
    op = Op.get("conv2d")
    op.set_attr("strategy", by_rows, plevel=20)
    yield op
    op.reset_attr("strategy", plevel=20)


@pytest.mark.usefixtures("asking")
def test_a_strategy_asks_for_its_layout() -> None:
    gives(AlterOpLayout(), *WHOLE)
    gives(AlterOpLayout(), "fn (%x: [2, 4, 6, 6], %w: [8, 4, 3, 3]) { conv2d(%x, %w) }")
    gives(AlterOpLayout(), f"fn (%x: [1, 6, 6, 4], %w: [3, 3, 4, 8]) {{ conv2d(%x, %w, {LAID}) }}")


def test_a_declaration_asks_for_its_layout() -> None:
    op = Op.get("conv2d")
    asking = StrategyEntry("rows", schedule="generic", when=lambda N: N == 1, layouts={"data_layout": "NHWC"})
    op.set_attr("strategy", (StrategyEntry("plain", schedule="generic", plevel=5), asking), plevel=20)
    try:
        gives(AlterOpLayout(), *WHOLE)
        gives(AlterOpLayout(), "fn (%x: [2, 4, 6, 6], %w: [8, 4, 3, 3]) { conv2d(%x, %w) }")
    finally:
        op.reset_attr("strategy", plevel=20)


@pytest.mark.usefixtures("asking")
def test_builds_ask_strategies_from_level_3_on() -> None:
    data = x()
    program = ir.Function((data,), ops.relu(conv(ops.relu(conv(data)))))
    (array,) = arrays_for(program).values()
    wanted = rt.build(program, opt_level=2).run([array])
    executable = rt.build(program, opt_level=3)
    assert sum(["layout_transform" in name for name in executable.kernels]) == 2
    np.testing.assert_allclose(executable.run([array]), wanted, rtol=1e-5, atol=1e-6)


POINTWISE = "fn (%x: [1, 1024, 7, 7], %w: [1024, 1024, 1, 1]) { relu(conv2d(%x, %w)) }"


def test_a_built_in_declaration_asks_for_blocks() -> None:
    wide = PassContext(opt_level=3).for_target("llvm -mcpu=x86-64-v4")
    found = AlterOpLayout()(function(POINTWISE), wide)
    assert ir.structural_equal(
        found,
        function(
            "fn (%x: [1, 1024, 7, 7], %w: [1024, 1024, 1, 1]) { "
            '%0 = layout_transform(%x, src_layout="NCHW", dst_layout="NCHW32c"); '
            '%1 = layout_transform(%w, src_layout="OIHW", dst_layout="OIHW32i32o"); '
            '%2 = relu(conv2d(%0, %1, data_layout="NCHW32c", kernel_layout="OIHW32i32o")); '
            'layout_transform(%2, src_layout="NCHW32c", dst_layout="NCHW") }'
        ),
    )
    for other in (
        POINTWISE.replace("7, 7", "9, 9"),
        POINTWISE.replace("x: [1,", "x: [2,"),
        POINTWISE.replace("x: [1,", "x: [n,"),
        POINTWISE.replace("%w: [1024, 1024, 1, 1]", "%w: [512, 1024, 1, 1]"),
        POINTWISE.replace("%w: [1024, 1024, 1, 1]", "%w: [1024, 1024, 3, 3]"),
        POINTWISE.replace("%x, %w", "%x, %w, strides=[2, 2]"),
    ):
        assert "layout_transform" not in str(AlterOpLayout()(function(other), wide)), other
    narrow = PassContext(opt_level=3).for_target("llvm -mcpu=x86-64-v3")
    assert AlterOpLayout()(function(POINTWISE), narrow).body.op.name == "relu"  # type: ignore[union-attr]
    assert "layout_transform" not in str(AlterOpLayout()(function(POINTWISE), narrow))


def test_builds_of_what_asks_for_blocks() -> None:
    """A bottleneck of two pointwise convolutions, with biases and what goes around them."""
    rng = np.random.default_rng(0)
    data = x(1, 2048, 7, 7)
    value: ir.Expr = data
    for channels, out in ((2048, 512), (512, 2048)):
        weight = rng.uniform(-0.1, 0.1, (out, channels, 1, 1)).astype(np.float32)
        bias = rng.uniform(-1, 1, (out, 1, 1)).astype(np.float32)
        value = ops.relu(ops.add(ops.conv2d(value, ir.const(weight)), ir.const(bias)))
    program = ir.Function((data,), ops.add(value, data))
    (array,) = arrays_for(program).values()
    wanted = rt.build(program, opt_level=2).run([array])
    executable = rt.build(program, opt_level=3)
    asked = rt.Target("llvm").has("avx512f")
    assert sum(["layout_transform" in name for name in executable.kernels]) == (2 if asked else 0)
    np.testing.assert_allclose(executable.run([array]), wanted, rtol=1e-4, atol=1e-4)


def test_the_target_of_the_build_is_asked() -> None:
    """The implementation of a key that this machine does not have, but the target of the build."""
    op = Op.get("conv2d")

    def of_apart(attrs: object, inputs: list[te.Tensor], out_type: TensorType) -> OpStrategy:
        found = OpStrategy().add_default(generic, "plain")
        with found.under(lambda target: "apart" in target.keys, "apart"):
            found.add_implementation(None, generic, "apart", layouts={"data_layout": "NHWC"})
        return found

    op.set_attr("strategy", of_apart, plevel=20)
    data = x()
    program = ir.Function((data,), ops.relu(conv(data)))
    try:
        assert "layout_transform" not in str(AlterOpLayout()(program))
        other = PassContext(opt_level=3).for_target("llvm -keys=apart")
        assert str(AlterOpLayout()(program, other)).count("layout_transform") == 3
        kernels = {
            keys: rt.build(program, target=f"llvm -keys={keys}", opt_level=3).kernels
            for keys in ("", "apart")
        }
        asked = {keys: any("layout_transform" in name for name in names) for keys, names in kernels.items()}
        assert asked == {"": False, "apart": True}
    finally:
        op.reset_attr("strategy", plevel=20)


@pytest.mark.parametrize(
    ("layouts", "message"),
    [
        ({"layout": "NHWC"}, "op conv2d has no layout 'layout'; it has data_layout and kernel_layout"),
        ({"data_layout": "NHWX"}, "conv2d: layout 'NHWX' does not have the axes of NCHW"),
    ],
)
def test_what_a_strategy_asks_for_is_checked(asking: Op, layouts: dict[str, str], message: str) -> None:
    wrong = OpStrategy().add_implementation(None, generic, "wrong", layouts=layouts)
    asking.set_attr("strategy", wrong, plevel=30)
    data = x()
    try:
        with pytest.raises(PassError, match=message):
            AlterOpLayout()(ir.Function((data,), conv(data)))
    finally:
        asking.reset_attr("strategy", plevel=30)


def test_without_a_question_nothing_changes() -> None:
    gives(AlterOpLayout(), "fn (%x: [1, 4, 6, 6], %w: [8, 4, 3, 3]) { conv2d(%x, %w) }")
