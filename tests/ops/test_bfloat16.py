"""bfloat16 from end to end: conversions bit by bit, and ops against float32 references that are rounded once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.arith import cast, const
from opgen_runtime.base.arith.semantics import convert, reinterpret, round_float
from opgen_runtime.base.errors import DTypeError, LanguageError
from opgen_runtime.base.vocabulary import BFLOAT16, DTYPE_CLASSES, INT64, UINT16, DType, OpPattern
from opgen_runtime.compute import te
from opgen_runtime.compute.lang import static
from opgen_runtime.run.calls import eager
from opgen_runtime.testing.compare import assert_close
from opgen_runtime.testing.data import Spec, ordinary, special

BF16: Any = pytest.importorskip("ml_dtypes", reason="arrays of bfloat16 are of ml_dtypes").bfloat16
ALL = np.arange(1 << 16, dtype=np.uint16).view(BF16)
EXECUTORS = ["graph", "debug"]
# ml_dtypes and numpy say so of a signalling NaN, of which the patterns of all bits hold many.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in:RuntimeWarning")


def of(values: Any) -> np.ndarray:
    """Rounded once to bfloat16, half to even, by integer arithmetic on float32 bits; float32 is given."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16).view(BF16)
    return np.where(np.isnan(values), np.array(np.nan, BF16), rounded)


def data(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, 1.5, shape).astype(np.float32).astype(BF16)


def run(executor: str, build: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    """`build` of parameters of the arrays' types, in an executor."""
    parameters = [rt.var(f"x{k}", rt.TensorType(a.shape, a.dtype.name)) for k, a in enumerate(arrays)]
    result = rt.create_executor(executor).evaluate(
        build(*parameters), dict(zip(parameters, arrays, strict=True))
    )
    found: np.ndarray = result.numpy()
    return found


def assert_bits(found: np.ndarray, expected: np.ndarray) -> None:
    """The same bits; NaNs stand in the same places."""
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    kind = f"u{found.dtype.itemsize}"
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), ~number)
    np.testing.assert_array_equal(found[number].view(kind), expected[number].view(kind))


def evaluated(array: np.ndarray, dtype: str) -> np.ndarray:
    """`cast` in the evaluator, which is numpy."""
    source = te.placeholder("x", array.shape, array.dtype.name)
    made = te.compute("y", array.shape, dtype, lambda i: cast(te.read(source, i), dtype))
    (found,) = te.evaluate([made], {source: array})
    return np.asarray(found)


def cast_both(array: np.ndarray, dtype: str) -> list[np.ndarray]:
    compiled = run("graph", lambda x: ops.cast(x, dtype=dtype), array)
    return [compiled, evaluated(array, dtype)]


# ------------------------------------------------------------------ the type


def test_the_runtime_imports_without_ml_dtypes() -> None:
    code = (
        "import sys; sys.modules['ml_dtypes'] = None\n"
        "import opgen_runtime as rt\n"
        "from opgen_runtime import ops, eager\n"
        "from opgen_runtime.base.vocabulary import DType\n"
        "import numpy as np\n"
        "assert eager.exp(np.zeros(3, np.float32))[0] == 1\n"
        "ops.exp(rt.var('x', rt.TensorType((3,), 'bfloat16')))\n"
        "try:\n"
        "    DType('bfloat16').numpy\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "arrays of bfloat16 need the package ml_dtypes; install the extra: pip install 'opgen[bfloat16]'\n"
    )


