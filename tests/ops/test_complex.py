"""Complex arrays from end to end, beside numpy: what moves and computes, programs, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.errors import CallError, DTypeError
from opgen_runtime.run.calls import eager

DTYPES = ["complex64", "complex128"]
SPECIAL = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]


def ordinary(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    random = np.random.default_rng(3)
    return np.asarray(random.normal(size=shape) + 1j * random.normal(size=shape)).astype(dtype)


def special(dtype: str) -> np.ndarray:
    """All pairs of special parts."""
    made = np.empty((len(SPECIAL), len(SPECIAL)), dtype)
    made.real, made.imag = np.meshgrid(SPECIAL, SPECIAL)
    return made.reshape(-1)


def assert_same(found: Any, expected: np.ndarray, ulps: float = 0.0) -> None:
    """The dtype, the shape, and each part: NaN where NaN is, the sign of zeros, within `ulps` of the element's size,
    beside an infinity of its own."""
    array = np.asarray(found)
    assert (array.dtype, array.shape) == (expected.dtype, expected.shape)
    if array.dtype.kind not in "fc":
        assert array.tolist() == expected.tolist()
        return
    with np.errstate(all="ignore"):
        for a, b in ((array.real, expected.real), (array.imag, expected.imag)):
            size = np.where(np.isfinite(expected), np.abs(expected), np.abs(b))
            error = ulps * np.finfo(array.dtype).eps * size
            near = (a == b) | (np.abs(a - b) <= np.where(np.isfinite(error), error, 0))
            signs = (np.signbit(a) == np.signbit(b)) | (a != 0) | (b != 0)
            assert np.all((np.isnan(a) & np.isnan(b)) | (near & signs))


MOVES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "reshape": (lambda z: eager.reshape(z, newshape=(4, 6)), lambda z: z.reshape(4, 6)),
    "transpose": (lambda z: eager.transpose(z, axes=(2, 0, 1)), lambda z: z.transpose(2, 0, 1)),
    "concatenate": (lambda z: eager.concatenate((z, z), axis=1), lambda z: np.concatenate((z, z), 1)),
    "stack": (lambda z: eager.stack((z, z), axis=-1), lambda z: np.stack((z, z), -1)),
    "split": (lambda z: eager.split(z, indices_or_sections=(2,), axis=2)[1], lambda z: np.split(z, 2, 2)[1]),
    "tile": (lambda z: eager.tile(z, reps=(2, 1, 1)), lambda z: np.tile(z, (2, 1, 1))),
    "reverse": (lambda z: eager.reverse(z, axis=0), lambda z: z[::-1]),
    "take": (lambda z: eager.take(z, np.array([2, 0]), axis=1), lambda z: z[:, [2, 0]]),
    "put_slice": (
        lambda z: eager.put_slice(z, z[:, :1], axis=1, start=2),
        lambda z: np.concatenate((z[:, :2], z[:, :1]), 1),
    ),
    "masked_select": (lambda z: eager.masked_select(z, z.real > 0), lambda z: z[z.real > 0]),
    "zeros_like": (eager.zeros_like, np.zeros_like),
    "trilu": (eager.trilu, np.triu),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MOVES)
def test_elements_move(name: str, dtype: str) -> None:
    ours, numpys = MOVES[name]
    z = ordinary((2, 3, 4), dtype)
    assert_same(ours(z), numpys(z))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("ours", "numpys", "ulps"),
    [
        (eager.real, lambda z: z.real, 0),
        (eager.imag, lambda z: z.imag, 0),
        (eager.conj, np.conj, 0),
        (eager.negative, np.negative, 0),
        (eager.abs, np.abs, 2),
        (eager.angle, np.angle, 2),
        (lambda z: eager.cast(z, dtype="bool"), lambda z: z.astype(bool), 0),
        (lambda z: eager.cast(z, dtype="complex64"), lambda z: z.astype(np.complex64), 0),
        (lambda z: eager.cast(z.real, dtype=z.dtype.name), lambda z: z.real.astype(z.dtype), 0),
        (lambda z: eager.complex(z.real, z.imag), lambda z: z, 0),
    ],
    ids=["real", "imag", "conj", "negative", "abs", "angle", "bool", "complex64", "of_real", "complex"],
)
def test_functions_of_elements(ours: Any, numpys: Any, ulps: float, dtype: str) -> None:
    for z in (special(dtype), ordinary((5, 7), dtype)):
        assert_same(ours(z), numpys(z), ulps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "equal", "not_equal"])
def test_pairs(name: str, dtype: str) -> None:
    """Of special values one pair at a time: numpy multiplies long rows by fused instructions, which round otherwise."""
    values = special(dtype)
    x, y = values[:, None], values[None, :]
    expected = np.empty((len(values), len(values)), bool if name.endswith("equal") else dtype)
    with np.errstate(all="ignore"):
        for i, a in enumerate(values):
            expected[i] = [getattr(np, name)(a, b) for b in values]
    assert_same(getattr(eager, name)(x, y), expected)
    a, b = ordinary((6, 35), dtype), ordinary((35,), dtype)
    assert_same(getattr(eager, name)(a, b), getattr(np, name)(a, b), 4)


def test_a_sum() -> None:
    z = ordinary((40, 70), "complex128")
    assert_same(eager.sum(z, axis=(1,)), z.sum(1), 64)


def program(z: Any, w: Any) -> Any:
    return np.concatenate([np.conj(z) * w + 2.5, (z / w)[:1] * np.complex64(1j)]), np.abs(z - w)


def test_programs() -> None:
    z, w = ordinary((3, 5), "complex64"), ordinary((5,), "complex64")
    for found, expected in zip(rt.jit(program)(z, w), program(z, w), strict=True):
        assert_same(found, expected, 16)


def test_a_module_as_text_in_files_and_by_numpy(tmp_path: Path) -> None:
    z = ordinary((2, 3), "complex64")
    x = ir.Var("x", rt.TensorType((2, 3), "complex64"))
    module = ir.IRModule.from_expr(ir.Function([x], ops.add(ops.multiply(x, ir.const(z)), 2)))
    text = str(module)
    assert "%x: Tensor[(2, 3), complex64]" in text
    read = ir.parse_module(text)
    assert str(read) == text
    expected = z * z + 2
    built = rt.build(read)
    built.save(tmp_path / "program.opgen")
    for program in (built, rt.load(tmp_path / "program.opgen")):
        assert_same(program.run([z]), expected, 8)
    main = read["main"]
    for kind in ("graph", "debug"):
        assert_same(rt.create_executor(kind).evaluate(main.body, {main.params[0]: z}).numpy(), expected, 8)


def test_what_is_refused() -> None:
    z = ordinary((3,), "complex64")
    for call, error, message in (
        (lambda: eager.cast(z, dtype="float32"), DTypeError, "a complex number has no value in a real dtype"),
        (lambda: eager.less(z, z), DTypeError, "less: argument 'lhs' has dtype complex64"),
        (lambda: eager.add(z, z.real), DTypeError, "complex64"),
        (lambda: rt.jit(lambda a: np.sort(a))(z), CallError, "np.sort of complex numbers is not there"),
        (lambda: rt.jit(lambda a: a < a)(z), CallError, "no declared op computes np.less of complex64"),
    ):
        with pytest.raises(error, match=message):
            call()
