"""Vector math in units in the last place, over all exponents and at all special values, at several lane counts.

float32 is measured against numpy in float64 (scipy for erf); float64 against numpy's long double where that is
wider, and against mpmath on fewer samples.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace

import llvmlite.binding as llvm
import mpmath
import numpy as np
import pytest
import scipy.special

from opgen_runtime.base.arith import INTRINSICS, call
from opgen_runtime.base.arith.intrinsics import ELEMENT_FUNCTIONS, intrinsic
from opgen_runtime.base.errors import CodegenError
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import DType
from opgen_runtime.codegen import modules_of
from opgen_runtime.codegen.llvm import math as vector_math
from opgen_runtime.codegen.llvm.intrinsics import INT_LOWERINGS, LOWERINGS
from opgen_runtime.codegen.llvm.passes import Pipeline
from opgen_runtime.codegen.objects import load as jit
from opgen_runtime.codegen.objects.compile import optimise_and_compile
from opgen_runtime.compute.te.evaluation.operations import call as te_call

HOST = Target.host()
INF, NAN = math.inf, math.nan
Array = np.ndarray
Run = Callable[..., Array]

# Largest error allowed, in units in the last place: (float32, float64).
BOUNDS = {
    "exp": (1.1, 1.1), "exp2": (1.1, 1.1), "expm1": (2.0, 2.1), "sigmoid": (1.6, 1.6), "tanh": (1.6, 1.6),
    "sinh": (2.5, 2.5), "cosh": (1.6, 1.6), "log": (1.0, 1.0), "log2": (1.0, 1.0), "log10": (1.0, 1.0),
    "log1p": (1.0, 1.0), "asinh": (2.0, 2.0), "acosh": (2.6, 2.6), "atanh": (2.2, 2.2),
    "sin": (2.0, 2.4), "cos": (2.0, 2.8), "tan": (3.6, 3.6), "erf": (1.3, 1.3), "erfc": (5.0, 5.0), "rsqrt": (1.6, 1.6),
    "cbrt": (0.51, 0.51),
    "asin": (1.6, 1.7), "acos": (1.2, 1.2), "atan": (2.8, 2.0),
    "pow": (0.6, 0.8), "atan2": (2.9, 2.0), "fmod": (0.0, 0.0),
}  # fmt: skip
REFERENCE: dict[str, Callable[..., Array]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "pow": np.power, "atan2": np.arctan2, "fmod": np.fmod, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "erf": scipy.special.erf, "erfc": scipy.special.erfc,
    "cbrt": np.cbrt,
}  # fmt: skip
UNARY = [name for name in REFERENCE if INTRINSICS[name].arity == 1]
BINARY = [name for name in REFERENCE if INTRINSICS[name].arity == 2]
NO_LONG_DOUBLE = ("erf", "erfc")  # of scipy, which has them in double only
WIDE_LONG_DOUBLE = np.finfo(np.longdouble).nmant > 60


def kernel_text(name: str, dtype: DType, lanes: int, target: Target) -> str:
    symbol, module = vector_math.function(name, dtype, lanes, target)
    element = {"float32": "float", "float64": "double"}[dtype]

    def vector(kind: str) -> str:
        return kind if lanes == 1 else f"<{lanes} x {kind}>"

    v, width = vector(element), dtype.itemsize
    arguments = f"{v} %x, {v} %y" if INTRINSICS[name].arity == 2 else f"{v} %x"
    return f"""{module.render()}