def test_ml_dtypes_is_imported_only_with_bfloat16() -> None:
    code = (
        "import sys, opgen_runtime as rt, numpy as np\n"
        "from opgen_runtime import ops, eager\n"
        "eager.exp(np.zeros(3, np.float16))\n"
        "print('ml_dtypes' in sys.modules)\n"
        "rt.const(1.0, 'bfloat16')\n"
        "print('ml_dtypes' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\nTrue\n"


def test_the_dtype() -> None:
    assert (BFLOAT16.bits, BFLOAT16.kind, BFLOAT16.itemsize, BFLOAT16.numpy) == (16, "f", 2, np.dtype(BF16))
    assert {name for name, members in DTYPE_CLASSES.items() if BFLOAT16 in members} == {
        "any", "number", "signed", "float", "inexact", "generic", "arithmetic",
    }  # fmt: skip


# ------------------------------------------------------------------ conversions


def midpoints() -> np.ndarray:
    """Every bfloat16, every midpoint of two and its neighbours in float32, and random bits."""
    finite = np.sort(ALL[np.isfinite(ALL)].astype(np.float32))
    middle = (finite.astype(np.float64)[1:] + finite.astype(np.float64)[:-1]) / 2
    centres = np.concatenate([finite, middle.astype(np.float32)])
    around = [np.nextafter(centres, np.float32(side)) for side in (np.inf, -np.inf)]
    noise = np.random.default_rng(1).integers(0, 1 << 32, 200_000, dtype=np.uint32).view(np.float32)
    ends = np.array([np.inf, -np.inf, np.nan, -0.0, 3.3961e38, 3.4e38, -3.4e38], np.float32)
    return np.concatenate([centres, *around, noise, ends])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_bfloat16_widens_exactly_and_comes_back(dtype: str) -> None:
    for wide in cast_both(ALL, dtype):
        assert_bits(wide, ALL.astype(np.float32).astype(dtype))
        np.testing.assert_array_equal(np.signbit(wide), np.signbit(ALL.astype(np.float32)))
        for back in cast_both(wide, "bfloat16"):
            assert_bits(back, ALL)


def test_float32_rounds_half_to_even() -> None:
    values = midpoints()
    with np.errstate(all="ignore"):
        expected = values.astype(BF16)
    assert_bits(of(values), expected)
    for found in cast_both(values, "bfloat16"):
        assert_bits(found, expected)


def float64_samples() -> tuple[np.ndarray, np.ndarray]:
    """Midpoints of two bfloat16, and what is next to them in float64, with the right results."""
    finite = np.sort(ALL[np.isfinite(ALL)].astype(np.float64))
    low, high = finite[:-1], finite[1:]
    middle = (low + high) / 2
    up, down = np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)
    keep = low != high  # not the two zeros
    values = np.concatenate([up[keep], down[keep]])
    expected = np.concatenate([high[keep], low[keep]]).astype(np.float32).astype(BF16)
    expected[expected == 0] = 0.0
    expected[(expected == 0) & (values < 0)] = -0.0
    more = np.array([1e300, -1e300, 1e-300, -1e-300, 5e-324, np.inf, -0.0, np.nan, 3.3961775292304601e38])
    there = np.array([np.inf, -np.inf, 0.0, -0.0, 0.0, np.inf, -0.0, np.nan, np.inf], np.float32).astype(BF16)
    return np.concatenate([values, more]), np.concatenate([expected, there])


