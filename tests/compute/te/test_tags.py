"""Tags and attrs of what is computed: found again by schedules of users, and meant by nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from opgen_runtime.errors import CallError

import opgen_runtime as rt
from opgen_runtime import te

A = te.placeholder((4,), name="A")


def notes(tensor: te.Tensor) -> tuple[str, dict[str, object]]:
    return tensor.op.tag, dict(tensor.op.attrs)


def test_a_tag_and_attrs() -> None:
    plain = te.compute((4,), lambda i: A[i] + 1.0)
    assert A.op.tag == ""
    assert notes(plain) == ("", {})
    assert notes(te.compute((4,), lambda i: plain[i] * 2.0, tag="scale", attrs={"by": 2})) == (
        "scale",
        {"by": 2},
    )
    two = te.compute((4,), lambda i: (A[i], A[i] + 1.0), tag="both")
    assert [notes(each) for each in two] == [("both", {}), ("both", {})]


def test_a_reduction_of_ones_own_has_them() -> None:
    k = te.reduce_axis((0, 4), name="k")
    last = te.comm_reducer(lambda a, b: a * 0.5 + b, lambda dtype: te.const(0.0, dtype), name="last")
    assert notes(te.compute((1,), lambda i: last(A[k], axis=k), tag="recurrence")) == ("recurrence", {})


def test_attrs_are_the_callers_no_more() -> None:
    given: dict[str, object] = {"by": 2}
    made = te.compute((4,), lambda i: A[i], attrs=given)
    given["by"] = 3
    assert notes(made) == ("", {"by": 2})


def test_a_schedule_of_ones_own_asks_for_the_tag() -> None:
    """Stages that are tagged are written into what reads them, whatever stands between."""
    shifted = te.compute((4,), lambda i: A[i] + 1.0, name="shifted", tag="injective")
    kept = te.compute((4,), lambda i: shifted[i] * 2.0, name="kept")
    out = te.compute((4,), lambda i: kept[i] - 1.0, name="out")
    s = te.create_schedule(out)
    for stage in [s[shifted], s[kept]]:
        if stage.op.tag == "injective":
            stage.compute_inline()
    assert str(rt.lower(s, [A, out])) == (
        "out(A: float32[4]) -> (out: float32[4]):\n"
        "    allocate kept: float32[4] global\n"
        "    for i in range(4):\n"
        "        kept[i] = (A[i] + 1.0) * 2.0\n"
        "    for i in range(4):\n"
        "        out[i] = kept[i] - 1.0\n"
    )
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(rt.build(s, [A, out])(x), (x + 1) * 2 - 1)


def test_a_scope() -> None:
    @te.tag_scope(tag="shift")
    def shift(tensor: te.Tensor) -> te.Tensor:
        return te.compute((4,), lambda i: tensor[i] + 1.0)

    with te.tag_scope("scale"):
        scaled = te.compute((4,), lambda i: A[i] * 2.0, attrs={"by": 2})
    assert notes(scaled) == ("scale", {"by": 2})
    assert notes(shift(A)) == notes(shift(shift(A))) == ("shift", {})
    assert notes(te.compute((4,), lambda i: A[i])) == ("", {})


def test_a_computation_has_one_tag() -> None:
    with te.tag_scope("outer"):
        with pytest.raises(CallError) as error:
            te.compute((4,), lambda i: A[i], name="B", tag="inner")
        assert str(error.value) == "B: tag='inner' is given inside tag_scope('outer'); expected one of them"
        with pytest.raises(CallError) as error, te.tag_scope("inner"):
            pass
        assert str(error.value) == "tag_scope('inner') stands inside tag_scope('outer'); expected one of them"
