"""Models that break a rule, or ask for too much: one error that names the node, before anything is allocated."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, parser  # noqa: E402

from opgen_runtime.frontend import onnx as frontend  # noqa: E402

HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'


def refusal(text: str, change: Callable[[Any], object] = lambda model: None, *inputs: object) -> str:
    """The message of the ModelError that a model of this text, changed, ends in."""
    model = parser.parse_model(HEAD + text)
    change(model)
    with pytest.raises(frontend.ModelError) as caught:
        frontend.prepare(model)(inputs)
    return str(caught.value)


RELU = "g (float[2] x) => (float[2] y) { [it] y = Relu (x) }"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.ClearField("graph"), "the model has no graph; the file is empty or no ONNX model"),
        (lambda m: m.ClearField("opset_import"), "the model imports no opset"),
        (
            lambda m: setattr(m.opset_import[0], "version", 0),
            f"the model imports opset 0 of ai.onnx; expected 1 to {onnx.defs.onnx_opset_version()}",
        ),
        (
            lambda m: setattr(m.opset_import[0], "version", 10**9),
            f"the model imports opset 1000000000 of ai.onnx; expected 1 to {onnx.defs.onnx_opset_version()}",
        ),
        (
            lambda m: m.opset_import.append(helper.make_opsetid("ai.onnx", 17)),
            "the model imports two opsets of ai.onnx, 18 and 17",
        ),
        (lambda m: m.graph.ClearField("output"), "the model has no output"),
        (lambda m: m.graph.output.append(m.graph.output[0]), "there are two outputs 'y'"),
        (lambda m: m.graph.input.append(m.graph.input[0]), "there are two inputs 'x'"),
        (
            lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 1000),
            "input 'x': the element type is number 1000, which ONNX does not know",
        ),
        (
            lambda m: setattr(m.graph.input[0].type.tensor_type.shape.dim[0], "dim_value", -7),
            "input 'x': a dim is -7",
        ),
        (
            lambda m: [m.graph.input[0].type.tensor_type.shape.dim.add() for _ in range(999)],
            "input 'x': it has 1000 axes, where 64 are the most",
        ),
        (
            lambda m: setattr(m.graph.output[0], "name", "z"),
            "graph 'g': no node gives the output 'z'",
        ),
        (lambda m: m.graph.node.append(m.graph.node[0]), "it: Relu: the output 'y' is the second value of that name"),
        (lambda m: m.graph.node[0].input.__setitem__(0, "y"),
         "it: Relu: the input 'y' is given by a later node or by itself"),
        (lambda m: m.graph.node[0].input.__setitem__(0, "q"), "it: Relu: the input 'q' is given by nothing"),
        (lambda m: m.graph.node[0].input.append("x"), "it: Relu: 2 inputs, expected 1"),
        (lambda m: m.graph.node[0].ClearField("output"), "it: Relu: 0 outputs, expected 1"),
        (lambda m: setattr(m.graph.node[0], "domain", "no.such"),
         "it: no.such.Relu: no opset of its domain 'no.such' is imported"),
        (lambda m: m.graph.node[0].ClearField("op_type"), "it: : it names no operator"),
        (
            lambda m: m.graph.initializer.extend([helper.make_tensor("w", 1, [], [0.0])] * 2),
            "graph 'g' has two initializers 'w'",
        ),
    ],
)  # fmt: skip
def test_structure(change: Callable[[Any], object], message: str) -> None:
    assert refusal(RELU, change, np.zeros(2, np.float32)) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[it] y = Conv <auto_pad = "DIAGONAL"> (x, x)',
         "it: Conv: attribute 'auto_pad' is 'DIAGONAL', expected one of 'NOTSET', 'SAME_UPPER', 'SAME_LOWER', 'VALID'"),
        ("[it] y = Conv <strides = [0, 1]> (x, x)",
         "it: Conv: attribute 'strides' is (0, 1), expected numbers of at least 1"),
        ("[it] y = Conv <pads = [0, 0, -1, 0]> (x, x)",
         "it: Conv: attribute 'pads' is (0, 0, -1, 0), expected numbers of at least 0"),
        ("[it] y = Conv <strides = [1]> (x, x)", "it: Conv: strides has 1 numbers, expected 2 for 2 spatial axes"),
        ("[it] y = Conv <strides = 1> (x, x)", "it: Conv: attribute 'strides' must be of type ints, found int"),
        ("[it] y = Concat (x, x)", "it: Concat: attribute 'axis' is missing"),
        ("[it] y = Concat <axis = 9> (x, x)", "it: Concat: axis 9 of a tensor of rank 4"),
        ("n = Cast <to = 7> (x) [it] y = Add (x, n)",
         "it: Add: input 1 (B) is a tensor(int64), expected tensor(float) as of input A"),
        ("s = Constant <value_ints = [2, 5]> () [it] y = Expand (x, s)",
         "it: Expand: the shapes [1, 2, 3, 4], [2, 5] do not broadcast"),
        ("s = Constant <value_ints = [-1]> () [it] y = ConstantOfShape (s)",
         "it: ConstantOfShape: an extent of -1 in the shape [-1]"),
        ("s = Constant <value_floats = [1.0, 1.0, 0.0, 1.0]> () [it] y = Resize (x, , s)",
         "it: Resize: the scales [1.0, 1.0, 0.0, 1.0] of 4 axes, expected a positive number for each"),
    ],
)  # fmt: skip
def test_attributes_and_values(text: str, message: str) -> None:
    x = np.zeros((1, 2, 3, 4), np.float32)
    assert refusal(f"g (float[a, b, c, d] x) => (y) {{ {text} }}", lambda m: None, x) == message


@pytest.mark.parametrize(
    "text",
    [
        "s = Constant <value_ints = [4611686018427387904]> () [it] y = ConstantOfShape (s)",
        "s = Constant <value_ints = [1000000, 1, 1000000]> () [it] y = Expand (x, s)",
        "s = Constant <value_ints = [1, 1, 1000000000000]> () [it] y = Tile (x, s)",
        "s = Constant <value_ints = [0, 0, 0, 0, 0, 1000000000000]> () [it] y = Pad (x, s)",
        "s = Constant <value_floats = [1.0, 1.0, 1e30]> () [it] y = Resize (x, , s)",
        "a = Constant <value_int = 0> () l = Constant <value_int = 1000000000000> () d = Constant <value_int = 1> ()"
        "[it] y = Range (a, l, d)",
        "n = Shape (x) b = Constant <value_int = 1000000000000> () s = Mul (n, b) [it] y = ConstantOfShape (s)",
        "[it] y = RandomNormal <shape = [1000000, 1000000]> ()",
        "s = Constant <value_int = 1000000000> () z = Reshape <allowzero = 0> (x, one) [it] y = DFT (z, s)",
    ],
)
def test_sizes_are_refused_before_they_are_allocated(text: str) -> None:
    one = "one = Constant <value_ints = [1, 3, 2]> ()"
    x = np.ones((1, 2, 3), np.float32)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    message = refusal(f"g (float[a, b, c] x) => (y) {{ {one} {text} }}", lambda m: None, x)
    assert message.startswith("it: "), message
    assert "Limits.memory" in message
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20  # KiB


def test_sizes_of_all_constants_together() -> None:
    text = "".join(f"c{k} = ConstantOfShape (s)" for k in range(4))
    model = parser.parse_model(
        f"{HEAD} g () => (y) {{ s = Constant <value_ints = [1000]> () {text} y = Sum (c0, c1, c2, c3) }}"
    )
    with pytest.raises(
        frontend.ModelError, match=r"the model's constants have more than the 11\.72 KiB allowed"
    ):
        frontend.prepare(model, limits=frontend.Limits(memory=12_000))([])


def test_functions_that_double_thirty_times() -> None:
    functions = ['<domain: "d", opset_import: ["" : 18]> f0 (x) => (y) { y = Relu (x) }']
    for k in range(1, 31):
        body = f"m = d.f{k - 1} (x) y = d.f{k - 1} (m)"
        functions.append(f'<domain: "d", opset_import: ["" : 18, "d" : 1]> f{k} (x) => (y) {{ {body} }}')
    model = _with_functions("y = d.f30 (x)", functions)
    started = time.process_time()
    with pytest.raises(frontend.ModelError, match=r"expand to 3,221,225,471 nodes, 100,000 are allowed"):
        frontend.prepare(model)
    assert time.process_time() - started < 5
    chain = [f.replace(f"y = d.f{k - 1} (m)", "y = Relu (m)") for k, f in enumerate(functions)]
    found = frontend.run(_with_functions("y = d.f30 (x)", chain), [np.array([-1.0, 2.0], np.float32)])
    np.testing.assert_array_equal(found[0], np.array([0.0, 2.0], np.float32))


def _with_functions(body: str, functions: list[str]) -> Any:
    head = '<ir_version: 10, opset_import: ["" : 18, "d" : 1]>\n'
    return parser.parse_model(f"{head} g (float[2] x) => (float[2] y) {{ {body} }}" + "\n".join(functions))


def test_functions_in_a_circle_and_too_deep() -> None:
    head = '<domain: "d", opset_import: ["" : 18, "d" : 1]>'
    circle = [f"{head} a (x) => (y) {{ y = d.b (x) }}", f"{head} b (x) => (y) {{ y = d.a (x) }}"]
    with pytest.raises(frontend.ModelError, match=r"in a circle: d\.a, d\.b"):
        frontend.prepare(_with_functions("y = d.a (x)", circle))
    deep = [f"{head} f0 (x) => (y) {{ y = Relu (x) }}"]
    deep.extend([f"{head} f{k} (x) => (y) {{ y = d.f{k - 1} (x) }}" for k in range(1, 3000)])
    with pytest.raises(frontend.ModelError, match=r"deeper than 64"):
        frontend.prepare(_with_functions("y = d.f2999 (x)", deep))


def test_functions_of_one_name_and_other_overloads() -> None:
    head = '<domain: "d", opset_import: ["" : 18]>'
    model = _with_functions("y = d.f (x)", [f"{head} f (x) => (y) {{ y = {o} (x) }}" for o in ("Neg", "Abs")])
    model.functions[0].overload, model.functions[1].overload = "minus", "size"
    for overload, expected in (("minus", [1.0, -2.0]), ("size", [1.0, 2.0])):
        model.graph.node[0].overload = overload
        (found,) = frontend.run(model, [np.array([-1.0, 2.0], np.float32)])
        np.testing.assert_array_equal(found, np.array(expected, np.float32))


LOOP = """g (float[1] x) => (y) {
  n = Constant <value_int = 4611686018427387904> ()  c = Constant <value = bool {1}> ()
  [it] y = Loop (n, c, x) <body = b (int64 i, bool go, float[q] s) => (bool again, float[r] t) {
    again = Identity (go)  [inner] t = OP
  }>
}"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("Neg (s)", "it: Loop: a loop of more than 4,096 steps (Limits.steps)"),
        ("Concat <axis = 0> (s, s)", "inner: Concat: a tensor of shape [4294967296] has 16 GiB, more than the "
         "8 GiB allowed (Limits.memory)"),
    ],
)  # fmt: skip
def test_loops_without_an_end(body: str, message: str) -> None:
    assert refusal(LOOP.replace("OP", body), lambda m: None, np.ones(1, np.float32)) == message


