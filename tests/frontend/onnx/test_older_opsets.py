"""Operators as older opsets have them, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from opgen_runtime.frontend.onnx import prepare  # noqa: E402

RANDOM = np.random.default_rng(7)


def f32(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


A = f32(2, 3, 4)
IMAGE = f32(1, 2, 5, 6)
INT64 = np.int64


def case(
    operator: str,
    opset: int,
    *inputs: Any,
    outputs: int = 1,
    constants: tuple[int, ...] = (),
    **attributes: Any,
) -> Any:
    """A node: inputs by position, `constants` says which are initializers."""
    return pytest.param(
        operator, opset, inputs, outputs, constants, attributes, id=f"{operator}-{opset}-{len(attributes)}"
    )


CASES = [
    case("Softmax", 7, A, axis=1),
    case("Softmax", 11, A),
    case("Softmax", 13, A, axis=1),
    case("LogSoftmax", 9, A, axis=2),
    case("Hardmax", 11, A, axis=1),
    case("Hardmax", 13, A),
    case("Clip", 6 + 1, A, min=-0.5, max=0.25),
    case("Clip", 10, A, max=0.25),
    case("Clip", 11, A, np.float32(-0.5)),
    case("Slice", 7, A, starts=[1, -3], ends=[2, 9], axes=[1, 2]),
    case("Slice", 9, A, starts=[0], ends=[-1]),
    case("Slice", 10, A, np.array([3], INT64), np.array([-9], INT64), np.array([2], INT64), np.array([-2], INT64)),
    case("Pad", 7, A, pads=[0, 1, 0, 1, 0, 2], value=3.0),
    case("Pad", 10, A, pads=[0, 1, 0, 1, 0, 2], mode="edge"),
    case("Pad", 11, A, np.array([0, 1, -1, 1, 0, 2], INT64), np.float32(1.5)),
    case("Pad", 13, A, np.array([0, 1, 2, 0, 2, 3], INT64), mode="reflect"),
    case("Squeeze", 11, A[:, :1], axes=[1]),
    case("Squeeze", 13, A[:, :1], np.array([-2], INT64)),
    case("Unsqueeze", 11, A, axes=[0, 4]),
    case("Unsqueeze", 13, A, np.array([-1, 1], INT64)),
    case("Split", 7, A, outputs=2, axis=2, split=[1, 3]),
    case("Split", 11, A, outputs=3, axis=1),
    case("Split", 13, A, np.array([1, 3], INT64), outputs=2, axis=2),
    case("Split", 18, A, outputs=2, axis=1, num_outputs=2),
    case("ReduceSum", 11, A, axes=[0, 2], keepdims=0),
    case("ReduceSum", 13, A, np.array([1], INT64)),
    case("ReduceSum", 13, A, noop_with_empty_axes=1),
    case("ReduceMean", 11, A, axes=[-1]),
    case("ReduceMean", 18, A, np.array([0, 1], INT64), keepdims=0),
    case("ReduceMax", 11, A),
    case("ReduceLogSumExp", 11, A, axes=[1]),
    case("ReduceL2", 13, A, axes=[1], keepdims=0),
    case("ReduceProd", 13, A, axes=[1]),
    case("ArgMax", 7, A, axis=1, keepdims=0),
    case("ArgMin", 12, A, axis=2, select_last_index=1),
    case("Cast", 9, A * 3, to=int(TensorProto.INT32)),
    case("Dropout", 7, A, ratio=0.3),
    case("Dropout", 10, A),
    case("Dropout", 12, A, outputs=2),
    case("BatchNormalization", 7, IMAGE, *[np.array(v, np.float32) for v in ([1, 2], [0, 1], [0.1, 0.2], [0.5, 2])]),
    case("BatchNormalization", 9, IMAGE, *[np.array(v, np.float32) for v in ([1, 2], [0, 1], [0.1, 0.2], [0.5, 2])]),
    case("BatchNormalization", 15, IMAGE, *[np.array(v, np.float32) for v in ([1, 2], [0, 1], [0.1, 0.2], [0.5, 2])]),
    case("Upsample", 7, IMAGE, scales=[1.0, 1.0, 2.0, 3.0]),
    case("Upsample", 9, IMAGE, np.array([1, 1, 2, 2], np.float32), constants=(1,), mode="linear"),
    case("Resize", 10, IMAGE, np.array([1, 1, 0.6, 2], np.float32), constants=(1,)),
    case("Resize", 11, IMAGE, np.zeros(0, np.float32), np.array([1, 1, 2, 2], np.float32), constants=(1, 2),
         mode="cubic"),
    case("Resize", 13, IMAGE, np.zeros(0, np.float32), np.array([1, 1, 3, 2], np.float32), constants=(1, 2),
         mode="linear", coordinate_transformation_mode="align_corners"),
    *[
        case("Resize", 13, IMAGE, np.zeros(0, np.float32), np.array([1, 1, *by], np.float32), constants=(1, 2),
             mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode=rounding)
        for by, rounding in (((2, 3), "floor"), ((0.5, 1), "ceil"), ((0.5, 2), "floor"))
    ],
    case("TopK", 7, A, outputs=2, k=2, axis=1),
    case("TopK", 10, A, np.array([3], INT64), outputs=2),
    case("TopK", 11, A, np.array([2], INT64), outputs=2, axis=0, largest=0),
    case("MaxPool", 7, IMAGE, kernel_shape=[2, 3], strides=[2, 2], auto_pad="SAME_UPPER"),
    case("MaxPool", 8, IMAGE, outputs=2, kernel_shape=[2, 2], pads=[1, 0, 0, 1]),
    case("MaxPool", 12, IMAGE, outputs=2, kernel_shape=[2, 2], dilations=[2, 1], storage_order=1),
    case("MaxPool", 12, IMAGE, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    case("AveragePool", 7, IMAGE, kernel_shape=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1),
    case("AveragePool", 10, IMAGE, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    case("AveragePool", 11, IMAGE, kernel_shape=[3, 2], auto_pad="SAME_LOWER"),
    case("LpPool", 11, IMAGE, kernel_shape=[2, 2], p=3),
    case("GlobalLpPool", 7, IMAGE, p=2),
    case("GlobalMaxPool", 7, IMAGE[:, :, 0]),
    case("LRN", 7, IMAGE, size=3, alpha=0.1),
    case("InstanceNormalization", 7, IMAGE, np.array([1, 2], np.float32), np.array([0, 1], np.float32)),
    case("LpNormalization", 7, A, axis=1, p=1),
    case("MeanVarianceNormalization", 9, IMAGE),
    case("Mean", 8, A, A[:1], A[:, :, :1]),
    case("Sum", 8, A, A[:1]),
    case("Max", 8, A, A[:1], A[:, :, :1]),
    case("Gemm", 7, A[0], A[1].T.copy(), np.ones((1, 3), np.float32), alpha=0.5, beta=2.0),
    case("Gemm", 11, A[0], A[1], transB=1),
    case("MatMul", 7, A, A[0].T.copy()),
    case("MatMul", 9, A[0, 0], A[0].T.copy()),
    case("Gather", 7, A, np.array([[0, 2]], INT64), axis=1),
    case("Gather", 11, A, np.array([-1, 0], np.int32), axis=2),
    case("Scatter", 9, A, np.zeros((1, 3, 4), INT64), A[:1], axis=0),
    case("ScatterElements", 11, A, np.array([[[1, -1]]], INT64), A[:1, :1, :2], axis=2),
    case("OneHot", 9, np.array([0, 2, -1], INT64), np.array(4, INT64), np.array([0, 5], np.float32), constants=(1,)),
    case("CumSum", 11, A, np.array(1, INT64), reverse=1),
    case("Expand", 8, A[:, :1], np.array([2, 3, 4], INT64)),
    case("Tile", 7, A, np.array([1, 2, 3], INT64)),
    case("Reshape", 7, A, np.array([0, -1], INT64)),
    case("Flatten", 7, A, axis=2),
    case("Flatten", 11, A, axis=-1),
    case("ConstantOfShape", 9, np.array([2, 3], INT64)),
    case("EyeLike", 9, A[0], k=1),
    case("Shape", 7, A),
    case("Shape", 15, A, start=1, end=-1),
    case("Range", 11, np.array(1.0, np.float32), np.array(4.5, np.float32), np.array(1.5, np.float32)),
    case("Mod", 10, np.array([5, -5, 7], np.int32), np.array([3, 3, -4], np.int32)),
    case("Mod", 13, A, A[::-1].copy(), fmod=1),
    case("Pow", 7, np.abs(A), A[:1]),
    case("Pow", 12, np.array([2, 3], np.int32), np.array([3, 2], np.int32)),
    case("Pow", 13, np.array([2.0, 3.0], np.float32), np.array([-2, 2], INT64)),
    case("PRelu", 7, A, A[0, 0]),
    case("Where", 9, A > 0, A, -A),
    case("IsInf", 10, np.array([np.inf, -np.inf, 1], np.float32), detect_negative=0),
    case("Elu", 7, A, alpha=0.5),
    case("MaxRoiPool", 7, IMAGE, np.array([[0, 0, 0, 4, 3], [0, 2, 1, 9, 9]], np.float32), pooled_shape=[2, 3]),
    case("MaxRoiPool", 7, IMAGE, np.array([[0, 1, 1, 8, 8]], np.float32), pooled_shape=[3, 2], spatial_scale=0.5),
    case("RoiAlign", 10, IMAGE, np.array([[0, 0, 4, 3], [1, 1, 5, 4]], np.float32), np.array([0, 0]), output_height=2,
         output_width=2),
    case("RoiAlign", 16, IMAGE, np.array([[0, 0, 4, 3], [1, 1, 5, 4]], np.float32), np.array([0, 0]), output_height=2,
         output_width=3, sampling_ratio=2),
    case("GridSample", 16, IMAGE, RANDOM.uniform(-1.3, 1.3, (1, 3, 4, 2)).astype(np.float32), mode="bicubic",
         padding_mode="reflection"),
    case("Einsum", 12, A, A, equation="bij,bkj->bik"),
    case("Trilu", 14, A, np.array(1, INT64)),
    case("LayerNormalization", 17, A, f32(4), f32(4), outputs=1),
    case("LayerNormalization", 17, A, f32(3, 4), axis=1),
    case("DFT", 17, A.reshape(2, 12, 1), axis=1, onesided=1),
    case("Unique", 11, np.array([3, 1, 1, 2], np.float32), outputs=4),
    case("ScatterND", 11, A, np.array([[0, 1], [1, 2]], INT64), A[0, :2]),
    case("GatherElements", 11, A, np.array([[[0, -1]]], INT64), axis=2),
    case("GatherND", 12, A, np.array([[1], [0]], INT64), batch_dims=1),
    case("Celu", 12, A, alpha=0.7),
    case("HardSwish", 14, A),
    case("Softsign", 7, A),
    case("BitShift", 11, np.array([1, 2, 4], np.uint8), np.array([1, 2, 3], np.uint8), direction="LEFT"),
    case("Det", 11, A[:, :3, :3]),
    case("Mish", 18, A),
    case("GroupNormalization", 18, IMAGE, f32(2), f32(2), num_groups=2),
    case("Gelu", 20, A, approximate="tanh"),
    case("ConvInteger", 10, *[RANDOM.integers(0, 9, (1, 2, 4, 4)).astype(np.uint8)] * 2, np.uint8(3), np.uint8(2)),
    case("DynamicQuantizeLinear", 11, A, outputs=3),
    case("QuantizeLinear", 13, A, np.array([0.1, 0.2, 0.3], np.float32), np.array([1, 2, 3], np.int8), axis=1),
    case("NonMaxSuppression", 10, RANDOM.uniform(0, 1, (1, 9, 4)).astype(np.float32), np.abs(f32(1, 2, 9)),
         np.array([4]), np.array([0.2], np.float32), np.array([0.1], np.float32)),
    case("ThresholdedRelu", 10, A, alpha=0.3),
    case("Shrink", 9, A, lambd=0.4, bias=0.1),
    case("ConvTranspose", 7, IMAGE, f32(2, 3, 3, 2), strides=[2, 2],
         output_padding=[1, 0]),
    case("ConvTranspose", 11, IMAGE, f32(2, 3, 3, 2), strides=[2, 2],
         output_shape=[10, 12]),
    case("Conv", 7, IMAGE, f32(4, 1, 3, 2), group=2, auto_pad="SAME_UPPER",
         strides=[2, 1]),
    case("Conv", 11, IMAGE[:, :, 0], f32(4, 2, 3), dilations=[2]),
    case("DepthToSpace", 11, f32(1, 8, 2, 3), blocksize=2, mode="CRD"),
    case("SpaceToDepth", 7, f32(1, 2, 4, 6), blocksize=2),
    case("NonZero", 9, np.round(A)),
    case("Compress", 9, A, np.array([True, False, True]), axis=1),
    case("ReverseSequence", 10, A[0].T.copy(), np.array([1, 3, 2], INT64)),
    case("QuantizeLinear", 10, A, np.float32(0.1), np.uint8(128)),
    case("DequantizeLinear", 10, np.array([1, 200], np.uint8), np.float32(0.1), np.uint8(128)),
    case("QLinearMatMul", 10, *[RANDOM.integers(0, 255, (3, 3)).astype(np.uint8), np.float32(0.1), np.uint8(9)] * 2,
         np.float32(9.0), np.uint8(7)),
    case("RNN", 7, A, f32(1, 5, 4), f32(1, 5, 5),
         outputs=2, hidden_size=5),
    case("GRU", 7, A, f32(2, 15, 4), f32(2, 15, 5),
         outputs=2, hidden_size=5, direction="bidirectional"),
    case("GRU", 14, A, f32(1, 15, 4), f32(1, 15, 5),
         f32(1, 30), np.array([2, 1, 2], np.int32), outputs=2, hidden_size=5,
         linear_before_reset=1),
    case("LSTM", 7, A, f32(2, 20, 4), f32(2, 20, 5),
         f32(2, 40), np.array([2, 1, 2], np.int32), outputs=3, hidden_size=5,
         direction="bidirectional"),
    case("LSTM", 14, A, f32(1, 20, 4), f32(1, 20, 5),
         outputs=3, hidden_size=5, direction="reverse", clip=0.5, activations=["HardSigmoid", "Relu", "Tanh"]),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "opset", "inputs", "outputs", "constants", "attributes"), CASES)
def test_agrees_with_onnxruntime(
    operator: str,
    opset: int,
    inputs: tuple[Any, ...],
    outputs: int,
    constants: tuple[int, ...],
    attributes: dict[str, Any],
) -> None:
    arrays = {f"i{k}": np.asarray(each) for k, each in enumerate(inputs)}
    fixed = {f"i{k}" for k in constants}
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in arrays.items()
        if name not in fixed
    ]
    names = [f"o{k}" for k in range(outputs)]
    node = helper.make_node(operator, list(arrays), names, **attributes)
    results = [helper.make_value_info(name, onnx.TypeProto()) for name in names]
    initializers = [numpy_helper.from_array(arrays[name], name) for name in sorted(fixed)]
    graph = helper.make_graph([node], "one", given, results, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    feeds = {name: array for name, array in arrays.items() if name not in fixed}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    expected = session.run(None, feeds)
    found = prepare(model)(feeds)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