define void @kernel(ptr %a, ptr %b, ptr %out, i64 %n) "prefer-vector-width"="512" "min-legal-vector-width"="512" {{
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %latch ]
  %at_x = getelementptr {element}, ptr %a, i64 %i
  %at_y = getelementptr {element}, ptr %b, i64 %i
  %to = getelementptr {element}, ptr %out, i64 %i
  %x = load {v}, ptr %at_x, align {width}
  %y = load {v}, ptr %at_y, align {width}
  %r = call {v} @{symbol}({arguments})
  store {v} %r, ptr %to, align {width}
  br label %latch
latch:
  %next = add i64 %i, {lanes}
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}}
"""


@lru_cache(maxsize=256)
def kernel(name: str, dtype_name: str, lanes: int, target: Target = HOST) -> Run:
    """The function over arrays."""
    dtype = DType(dtype_name)
    text = kernel_text(name, dtype, lanes, target)
    loaded = jit.load(optimise_and_compile(text, target, Pipeline.DIRECT).object_code, "kernel")
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(loaded.address)

    def run(*operands: Array, _keep: object = loaded) -> Array:
        size = len(operands[0])
        count = -(-size // lanes) * lanes
        padded = [np.resize(np.asarray(o, dtype.numpy), count) for o in operands]
        out = np.empty(count, dtype.numpy)
        function(padded[0].ctypes.data, padded[-1].ctypes.data, out.ctypes.data, count)
        return out[:size]

    return run


def ulp_error(got: Array, exact: Array) -> Array:
    """Distance in units in the last place of the exact value; infinity where kinds or signs of zeros differ."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(got.dtype)
        step = np.spacing(
            np.minimum(np.abs(rounded), np.nextafter(np.finfo(got.dtype).max, got.dtype.type(0)))
        ).astype(exact.dtype)
        error = (np.abs(got.astype(exact.dtype) - exact) / step).astype(np.float64)
    both_nan = np.isnan(got) & np.isnan(rounded)
    same = (got == rounded) & ((got != 0) | (np.signbit(got) == np.signbit(rounded)))
    finite = np.isfinite(got) & np.isfinite(rounded) & ((got != 0) | (rounded != 0) | same)
    return np.where(both_nan | (same & ~np.isfinite(got)), 0.0, np.where(finite, error, INF))


def specials(dtype: str) -> Array:
    info = np.finfo(dtype)
    top, tiny, least = float(info.max), float(info.tiny), float(info.smallest_subnormal)
    below, above = 1 - float(info.epsneg), 1 + float(info.eps)
    positive = [
        0.0,
        INF,
        1,
        below,
        above,
        2,
        0.5,
        3,
        4,
        10,
        0.25,
        top,
        tiny,
        least,
        3 * least,
        tiny - least,
        1e10,
    ]
    return np.array([NAN, *positive, *(-v for v in positive)], dtype)


def samples(dtype: str, count: int) -> Array:
    """Random bits (all exponents), and the ranges in which functions are not trivial."""
    rng = np.random.default_rng(7)
    width = np.dtype(dtype).itemsize
    noise = rng.integers(0, 1 << (8 * width), count, dtype=f"u{width}").view(dtype)
    spans = [rng.uniform(-s, s, count) for s in (1, 10, 110 if width == 4 else 750, 6e4)]
    near_one = 1 + rng.uniform(-1e-3, 1e-3, count)
    turns = np.arange(1, 20000) * (np.pi / 2)
    small = 10.0 ** rng.uniform(-12, 1, count)
    shaped = np.concatenate([*spans, near_one, small, -small, turns]).astype(dtype)
    return np.concatenate([specials(dtype), noise, shaped])


def pairs(dtype: str, count: int) -> tuple[Array, Array]:
    """Operands of binary functions: all pairs of special values, then random ones."""
    rng = np.random.default_rng(8)
    width = np.dtype(dtype).itemsize
    grid = [g.ravel() for g in np.meshgrid(specials(dtype), specials(dtype))]
    bits = rng.integers(0, 1 << (8 * width), (2, count), dtype=f"u{width}").view(dtype)
    x = np.concatenate([rng.uniform(0, 10, count), rng.uniform(0.9, 1.1, count), rng.uniform(-10, 10, count)])
    whole = rng.integers(-10, 10, count).astype(float)
    y = np.concatenate([rng.uniform(-30, 30, count), rng.uniform(-800, 800, count), whole])
    return (
        np.concatenate([grid[0], bits[0], x.astype(dtype)]),
        np.concatenate([grid[1], bits[1], y.astype(dtype)]),
    )