def test_a_scan_of_too_many_steps() -> None:
    text = """g (float[n, 1] x) => (y) {
      [it] y = Scan <num_scan_inputs = 1, body = b (float[1] a) => (float[1] c) { c = Neg (a) }> (x)
    }"""
    found = refusal(text, lambda m: None, np.ones((5000, 1), np.float32))
    assert found == "it: Scan: a loop of more than 4,096 steps (Limits.steps)"


def test_damaged_files_and_bytes(tmp_path: Path) -> None:
    for content, expected in (
        (b"", "the model has no graph; the file is empty or no ONNX model"),
        (b"\x08\x0a\x12garbage", "the bytes cannot be read as an ONNX model: Error parsing message"),
    ):
        with pytest.raises(frontend.ModelError) as caught:
            frontend.prepare(content)
        assert str(caught.value).startswith(expected)
    with pytest.raises(frontend.ModelError, match="cannot be read: No such file"):
        frontend.prepare(tmp_path / "no.onnx")
    with pytest.raises(frontend.ModelError, match="cannot be read: Is a directory"):
        frontend.prepare(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: setattr(t, "raw_data", b"1234567"),
         "tensor 'w' of dims [2] and dtype float32 must hold 8 bytes, found 7"),
        (lambda t: t.dims.append(3), "tensor 'w' of dims [2, 3] and dtype float32 must hold 24 bytes, found 8"),
        (lambda t: t.dims.__setitem__(0, -2), "an extent of -2 in the shape [-2]"),
        (lambda t: t.dims.extend([1] * 999), "a tensor of 1000 axes, where 64 are the most"),
        (lambda t: setattr(t, "data_type", 99),
         "tensor 'w': the element type is number 99, which ONNX does not know"),
        (lambda t: t.dims.__setitem__(0, 1 << 62),
         "a tensor of shape [4611686018427387904] has 1.678e+07 TiB, more than the 8 GiB allowed (Limits.memory)"),
    ],
)  # fmt: skip
def test_weights_that_do_not_fit(change: Callable[[Any], object], message: str) -> None:
    def weight(model: Any) -> None:
        model.graph.initializer.append(
            helper.make_tensor("w", TensorProto.FLOAT, [2], np.ones(2, np.float32).tobytes(), raw=True)
        )
        change(model.graph.initializer[0])

    found = refusal("g (float[2] x) => (float[2] y) { [it] y = Relu (x) }", weight, np.zeros(2, np.float32))
    assert found == f"graph 'g': initializer: {message}"


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("absent.bin", "absent.bin"),
        ("../outside.bin", ""),
        ("/etc/passwd", "should be a relative path"),
        ("short.bin", ""),
        pytest.param("a" * 6000, f"in '{'a' * 20}", id="a name of 6,000 characters"),
        pytest.param("a/" * 3000, "File name too long", id="a path of 6,000 characters"),
    ],
)
def test_external_data(tmp_path: Path, location: str, reason: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "outside.bin").write_bytes(bytes(8))
    (folder / "short.bin").write_bytes(bytes(5))
    (folder / "good.bin").write_bytes(np.array([1, 2], np.float32).tobytes())
    model = parser.parse_model(f"{HEAD} g (float[2] x) => (float[2] y) {{ y = Add (x, w) }}")
    weight = model.graph.initializer.add(name="w", data_type=1, dims=[2], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="good.bin")
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    (found,) = frontend.run(folder / "m.onnx", [np.ones(2, np.float32)])
    np.testing.assert_array_equal(found, np.array([2, 3], np.float32))
    with pytest.raises(frontend.ModelError, match="the data of tensor 'w' lies in a file; give the path"):
        frontend.prepare(model)
    weight.external_data[0].value = location
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(frontend.ModelError, match=r"tensor 'w'") as caught:
        frontend.run(folder / "m.onnx", [np.ones(2, np.float32)])
    assert reason in str(caught.value), str(caught.value)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], r"the model has 1 inputs \(x\), found 0"),
        ([np.zeros(2, np.float64)], "input 'x' must be float32, found float64"),
        ([np.zeros(3, np.float32)], r"input x: float32 \[2\] is given an array of shape \(3,\)"),
        ([[1.0, [2.0]]], "input 'x' is no array: setting an array element with a sequence"),
        ({"z": 1}, "no input 'z'"),
    ],
)
def test_inputs_that_do_not_fit(inputs: Any, message: str) -> None:
    with pytest.raises(frontend.ModelError, match=message):
        frontend.run(parser.parse_model(HEAD + RELU), inputs)


