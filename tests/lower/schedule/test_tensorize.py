"""Tiles that intrinsics compute: what matches, what does not and why, and that results stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opgen_runtime.errors import LoweringError, OpgenError, ScheduleError

import opgen_runtime as rt
from opgen_runtime import te, tir
from tests.lower.tir.programs import Program, check_lowered

ROWS, DEPTH = 4, 8


def product(ins: Sequence[Any], outs: Sequence[Any]) -> tuple[tir.Stmt | None, tir.Stmt, tir.Stmt]:
    """c[i] += a[k] * b[i, k] by a vector of partial sums."""
    (a, b), (c,) = sorted(ins, key=lambda each: each.name), outs
    rows, depth = b.shape

    def row(i: Any) -> tir.Stmt:
        def sums(lanes: tir.Buffer) -> tir.Stmt:
            def multiply(lane: Any) -> tir.Stmt:
                return tir.store(lanes, (lane,), tir.load(a, lane) * tir.load(b, i, lane))

            def add(lane: Any) -> tir.Stmt:
                return tir.store(c, (i,), tir.load(c, i) + tir.load(lanes, lane))

            return tir.block(
                tir.loop("l", depth, multiply, "vectorized"), tir.loop("l", depth, add, "unrolled")
            )

        return tir.local("lanes", (depth,), a.dtype, sums)

    return None, tir.loop("i", rows, lambda i: tir.store(c, (i,), 0)), tir.loop("i", rows, row)


def gemv(
    rows: int = ROWS, depth: int = DEPTH, dtype: str = "float32", write: Any = product, swapped: bool = False
) -> te.Intrinsic:
    a, b = te.placeholder((depth,), dtype, "a"), te.placeholder((rows, depth), dtype, "b")
    k = te.reduce_axis((0, depth), name="k")

    def element(i: Any) -> Any:
        return te.sum(b[i, k] * a[k] if swapped else a[k] * b[i, k], axis=k)

    return te.decl_tensor_intrin(te.compute((rows,), element, name="c").op, write, "gemv")


class Matmul:
    """C[x, y] = sum(A[x, k] * B[k, y]), scheduled by hand."""

    def __init__(self, n: int = 3, m: int = 8, depth: int = 16, dtype: str = "float32") -> None:
        self.A = te.placeholder((n, depth), dtype, "A")
        self.B = te.placeholder((depth, m), dtype, "B")
        self.k = te.reduce_axis((0, depth), name="k")
        self.C = te.compute(
            (n, m), lambda x, y: te.sum(self.A[x, self.k] * self.B[self.k, y], axis=self.k), name="C"
        )
        self.schedule = te.create_schedule(self.C)
        self.stage = self.schedule[self.C]
        self.x, self.y = self.stage.axes

    def tile(self, rows: int = ROWS, depth: int = DEPTH) -> te.IterVar:
        y_o, y_i = self.stage.split(self.y, rows)
        k_o, k_i = self.stage.split(self.k, depth)
        self.stage.reorder(self.x, y_o, k_o, y_i, k_i)
        return y_i


def test_a_tile_becomes_the_intrinsic() -> None:
    made = Matmul()
    made.stage.tensorize(made.tile(), gemv())
    assert str(made.schedule).endswith("""\
C: float32[3, 8], output
    x    3
    y_o  2                  y // 4
    k_o  2  reduce          k // 8
    y_i  4  by gemv         y % 4
    k_i  8  reduce by gemv  k % 8
    C[x, y] = sum(A[x, k] * B[k, y] for k in range(16))
    reordered from x, y_o, y_i, k_o, k_i""")
    assert (
        str(rt.lower(made.schedule, [made.A, made.B, made.C]))
        == """\
C(A: float32[3, 16], B: float32[16, 8]) -> (C: float32[3, 8]):
    for x in range(3):
        for y_o in range(2):
            for i in range(4):
                C[x, y_o * 4 + i] = 0.0
            for k_o in range(2):
                for i in range(4):
                    allocate lanes: float32[8] local
                    vectorized for l in range(8):
                        lanes[l] = A[x, k_o * 8 + l] * B[k_o * 8 + l, y_o * 4 + i]
                    unrolled for l in range(8):
                        C[x, y_o * 4 + i] = C[x, y_o * 4 + i] + lanes[l]
