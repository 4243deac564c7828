"""Floats of storage: all of their numbers, all neighbourhoods of rounding boundaries, no double rounding."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from opgen_runtime.base.arith.semantics import from_bits, round_float, to_bits
from opgen_runtime.base.errors import CodegenError
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import DTYPES, FLOAT16, FLOAT32, FLOAT64, DType
from opgen_runtime.codegen.llvm import storage
from opgen_runtime.codegen.llvm.passes import Pipeline
from opgen_runtime.codegen.llvm.text.types import register_type
from opgen_runtime.codegen.objects import load as jit
from opgen_runtime.codegen.objects.compile import optimise_and_compile
from opgen_runtime.compute.te.evaluation.operations import rounded

HOST = Target.host()


def without_f16c() -> Target:
    """This machine, said to have no float16 conversion."""
    features = [f for f in HOST.features.split(",") if f != "+f16c"]
    return Target(
        HOST.kind, HOST.triple, "x86-64", ",".join(features), HOST.keys, HOST.num_threads, HOST.machine
    )


TARGETS = {"host": HOST} | ({"no-f16c": without_f16c()} if HOST.triple.startswith("x86_64") else {})


@pytest.fixture(scope="module", params=TARGETS)
def target(request: pytest.FixtureRequest) -> Target:
    return TARGETS[request.param]


def convert(source: DType, dtype: DType, lanes: int, target: Target) -> Callable[[np.ndarray], np.ndarray]:
    symbol, module = storage.function(source, dtype, lanes, target)
    a, b = register_type(source), register_type(dtype)
    va, vb = (t if lanes == 1 else f"<{lanes} x {t}>" for t in (a, b))
    loop = f"""
define void @kernel(ptr %in, ptr %out, i64 %n) {{
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %loop ]
  %from = getelementptr {a}, ptr %in, i64 %i
  %to = getelementptr {b}, ptr %out, i64 %i
  %x = load {va}, ptr %from, align {source.itemsize}
  %y = call {vb} @{symbol}({va} %x)
  store {vb} %y, ptr %to, align {dtype.itemsize}
  %next = add i64 %i, {lanes}
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}}
"""
    loaded = jit.load(
        optimise_and_compile(module.render() + loop, target, Pipeline.DIRECT).object_code, "kernel"
    )
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(loaded.address)

    def run(values: np.ndarray, _keep: object = loaded) -> np.ndarray:
        count = -(-len(values) // lanes) * lanes
        padded = np.zeros(count, source.numpy)
        padded[: len(values)] = values
        out = np.empty(count, dtype.numpy)
        function(padded.ctypes.data, out.ctypes.data, count)
        return out[: len(values)]

    return run


STORED = [DType(name) for name in DTYPES if DType(name).is_storage]


def every(stored: DType) -> np.ndarray:
    """The numbers of all bit patterns."""
    return np.arange(1 << stored.bits).astype(f"u{stored.itemsize}").view(stored.numpy)


def patterns(values: np.ndarray) -> np.ndarray:
    return values.view(f"u{values.itemsize}")


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
def test_every_number_widens_exactly(dtype: DType, lanes: int, stored: DType, target: Target) -> None:
    values = every(stored)
    got = convert(stored, dtype, lanes, target)(values)
    with np.errstate(invalid="ignore"):  # NaN that signals
        expected = values.astype(dtype.numpy)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(patterns(got)[number], patterns(expected)[number])
    assert np.isnan(got[~number]).all()
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


def narrowing_samples(dtype: DType, stored: DType) -> np.ndarray:
    """Every number of the format, every midpoint of two, the neighbours of both, and random bits."""
    form = stored.float_format
    assert form is not None
    with np.errstate(invalid="ignore"):
        wide = every(stored).astype(np.float64)
    finite = np.sort(wide[np.isfinite(wide)])
    beyond = form.highest + 2.0 ** (form.greatest - form.fraction) * np.array(
        [0.49, 0.5, 0.51, 1.0, 1e3, np.inf]
    )
    with np.errstate(over="ignore"):
        centres = np.concatenate(
            [finite, (finite[1:] + finite[:-1]) / 2, beyond, -beyond, [form.step / 2, form.step / 4]]
        ).astype(dtype.numpy)
    up, down = (
        np.nextafter(centres, dtype.numpy.type(np.inf)),
        np.nextafter(centres, dtype.numpy.type(-np.inf)),
    )
    rng = np.random.default_rng(0)
    unsigned = f"u{dtype.itemsize}"
    noise = rng.integers(0, 2 ** (8 * dtype.itemsize), 100_000, dtype=unsigned).view(dtype.numpy)
    powers = 2.0 ** rng.integers(max(form.least - form.fraction - 3, -140), form.greatest + 1, 100_000)
    exponents = (rng.uniform(1, 2, 100_000) * powers).astype(dtype.numpy)
    special = np.array([-0.0, np.nan], dtype.numpy)
    return np.concatenate([centres, up, down, noise, exponents, -exponents, special])


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
def test_narrowing_rounds_once(dtype: DType, lanes: int, stored: DType, target: Target) -> None:
    values = narrowing_samples(dtype, stored)
    got = convert(dtype, stored, lanes, target)(values)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        expected = rounded(values, stored)
    number = ~np.isnan(expected.astype(np.float32))
    np.testing.assert_array_equal(patterns(got)[number], patterns(expected)[number])
    assert np.isnan(got[~number].astype(np.float32)).all()


@pytest.mark.parametrize("stored", STORED)
def test_numbers_one_by_one_mean_the_same(stored: DType) -> None:
    """Rounding and bits on Python's floats, with numpy's and ml_dtypes' own."""
    values = every(stored)
    with np.errstate(invalid="ignore"):
        wide = values.astype(np.float64)
    for pattern, value in zip(patterns(values).tolist(), wide.tolist(), strict=True):
        assert from_bits(pattern, stored) == value or value != value
        if value == value:
            assert to_bits(value, stored) == pattern
    assert np.isnan(
        np.array([to_bits(np.nan, stored)], f"u{stored.itemsize}").view(stored.numpy).astype(np.float32)
    )
    samples = narrowing_samples(FLOAT64, stored)[::97]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        expected = rounded(samples, stored).astype(np.float64)
    np.testing.assert_array_equal([round_float(value, stored) for value in samples.tolist()], expected)


def test_double_rounding_would_show(target: Target) -> None:
    """Just above a midpoint of two float16, by less than float32 can say."""
    value = np.array([1 + 2.0**-11 + 2.0**-40])
    assert value.astype(np.float32).astype(np.float16)[0] == 1.0
    assert convert(FLOAT64, FLOAT16, 1, target)(value)[0] == np.float16(1 + 2.0**-10)


def test_hardware_is_used_where_it_is_exact() -> None:
    if not HOST.has("f16c"):
        pytest.skip("no F16C here")
    assert "fptrunc" in storage.function(FLOAT32, FLOAT16, 8, HOST)[1].render()
    assert "fptrunc" not in storage.function(FLOAT64, FLOAT16, 8, HOST)[1].render()
    assert "half" not in storage.function(FLOAT32, FLOAT16, 8, without_f16c())[1].render()


def test_other_pairs_are_refused() -> None:
    with pytest.raises(
        CodegenError, match="conversion of float32 to float64: expected a float of storage and a wider float"
    ):
        storage.function(FLOAT32, FLOAT64, 1, HOST)