def test_names_that_are_no_text() -> None:
    content = bytearray(parser.parse_model(HEAD + RELU).SerializeToString())
    at = content.index(b"Relu")
    content[at] = 0xE5
    with pytest.raises(frontend.ModelError, match=r"the name b'\\xe5elu' is not UTF-8"):
        frontend.prepare(bytes(content))


@pytest.mark.parametrize("attributes", [
    'kernel_shape = [1099511627776], auto_pad = "SAME_UPPER"',
    "kernel_shape = [1099511627776], pads = [1099511627776, 0]",
    "kernel_shape = [3], dilations = [1099511627776], pads = [1099511627776, 1099511627776]",
])  # fmt: skip
@pytest.mark.parametrize("operator", ["AveragePool", "MaxPool", "LpPool"])
def test_absurd_windows(operator: str, attributes: str) -> None:
    """Every place of a window costs time, whether it is in the data or beside it."""
    message = refusal(
        f"g (float[1, 1, 8] x) => (float[1, 1, n] y) {{ [it] y = {operator} <{attributes}> (x) }}",
        lambda model: setattr(model.opset_import[0], "version", 22),
        np.zeros((1, 1, 8), np.float32),
    )
    assert message.startswith("it: ")
    assert "more than the" in message


def test_a_scale_of_channels_has_one_axis() -> None:
    """A scalar where there should be a number a channel."""
    message = refusal(
        "g (float[1, 2, 3] x, float s) => (float[1, 2, 3] y) { [it] y = InstanceNormalization (x, s, s) }",
        lambda model: None,
        np.zeros((1, 2, 3), np.float32),
        np.float32(1),
    )
    assert message == "it: InstanceNormalization: a tensor of shape [], expected 1 axes"


