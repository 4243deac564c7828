"""How many products programs add."""

from __future__ import annotations

import pytest

from opgen_runtime import dim, ir, ops, var
from opgen_runtime.base.errors import UndecidedError
from opgen_runtime.transform import FuseOps, get_total_mac_number

X, W, B = var("x", shape=(2, 4)), var("w", shape=(3, 4)), var("b", shape=(5, 4, 2))
IMAGE, FILTERS = var("image", shape=(1, 4, 6, 6)), var("filters", shape=(8, 2, 3, 3))

COUNTED = {
    "no products": (ops.softmax(ops.relu(X)), 0),
    "products that are not summed": (ops.multiply(X, X), 0),
    "a sum of what is no product": (ops.sum(X), 0),
    "a product of matrices": (ops.dense(X, W), 2 * 3 * 4),
    "with what goes around it": (ops.relu(ops.dense(ops.exp(X), W)), 2 * 3 * 4),
    "two": (ops.add(ops.dense(X, W), ops.dense(ops.exp(X), W)), 2 * 2 * 3 * 4),
    "one that is read twice": (ops.add(*[ops.dense(X, W)] * 2), 2 * 3 * 4),
    "batches": (ops.matmul(B, ops.transpose(B, axes=(0, 2, 1))), 5 * 4 * 4 * 2),
    "groups": (ops.conv2d(IMAGE, FILTERS, kernel_size=(3, 3), groups=2), 8 * 4 * 4 * 2 * 3 * 3),
    "a scan without products": (ops.cumsum(X, axis=1), 0),
}


@pytest.mark.parametrize("name", COUNTED)
def test_counted(name: str) -> None:
    body, count = COUNTED[name]
    assert get_total_mac_number(body) == count


def test_kernels_count_as_what_they_compute() -> None:
    function = ir.Function((X, W), ops.relu(ops.dense(X, W)))
    assert get_total_mac_number(FuseOps()(function)) == 24


def test_what_is_open_is_named() -> None:
    with pytest.raises(UndecidedError) as error:
        get_total_mac_number(ops.dense(var("x", shape=(dim("n"), 4)), W))
    assert str(error.value) == (
        "dense: how many products it adds depends on what a run tells, with Tensor[(n, 4), float32], "
        "Tensor[(3, 4), float32]"
    )
    assert get_total_mac_number(ops.exp(var("x", shape=(dim("n"),)))) == 0
