"""Work of contractions is shared evenly: counted in what schedules make, for layers and numbers of threads."""

from __future__ import annotations

import pytest

from opgen_runtime import ir, ops
from opgen_runtime.lower.library.schedules.contraction.work_partition import blocks_of, load_imbalance
from tests.lower.library.test_contractions import agrees, target, var
from tests.lower.library.work_partition import imbalance

# channels, size, filters, kernel, stride: 7, 25, 98, 6 and 23 panels of positions on machines of 16 lanes
CONVOLUTIONS = [
    (256, 14, 256, 3, 1),
    (1024, 14, 256, 1, 1),
    (512, 28, 128, 1, 1),
    (64, 56, 64, 1, 1),
    (48, 13, 192, 1, 1),
    (256, 28, 256, 3, 2),
    (128, 27, 32, 1, 1),
]


def convolution(channels: int, size: int, filters: int, kernel: int, stride: int) -> ir.Function:
    pad = kernel // 2
    data, weight = var("data", 1, channels, size, size), var("weight", filters, channels, kernel, kernel)
    body = ops.conv2d(data, weight, strides=(stride,) * 2, padding=(pad,) * 4)
    return ir.Function((data, weight), ops.relu(body), attrs={"Primitive": 1})


@pytest.mark.parametrize("shape", CONVOLUTIONS)
def test_two_threads_have_even_shares_of_convolutions(shape: tuple[int, int, int, int, int]) -> None:
    assert imbalance(convolution(*shape), (1,), target(2)) < 1.05


@pytest.mark.parametrize("threads", [3, 4, 7, 16])
def test_more_threads_have_even_shares(threads: int) -> None:
    assert imbalance(convolution(256, 14, 256, 3, 1), (1,), target(threads)) < 1.12


def test_blocks() -> None:
    """Panels alone where they are many; rows are cut where threads would wait; all is packed first for many threads."""
    assert blocks_of(98, 1, 8, 64, target(2)) == 1
    assert blocks_of(7, 0.5, 32, 256, target(2)) == 2
    assert blocks_of(7, 0.5, 32, 256, target(16)) is None
    assert load_imbalance(7, 1, 1, 2) == 8 / 7
    assert load_imbalance(7, 1, 2, 2) == 1
    assert load_imbalance(7, 0.5, 1, 2) == 7 / 6.5


@pytest.mark.parametrize("threads", [2, 3, 4])
def test_panels_that_are_packed_by_several_threads_give_the_same(threads: int) -> None:
    """Several images, so that the panel is a remainder in the loop that is shared; last panels are not full."""
    data, weight = var("data", 3, 40, 7, 14), var("weight", 48, 40, 3, 3)
    agrees([data, weight], ops.conv2d(data, weight, padding=(1, 1, 1, 1)), threads)
    a, b = var("a", 96, 70), var("b", 70, 41)
    agrees([a, b], ops.matmul(a, b), threads)