def operands(name: str, dtype: str, count: int) -> tuple[Array, ...]:
    return pairs(dtype, count) if name in BINARY else (samples(dtype, count),)


def check(name: str, got: Array, exact: Array, inputs: tuple[Array, ...], bound: float) -> None:
    error = ulp_error(got, exact)
    k = int(np.argmax(error))
    at = tuple(o[k] for o in inputs)
    assert error[k] <= bound, (
        f"{name}{at}: {got[k]!r}, exactly {exact[k]!r}: {error[k]:.2f} ULP, at most {bound}"
    )


@pytest.mark.parametrize("name", REFERENCE)
def test_float32(name: str) -> None:
    inputs = operands(name, "float32", 60_000)
    with np.errstate(all="ignore"):
        exact = REFERENCE[name](*(o.astype(np.float64) for o in inputs))
    check(name, kernel(name, "float32", 16)(*inputs), exact, inputs, BOUNDS[name][0])


@pytest.mark.skipif(not WIDE_LONG_DOUBLE, reason="long double is no wider than double here")
@pytest.mark.parametrize("name", [n for n in REFERENCE if n not in NO_LONG_DOUBLE])
def test_float64(name: str) -> None:
    inputs = operands(name, "float64", 10_000)
    with np.errstate(all="ignore"):
        exact = REFERENCE[name](*(o.astype(np.longdouble) for o in inputs))
    check(name, kernel(name, "float64", 8)(*inputs), exact, inputs, BOUNDS[name][1])


MPMATH: dict[str, Callable[[mpmath.mpf], mpmath.mpf]] = {
    "erf": mpmath.erf, "erfc": mpmath.erfc,
    "exp": mpmath.exp, "log": mpmath.log, "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan,
    "tanh": mpmath.tanh, "sigmoid": lambda v: 1 / (1 + mpmath.exp(-v)),
}  # fmt: skip


@pytest.mark.parametrize("name", MPMATH)
def test_float64_against_mpmath(name: str) -> None:
    rng = np.random.default_rng(9)
    x = np.concatenate([rng.uniform(-6, 6, 200), 10.0 ** rng.uniform(-5, 2, 100), rng.uniform(0.9, 1.1, 50)])
    if name in ("sin", "cos", "tan"):  # the nearest double to a multiple of pi/2 is the first of these
        x = np.concatenate(
            [x, 10.0 ** rng.uniform(4, 308, 200), [6381956970095103 * 2.0**797, 1e22, 2.0**1000]]
        )
    x = np.abs(x) if name == "log" else x
    got = kernel(name, "float64", 8)(x)
    with mpmath.workprec(1300):
        exact = [MPMATH[name](mpmath.mpf(float(v))) for v in x]
        steps = np.spacing(np.abs([float(e) for e in exact]))
        error = [
            float(abs(mpmath.mpf(float(g)) - e) / s)
            for g, e, s in zip(got, exact, steps.tolist(), strict=True)
        ]
    assert max(error) <= BOUNDS[name][1], (name, x[int(np.argmax(error))])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", REFERENCE)
def test_lane_counts_agree_to_the_bit(name: str, dtype: str) -> None:
    inputs = tuple(o[:: 1 if name in BINARY else 3] for o in operands(name, dtype, 500))
    unsigned = f"u{np.dtype(dtype).itemsize}"
    first = kernel(name, dtype, 16)(*inputs)
    number = ~np.isnan(first)
    for lanes in (1, 4, 7, 8, 24):
        other = kernel(name, dtype, lanes)(*inputs)
        assert np.array_equal(number, ~np.isnan(other)), lanes
        np.testing.assert_array_equal(other.view(unsigned)[number], first.view(unsigned)[number])


