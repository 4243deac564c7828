"""Passes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import opgen_runtime as rt
from opgen_runtime import ops

from .graphs import layer, runs_as_layer
from .programs import F32, near, numbers, program


@program("relay.transform.FoldConstant()(mod)")
def folded_constants() -> None:
    x = rt.var("x", shape=(2,))
    body = ops.add(x, ops.exp(rt.const(np.zeros(2, F32))))
    folded = rt.transform.FoldConstant()(rt.IRModule.from_expr(body))
    assert "exp" not in str(folded)


@program("tvm.transform.Sequential([...])")
def passes_in_sequence() -> None:
    passes = rt.Sequential(
        [rt.transform.InferType(), rt.transform.SimplifyInference(), rt.transform.FuseOps()]
    )
    with rt.PassContext(opt_level=3):
        assert "Primitive" in str(passes(rt.IRModule.from_expr(layer()[0])))


@program("tvm.transform.PassContext(opt_level=3, disabled_pass=[...], required_pass=[...])")
def pass_context() -> None:
    with rt.PassContext(opt_level=3, disabled=["CombineParallelDense"], required=["FastMath"]) as context:
        assert rt.PassContext.current() is context
        assert context.opt_level == 3


@program("@relay.transform.function_pass(opt_level=1)")
def pass_of_ones_own() -> None:
    @rt.transform.function_pass(name="FromTvm.Same", opt_level=1)
    def same(function: rt.Function, module: rt.IRModule, context: rt.PassContext) -> rt.Function:
        return function

    module = rt.IRModule.from_expr(layer()[0])
    assert rt.structural_equal(same()(module)["main"], module["main"])


@program("tvm.instrument.PassTimingInstrument")
def instruments() -> None:
    timing = rt.transform.PassTiming()
    with rt.PassContext(instruments=[timing]):
        rt.build(layer()[0])
    assert "FuseOps" in timing.text()


@program("relay.transform.ConvertLayout({'nn.conv2d': ['NHWC', 'default']})")
def converted_layout() -> None:
    x, w = rt.var("x", shape=(1, 2, 5, 5)), rt.var("w", shape=(3, 2, 3, 3))
    y = ops.conv2d(x, w, channels=3, kernel_size=(3, 3))
    module = rt.transform.InferType()(rt.IRModule.from_expr(y))
    assert "NHWC" in str(rt.transform.ConvertLayout(layouts={"conv2d": "NHWC"})(module))


@program("tvm.ir.structural_hash")
def hashes() -> None:
    assert rt.structural_hash(layer()[0]) == rt.structural_hash(layer()[0])


@program("mod = relay.transform.ToMixedPrecision('float16')(mod), which may change the function's type")
def mixed_precision() -> None:
    mixed = rt.transform.ToMixedPrecision("float16")(layer()[0])
    assert "float16" in str(mixed)
    assert mixed.checked_type == layer()[0].checked_type
    runs_as_layer_in_halves = rt.build(mixed, params=layer()[1]).run([numbers(2, 4)])
    np.testing.assert_allclose(
        runs_as_layer_in_halves, rt.build(layer()[0], params=layer()[1]).run([numbers(2, 4)]), atol=1e-2
    )


@program(
    "is_op('nn.relu')(is_op('nn.dense')(wildcard(), wildcard())); relay.ext.mylib gives a runtime.Module"
)
def external_codegen() -> None:
    def by_numpy(function: rt.Function) -> Callable[..., np.ndarray]:
        assert function.attrs["Compiler"] == "from_tvm"
        return lambda x, w: np.maximum(x @ w.T, 0)

    rt.register_func("ext.from_tvm", by_numpy, override=True)
    passes = [
        rt.transform.MergeComposite((("from_tvm.dense_relu", "relu(dense(?x, ?w))"),)),
        rt.transform.AnnotateTarget(("from_tvm",)),
        rt.transform.MergeCompilerRegions(),
        rt.transform.PartitionGraph(),
    ]
    module = rt.Sequential(passes)(rt.IRModule.from_expr(layer()[0]))
    assert [var.name for var in module] == ["main", "from_tvm_main_0"]
    runs_as_layer(lambda x: rt.build(module).run([x, layer()[1]["w"]]))


@program("relay.transform.LambdaLift()(mod)")
def lifted_functions() -> None:
    x, y = rt.var("x", shape=(2,)), rt.var("y", shape=(2,))
    module = rt.IRModule.from_expr(rt.Function((x,), rt.Function((y,), ops.add(y, x))(ops.exp(x))))
    lifted = rt.transform.LambdaLift()(module)
    assert [var.name for var in lifted] == ["main", "lambda_lifted_0"]
    near(rt.build(lifted).run([numbers(2)]), np.exp(numbers(2)) + numbers(2))


@program("relay.transform.ToBasicBlockNormalForm(); relay.analysis.check_basic_block_normal_form")
def basic_blocks() -> None:
    x, c = rt.var("x", shape=(2,)), rt.var("c", rt.TensorType((), "bool"))
    y = ops.exp(x)
    function = rt.transform.infer_type(rt.Function((x, c), rt.If(c, ops.negative(y), y)))
    assert not rt.transform.check_basic_block_normal_form(function)
    assert "let" in str(rt.transform.ToBasicBlockNormalForm()(function))


@program("relay.transform.FirstOrderGradient()(mod)")
def first_order_gradient() -> None:
    x = rt.var("x", shape=(3,))
    module = rt.IRModule.from_expr(rt.Function((x,), ops.sum(ops.square(x))))
    value, (slope,) = rt.build(rt.transform.FirstOrderGradient()(module)).run([numbers(3)])
    near(value, (numbers(3) ** 2).sum())
    near(slope, 2 * numbers(3))


@program("relay.optimize(mod, target, params)")
def optimized_module() -> None:
    function, params = layer()
    assert "Primitive=1" in str(rt.optimize(function, params, "llvm"))


@program("relay.transform.FoldExplicitPadding()(mod)")
def explicit_padding() -> None:
    x, w = rt.var("x", shape=(1, 2, 5, 5)), rt.var("w", shape=(3, 2, 3, 3))
    padded = ops.conv2d(ops.pad(x, pad_width=(0, 0, 0, 0, 1, 1, 1, 1)), w)
    function = rt.transform.FoldExplicitPadding()(rt.transform.infer_type(rt.Function((x, w), padded)))
    assert rt.structural_equal(function.body, ops.conv2d(x, w, padding=(1, 1, 1, 1)), map_free_vars=True)
