"""Element types that no op has: narrow numbers, held to ml_dtypes, and strings."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ml_dtypes = pytest.importorskip("ml_dtypes")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from opgen_runtime.frontend.onnx import ModelError, UnsupportedOperatorError, load, prepare, run  # noqa: E402
from opgen_runtime.frontend.onnx.narrow import narrow_type  # noqa: E402

HALVES = np.arange(1 << 16).astype(np.uint16).view(np.float16)
FLOATS = ["FLOAT8E5M2", "FLOAT8E4M3FNUZ", "FLOAT8E5M2FNUZ", "FLOAT4E2M1"]
INTS = ["INT4", "UINT4", "INT2", "UINT2"]


def number(name: str) -> int:
    if name not in TensorProto.DataType.keys():  # noqa: SIM118
        pytest.skip(f"this onnx does not know {name}")
    return int(TensorProto.DataType.Value(name))


def model(operator: str, inputs: dict[str, int], output: int, **attributes: object) -> onnx.ModelProto:
    """One node on tensors of one axis of any extent; by name, their element types."""
    node = helper.make_node(operator, list(inputs), ["out"], **attributes)
    given = [helper.make_tensor_value_info(name, kind, None) for name, kind in inputs.items()]
    out = helper.make_tensor_value_info("out", output, None)
    return helper.make_model(
        helper.make_graph([node], "g", given, [out]), opset_imports=[helper.make_opsetid("", 25)]
    )


def bits(array: np.ndarray) -> np.ndarray:
    return array.view(np.uint8)


def assert_equal(found: np.ndarray, expected: np.ndarray, given: np.ndarray) -> None:
    """The same numbers; of zeros the same ones, but where NaN became one."""
    assert found.dtype == expected.dtype
    a, b = found.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_array_equal(a, b)
    zeros = (a == 0) & ~np.isnan(given)
    np.testing.assert_array_equal(np.signbit(a)[zeros], np.signbit(b)[zeros])


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("source", ["FLOAT16", "FLOAT", "DOUBLE"])
def test_every_half_is_rounded_as_ml_dtypes_rounds(name: str, saturate: int, source: str) -> None:
    kind = number(name)
    narrow = narrow_type(kind)
    assert narrow is not None
    given = HALVES.astype(helper.tensor_dtype_to_np_dtype(number(source)))
    (found,) = run(model("Cast", {"x": number(source)}, kind, to=kind, saturate=saturate), [given])
    with np.errstate(all="ignore"):
        limit = ml_dtypes.finfo(narrow.numpy).max.astype(given.dtype)
        expected = (np.clip(given, -limit, limit) if saturate else given).astype(narrow.numpy)
    assert_equal(found, expected, given)
    wide = "DOUBLE" if source == "DOUBLE" else "FLOAT"
    (back,) = run(model("Cast", {"x": kind}, number(wide), to=number(wide)), [found])
    np.testing.assert_array_equal(back, expected.astype(back.dtype))


@pytest.mark.parametrize("name", INTS)
def test_integers_keep_their_lowest_bits(name: str) -> None:
    kind = number(name)
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    given = np.arange(-300, 300)
    for source in ("INT32", "INT16", "FLOAT"):
        array = given.astype(helper.tensor_dtype_to_np_dtype(number(source)))
        (found,) = run(model("Cast", {"x": number(source)}, kind, to=kind), [array])
        assert found.dtype == dtype
        np.testing.assert_array_equal(
            found.astype(np.int32), given.astype(np.int8).astype(dtype).astype(np.int32)
        )


@pytest.mark.parametrize("round_mode", ["up", "down", "nearest"])
def test_powers_of_two(round_mode: str) -> None:
    kind = number("FLOAT8E8M0")
    random = np.random.default_rng(0)
    given = np.concatenate([
        random.integers(0, 0x7F800001, 500).astype(np.uint32).view(np.float32),
        np.float32([0, 1, 1.5, 2, 3, np.inf, np.nan, 2.0**-127, 2.0**-126, 3.4e38]),
    ])  # fmt: skip
    (found,) = run(model("Cast", {"x": TensorProto.FLOAT}, kind, to=kind, round_mode=round_mode), [given])
    np.testing.assert_array_equal(bits(found), bits(numpy_helper.to_float8e8m0(given, round_mode=round_mode)))


@pytest.mark.parametrize("name", [*INTS, "FLOAT4E2M1", "FLOAT8E5M2"])
def test_quantised_and_back(name: str) -> None:
    kind = number(name)
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    low, high = (np.float32(f(dtype)) for f in (_lowest, _highest))
    given = np.linspace(low * 3, high * 3, 97, dtype=np.float32)
    scale, zero = np.float32(2.0), np.zeros((), dtype)
    types = {"x": TensorProto.FLOAT, "scale": TensorProto.FLOAT, "zero": kind}
    (found,) = run(model("QuantizeLinear", types, kind), [given, scale, zero])
    steps = given / scale if name.startswith("FLOAT") else np.rint(given / scale)
    assert_equal(found, np.clip(steps, low, high).astype(dtype), given)
    types = {"x": kind, "scale": TensorProto.FLOAT, "zero": kind}
    (back,) = run(model("DequantizeLinear", types, TensorProto.FLOAT), [found, scale, zero])
    np.testing.assert_array_equal(back, found.astype(np.float32) * scale)


def _lowest(dtype: np.dtype) -> float:
    return float((ml_dtypes.iinfo if "int" in dtype.name else ml_dtypes.finfo)(dtype).min)


def _highest(dtype: np.dtype) -> float:
    return float((ml_dtypes.iinfo if "int" in dtype.name else ml_dtypes.finfo)(dtype).max)


def test_what_computes_refuses_them() -> None:
    kind = number("INT4")
    given = np.zeros(3, ml_dtypes.int4)
    with pytest.raises((UnsupportedOperatorError, ModelError), match="a tensor of int4 as input"):
        run(model("Transpose", {"x": kind}, kind), [given])
    program = prepare(model("Identity", {"x": kind}, kind))
    assert program([given])[0].dtype == given.dtype
    with pytest.raises(ModelError, match="input 'x' must be int4, found int8"):
        program([given.astype(np.int8)])
    with pytest.raises(UnsupportedOperatorError, match="a tensor of int4; use prepare"):
        load(model("Identity", {"x": kind}, kind))


def test_strings_are_values_of_the_call() -> None:
    text = TensorProto.STRING
    program = prepare(model("StringConcat", {"x": text, "y": text}, text))
    for x in (["a", "bé"], ["c", ""]):
        (found,) = program([np.array(x, object), np.array(["!"], object)])
        assert found.tolist() == [each + "!" for each in x]
    (same,) = run(
        model("Equal", {"x": text, "y": text}, TensorProto.BOOL), [np.array(["a", "b"]), np.array(["a"])]
    )
    assert same.tolist() == [True, False]
    with pytest.raises(UnsupportedOperatorError, match="strings as input"):
        run(model("Neg", {"x": text}, text), [np.array(["a"], object)])
    with pytest.raises(ModelError, match="no regular expression"):
        run(model("RegexFullMatch", {"x": text}, TensorProto.BOOL, pattern="("), [np.array(["a"], object)])
