"""Which parts of operands a part of a result is computed from, and that part as a computation of its own."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from opgen_runtime import te
from opgen_runtime.base.errors import LanguageError
from opgen_runtime.compute.te import evaluate, normalize, tensor_order, to_text
from opgen_runtime.compute.te.regions import Need, Region, Whole, needed, unsplit_axes, whole_of
from opgen_runtime.compute.te.restriction import restricted
from opgen_runtime.compute.te.resumed import Lookback, lookback, resumed
from opgen_runtime.compute.te.scan_axes import axis_groups

Tensor = te.Tensor


def needs_of(tensor: Tensor, region: Region, **options) -> dict[str, Need]:
    return {
        each.name: need for each, need in needed(tensor_order([tensor]), {tensor: region}, **options).items()
    }


def part_of(tensor: Tensor, region: Region, **options) -> str:
    return to_text(restricted(tensor_order([tensor]), {tensor: region}, **options).outputs)


def neighbours() -> Tensor:
    a = te.placeholder((10,), name="a")
    return te.compute(
        (10,),
        lambda i: te.if_then_else(i > 0, a[i - 1], 0.0) + te.if_then_else(i < 9, a[i + 1], 0.0),
        name="out",
    )


def row_sums() -> Tensor:
    a = te.placeholder((6, 20), name="a")
    k = te.reduce_axis((0, 20), name="k")
    return te.compute((6,), lambda i: te.sum(a[i, k], axis=k), name="out")


def sums_so_far() -> Tensor:
    x = te.placeholder((6, 4), name="x")
    state = te.placeholder((6, 4), name="state")
    first = te.compute((1, 4), lambda _, i: x[0, i], name="first")
    step = te.compute((6, 4), lambda t, i: state[t - 1, i] + x[t, i], name="step")
    return te.scan(first, step, state, inputs=[x], name="sums")


def test_neighbours() -> None:
    assert needs_of(neighbours(), ((4, 8),))["a"] == Need(((3, 9),), {})
    assert needs_of(neighbours(), ((0, 3),))["a"] == Need(((0, 4),), {})


def halved() -> Tensor:
    a = te.placeholder((10,), name="a")
    p = te.compute((20,), lambda i: (i + 1) // 2, name="p")
    return te.compute((20,), lambda i: a[te.minimum(te.maximum(p[i] - 1, 0), 9)], name="out")


def test_positions_of_a_table_are_evaluated() -> None:
    needs = needs_of(halved(), ((8, 12),))
    assert needs["a"] == Need(((2, 7),), {})  # at 3 to 5, and one more on both sides
    assert needs["p"] == Need(((8, 12),), {})


def test_edges_are_decided_where_the_region_has_none() -> None:
    assert part_of(neighbours(), ((4, 8),)) == "a: float32[6]\nout[i]: float32[4] = a[i] + a[i + 2]\n"
    assert part_of(neighbours(), ((0, 3),)) == (
        "a: float32[4]\nout[i]: float32[3] = (a[i - 1] if i > 0 else 0.0) + a[i + 1]\n"
    )


def test_a_reduction_needs_all_or_the_steps_that_are_asked_for() -> None:
    assert needs_of(row_sums(), ((1, 3),))["a"] == Need(((1, 3), (0, 20)), {})
    assert needs_of(row_sums(), ((1, 3),), steps=((5, 9),))["a"] == Need(((1, 3), (5, 9)), {})
    assert part_of(row_sums(), ((1, 3),), steps=((5, 9),)) == (
        "a: float32[2, 4]\nout[i]: float32[2] = sum(a[i, k] for k in range(4))\n"
    )


def test_through_stages_up_to_those_at_hand() -> None:
    a = te.placeholder((10,), name="a")
    twice = te.compute((10,), lambda i: a[i] + a[i], name="twice")
    out = te.compute((5,), lambda i: twice[2 * i], name="out")
    assert {name: need.region for name, need in needs_of(out, ((1, 3),)).items()} == {
        "out": ((1, 3),),
        "twice": ((2, 5),),
        "a": ((2, 5),),
    }
    assert "a" not in needs_of(out, ((1, 3),), given=(twice,))
    assert part_of(out, ((1, 3),), given=(twice,)) == "twice: float32[3]\nout[i]: float32[2] = twice[i * 2]\n"


def test_positions_that_are_elements_need_all_of_an_axis() -> None:
    a, at = te.placeholder((10, 4), name="a"), te.placeholder((6,), "int64", name="at")
    out = te.compute(
        (6, 4), lambda i, j: te.if_then_else((at[i] >= 0) & (at[i] < 10), a[at[i], j], 0.0), name="out"
    )
    found = needs_of(out, ((2, 3), (1, 2)))
    assert found["a"] == Need(((0, 10), (1, 2)), {0: Whole.DATA})
    assert found["at"] == Need(((2, 3),), {})


def test_the_steps_of_a_scan_are_needed_whole_and_its_rows_are_not() -> None:
    sums = sums_so_far()
    assert unsplit_axes(sums) == {0: Whole.SCAN}
    found = needs_of(sums, ((2, 3), (1, 3)))
    assert found["sums"] == Need(((0, 6), (1, 3)), {0: Whole.SCAN})
    assert found["x"] == Need(((0, 6), (1, 3)), {0: Whole.SCAN})


def test_states_of_a_scan_may_have_fewer_axes_than_the_one_that_is_asked_for() -> None:
    x = te.placeholder((6, 4, 4), name="x")
    rest, column = te.placeholder((6, 4, 4), name="rest"), te.placeholder((6, 4), name="column")
    first = te.compute((1, 4, 4), lambda _, i, j: x[0, i, j], name="first")
    zero = te.compute((1, 4), lambda _, i: 0.0, name="zero")
    less = te.compute((6, 4, 4), lambda t, i, j: rest[t - 1, i, j] - column[t - 1, i], name="less")
    taken = te.compute((6, 4), lambda t, i: rest[t - 1, i, i] * 2.0, name="taken")
    made, _ = te.scan([first, zero], [less, taken], [rest, column], inputs=[x], name="state")
    need = needs_of(made, ((5, 6), (0, 1), (2, 3)))["x"]
    assert need.region == ((0, 1), (0, 4), (0, 4))


def test_what_is_read_at_an_axis_that_is_needed_whole_is_needed_whole() -> None:
    x = te.placeholder((6, 4), name="x")
    twice = te.compute((6, 4), lambda i, j: x[i, j] * 2.0, name="twice")
    total = te.extern((6, 4), [twice], lambda a: a, name="total", dtype="float32")
    assert needs_of(total, ((0, 1), (0, 1)))["x"].whole == {0: Whole.FUNCTION, 1: Whole.FUNCTION}


def test_no_part_of_what_has_none() -> None:
    sums = sums_so_far()
    with pytest.raises(
        LanguageError, match=r"^sums: no part of it is computed alone, found \(\(0, 3\), \(0, 4\)\)$"
    ):
        restricted(tensor_order([sums]), {sums: ((0, 3), (0, 4))})


@pytest.mark.parametrize("made", [neighbours, row_sums, sums_so_far, halved])
def test_a_part_is_that_part_of_the_whole(made: Callable[[], Tensor]) -> None:
    (tensor,) = normalize([made()])
    order = tensor_order([tensor])
    chance = random.Random(made.__name__)
    inputs = {
        t: np.arange(np.prod(t.shape)).reshape(t.shape).astype(t.dtype.numpy)
        for t in order
        if not t.op.inputs()
    }
    (whole,) = evaluate([tensor], inputs)
    for _ in range(20):
        region = tuple(
            [
                span
                if k in unsplit_axes(tensor)
                else (first := chance.randrange(span[1]), chance.randrange(first, span[1]) + 1)
                for k, span in enumerate(whole_of(tensor))
            ]
        )
        part = restricted(order, {tensor: region})
        given = {
            new: inputs[old][tuple([slice(*span) for span in spans])]
            for old, spans, new in zip(part.sources, part.regions, part.inputs, strict=True)
        }
        (found,) = evaluate(part.outputs, given)
        np.testing.assert_array_equal(found, whole[tuple([slice(*span) for span in region])])


def test_steps_of_a_scan_after_those_before() -> None:
    (sums,) = normalize([sums_so_far()])
    assert lookback(sums.op) == Lookback(1, frozenset([sums]))
    made = resumed(sums.op, (2, 5))
    assert (made.before[sums].shape, made.rows) == ((1, 4), (1, 2))
    x = np.arange(24, dtype="float32").reshape(6, 4)
    order = tensor_order([made.parts[sums]])
    (whole,) = evaluate([sums], {t: x for t in tensor_order([sums]) if not t.op.inputs()})
    given = {t: whole[1:2] if t is made.before[sums] else x for t in order if not t.op.inputs()}
    (found,) = evaluate([made.parts[sums]], given)
    np.testing.assert_array_equal(found, whole[2:5])
    assert resumed(sums.op, (0, 2)).before == {}


def two_states() -> list[Tensor]:
    """A fast state that is read at its own step alone, and a slow one that sums what the fast one has in a row."""
    x, w = te.placeholder((6, 3, 4), name="x"), te.placeholder((4, 4), name="w")
    fast, slow = te.placeholder((6, 3, 4), name="fast"), te.placeholder((6, 3, 4), name="slow")
    k = te.reduce_axis((0, 4), name="k")
    zero = te.compute((1, 3, 4), lambda t, n, i: 0.0, name="zero")
    first = te.compute((1, 3, 4), lambda t, n, i: x[0, n, i], name="first")
    mixed = te.compute(
        (6, 3, 4), lambda t, n, i: te.sum(slow[t - 1, n, k] * w[i, k], axis=k) + x[t, n, i], name="mixed"
    )
    kept = te.compute((6, 3, 4), lambda t, n, i: slow[t - 1, n, i] * 0.5 + fast[t, n, i], name="kept")
    return te.scan([zero, first], [mixed, kept], [fast, slow], inputs=[x, w], name="state")


def test_states_of_a_scan_share_the_axes_at_which_they_read_each_other_at_the_same_place() -> None:
    fast, slow = two_states()
    groups = axis_groups(fast.op)
    assert groups[fast] == groups[slow]
    assert [group is None for group in groups[fast]] == [True, False, True]
    need = needs_of(fast, ((0, 6), (1, 2), (0, 4)))
    assert need["x"] == Need(((0, 6), (1, 2), (0, 4)), {0: Whole.SCAN, 2: Whole.SCAN})
    assert need["w"].region == ((0, 4), (0, 4))


def test_steps_go_on_from_the_states_that_are_read_before_their_own_step() -> None:
    fast, slow = normalize(two_states())
    chance = np.random.default_rng(0)
    given = {
        t: chance.standard_normal(t.shape).astype("float32")
        for t in tensor_order([fast])
        if not t.op.inputs()
    }
    whole = evaluate([fast, slow], given)
    made = resumed(fast.op, (2, 5))
    assert list(made.before) == [slow]
    found = evaluate([made.parts[fast], made.parts[slow]], {**given, made.before[slow]: whole[1][1:2]})
    for part, each in zip(found, whole, strict=True):
        np.testing.assert_array_equal(part, each[2:5])