def test_a_condition_beyond_the_end_chooses_nothing() -> None:
    model = parser.parse_model(HEAD + "g (float[3, 2] x, bool[10] c) => (float[n] y) { y = Compress (x, c) }")
    condition = np.isin(np.arange(10), [2, 3, 8, 9])
    (y,) = frontend.prepare(model)([np.arange(6, dtype=np.float32).reshape(3, 2), condition])
    np.testing.assert_array_equal(y, [2, 3])


@pytest.mark.parametrize(
    ("counts", "indexes", "extra", "message"),
    [
        ([0, 1], [0, 1, 2], "", "ngram_counts [0, 1] cut no 2-grams out of a pool of 4 elements"),
        ([0, 9], [0, 1], "", "ngram_counts [0, 9] cut no 1-grams out of a pool of 4 elements"),
        ([0, 2], [0, 1], "", "ngram_indexes [0, 1], expected a column for each of 3 n-grams, of 1 or more"),
        (
            [0, 2],
            [0, 1, -1],
            "",
            "ngram_indexes [0, 1, -1], expected a column for each of 3 n-grams, of 1 or more",
        ),
        ([0, 2], [0, 1, 2], ", weights = [1.0]", "1 weights, expected one for each of 3 n-grams"),
    ],
)
def test_pools_that_are_no_ngrams(counts: list[int], indexes: list[int], extra: str, message: str) -> None:
    text = (
        f'<mode = "TF", min_gram_length = 1, max_gram_length = 2, max_skip_count = 0, ngram_counts = {counts},'
        f" ngram_indexes = {indexes}, pool_int64s = [2, 3, 5, 4]{extra}>"
    )
    model = f"g (int64[6] x) => (float[n] y) {{ [it] y = TfIdfVectorizer {text} (x) }}"
    assert refusal(model, lambda model: None, np.arange(6)).endswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Compress (x, one)", "it: Compress: a tensor of shape [], expected 1 axes"),
        ("RoiAlign (x, rois, batch)", "it: RoiAlign: a tensor of shape [2, 3], expected 4 axes"),
        (
            "MaxRoiPool <pooled_shape = [1]> (x, rois)",
            "it: MaxRoiPool: pooled_shape [1], expected two numbers",
        ),
        (
            "MaxRoiPool <pooled_shape = [1, 1]> (x, rois)",
            "it: MaxRoiPool: a tensor of shape [2, 3], expected 4 axes",
        ),
        ("Multinomial (batch32)", "it: Multinomial: a tensor of shape [1], expected 2 axes"),
    ],
)
def test_ranks_of_operands(text: str, message: str) -> None:
    head = "one = Constant <value = bool {1}> () rois = Constant <value = float[1, 4] {0, 0, 1, 1}> ()"
    head += " batch = Constant <value = int64[1] {0}> () batch32 = Cast <to = 1> (batch)"
    model = f"g (float[2, 3] x) => (float[n] y) {{ {head} [it] y = {text} }}"
    assert refusal(model, lambda model: None, np.zeros((2, 3), np.float32)) == message