"""
    )
    a, b = (np.random.default_rng(0).random(t.shape, dtype=np.float32) for t in (made.A, made.B))
    np.testing.assert_allclose(rt.build(made.schedule, [made.A, made.B, made.C])(a, b), a @ b, rtol=1e-5)


@settings(max_examples=60)
@given(st.data())
def test_results_stay(data: st.DataObject) -> None:
    """Products of tensors that lie in any order, in tiles of any sizes, factors and loops in any order."""
    rows, depth = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    sizes = {"x": data.draw(st.integers(1, 3)), "y": rows * data.draw(st.integers(1, 3))}
    sizes["k"] = depth * data.draw(st.integers(1, 3))
    step = data.draw(st.integers(1, 2))
    orders = [data.draw(st.permutations(axes)) for axes in ("xk", "yk", "xy")]
    A, B = (
        te.placeholder([sizes[a] * step for a in order], name=name)
        for order, name in zip(orders, "AB", strict=False)
    )
    k = te.reduce_axis((0, sizes["k"]), name="k")
    flip = data.draw(st.booleans())

    def element(*axes: Any) -> Any:
        at = {**dict(zip(orders[2], axes, strict=True)), "k": k}
        first, second = (t[tuple(at[a] * step for a in o)] for t, o in zip((A, B), orders, strict=False))
        return te.sum(second * first if flip else first * second, axis=k)

    C = te.compute(tuple(sizes[a] for a in orders[2]), element, name="C")
    schedule = te.create_schedule(C)
    stage = schedule[C]
    y = stage.axes[orders[2].index("y")]
    x = stage.axes[orders[2].index("x")]
    y_o, y_i = stage.split(y, rows)
    k_o, k_i = stage.split(k, depth)
    outer = data.draw(st.permutations([x, y_o, k_o]))
    inner = data.draw(st.permutations([y_i, k_i]))
    stage.reorder(*outer, *inner)
    stage.tensorize(inner[0], gemv(rows, depth, swapped=data.draw(st.booleans())))
    check_lowered(Program((A, B), (C,)), schedule, every_phase=True)


def test_a_stage_inside_another_is_matched_where_it_is_computed() -> None:
    made = Matmul(n=1)
    D = te.compute((1, 8), lambda x, y: made.C[x, y] + 1.0, name="D")
    schedule = te.create_schedule(D)
    outer, _ = schedule[D].split(schedule[D].axes[1], ROWS)
    stage = schedule[made.C]
    stage.compute_at(schedule[D], outer)
    k_o, k_i = stage.split(made.k, DEPTH)
    stage.reorder(k_o, made.y, k_i)
    stage.tensorize(made.y, gemv())
    check_lowered(Program((made.A, made.B), (D,)), schedule, every_phase=True)
    stage.compute_root()
    with pytest.raises(LoweringError, match="the tile spans y: 8, k: 8, the intrinsic i: 4, k: 8"):
        rt.lower(schedule, [made.A, made.B, D])


def test_elements_without_a_reduction() -> None:
    a = te.placeholder((4,), name="a")
    twice = te.compute((4,), lambda i: a[i] * 2.0 + 1.0, name="twice")

    def write(ins: Sequence[Any], outs: Sequence[Any]) -> tir.Stmt:
        return tir.loop(
            "i", 4, lambda i: tir.store(outs[0], (i,), tir.load(ins[0], i) * 2.0 + 1.0), "vectorized"
        )

    x = te.placeholder((3, 8), name="x")
    out = te.compute((3, 8), lambda i, j: 1.0 + x[i, 7 - j] * 2.0, name="out")
    schedule = te.create_schedule(out)
    stage = schedule[out]
    stage.tensorize(stage.split(stage.axes[1], 4)[1], te.decl_tensor_intrin(twice, write))
    check_lowered(Program((x,), (out,)), schedule, every_phase=True)


# ------------------------------------------------------------------ what is refused


def kinds(made: Matmul) -> None:
    tile = made.tile()
    made.stage.unroll(tile)
    made.stage.tensorize(tile, gemv())


def late(made: Matmul) -> None:
    tile = made.tile()
    made.stage.tensorize(tile, gemv())
    made.stage.split(tile, 2)


def conditional(made: Matmul) -> None:
    some = te.compute(
        (8,), lambda y: te.sum(made.A[0, made.k] * made.B[made.k, y], axis=made.k, where=made.k < y)
    )
    stage = te.create_schedule(some)[some]
    stage.tensorize(stage.axes[0], gemv(8, 16))


def expression(made: Matmul) -> None:
    some = te.compute((4,), lambda y: te.sum(te.exp(made.A[0, made.k]) * made.B[made.k, y], axis=made.k))
    stage = te.create_schedule(some)[some]
    stage.tensorize(stage.axes[0], gemv(4, 16))


def other_sum(made: Matmul) -> None:
    some = te.compute((4,), lambda y: te.sum(made.A[0, made.k] - made.B[made.k, y], axis=made.k))
    stage = te.create_schedule(some)[some]
    stage.tensorize(stage.axes[0], gemv(4, 16))


def moving(made: Matmul) -> None:
    some = te.compute((3,), lambda y: te.sum(made.A[y, made.k] * made.B[made.k, y], axis=made.k))
    stage = te.create_schedule(some)[some]
    stage.tensorize(stage.axes[0], gemv(3, 16))


def no_box(made: Matmul) -> None:
    stage = made.stage
    _, inner = stage.split(stage.fuse(made.x, made.y), 12)
    stage.tensorize(inner, gemv(12, 16))


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        (lambda m: m.stage.tensorize(m.tile(2), gemv()), "spans y: 2, k: 8, the intrinsic i: 4, k: 8"),
        (lambda m: m.stage.tensorize(m.tile(3), gemv(3)), r"the tile is cut where `y_o \* 3 \+ y_i < 8`"),
        (
            lambda m: m.stage.tensorize(m.tile(), gemv(dtype="float64")),
            "gives float32, the intrinsic float64",
        ),
        (kinds, "the loop over y_i is unrolled; the intrinsic takes its place"),
        (late, "the loop over y_i is one of the tile that gemv computes"),
        (conditional, "only elements count where"),
        (expression, "the operand a of the intrinsic stands for `exp"),
        (
            other_sum,
            r"the stage computes `A\[0, k\] - B\[k, y\]` where the intrinsic has `a\[k\] \* b\[i, k\]`",
        ),
        (moving, "moves with y otherwise than the operand a"),
        (no_box, "are no box of the axes"),
    ],
)
def test_refused(use: Callable[[Matmul], None], reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        use(Matmul())


@pytest.mark.parametrize(
    ("element", "reason"),
    [
        (lambda a, b, i: a[i] + te.cast(i, "float32"), "computes with the position"),
        (lambda a, b, i: a[3 - i], "is not read whole"),
        (lambda a, b, i: b[i, i], "is not read whole"),
    ],
)
def test_what_is_no_intrinsic(element: Callable[..., Any], reason: str) -> None:
    a, b = te.placeholder((4,), name="a"), te.placeholder((4, 4), name="b")
    with pytest.raises(ScheduleError, match=reason):
        te.decl_tensor_intrin(te.compute((4,), lambda i: element(a, b, i)), product)


def wrong_sum(ins: Sequence[Any], outs: Sequence[Any]) -> Any:
    _, reset, update = product(ins, outs)
    return None, reset, tir.block(update, tir.store(outs[0], (1,), 7.0))


def outside(ins: Sequence[Any], outs: Sequence[Any]) -> Any:
    return tir.loop("i", 5, lambda i: tir.store(outs[0], (i,), 0.0))


def raises(ins: Sequence[Any], outs: Sequence[Any]) -> Any:
    raise KeyError("x")


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (wrong_sum, r"the intrinsic gemv: its body gives 7 at \[1\], where its expression gives"),
        (outside, "the intrinsic gemv: .*outside"),
        (raises, "gemv raised KeyError"),
        (lambda ins, outs: 3, "gemv gave 3, expected loop IR"),
        (lambda ins, outs: tir.store(ins[0], (0,), 0.0), "input a is stored to"),
        (lambda ins, outs: tir.block(*product(ins, outs)[1:]), "which needs an `update`"),
    ],
)
def test_wrong_bodies(write: Any, reason: str) -> None:
    made = Matmul()
    made.stage.tensorize(made.tile(), gemv(write=write))
    with pytest.raises(OpgenError, match=reason):
        rt.lower(made.schedule, [made.A, made.B, made.C])


def test_halves_are_not_added_up_in_their_own_precision() -> None:
    made = Matmul(dtype="float16")
    made.stage.tensorize(made.tile(), gemv(dtype="float16"))
    with pytest.raises(LoweringError, match="parts of the result are float32, its buffer holds float16"):
        rt.lower(made.schedule, [made.A, made.B, made.C])
