"""Winograd: which convolutions take fewer products, that others stay, and that errors are within the stated bound."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import eager, ir, ops
from opgen_runtime.base.errors import PassError
from opgen_runtime.operator.types import TensorType
from opgen_runtime.transform import PassContext, Winograd
from opgen_runtime.transform.winograd import GROWTH
from tests.transform.whole import gives

ALLOWED = PassContext(required=["Winograd"])
RANDOM = np.random.default_rng(7)


def conv(
    shape: tuple[int, ...], filters: int, taps: int = 3, dtype: str = "float32", **attrs: Any
) -> tuple[ir.Var, ir.Constant, ir.Function]:
    """A convolution of an image of a shape with constant filters."""
    x = ir.var("x", TensorType(shape, dtype))
    channels = shape[1] // attrs.get("groups", 1)
    weight = ir.Constant(RANDOM.integers(-4, 5, (filters, channels, taps, taps)).astype(dtype))
    return x, weight, ir.Function((x,), ops.conv2d(x, weight, **attrs))


def tiled(x: ir.Var, weight: ir.Constant, tile: int, **attrs: Any) -> ir.Function:
    """What becomes of it."""
    filters = np.asarray(eager.winograd_filters(weight.data, tile=tile))
    return ir.Function((x,), ops.winograd_conv2d(x, ir.Constant(filters), tile=tile, **attrs))


@pytest.mark.parametrize(
    ("shape", "filters", "tile"),
    [
        ((1, 64, 28, 28), 64, 4),
        ((2, 24, 15, 13), 40, 4),
        ((1, 256, 6, 6), 256, 2),  # of four tiles by four, much would be computed beside the image
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_convolution_whole(shape: tuple[int, ...], filters: int, tile: int, dtype: str) -> None:
    x, weight, before = conv(shape, filters, dtype=dtype, padding=(1, 1))
    gives(Winograd(), before, tiled(x, weight, tile, padding=(1, 1)))


def test_small_tiles_alone() -> None:
    x, weight, before = conv((1, 64, 28, 28), 64, padding=(1, 0, 2, 1))
    gives(Winograd(tile=2), before, tiled(x, weight, 2, padding=(1, 0, 2, 1)))


@pytest.mark.parametrize(
    ("shape", "filters", "taps", "attrs"),
    [
        ((1, 64, 28, 28), 64, 3, {"strides": (2, 2)}),
        ((1, 64, 28, 28), 64, 3, {"dilation": (2, 2)}),
        ((1, 64, 28, 28), 64, 3, {"groups": 2}),
        ((1, 64, 28, 28), 64, 1, {}),
        ((1, 64, 28, 28), 64, 5, {}),
        ((1, 3, 64, 64), 64, 3, {}),  # few channels
        ((1, 64, 64, 64), 4, 3, {}),  # few filters
        ((1, 64, 3, 3), 64, 3, {}),  # one result
        ((1, 64, 28, 28), 64, 3, {"dtype": "float16"}),
        ((1, 64, 28, 28), 64, 3, {"dtype": "int32"}),
    ],
)
def test_others_stay(shape: tuple[int, ...], filters: int, taps: int, attrs: dict[str, Any]) -> None:
    gives(Winograd(), conv(shape, filters, taps, **attrs)[2])


def test_weights_that_are_not_constant_and_other_layouts_stay() -> None:
    x, weight = (
        ir.var(n, TensorType(s, "float32")) for n, s in (("x", (1, 64, 28, 28)), ("w", (64, 64, 3, 3)))
    )
    gives(Winograd(), ir.Function((x, weight), ops.conv2d(x, weight)))
    last = ir.var("x", TensorType((1, 28, 28, 64), "float32"))
    call = ops.conv2d(
        last, ir.Constant(np.ones((3, 3, 64, 64), "float32")), data_layout="NHWC", kernel_layout="HWIO"
    )
    gives(Winograd(), ir.Function((last,), call))


@pytest.mark.parametrize(
    "named", ["winograd_conv2d", {"conv": "winograd_conv2d"}, {"conv": "no_op", "filters": "relu"}]
)
def test_names_of_no_op(named: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from opgen_runtime.transform import winograd

    declaration = SimpleNamespace(traits={"winograd": named})
    op = SimpleNamespace(name="sharpen", get_attr=lambda name: declaration)
    with pytest.raises(PassError, match=r"op sharpen declares winograd .* is no op"):
        winograd._names(op)  # type: ignore[arg-type]


def test_it_is_off_unless_it_is_asked_for() -> None:
    """At every level of today's; with it the kernel is another, and so are the last bits."""
    _, _, function = conv((1, 32, 20, 20), 32, padding=(1, 1))
    image = RANDOM.standard_normal((1, 32, 20, 20)).astype("float32")
    plain = rt.build(function, context=PassContext(disabled=["Winograd"]))
    for level in range(5):
        default = rt.build(function, opt_level=level)
        assert default.kernels == plain.kernels
        assert default.run([image]).tobytes() == plain.run([image]).tobytes()
    allowed = rt.build(function, context=ALLOWED)
    assert allowed.kernels == ("opgen_winograd_conv2d",)
    found = allowed.run([image])
    assert found.tobytes() != plain.run([image]).tobytes()
    assert np.abs(found - plain.run([image])).max() < 1e-2


