"""The helpers of the generated suites: they accept right ops and refuse each kind of mistake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest import SkipTest

import numpy as np
import pytest

from opgen_runtime import Value, ir, ops, testing
from opgen_runtime.base.vocabulary import OpPattern
from opgen_runtime.compute import lang
from opgen_runtime.declaration import OpDeclaration, register
from opgen_runtime.operator.attrs import Attrs, attr
from opgen_runtime.operator.registry import Op, remove_global_func, remove_op
from opgen_runtime.operator.types import Bound, Input, Output, Signature, TensorType
from opgen_runtime.testing import Case, Inferred, Probe, Spec
from opgen_runtime.testing.compare import assert_close
from opgen_runtime.testing.data import ordinary, special


class ScaleAttrs(Attrs):
    """An attr with both kinds of bounds."""

    type_key = "attrs.test_scale"
    by: int = attr("int", default=2, bounds="0 <= by", check=lambda by, attrs: by >= 0)
    axis: int = attr("int", default=0, bounds="0 <= axis < data.ndim")


def scaled(data: Any, by: Any, out: Any) -> None:
    """out[*i] = data[*i] * by"""
    out.define(lambda *i: data[*i] * by)


SIGNATURE = Signature(
    inputs=(Input("data", dtype="number"),),
    rules=(Bound("axis", lambda axis, data: 0 <= axis < data.ndim, "0 <= axis < data.ndim"),),
    outputs=(Output("out", shape="data.shape", dtype="data.dtype"),),
)


def make_op(compute: Callable[..., None] = scaled, signature: Signature = SIGNATURE) -> Op:
    declaration = OpDeclaration(
        name="test_scale",
        doc="Scales.",
        support_level=10,
        arity=1,
        attrs=ScaleAttrs,
        signature=signature,
        compute=compute,
        extern=None,
        pattern=OpPattern.ELEMWISE,
    )
    return register(declaration, __file__)


@pytest.fixture
def op() -> Iterator[Op]:
    yield make_op()
    remove_op("test_scale")
    remove_global_func("op._make.test_scale")


CASE = Case({"data": "float32[2, 3]"}, {"by": 3})


def reference(data: Any, by: Any, axis: Any) -> Any:
    return data * data.dtype.type(by)


@pytest.mark.parametrize("executor", ["debug", "graph"])
def test_a_right_op_passes(op: Op, executor: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path))
    testing.check_types(op, CASE)
    testing.check_values(op, CASE, reference, executor)
    testing.check_bound(op, Probe(CASE, "axis", 1, 2))
    testing.check_bound(op, Probe(CASE, "by", 0, -1))
    with pytest.raises(AssertionError, match="by=1 is accepted"):
        testing.check_bound(op, Probe(CASE, "by", 1, -1, accepted=False))


def test_a_wrong_compute_or_reference_is_found(op: Op) -> None:
    with pytest.raises(
        AssertionError, match=r"test_scale\(data=float32\[2,3\],by=3\) in the debug executor, ordinary"
    ):
        testing.check_values(op, CASE, lambda data, by, axis: data * (by + 1), "debug")
    with pytest.raises(AssertionError, match=r"special values: \d of 6 elements are wrong(.|\n)*nan"):
        testing.check_values(
            op, CASE, lambda data, by, axis: np.where(np.isnan(data), 0, data) * np.float32(by), "debug"
        )
    with pytest.raises(AssertionError, match="the reference gives"):
        testing.check_values(op, CASE, lambda data, by, axis: (data * by)[:1], "debug")

    def plus_zero(data: Any, by: Any, out: Any) -> None:
        out.define(lambda *i: data[*i] * by + lang.cast(0, data.dtype))

    with pytest.raises(AssertionError, match=r"found np.float32\(0.0\), expected np.float32\(-0.0\)"):
        testing.check_values(make_op(plus_zero), CASE, reference, "debug")


def test_a_reference_takes_what_the_declaration_admits(op: Op) -> None:
    def of_six(data: Any, by: Any, axis: Any) -> Any:
        return data.reshape(6) * by

    def check(spec: str, sampled: bool = True) -> None:
        testing.check_values(op, Case({"data": spec}), of_six, "debug", sampled)

    with pytest.raises(AssertionError) as caught:
        check("float32[5]")
    assert str(caught.value) == (
        "test_scale: the declaration admits test_scale(data=float32[5]) and its reference does not take it: "
        "ValueError: cannot reshape array of size 5 into shape (6,); narrow the declaration (shapes, bounds, require), "
        "or widen the reference"
    )
    with pytest.raises(
        SkipTest, match=r"does not take an empty operand: ValueError: cannot reshape array of size 0"
    ):
        check("float32[0]")
    for spec in ("float32[5]", "float32[0]"):
        with pytest.raises(ValueError, match="cannot reshape"):
            check(spec, sampled=False)
    check("float32[6]")


def test_a_wrong_bound_is_found(op: Op) -> None:
    with pytest.raises(AssertionError, match="test_scale: axis=1 is outside its bounds and is accepted"):
        testing.check_bound(op, Probe(CASE, "axis", 0, 1))
    with pytest.raises(ValueError, match="axis"):
        testing.check_bound(op, Probe(CASE, "axis", 2, 3))


def test_the_bound_that_refuses_is_the_one_that_is_probed() -> None:
    """A value that the bound of another attr refuses, which names the first one, has passed its own bound."""

    class PickAttrs(Attrs):
        type_key = "attrs.test_pick"
        axis: int = attr("int", default=0, bounds="0 <= axis < data.ndim")
        place: int = attr("int", default=0, bounds="0 <= place < data.shape[axis]")

    def picked(lowest: int) -> Op:
        rules = (
            Bound("axis", lambda axis, data: lowest <= axis < data.ndim, "0 <= axis < data.ndim"),
            Bound("place", lambda place, data, axis: 0 <= place < data.shape[axis], "0 <= place"),
        )
        signature = replace(SIGNATURE, rules=rules)
        op = make_op(signature=signature)
        declared = replace(op.get_attr("declaration"), name="test_pick", attrs=PickAttrs)
        remove_op("test_scale")
        remove_global_func("op._make.test_scale")
        return register(declared, __file__)

    probe = Probe(Case({"data": "int32[3, 1]"}, {"place": 1}), "axis", 0, -1)
    for lowest in (0, -1):
        op = picked(lowest)
        try:
            if lowest == 0:
                testing.check_bound(op, probe)
                continue
            with pytest.raises(AssertionError, match=r"axis=-1 is refused, not by its bounds.*'place' is 1"):
                testing.check_bound(op, probe)
        finally:
            remove_op("test_pick")
            remove_global_func("op._make.test_pick")


def test_a_wrong_relation_is_found() -> None:
    def backwards_wrong(types: Any, num_inputs: Any, attrs: Any, reporter: Any) -> bool:
        if not types[0].is_complete:
            reporter.assign(types[0], TensorType((1,), "float32"))
        return True

    op = make_op()
    wrong = Op("test_wrong", "nowhere").set_attr("declaration", op.get_attr("declaration"))
    wrong.add_type_rel("wrong", backwards_wrong).add_argument("data")
    with pytest.raises(
        (AssertionError, TypeError), match=r"operand 'data' was inferred|cannot unify|not determined"
    ):
        testing.check_types(wrong, CASE)


def test_what_follows_backwards_is_asked_for(op: Op) -> None:
    """`data.shape` follows from the result; an op that says so, and needs numbers to say its own, fails."""
    follows = Inferred(alone=("data",), together=("data",))
    testing.check_types(op, CASE, follows)
    same = Output("out", shape=lambda data: tuple(max(d, 0) for d in data.shape), dtype="data.dtype")
    one_way = replace(op.get_attr("declaration"), signature=replace(SIGNATURE, outputs=(same,)))
    wrong = register(one_way, __file__)
    testing.check_types(wrong, CASE)
    with pytest.raises(AssertionError, match="operand 'data' does not follow from the others and the result"):
        testing.check_types(wrong, CASE, follows)
    testing.check_types(wrong, replace(CASE, inferred=Inferred()), follows)


def test_specs() -> None:
    assert Spec.parse("int32[4, 4, 1]") == Spec.parse("int32[4,4,1]")
    assert str(Spec.parse("int64[3] in 0..4")) == "int64[3] in 0..4"
    assert Spec.parse("float32[]").shape == ()
    assert Spec.parse("float64[2] in -0.5..1e3").limits == (-0.5, 1000.0)
    for text in ("float31[2]", "float32", "float32[2", "float32[a]", "int8[2] in 0"):
        with pytest.raises(ValueError, match="is no spec"):
            Spec.parse(text)


def test_data_is_seeded_and_holds_what_breaks_kernels() -> None:
    spec = Spec.parse("float32[40, 5]")
    assert ordinary(spec, "a").tobytes() == ordinary(spec, "a").tobytes()
    assert ordinary(spec, "a").tobytes() != ordinary(spec, "b").tobytes()
    values = special(spec, "a", extremes=True)
    assert not values.flags.c_contiguous
    assert not values.flags.aligned
    assert np.isnan(values).any()
    assert {np.inf, -np.inf, np.finfo(np.float32).max}.issubset(set(values.reshape(-1).tolist()))
    assert (np.signbit(values) & (values == 0)).any()
    ints = special(Spec.parse("int8[200]"), "a", extremes=True)
    assert {127, -128}.issubset(set(ints.tolist()))
    inside = special(Spec.parse("int64[100] in 2..5"), "a", extremes=True)
    assert set(inside.tolist()) == {2, 3, 4}
    assert special(Spec.parse("float32[0, 3]"), "a", extremes=True).shape == (0, 3)
    assert special(Spec.parse("bool[]"), "a", extremes=True).dtype == bool


def test_names_of_cases_and_probes() -> None:
    assert str(CASE) == "data=float32[2,3],by=3"
    assert str(Probe(CASE, "axis", (1,), None)) == "axis:[1]|None"


@pytest.mark.parametrize(
    ("found", "expected", "right"),
    [
        ([1.0], [1.0 + 1e-6], True), ([1.0], [1.0 + 1e-5], False), ([np.nan], [np.nan], True), ([np.nan], [1.0], False),
        ([np.inf], [np.inf], True), ([np.inf], [-np.inf], False), ([np.inf], [3e38], False), ([0.0], [-0.0], True),
    ],
)  # fmt: skip
def test_tolerances(found: list[float], expected: list[float], right: bool) -> None:
    def check() -> None:
        type_ = TensorType((1,), "float32")
        assert_close(Value(np.float32(found)), np.float32(expected), type_, [], OpPattern.BROADCAST, "test")

    if right:
        check()
    else:
        with pytest.raises(AssertionError, match="1 of 1 elements are wrong"):
            check()


def test_programs() -> None:
    x = ir.var("x", TensorType((2,), "float32"))
    y = ops.exp(x)
    assert testing.count_ops(ops.add(y, ops.multiply(y, y))) == {"add": 1, "exp": 1, "multiply": 1}
    assert testing.run_infer_type(y).checked_type == TensorType((2,), "float32")


def test_a_reference_that_does_not_overflow_is_hinted_at() -> None:
    type_ = TensorType((2,), "float32")
    found, expected = np.array([np.inf, 1], "float32"), np.array([3e38, 1], "float32")
    with pytest.raises(AssertionError, match="Does an intermediate overflow float32"):
        assert_close(Value(found), expected, type_, [], OpPattern.ELEMWISE, "test")
    with pytest.raises(AssertionError) as caught:
        assert_close(Value(found), expected + 1, type_, [], OpPattern.ELEMWISE, "test")
    assert "overflow" not in str(caught.value)
