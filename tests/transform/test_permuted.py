"""Calls on permuted operands: what attrs they take, what is not proved, and equal elements for every op."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from opgen_runtime import ir, ops, testing
from opgen_runtime.declaration import call_tensors
from opgen_runtime.transform.permuted import Permuted, permuted
from tests.compute.te.test_roles import given

SUITES = Path(__file__).parents[1] / "generated"
NHWC, SAME = (0, 2, 3, 1), (0, 1, 2, 3)


def x(*shape: int) -> ir.Var:
    return ir.var("x", shape=shape or (2, 4, 6, 8))


PROVED: dict[str, tuple[ir.Expr, str, tuple[tuple[int, ...], ...]]] = {
    "mean": (ops.mean(x(), axis=(2, 3)), "axis=[1, 2], keepdims=False", ((0, 1),)),
    "kept": (ops.max(x(), axis=(-1, 2), keepdims=True), "axis=[2, 1], keepdims=True", (NHWC,)),
    "excluded": (ops.sum(x(), axis=(1,), exclude=True), "axis=[3], keepdims=False, exclude=True", ((0,),)),
    "one axis": (ops.sum(x(), axis=(1,)), "axis=[3]", ((0, 1, 2),)),
    "position": (ops.argmax(x(), axis=(1,)), "axis=[3]", ((0, 1, 2),)),
    "softmax": (ops.softmax(x(), axis=1), "axis=3", (NHWC,)),
    "bias_add": (ops.bias_add(x(), x(4)), "axis=3", (NHWC,)),
    "prelu": (ops.prelu(x(), x(4)), "axis=3", (NHWC,)),
    "batch_norm": (ops.batch_norm(x(), x(4), x(4), x(4), x(4)), "axis=3, epsilon", (NHWC, (0,), (0,))),
    "concatenate": (ops.concatenate([x(), x(2, 3, 6, 8)], axis=-3), "axis=3", (NHWC,)),
    "stack": (ops.stack([x(), x()], axis=1), "axis=3", ((0, 3, 4, 1, 2),)),
    "split": (ops.split(x(), indices_or_sections=2, axis=1), "[2], axis=3", (NHWC, NHWC)),
    "pad": (ops.pad(x(), pad_width=(0, 0, 0, 0, 1, 2, 3, 4)), "pad_width=[0, 0, 1, 2, 3, 4, 0, 0]", (NHWC,)),
    "slice": (
        ops.strided_slice(x(), begin=(0, 1, 2, 0), end=(2, 3, 6, 8)), "begin=[0, 2, 0, 1], end=[2, 6, 8, 3]", (NHWC,),
    ),
    "slice of one": (ops.strided_slice(x(), begin=(1,), end=(3,), axes=(1,)), "axes=[3]", (NHWC,)),
    "tile": (ops.tile(x(), reps=(1, 2, 1, 1)), "reps=[1, 1, 1, 2]", (NHWC,)),
    "transpose": (ops.transpose(x(), axes=NHWC), "axes=[0, 1, 2, 3]", (SAME,)),
    "flat": (ops.batch_flatten(x(2, 4, 1, 1)), "None", ((0, 1),)),
    "vector": (ops.reshape(x(1, 4, 1, 1), newshape=(4,)), "newshape=[4]", ((0,),)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROVED)
def test_proved(name: str) -> None:
    call, attrs, results = PROVED[name]
    assert isinstance(call, ir.Call)
    found = permuted(call, [NHWC if k == 0 else None for k in range(len(call.args))])
    assert found is not None
    assert attrs in str(found.attrs)
    assert found.results == results


NOT_PROVED = {
    "sequence of a sum": ops.sum(x()),
    "another order of elements": ops.batch_flatten(x()),
    "a shape that splits an axis": ops.reshape(x(), newshape=(2, 2, 2, 48)),
    "a sort": ops.sort(x(), axis=1),
    "places": ops.argmax(x(), axis=None),
}


@pytest.mark.parametrize("name", NOT_PROVED)
def test_not_proved(name: str) -> None:
    call = NOT_PROVED[name]
    assert isinstance(call, ir.Call)
    assert permuted(call, [NHWC]) is None


@pytest.mark.parametrize("name", sorted(p.stem.removeprefix("test_") for p in SUITES.glob("test_*.py")))
def test_declared_cases(name: str) -> None:
    """What is proved of the first small case of an op of some rank holds for its values, bit by bit."""
    suite = testing.suite_of(importlib.import_module(f"tests.generated.test_{name}"))
    for case in suite.declared_cases:
        call, variables = testing.case_call(suite.op, case)
        ranks = [getattr(arg.checked_type, "ndim", 0) for arg in call.args]
        if not ranks or ranks[0] < 2 or ranks[0] != max(ranks):
            continue
        order = (*range(1, ranks[0]), 0)
        orders = [order if rank == ranks[0] else None for rank in ranks]
        found = permuted(call, orders) if len(variables) == len(ranks) else None
        if found is None:
            continue
        check(call, variables, found, orders)
        return


def check(call: ir.Call, variables: list[ir.Var], known: Permuted, own: list[tuple[int, ...] | None]) -> None:
    """The call on permuted arrays has the permuted values."""
    arrays = [np.asarray(array) for array in given(variables, np.random.default_rng(0))]
    types = [arg.checked_type for arg in call.args]
    after = [
        type_ if order is None else type_.with_shape([type_.shape[axis] for axis in order])  # type: ignore[attr-defined]
        for type_, order in zip(types, own, strict=True)
    ]
    moved = [
        array if order is None else np.ascontiguousarray(array.transpose(order))
        for array, order in zip(arrays, own, strict=True)
    ]
    with np.errstate(all="ignore"):
        before = call_tensors(call.op, call.attrs, types).values(arrays)  # type: ignore[arg-type]
        found = call_tensors(call.op, known.attrs, after).values(moved)  # type: ignore[arg-type]
    for one, other, order in zip(before, found, known.results, strict=True):
        np.testing.assert_array_equal(one.transpose(order), other)