@pytest.mark.skipif(not HOST.triple.startswith("x86_64"), reason="a test of x86-64 before FMA")
@pytest.mark.parametrize("name", REFERENCE)
def test_without_fma(name: str) -> None:
    plain = Target(HOST.kind, HOST.triple, "x86-64", "", HOST.keys, HOST.num_threads, HOST.machine)
    assert "llvm.fma" not in vector_math.function(name, DType("float32"), 4, plain)[1].render()
    inputs = operands(name, "float32", 3000)
    with np.errstate(all="ignore"):
        exact = REFERENCE[name](*(o.astype(np.float64) for o in inputs))
    check(
        name,
        kernel(name, "float32", 4, plain)(*inputs),
        exact,
        inputs,
        max(4.0, BOUNDS[name][0]) if name != "fmod" else 0,
    )
    if WIDE_LONG_DOUBLE and name not in NO_LONG_DOUBLE:
        inputs = operands(name, "float64", 1000)
        with np.errstate(all="ignore"):
            exact = REFERENCE[name](*(o.astype(np.longdouble) for o in inputs))
        got = kernel(name, "float64", 2, plain)(*inputs)
        check(name, got, exact, inputs, 4.0 if name != "fmod" else 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_known_values(dtype: str) -> None:
    """Values that must be exact, signs of zeros included (C99 annex F)."""
    table: dict[str, list[tuple[float, ...]]] = {
        "exp": [(0.0, 1.0), (-INF, 0.0), (INF, INF)], "exp2": [(10.0, 1024.0), (-1.0, 0.5)],
        "log": [(1.0, 0.0), (0.0, -INF)], "log2": [(8.0, 3.0), (0.125, -3.0)],
        "log10": [(1000.0, 3.0), (1.0, 0.0)], "log1p": [(-0.0, -0.0), (-1.0, -INF)],
        "expm1": [(-0.0, -0.0), (-INF, -1.0)], "sin": [(-0.0, -0.0)], "cos": [(0.0, 1.0)],
        "tanh": [(-0.0, -0.0), (INF, 1.0)], "sigmoid": [(0.0, 0.5), (INF, 1.0), (-INF, 0.0)],
        "erf": [(-0.0, -0.0), (-INF, -1.0)], "acos": [(1.0, 0.0)], "sinh": [(-0.0, -0.0)],
        "cosh": [(0.0, 1.0), (-INF, INF)], "asinh": [(-0.0, -0.0), (-INF, -INF)], "acosh": [(1.0, 0.0)],
        "atanh": [(1.0, INF), (-0.0, -0.0)],
        "cbrt": [(27.0, 3.0), (-0.001, -0.1), (-0.0, -0.0), (-INF, -INF)], "rsqrt": [(4.0, 0.5), (INF, 0.0)],
        "pow": [(-2.0, 3.0, -8.0), (NAN, 0.0, 1.0), (1.0, NAN, 1.0), (-1.0, INF, 1.0),
            (-0.0, -3.0, -INF), (-0.0, 3.0, -0.0)],
        "fmod": [(-6.0, 3.0, -0.0), (5.5, -2.0, 1.5), (3.0, INF, 3.0), (-0.0, 1.0, -0.0)],
        "atan2": [(-0.0, 1.0, -0.0), (0.0, INF, 0.0), (-0.0, 0.0, -0.0)],
    }  # fmt: skip
    for name, rows in table.items():
        columns = np.array(rows, dtype).T
        np.testing.assert_array_equal(kernel(name, dtype, 1)(*columns[:-1]), columns[-1], err_msg=name)
        zero = columns[-1] == 0
        np.testing.assert_array_equal(
            np.signbit(kernel(name, dtype, 1)(*columns[:-1]))[zero], np.signbit(columns[-1])[zero]
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sine_and_cosine_stay_within_one(dtype: str) -> None:
    x = (np.arange(4000) * (np.pi / 2))[:, None] * (1 + np.arange(-20, 21) * 1e-5)
    for name in ("sin", "cos"):
        assert np.abs(kernel(name, dtype, 8)(x.ravel().astype(dtype))).max() == 1


def test_errors() -> None:
    with pytest.raises(CodegenError, match="vector math has no function 'sqrt'; expected one of exp,"):
        vector_math.function("sqrt", DType("float32"), 8, HOST)
    with pytest.raises(CodegenError, match="vector math of exp on float16: expected float32 or float64"):
        vector_math.function("exp", DType("float16"), 8, HOST)


def test_other_machines_import_what_the_runtime_has_for_them() -> None:
    arm = Target.parse("llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=generic")
    for name in ("exp", "sin", "fmod", "pow"):
        texts = [vector_math.function(name, DType("float32"), 4, arm)[1].render()]
        imported = re.findall(r"^declare .* @(?!llvm\.)(\w+)\(", texts[0], re.M)
        assert imported == {"sin": ["opgen_sin_huge_f32"], "fmod": ["opgen_fmod_long_f32"]}.get(name, [])
        modules = modules_of(imported, arm)
        assert list(modules) == imported
        for text in [*texts, *modules.values()]:
            llvm.parse_assembly(text, llvm.create_context()).verify()


def test_every_intrinsic_has_one_meaning_and_one_lowering() -> None:
    """Rows of both tables: what takes floats is lowered for floats, what takes ints for ints, and nothing else."""
    rows = ELEMENT_FUNCTIONS.items()
    assert set(LOWERINGS) == {name for name, row in rows if row.takes != "integer"}
    assert set(INT_LOWERINGS) == {name for name, row in rows if row.takes != "float"}
    for name, row in rows:
        assert (row.number is None) == (row.takes == "integer"), name
        assert (row.on_ints is None) == (row.takes == "float"), name


@pytest.mark.parametrize(("name", "most"), [("exp", 19), ("sigmoid", 23), ("tanh", 28), ("erf", 36)])
def test_instructions_without_avx512(name: str, most: int) -> None:
    """Of a vector, without loads, stores and copies."""
    target = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3")
    text = kernel_text(name, DType("float32"), 8, target)
    loop = (
        optimise_and_compile(text, target, Pipeline.DIRECT).assembly.rpartition(":\n")[0].rpartition(":\n")[2]
    )
    words = [line.split()[0] for line in loop.splitlines() if line.startswith("\tv")]
    assert len([word for word in words if not word.startswith(("vmov", "vbroadcast"))]) <= most, loop


@pytest.mark.parametrize("name", ELEMENT_FUNCTIONS)
def test_the_meanings_of_a_row_agree(build: SimpleNamespace, name: str) -> None:
    """On numbers, on arrays, and as compiled; special values, poles and overflows included."""
    row = ELEMENT_FUNCTIONS[name]
    dtype = DType("int32" if row.takes == "integer" else "float64")
    values = specials("float64") if dtype.is_float else np.array([0, 1, -1, 7, -(2**31), 2**31 - 1], "int32")
    values = values[:: 4 if row.arity == 3 else 1]
    operands = [grid.ravel() for grid in np.meshgrid(*[values] * row.arity)]
    one_by_one = [intrinsic(name, dtype, args) for args in zip(*(o.tolist() for o in operands), strict=True)]
    with np.errstate(all="ignore"):
        together = te_call(name, dtype, operands)
    compiled = build.elementwise(lambda *args: call(name, *args), *operands, lanes=1)
    assert together.dtype == compiled.dtype
    for found in (together, compiled):
        tolerance = {"rtol": 0, "atol": 0} if row.exact else {"rtol": 1e-14, "atol": 1e-320}
        np.testing.assert_allclose(
            found.astype(np.float64), np.array(one_by_one, np.float64), **tolerance, err_msg=name
        )
        if row.takes == "float" and not row.gives_bool:
            zero = (found == 0) & (np.array(one_by_one) == 0)
            signs = np.signbit(np.array(one_by_one))
            np.testing.assert_array_equal(np.signbit(found)[zero], signs[zero], err_msg=name)
