"""Kernels that rows of `strategy:` name: loop IR in the place of an op's compute, under a condition."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops, tir
from opgen_runtime.base.errors import StrategyError
from opgen_runtime.base.vocabulary import OpPattern
from opgen_runtime.compute import lang as _l
from opgen_runtime.declaration import OpDeclaration, StrategyEntry, register
from opgen_runtime.declaration.statement import call
from opgen_runtime.lower.library.strategy import kernel_named
from opgen_runtime.operator import Op, TensorType
from opgen_runtime.operator.registry import remove_op
from opgen_runtime.operator.types import Input, Output, Signature
from opgen_runtime.run.compile import stage_texts
from opgen_runtime.run.compile.kernel.key import front_key

PAIRS = tir.parse("""\
pairs(x: float32[n, 4]) -> (y: float32[n]):
    for i in range(n):
        y[i] = x[i, 0] + x[i, 1] + (x[i, 2] + x[i, 3])
""")


def row_sums(x, K, out):
    out.define(lambda i: _l.sum(_l.over(_l.range(K), lambda k: x[i, k])))


@pytest.fixture
def summed() -> Iterator[Op]:
    """The sum of each row; of an even number of rows of four by `PAIRS`."""
    row = StrategyEntry(
        "pairs",
        when=lambda M: _l.equal(M % 2, 0),
        when_text="M % 2 == 0",
        plevel=15,
        kernel=f"{__name__}:PAIRS",
    )
    declaration = OpDeclaration(
        name="test_summed",
        doc="Sums.",
        support_level=10,
        arity=1,
        attrs=None,
        signature=Signature(
            inputs=(Input("x", shape=("M", "K"), dtype="float32"),),
            outputs=(Output("out", shape=("M",), dtype="float32"),),
        ),
        compute=row_sums,
        extern=None,
        pattern=OpPattern.COMM_REDUCE,
        strategy=(row,),
        digest="test_summed",
    )
    yield register(declaration, __file__)
    for name in ("vjp.test_summed", "batch.test_summed", "test_summed"):
        if name in {each.name for each in rt.operator.registry.loaded_ops()}:
            remove_op(name)


def texts(function: ir.Function) -> dict[str, str]:
    return dict(stage_texts.kernel_texts(function))


def function(op: Op, *shape: int) -> ir.Function:
    x = ir.Var("x", TensorType(shape, "float32"))
    return ir.Function((x,), call(op, (x,)))


def test_it_computes_the_op_where_the_condition_holds(summed: Op) -> None:
    x = ir.Var("x", TensorType((6, 4), "float32"))
    around = ir.Function((x,), ops.relu(call(summed, (ops.negative(x),))))
    lowered = texts(around)["lower"]
    loops = str(PAIRS).replace("range(n)", "range(6)").replace("x[", "out_1[").split("\n", 1)[1]
    assert textwrap.indent(textwrap.dedent(loops), "    ") in lowered, lowered
    array = np.arange(24, dtype="float32").reshape(6, 4) - 20
    np.testing.assert_array_equal(rt.build(around).run([array]), np.maximum(-array.sum(1), 0))


ENDS = tir.parse("""\
ends(x: float32[n]) -> (low: float32[1], high: float32[1]):
    low[0] = x[0]
    high[0] = x[n - 1]
""")


def of_ends(x, N, low, high):
    low.define(lambda i: x[i])
    high.define(lambda i: x[N - 1 - i])


def test_a_kernel_of_several_outputs_computes_an_op_of_as_many(summed: Op) -> None:
    declaration = replace(
        summed.get_attr("declaration"),
        name="test_ends",
        signature=Signature(
            inputs=(Input("x", shape=("N",), dtype="float32"),),
            outputs=(Output("low", shape=(1,), dtype="float32"), Output("high", shape=(1,), dtype="float32")),
        ),
        compute=of_ends,
        pattern=OpPattern.INJECTIVE,
        strategy=(StrategyEntry("ends", plevel=15, kernel=f"{__name__}:ENDS"),),
        digest="test_ends",
    )
    op = register(declaration, __file__)
    try:
        whole = function(op, 4)
        assert "high[0] = x[3]" in texts(whole)["lower"]
        found = rt.build(whole).run([np.float32([1, 2, 3, 7])])
        np.testing.assert_array_equal(np.hstack(found), [1, 7])
    finally:
        remove_op(op.name)


def test_the_default_computes_it_elsewhere(summed: Op) -> None:
    reasons = {
        (5, 4): "not pairs, plevel 15: M % 2 == 0 is false",
        (6, 3): "not pairs, plevel 15: pairs: x has the shape [n, 4], found [6, 3]",
    }
    for shape, reason in reasons.items():
        assert reason in texts(function(summed, *shape))["strategy"]
        array = np.arange(shape[0] * shape[1], dtype="float32").reshape(shape)
        np.testing.assert_array_equal(rt.build(function(summed, *shape)).run([array]), array.sum(1))


def test_open_dims_gradients_and_batches_are_those_of_the_compute(summed: Op) -> None:
    rows = rt.dim("rows", 6)
    x = ir.Var("x", TensorType((rows, 4), "float32"))
    array = np.arange(24, dtype="float32").reshape(6, 4)
    np.testing.assert_array_equal(rt.build(ir.Function((x,), call(summed, (x,)))).run([array]), array.sum(1))

    def run(x):
        return call(summed, (x,))

    np.testing.assert_array_equal(rt.grad(lambda x: run(x).sum())(array), np.ones((6, 4)))
    np.testing.assert_array_equal(rt.vmap(run)(array.reshape(3, 2, 4)), array.reshape(3, 2, 4).sum(2))


def test_another_kernel_is_another_key(summed: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    target = rt.Target.current()
    keys = {front_key(function(summed, 6, 4), target)}
    monkeypatch.setitem(
        globals(), "PAIRS", tir.parse(str(PAIRS).replace("(x[i, 2] + x[i, 3])", "x[i, 2] + x[i, 3]"))
    )
    register(replace(summed.get_attr("declaration")), __file__)
    keys.add(front_key(function(summed, 6, 4), target))
    assert len(keys) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (f"{__name__}:texts", "expected loop IR: a function under @tir.kernel"),
        (f"{__name__}:nothing", "found None, expected loop IR"),
        ("nowhere:pairs", "cannot import 'nowhere'"),
    ],
)
def test_what_is_no_kernel(name: str, message: str) -> None:
    with pytest.raises(StrategyError, match=message):
        kernel_named(name)