def test_float64_rounds_once() -> None:
    values, expected = float64_samples()
    with np.errstate(all="ignore"):
        twice = values.astype(np.float32).astype(BF16)
    assert (twice.view(np.uint16) != expected.view(np.uint16)).mean() > 0.2
    for found in cast_both(values, "bfloat16"):
        assert_bits(found, expected)
    assert_bits(
        np.array([round_float(v, BFLOAT16) for v in values.tolist()], np.float32).astype(BF16), expected
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_ints_round_once(dtype: str) -> None:
    limits, random = np.iinfo(dtype), np.random.default_rng(2)
    drawn = [0, 1, int(limits.max), int(limits.min), int(limits.max) - 1]
    for bit in range(9, limits.bits):
        for _ in range(8):
            middle = (int(random.integers(128, 256)) * 2 + 1) << (
                bit - 9
            )  # between two bfloat16 of that size
            drawn += [s * middle + d for s in (1, -1) for d in (-1, 0, 1)]
    values = [v for v in drawn if limits.min <= v <= limits.max]
    expected = np.array([convert(v, DType(dtype), BFLOAT16) for v in values], np.float32).astype(BF16)
    for found in cast_both(np.array(values, dtype), "bfloat16"):
        assert_bits(found, expected)


def test_ints_round_once_by_hand() -> None:
    """Just above a midpoint, by less than float32 or float64 can say."""
    above = (257 << 54) + 1
    assert convert(above, INT64, BFLOAT16) == float(258 << 54)
    for found in cast_both(np.array([above, -above, above - 1], np.int64), "bfloat16"):
        np.testing.assert_array_equal(
            found.astype(np.float64), [258 * 2.0**54, -258 * 2.0**54, 256 * 2.0**54]
        )


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64", "bool", "float16"])
def test_to_other_types(dtype: str) -> None:
    values = np.array([0.0, -0.0, 1.5, -1.5, 300.0, -300.0, 1e20, -1e20, np.inf, -np.inf, np.nan], np.float32)
    narrow = values.astype(BF16)
    for found, wide in zip(
        cast_both(narrow, dtype), cast_both(narrow.astype(np.float32), dtype), strict=True
    ):
        np.testing.assert_array_equal(found, wide)


def test_bits() -> None:
    assert reinterpret(1.5, BFLOAT16, UINT16) == 0x3FC0
    assert reinterpret(0x3FC0, UINT16, BFLOAT16) == 1.5


def test_constants_are_rounded_half_to_even() -> None:
    assert const(1 + 2.0**-8, "bfloat16").value == 1.0
    assert const(1 + 3 * 2.0**-8, "bfloat16").value == 1 + 2.0**-6
    assert const(1e39, "bfloat16").value == float("inf")
    assert rt.const(1 + 2.0**-8, "bfloat16").data == BF16(1.0)


# ------------------------------------------------------------------ ops


@pytest.mark.parametrize("executor", EXECUTORS)
def test_elementwise(executor: str) -> None:
    x = np.concatenate([data(61), np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], BF16)])
    y = np.concatenate([data(61, seed=1), np.array([1.0, np.inf, np.inf, -0.0, -0.0], BF16)])
    a, b = x.astype(np.float32), y.astype(np.float32)
    with np.errstate(all="ignore"):
        assert_bits(run(executor, lambda p, q: p + q, x, y), of(a + b))
        assert_bits(run(executor, lambda p, q: p * q, x, y), of(a * b))
        assert_bits(run(executor, lambda p, q: p / q, x, y), of(a / b))
        assert_bits(run(executor, ops.maximum, x, y), of(np.maximum(a, b)))
        near = run(executor, ops.exp, x)
        np.testing.assert_allclose(near.astype(np.float32), np.exp(a), rtol=2.0**-8)
    assert_bits(run(executor, lambda p: -p, x), of(-a))
    np.testing.assert_array_equal(run(executor, ops.less, x, y), a < b)
    np.testing.assert_array_equal(run(executor, ops.isnan, x), np.isnan(a))
    assert_bits(run(executor, ops.where, a > 0, x, y), np.where(a > 0, x, y))
    assert_bits(run(executor, lambda p: p * 1.5, x), of(a * np.float32(1.5)))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_reductions_round_once(executor: str) -> None:
    """Whole numbers, whose float32 sums are exact: 1,024 ones are 1,024, which one by one stop at 256."""
    ones = np.ones((3, 1024), BF16)
    assert_bits(run(executor, lambda p: ops.sum(p, axis=1), ones), np.full(3, 1024, BF16))
    x = np.random.default_rng(3).integers(-30, 30, (5, 37)).astype(np.float32)
    assert_bits(run(executor, lambda p: ops.sum(p, axis=0), x.astype(BF16)), of(x.sum(0)))
    assert_bits(run(executor, lambda p: ops.max(p, axis=1), x.astype(BF16)), of(x.max(1)))
    np.testing.assert_array_equal(run(executor, lambda p: ops.argmax(p, axis=1), x.astype(BF16)), x.argmax(1))
    x[2, 5] = np.nan
    assert_bits(run(executor, lambda p: ops.max(p, axis=1), x.astype(BF16)), of(x.max(1)))
    np.testing.assert_array_equal(run(executor, lambda p: ops.argmax(p, axis=1), x.astype(BF16)), x.argmax(1))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_matmul(executor: str) -> None:
    random = np.random.default_rng(4)
    a, b = (random.integers(-9, 9, shape).astype(np.float32) for shape in ((7, 33), (33, 19)))
    assert_bits(run(executor, ops.matmul, a.astype(BF16), b.astype(BF16)), of(a @ b))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_softmax(executor: str) -> None:
    x = data(4, 50)
    wide = np.exp(x.astype(np.float64) - x.astype(np.float64).max(1, keepdims=True))
    found = run(executor, lambda p: ops.softmax(p, axis=1), x)
    assert found.dtype == BF16
    np.testing.assert_allclose(found.astype(np.float64), wide / wide.sum(1, keepdims=True), rtol=2.0**-6)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_scatter_add(executor: str) -> None:
    base, updates = np.zeros(5, BF16), np.arange(1, 9).astype(BF16)
    places = np.array([0, 1, 0, 4, 4, 4, 2, 0])
    found = run(
        executor, lambda p, i, u: ops.scatter_elements(p, i, u, reduction="add"), base, places, updates
    )
    assert_bits(found, np.array([12, 2, 7, 0, 15], BF16))