def test_what_follows_is_computed_with_it() -> None:
    x, _, function = conv((1, 32, 12, 12), 32, padding=(1, 1))
    bias = ir.Constant(RANDOM.standard_normal((32, 1, 1)).astype("float32"))
    whole = ir.Function((x,), ops.relu(ops.add(function.body, bias)))
    executable = rt.build(whole, context=ALLOWED)
    assert executable.kernels == ("opgen_winograd_conv2d_add_relu",)
    image = RANDOM.standard_normal((1, 32, 12, 12)).astype("float32")
    assert np.allclose(executable.run([image]), rt.build(whole).run([image]), atol=1e-3)


def stated(image: np.ndarray, weight: np.ndarray, padding: tuple[int, ...], tile: int) -> np.ndarray:
    """The bound of the pass's documentation, of each result."""
    top, left, bottom, right = padding
    count, channels, height, width = image.shape
    height, width = height + top + bottom - 2, width + left + right - 2
    padded = np.pad(np.abs(image), ((0, 0), (0, 0), (top, bottom + tile), (left, right + tile)))
    steps = (channels + 20) * np.finfo(image.dtype).eps / 2
    found = np.empty((count, weight.shape[0], height, width))
    largest = np.abs(weight).max((2, 3))
    for y in range(0, height, tile):
        for x in range(0, width, tile):
            magnitudes = padded[:, :, y : y + tile + 2, x : x + tile + 2].max((2, 3))
            found[:, :, y : y + tile, x : x + tile] = (magnitudes @ largest.T)[:, :, None, None]
    return found * GROWTH[tile] * steps / (1 - steps)


def direct(image: np.ndarray, weight: np.ndarray, padding: tuple[int, ...]) -> np.ndarray:
    top, left, bottom, right = padding
    padded = np.pad(image.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.einsum("ncyxrs,ocrs->noyx", windows, weight.astype(np.float64))


@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize(
    ("shape", "filters", "padding"),
    [
        ((1, 1, 3, 3), 1, (0, 0, 0, 0)),
        ((1, 1, 1, 1), 2, (1, 1, 1, 1)),
        ((8, 2, 7, 5), 3, (1, 1, 1, 1)),
        ((1, 3, 9, 13), 5, (2, 2, 2, 2)),
        ((2, 17, 11, 6), 19, (2, 0, 1, 0)),
        ((8, 33, 5, 5), 16, (0, 0, 0, 0)),
        ((1, 64, 14, 14), 48, (1, 1, 1, 1)),
    ],
)
def test_errors_are_within_the_bound(
    shape: tuple[int, ...], filters: int, padding: tuple[int, ...], tile: int
) -> None:
    """Magnitudes differ by ten thousand from place to place, so that what a tile spreads would be seen."""
    random = np.random.default_rng(sum(shape) * filters)
    scale = 10.0 ** random.uniform(-2, 2, shape)
    image = (random.standard_normal(shape) * scale).astype("float32")
    weight = random.standard_normal((filters, shape[1], 3, 3)).astype("float32")
    transformed = eager.winograd_filters(weight, tile=tile)
    found = np.asarray(eager.winograd_conv2d(image, transformed, padding=padding, tile=tile))
    wanted = direct(image, weight, padding)
    assert found.shape == wanted.shape
    assert (np.abs(found - wanted) <= stated(image, weight, padding, tile)).all()


@pytest.mark.parametrize("tile", [2, 4])
def test_it_is_the_convolution(tile: int) -> None:
    """In float64 nothing but the last digits differs."""
    image, weight = RANDOM.uniform(-1, 1, (2, 5, 10, 7)), RANDOM.uniform(-1, 1, (6, 5, 3, 3))
    found = eager.winograd_conv2d(image, eager.winograd_filters(weight, tile=tile), padding=(1, 2), tile=tile)
    assert np.allclose(np.asarray(found), direct(image, weight, (1, 2, 1, 2)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("tile", [2, 4])
def test_an_infinity_stays_in_its_tiles(tile: int) -> None:
    image = RANDOM.standard_normal((1, 4, 12, 12)).astype("float32")
    weight = RANDOM.standard_normal((8, 4, 3, 3)).astype("float32")
    image[0, 1, 5, 5] = np.inf
    filters = eager.winograd_filters(weight, tile=tile)
    found = np.asarray(eager.winograd_conv2d(image, filters, tile=tile))
    starts = [start for start in range(0, 10, tile) if start <= 5 < start + tile + 2]
    inside = slice(starts[0], starts[-1] + tile)
    outside = np.ones(found.shape, bool)
    outside[:, :, inside, inside] = False
    assert np.isfinite(found[outside]).all()
    assert not np.isfinite(found[~outside]).all()
