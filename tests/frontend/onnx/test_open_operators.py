"""Which operators take open dims, one by one; the others have a program for each shape, as the page says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import numpy_helper, parser

import opgen_runtime as rt
from opgen_runtime import ir
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.frontend.onnx import UnsupportedOperatorError, load

PAGE = Path(__file__).parents[3] / "docs" / "onnx.md"

# Each on float[n, 4, h, w] x, and on the constants below.
OPEN = {
    "Abs": "y = Abs (x)",
    "Add": "y = Add (x, x)",
    "ArgMax": "y = ArgMax <axis = 2> (x)",
    "AveragePool": "y = AveragePool <kernel_shape = [3, 2], strides = [3, 2]> (x)",
    "AveragePool, ceil_mode": "y = AveragePool <kernel_shape = [2, 2], ceil_mode = 1> (x)",
    "BatchNormalization": "y = BatchNormalization (x, four, four, four, four)",
    "Cast": "y = Cast <to = 1> (x)",
    "CenterCropPad": "y = CenterCropPad <axes = [2, 3]> (x, pair)",
    "Clip": "y = Clip (x)",
    "Compress, an open axis": "c = Greater (some, half)  y = Compress <axis = 2> (x, c)",
    "Compress, a constant condition": "c = Greater (four, two_floats)  y = Compress <axis = 1> (x, c)",
    "Concat": "y = Concat <axis = 2> (x, x)",
    "ConstantOfShape": "s = Shape (x)  y = ConstantOfShape (s)",
    "Conv": "y = Conv <pads = [1, 1, 1, 1]> (x, filters)",
    "Conv, auto_pad, steps of one": 'y = Conv <auto_pad = "SAME_UPPER"> (x, filters)',
    "Conv, auto_pad, steps of two": 'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, filters)',
    "ConvInteger": "q = QuantizeLinear (x, scale, zero)  y = ConvInteger (q, bytes, zero)",
    "ConvTranspose": "y = ConvTranspose <strides = [2, 2]> (x, filters)",
    "CumSum": "y = CumSum (x, two)",
    "DeformConv": "o = Conv (x, moves)  y = DeformConv (x, filters, o)",
    "DepthToSpace": "y = DepthToSpace <blocksize = 2> (x)",
    "DequantizeLinear": "q = QuantizeLinear (x, scale, zero)  y = DequantizeLinear (q, scale, zero)",
    "Dropout": "y = Dropout (x)",
    "Dropout, in training": "y = Dropout <seed = 3> (x, half, yes)",
    "DynamicQuantizeLinear": "y, s, z = DynamicQuantizeLinear (x)",
    "Einsum": 'y = Einsum <equation = "nchw,nchw->nc"> (x, x)',
    "Expand": "y = Expand (x, ones)",
    "Flatten": "y = Flatten (x)",
    "Gather": "y = Gather <axis = 2> (x, two)",
    "GatherElements": "i = Cast <to = 7> (x)  y = GatherElements <axis = 1> (x, i)",
    "Gemm": "f = Flatten (x)  y = Gemm <transB = 1> (f, f)",
    "GlobalAveragePool": "y = GlobalAveragePool (x)",
    "GlobalLpPool": "y = GlobalLpPool (x)",
    "GlobalMaxPool": "y = GlobalMaxPool (x)",
    "GridSample": "y = GridSample (x, grid)",
    "GridSample, cubic": 'y = GridSample <mode = "bicubic", align_corners = 1> (x, grid)',
    "GridSample, nearest": 'y = GridSample <mode = "nearest", padding_mode = "border"> (x, grid)',
    "GridSample, reflection": 'y = GridSample <padding_mode = "reflection"> (x, grid)',
    "GridSample, between corners": 'y = GridSample <padding_mode = "reflection", align_corners = 1> (x, grid)',
    "Hardmax": "y = Hardmax <axis = 1> (x)",
    "Hardmax, an open axis": "y = Hardmax <axis = 2> (x)",
    "InstanceNormalization": "y = InstanceNormalization (x, four, four)",
    "LRN": "y = LRN <size = 3> (x)",
    "LayerNormalization, several open axes": "y = LayerNormalization <axis = 1> (x, single)",
    "LogSoftmax": "y = LogSoftmax (x)",
    "LpNormalization": "y = LpNormalization <axis = 1> (x)",
    "LpPool": "y = LpPool <kernel_shape = [2, 2]> (x)",
    "MatMul": "t = Transpose <perm = [0, 2, 3, 1]> (x)  y = MatMul (t, matrix)",
    "MaxRoiPool": "y = MaxRoiPool <pooled_shape = [2, 3]> (x, boxes)",
    "MaxPool": "y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)",
    "MaxPool, indices": "y, i = MaxPool <kernel_shape = [2, 2]> (x)",
    "MeanVarianceNormalization": "y = MeanVarianceNormalization (x)",
    "NegativeLogLikelihoodLoss": "i = ArgMax <axis = 1, keepdims = 0> (x)  y = NegativeLogLikelihoodLoss (x, i)",
    "OneHot": "i = Cast <to = 7> (x)  y = OneHot (i, depth, values)",
    "Pad": "y = Pad (x, pads)",
    "Pad, reflect": 'y = Pad <mode = "reflect"> (x, pads)',
    "Pad, reflect, far at one end": 'y = Pad <mode = "reflect"> (x, far_ends)',
    "QLinearConv": "q = QuantizeLinear (x, scale, zero) "
    "y = QLinearConv (q, scale, zero, bytes, scale, zero, scale, zero)",
    "RandomNormalLike": "y = RandomNormalLike <seed = 3.0> (x)",
    "Range": "s = Shape <start = 2, end = 3> (x)  l = Squeeze (s)  y = Range (start, l, step)",
    "ReduceSum": "y = ReduceSum (x, axis)",
    "Reshape": "y = Reshape (x, kept)",
    "Reshape, a size less 2": "s = Shape <start = 3> (x)  k = Sub (s, axis)  u = Concat <axis = 0> (k, axis) "
    "y = Reshape (x, u)",
    "Resize, linear": 'y = Resize <mode = "linear"> (x, , twice)',
    "Resize, cubic": 'y = Resize <mode = "cubic", coordinate_transformation_mode = "align_corners"> (x, , half_more)',
    "Resize, nearest": 'y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> '
    "(x, , half_more)",
    "Resize, a region": 'y = Resize <coordinate_transformation_mode = "tf_crop_and_resize", mode = "linear", '
    "extrapolation_value = 7.0> (x, region, twice)",
    "Resize, antialias": 'y = Resize <mode = "linear", antialias = 1> (x, , less)',
    "Resize, sizes": "s = Shape (x)  t = Concat <axis = 0> (first, four_more)  u = Add (s, t) "
    'y = Resize <mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel"> (x, , , u)',
    "Resize, nearest, whole scales": "y = Resize (x, , twice)",
    "ReverseSequence": "y = ReverseSequence <batch_axis = 1, time_axis = 0> (x, lengths)",
    "RoiAlign": "y = RoiAlign <sampling_ratio = 2, output_height = 2, output_width = 3> (x, corners, images)",
    "ScatterElements": "i = Cast <to = 7> (x)  y = ScatterElements <axis = 1> (x, i, x)",
    "Shape": "s = Shape (x)  y = Reshape (x, s)",
    "Size": "y = Size (x)",
    "Slice": "y = Slice (x, axis, far, axis)",
    "Slice, backwards": "y = Slice (x, back, ends, axis, back)",
    "Softmax": "y = Softmax (x)",
    "SpaceToDepth": "y = SpaceToDepth <blocksize = 2> (x)",
    "Split": "y, v = Split <axis = 1> (x)",
    "Split, an open axis": "y, v = Split <axis = 2> (x)",
    "Squeeze": "r = ReduceMean <axes = [2]> (x)  y = Squeeze (r, axis)",
    "Tile": "y = Tile (x, tiles)",
    "TopK": "y, i = TopK <axis = 1> (x, axis)",
    "TopK, of a size": "s = Shape <start = 2, end = 3> (x)  y, i = TopK <axis = 2> (x, s)",
    "Transpose": "y = Transpose <perm = [0, 2, 3, 1]> (x)",
    "Trilu": "y = Trilu (x)",
    "Unsqueeze": "y = Unsqueeze (x, axis)",
    "Where": "c = Greater (x, x)  y = Where (c, x, x)",
}
SPECIALISED = {
    "If": "s = Shape <start = 2, end = 3> (x)  c = Equal (s, axis)  y = If (c) <then_branch = t () => (float[a] p) "
    "{ p = ReduceSum (x) }, else_branch = e () => (float[a] q) { q = Exp (x) }>",
    "Compress": "s = ReduceSum <keepdims = 0> (x, others)  c = Greater (s, s)  y = Compress <axis = 1> (x, c)",
    "ConvTranspose": 'y = ConvTranspose <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, filters)',
    "DFT": "u = Unsqueeze (x, back)  y = DFT (u)",
    **{
        f"{name}Window": f"s = Shape <start = 2, end = 3> (x)  l = Squeeze (s, none)  y = {name}Window (l)"
        for name in ("Hann", "Hamming", "Blackman")
    },
    "MaxUnpool": "v, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) "
    "y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (v, i)",
    "Multinomial": "f = Flatten (x)  y = Multinomial (f)",
    "Resize": 'y = Resize <mode = "linear", antialias = 1> (x, , , whole)',
    "RoiAlign": "r = ReduceMax <axes = [2, 3], keepdims = 0> (x)  y = RoiAlign (x, r, images)",
    "Squeeze": "y = Squeeze (x)",
}
CONSTANTS = {
    "filters": np.ones((4, 4, 3, 3), np.float32),
    "bytes": np.ones((4, 4, 3, 3), np.uint8),
    "matrix": np.ones((4, 5), np.float32),
    "single": np.array([2], np.float32),
    "four": np.ones(4, np.float32),
    "scale": np.float32(2),
    "zero": np.uint8(3),
    "values": np.array([0, 1], np.float32),
    "depth": np.array(4),
    "two": np.array(2),
    "axis": np.array([2]),
    "far": np.array([7]),
    "back": np.array([-1]),
    "ends": np.array([-(1 << 40)]),
    "ones": np.array([1, 1, 1, 1]),
    "tiles": np.array([1, 2, 1, 2]),
    "kept": np.array([0, 4, -1]),
    "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]),
    "far_ends": np.array([0, 0, 0, 0, 0, 0, 64, 0]),
    "pair": np.array([2, 2]),
    "half_more": np.array([1, 1, 1.5, 1.75], np.float32),
    "less": np.array([1, 1, 0.5, 0.8], np.float32),
    "first": np.array([0, 0]),
    "four_more": np.array([4, -1]),
    "region": np.array([0, 0, 0, 0, 1, 1, 0.5, 0.5], np.float32),
    "twice": np.array([1, 1, 2, 2], np.float32),
    "whole": np.array([4, 4, 7, 9]),
    "grid": np.random.default_rng(2).uniform(-1.4, 1.4, (4, 3, 3, 2)).astype(np.float32),
    "corners": np.array([[0, 0, 3, 2], [-1, 1, 4, 9]], np.float32),
    "images": np.array([1, 3]),
    "boxes": np.array([[1, 0, 0, 3, 2], [3, 1, 1, 2, 1]], np.float32),
    "moves": np.random.default_rng(2).standard_normal((18, 4, 3, 3)).astype(np.float32) / 4,
    "none": np.array([0]),
    "others": np.array([0, 2, 3]),
    "half": np.float32(0.5),
    "yes": np.array(True),
    "two_floats": np.array([0, 1, 2, 0], np.float32),
    "some": np.array([1, 0, 1, 0], np.float32),
    "lengths": np.array([1, 1, 1, 1]),
    "start": np.array(0),
    "step": np.array(1),
}


def loaded(text: str, shape: tuple[int, ...] | None = None) -> tuple[ir.IRModule, dict[str, np.ndarray]]:
    """The program of open dims of a few nodes, or of one shape, and its weights."""
    opset = 19 if "CenterCropPad" in text or "DeformConv" in text else 17
    head = f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[n, 4, h, w] x) => (float[a] y)'
    model = parser.parse_model(f"{head} {{ {text} }}")
    model.graph.output[0].ClearField("type")
    for name in sorted(set(re.findall(r"\w+", text)) & set(CONSTANTS)):
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(CONSTANTS[name]), name))
    return load(model, shapes=None if shape is None else {"x": shape})


@pytest.mark.parametrize("name", OPEN)
def test_operators_take_open_dims(name: str) -> None:
    loaded(OPEN[name])


# Those that compute what depends on extents in the program.
COMPUTED = [
    "AveragePool, ceil_mode",
    "CenterCropPad",
    "Compress, a constant condition",
    "Compress, an open axis",
    "Conv, auto_pad, steps of two",
    "DeformConv",
    "Dropout, in training",
    "GridSample",
    "GridSample, cubic",
    "GridSample, nearest",
    "GridSample, reflection",
    "GridSample, between corners",
    "Hardmax, an open axis",
    "LayerNormalization, several open axes",
    "LpPool",
    "MaxPool, indices",
    "MaxRoiPool",
    "NegativeLogLikelihoodLoss",
    "Pad, reflect, far at one end",
    "RandomNormalLike",
    "Resize, a region",
    "Resize, antialias",
    "Resize, cubic",
    "Resize, linear",
    "Resize, nearest",
    "Resize, sizes",
    "ReverseSequence",
    "RoiAlign",
    "Split, an open axis",
    "TopK, of a size",
]
LAZY = ["DeformConv"]  # of which a part is compiled for the sizes that it meets


@pytest.mark.parametrize("name", COMPUTED)
def test_programs_of_open_dims_give_what_static_ones_do(name: str) -> None:
    program = rt.build(*loaded(OPEN[name]))
    assert (program.why_interpreted is None) == (name not in LAZY)
    for shape in ((4, 4, 5, 6), (4, 4, 3, 2)):
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        wanted = rt.build(*loaded(OPEN[name], shape)).run([x])
        np.testing.assert_allclose(program.run([x]), wanted, rtol=1e-5, atol=1e-6)  # type: ignore[arg-type]


def test_axes_without_what_a_constant_condition_chooses_are_refused() -> None:
    program = rt.build(*loaded(OPEN["Compress, an open axis"]))
    with pytest.raises(OpgenError, match="h - 3"):
        program.run([np.zeros((4, 4, 2, 5), np.float32)])


@pytest.mark.parametrize("name", SPECIALISED)
def test_what_the_page_lists_has_a_program_for_each_shape(name: str) -> None:
    with pytest.raises(UnsupportedOperatorError, match=r"not known|not constant|give the shapes"):
        loaded(SPECIALISED[name])


def test_the_page_lists_them_all() -> None:
    section = PAGE.read_text().partition("## Open dims")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ((?:`\w+` ?)+)\|", section, re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"\w+", row)]
    assert sorted(listed) == sorted(
        set(SPECIALISED) - {"If", "Squeeze"}
    )  # which `prepare` decides for the sizes at hand