def test_a_fused_chain_rounds_each_tensor() -> None:
    """Fusion does not skip the rounding of an intermediate: 256 + 1 is 256 in bfloat16."""
    x = np.array([256.0, 1.0], BF16)
    one = np.ones(2, BF16)
    np.testing.assert_array_equal(rt.jit(lambda a, b: a + b - a)(x, one), np.array([0.0, 1.0], BF16))
    a, b = data(33), data(33, seed=5)
    found = rt.jit(lambda p, q: (p * q + p) * q)(a, b)
    p, q = a.astype(np.float32), b.astype(np.float32)
    step = of(of(p * q).astype(np.float32) + p).astype(np.float32)
    assert_bits(found, of(step * q))


def test_large_results() -> None:
    """Large results live in memory that the runtime keeps, and leave it as bfloat16."""
    x = data(1 << 20)
    found = eager.add(x, x)
    assert_bits(np.asarray(found), of(x.astype(np.float32) * 2))
    out = run("graph", lambda p: ops.reshape(p * 2.0, newshape=(1024, 1024)), x)
    assert_bits(out.reshape(-1), of(x.astype(np.float32) * 2))


def test_operands_that_are_not_contiguous() -> None:
    raw = np.zeros(2 * 64 + 1, np.uint8)
    x = raw[1:].view(BF16)
    x[...] = data(64)
    assert_bits(run("graph", lambda p: p * 1.0, x), x.copy())
    assert_bits(run("graph", ops.negative, data(8, 8).T), -data(8, 8).T)


def test_eager() -> None:
    x = data(3, 5)
    assert_bits(np.asarray(eager.add(x, x)), of(x.astype(np.float32) * 2))
    assert_bits(np.asarray(eager.multiply(x[:, ::2], 2.0)), of(x[:, ::2].astype(np.float32) * 2))


def test_promotion() -> None:
    assert static.promote("bfloat16", "float32") == "float32"
    with pytest.raises(LanguageError, match="no dtype holds bfloat16 and float16 together; use cast"):
        static.promote("bfloat16", "float16")


def test_mixed_dtypes_are_refused() -> None:
    with pytest.raises(DTypeError, match="bfloat16") as caught:
        eager.add(np.ones(3, BF16), np.ones(3, np.float16))
    assert "float16" in str(caught.value)


# ------------------------------------------------------------------ text and tests


@pytest.mark.parametrize(
    "values", [1.5, -0.0, np.inf, np.nan, 1e-40, 3.39e38, [1.0, 2.5, np.nan], np.arange(40) / 4, []], ids=str
)
def test_text_round_trip(values: Any) -> None:
    constant = rt.const(np.asarray(values, np.float32).astype(BF16))
    x = rt.var("x", rt.TensorType(constant.data.shape, "bfloat16"))
    function = rt.Function([x], ops.add(x, constant))
    text = rt.to_text(function)
    parsed = rt.parse_expr(text)
    assert rt.structural_equal(function, parsed)
    assert rt.to_text(parsed) == text


def test_scalars_have_a_suffix() -> None:
    assert "1.5bf16" in rt.to_text(
        ops.add(rt.var("x", rt.TensorType((), "bfloat16")), rt.const(1.5, "bfloat16"))
    )


def test_test_data() -> None:
    spec = Spec.parse("bfloat16[3, 40]")
    assert ordinary(spec, "seed").dtype == BF16
    found = special(spec, "seed", extremes=True)
    assert found.dtype == BF16
    assert np.isnan(found).any()
    assert np.isfinite(found).any()


def test_tolerances() -> None:
    expected, type_ = np.array([1.0], BF16), rt.TensorType((1,), "bfloat16")

    class Result:
        def __init__(self, value: float) -> None:
            self.value = value

        def numpy(self) -> np.ndarray:
            return np.array([self.value], BF16)

    assert_close(Result(1 + 2.0**-5), expected, type_, [], OpPattern.ELEMWISE, "near")
    with pytest.raises(AssertionError, match="1 of 1 elements are wrong"):
        assert_close(Result(1.125), expected, type_, [], OpPattern.ELEMWISE, "far")
