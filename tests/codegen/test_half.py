"""float16 conversions against numpy: all float16, all neighbourhoods of rounding boundaries, no double rounding."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from opgen_runtime.base.errors import CodegenError
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import FLOAT16, FLOAT32, FLOAT64, DType
from opgen_runtime.codegen import load as jit
from opgen_runtime.codegen.llvm import half
from opgen_runtime.codegen.objects.compile import optimise_and_compile
from opgen_runtime.codegen.objects.pipeline import Pipeline

HOST = Target.host()
REGISTER = {"float16": "i16", "float32": "float", "float64": "double"}


def without_f16c() -> Target:
    """This machine, said to have no float16 conversion."""
    features = [f for f in HOST.features.split(",") if f != "+f16c"]
    return Target(HOST.kind, HOST.triple, "x86-64", ",".join(features), HOST.keys, HOST.num_threads)


TARGETS = {"host": HOST} | ({"no-f16c": without_f16c()} if HOST.triple.startswith("x86_64") else {})


@pytest.fixture(scope="module", params=TARGETS)
def target(request: pytest.FixtureRequest) -> Target:
    return TARGETS[request.param]


def convert(source: DType, dtype: DType, lanes: int, target: Target) -> Callable[[np.ndarray], np.ndarray]:
    symbol, module = half.function(source, dtype, lanes, target)
    a, b = REGISTER[source], REGISTER[dtype]
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


ALL = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
def test_every_half_widens_exactly(dtype: DType, lanes: int, target: Target) -> None:
    got = convert(FLOAT16, dtype, lanes, target)(ALL)
    expected = ALL.astype(dtype.numpy)
    number = ~np.isnan(ALL)
    bits = f"u{dtype.itemsize}"
    np.testing.assert_array_equal(got.view(bits)[number], expected.view(bits)[number])
    assert np.isnan(got[~number]).all()
    np.testing.assert_array_equal(np.signbit(got), np.signbit(ALL))


def narrowing_samples(dtype: DType) -> np.ndarray:
    """Every float16, every midpoint of two, the neighbours of both, and random bits."""
    finite = np.sort(ALL[np.isfinite(ALL)].astype(np.float64))
    top = np.array([65519.99, 65520.0, 65520.01, 1e5, 1e30, -65520.0, np.inf, -np.inf, 2.0**-25, 2.0**-26])
    centres = np.concatenate([finite, (finite[1:] + finite[:-1]) / 2, top]).astype(dtype.numpy)
    up, down = (
        np.nextafter(centres, dtype.numpy.type(np.inf)),
        np.nextafter(centres, dtype.numpy.type(-np.inf)),
    )
    rng = np.random.default_rng(0)
    unsigned = f"u{dtype.itemsize}"
    noise = rng.integers(0, 2 ** (8 * dtype.itemsize), 200_000, dtype=unsigned).view(dtype.numpy)
    exponents = (rng.uniform(1, 2, 200_000) * 2.0 ** rng.integers(-27, 17, 200_000)).astype(dtype.numpy)
    special = np.array([-0.0, np.nan], dtype.numpy)
    return np.concatenate([centres, up, down, noise, exponents, -exponents, special])


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
def test_narrowing_rounds_once(dtype: DType, lanes: int, target: Target) -> None:
    values = narrowing_samples(dtype)
    got = convert(dtype, FLOAT16, lanes, target)(values)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        expected = values.astype(np.float16)  # numpy rounds once from either
    number = ~np.isnan(values)
    np.testing.assert_array_equal(got.view(np.uint16)[number], expected.view(np.uint16)[number])
    assert np.isnan(got[~number]).all()


def test_double_rounding_would_show(target: Target) -> None:
    """Just above a midpoint of two float16, by less than float32 can say."""
    value = np.array([1 + 2.0**-11 + 2.0**-40])
    assert value.astype(np.float32).astype(np.float16)[0] == 1.0
    assert convert(FLOAT64, FLOAT16, 1, target)(value)[0] == np.float16(1 + 2.0**-10)


def test_hardware_is_used_where_it_is_exact() -> None:
    if not HOST.has("f16c"):
        pytest.skip("no F16C here")
    assert "fptrunc" in half.function(FLOAT32, FLOAT16, 8, HOST)[1].render()
    assert "fptrunc" not in half.function(FLOAT64, FLOAT16, 8, HOST)[1].render()
    assert "half" not in half.function(FLOAT32, FLOAT16, 8, without_f16c())[1].render()


def test_other_pairs_are_refused() -> None:
    with pytest.raises(
        CodegenError, match="half conversion of float32 to float64: expected a half and a wider"
    ):
        half.function(FLOAT32, FLOAT64, 1, HOST)
