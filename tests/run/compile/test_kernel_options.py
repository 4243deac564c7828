"""Options of kernels, from a PassContext to loop IR: each changes the text of a kernel, and none what it computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops, te, tir
from opgen_runtime.base.errors import PassError
from opgen_runtime.run.compile import pipeline

TARGET: Final = rt.Target("llvm -num-threads=1")
# Of a machine that is the same everywhere: nothing runs on it.
TEXTS: Final = rt.Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3 -num-threads=4")
ROWS: Final = rt.dim("n", hint=100)


def of(make: Callable[..., rt.Expr], *shapes: tuple[object, ...]) -> rt.Function:
    params = [rt.var(f"x{k}", shape=shape) for k, shape in enumerate(shapes)]
    return rt.Function(tuple(params), make(*params), attrs={"Primitive": 1})


def product() -> rt.Function:
    return of(ops.dense, (33, 64), (65, 64))


def open_product() -> rt.Function:
    return of(ops.dense, (ROWS, 16), (40, 16))


# What each option changes; the value that is not the default.
CHANGED: Final[dict[str, tuple[Callable[[], rt.Function], bool | int]]] = {
    "tir.partition.loops": (lambda: of(ops.softmax, (3, 37)), False),
    "tir.partition.selects": (lambda: of(lambda x: ops.pad(x, pad_width=(1, 1, 1, 1)), (30, 30)), False),
    "tir.partition.tiles": (open_product, False),
    "tir.partition.masks": (product, False),
    "tir.stores.nontemporal": (lambda: of(ops.exp, (1 << 11, 1 << 12)), False),
    "tir.loops.outline": (product, False),
    "tir.stores.interleave": (
        lambda: of(lambda x: ops.depth_to_space(x, block_size=2), (1, 4, 16, 16)),
        False,
    ),
    "tir.loads.transpose": (lambda: of(lambda x: ops.transpose(x, axes=(1, 0)), (64, 64)), False),
    "tir.vectorize.disable": (lambda: of(ops.exp, (100,)), True),
    "tir.unroll.max_steps": (product, 0),
}
OF_SCHEDULES: Final = {"tir.storage.reuse"}


def kernel_text(function: rt.Function, config: dict[str, object]) -> str:
    """The loop IR that code is generated from."""
    request = pipeline.requested(function, TEXTS, rt.PassContext(config=config))
    *_, (_, lowered) = pipeline.through_kernel(request, pipeline.upto(tir.PHASES[-1].name))
    text: str = lowered.text()
    return text


def test_every_option_is_here() -> None:
    assert {*CHANGED, *OF_SCHEDULES} == set(tir.OPTIONS)
    names = {key.name for key in rt.transform.config_keys()}
    assert set(tir.OPTIONS) <= names


@pytest.mark.parametrize("option", CHANGED)
def test_an_option_changes_the_text(option: str) -> None:
    make, value = CHANGED[option]
    plain = kernel_text(make(), {})
    assert kernel_text(make(), {option: tir.OPTIONS[option].default}) == plain
    assert kernel_text(make(), {option: value}) != plain


@pytest.mark.parametrize("option", [name for name in CHANGED if name != "tir.stores.nontemporal"])
def test_an_option_changes_no_result(option: str) -> None:
    make, value = CHANGED[option]
    function = make()
    draw = np.random.default_rng(0)
    arrays = []
    for param in function.params:
        kind = param.checked_type
        assert isinstance(kind, rt.TensorType)
        shape = [33 if extent is ROWS else int(extent) for extent in kind.shape]  # type: ignore[call-overload]
        arrays.append(draw.standard_normal(shape).astype(np.float32))
    plain = rt.Function(function.params, function.body)
    wanted = rt.build(plain, target=TARGET).run(arrays)
    context = rt.PassContext(config={option: value})
    found = rt.build(plain, target=TARGET, context=context).run(arrays)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def chain() -> tuple[te.Schedule, list[te.Tensor]]:
    x = te.placeholder((24,), name="x")
    a = te.compute((24,), lambda i: x[i] + 1.0, name="a")
    b = te.compute((24,), lambda i: a[i] + 1.0, name="b")
    c = te.compute((12,), lambda i: b[i * 2] + 1.0, name="c")
    d = te.compute((12,), lambda i: c[i] + 1.0, name="d")
    return te.create_schedule(d), [x, d]


def test_memory_of_temporaries_in_a_schedule() -> None:
    schedule, args = chain()
    shared = str(rt.lower(schedule, args, simple_mode=False))
    with rt.PassContext(config={"tir.storage.reuse": False}):
        apart = str(rt.lower(schedule, args, simple_mode=False))
        function = rt.build(schedule, args)
    assert (shared.count("allocate"), apart.count("allocate")) == (2, 3)
    np.testing.assert_array_equal(function(np.arange(24, dtype=np.float32)), np.arange(0, 24, 2) + 4)


def test_the_text_of_a_loop_that_stays() -> None:
    x = te.placeholder((4,), name="x")
    y = te.compute((4,), lambda i: x[i] * 2.0, name="y")
    schedule = te.create_schedule(y)
    schedule[y].unroll(y.op.axis[0])
    assert str(rt.lower(schedule, [x, y], simple_mode=False)).count("y[") == 4
    with rt.PassContext(config={"tir.unroll.max_steps": 3}):
        assert str(rt.lower(schedule, [x, y], simple_mode=False)) == (
            "y(x: float32[4]) -> (y: float32[4]):\n    for i in range(4):\n        y[i] = x[i] * 2.0\n"
        )


def test_kernels_of_other_options_are_others() -> None:
    function = of(ops.exp, (100,))
    plain = pipeline.compile_segment(function)
    context = rt.PassContext(config={"tir.vectorize.disable": True})
    assert pipeline.compile_segment(function, context=context) is not plain
    assert pipeline.compile_segment(function) is plain


def test_wrong_values_are_refused() -> None:
    with pytest.raises(PassError, match=r"configuration key 'tir.unroll.max_steps' is at least 0, found -1"):
        rt.PassContext(config={"tir.unroll.max_steps": -1})
    with pytest.raises(
        PassError, match=r"configuration key 'tir.vectorize.disable' takes bool, found 1 of int"
    ):
        rt.PassContext(config={"tir.vectorize.disable": 1})
    with pytest.raises(PassError, match=r"unknown configuration key 'tir.vectorise.disable'"):
        rt.PassContext(config={"tir.vectorise.disable": True})
