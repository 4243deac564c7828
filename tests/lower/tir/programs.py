"""Small programs and random schedules of them, for tests of schedules, lowering and phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from opgen_runtime.base.arith import Expr, call, cast, logical_or, maximum, select
from opgen_runtime.compute import te
from opgen_runtime.compute.te import Tensor
from opgen_runtime.lower import tir
from opgen_runtime.lower.schedule import Schedule, Stage, replay


@dataclass(frozen=True)
class Program:
    """Inputs and outputs of a program of tensor expressions."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    def arrays(self, seed: int = 0) -> list[np.ndarray]:
        """Values for the inputs: small numbers, so that sums are exact enough to compare."""
        generator = np.random.default_rng(seed)
        return [generator.integers(-4, 5, size=t.shape).astype(t.dtype.numpy) for t in self.inputs]

    def expected(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """What `te.evaluate` gives."""
        return te.evaluate(self.outputs, dict(zip(self.inputs, arrays, strict=True)))


def check_lowered(program: Program, schedule: Schedule, every_phase: bool = False) -> None:
    """The lowered schedule gives what `te.evaluate` gives, before the phases and after them (or after each)."""
    func = tir.lower(schedule, program.inputs, program.outputs, "kernel")
    check_replayed(program, schedule, func)
    versions = [func]
    final = tir.run_phases(func, (lambda _, f: versions.append(f)) if every_phase else None)
    if not every_phase:
        versions.append(final)
    arrays = program.arrays()
    expected = program.expected(arrays)
    for version in versions:
        compare(tir.interpret(version, arrays), expected, version)
    compare(tir.interpret(final, arrays, eager=True), expected, final)


def check_replayed(program: Program, schedule: Schedule, func: tir.PrimFunc) -> None:
    """The schedule's trace, as text, gives a schedule with the same trace and loop IR."""
    trace = str(schedule.trace)
    intrinsics = [stage.tile_of.intrinsic for stage in schedule.stages if stage.tile_of]
    again = replay(trace, schedule.outputs, intrinsics)
    assert str(again.trace) == trace
    assert tir.to_text(tir.lower(again, program.inputs, program.outputs, "kernel")) == tir.to_text(func), (
        trace
    )


def compare(found: Sequence[np.ndarray], expected: Sequence[np.ndarray], func: tir.PrimFunc) -> None:
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            got, np.asarray(want).reshape(-1), rtol=1e-5, atol=1e-5, err_msg=tir.to_text(func)
        )


def chain(n: int, m: int) -> Program:
    """(a * b + 1).abs(), b broadcast along the first axis, and the row sums of it."""
    a = te.placeholder("a", (n, m), "float32")
    b = te.placeholder("b", (m,), "float32")
    p = te.compute("p", (n, m), "float32", lambda i, j: te.read(a, i, j) * te.read(b, j))
    q = te.compute("q", (n, m), "float32", lambda i, j: call("abs", te.read(p, i, j) + 1.0))
    k = te.reduce_axis(m, "k")
    s = te.compute("s", (n,), "float32", lambda i: te.reduce("sum", k, te.read(q, i, k.var)))
    return Program((a, b), (q, s))


def centred(n: int, m: int) -> Program:
    """Rows minus their maximum, divided by 2: a reduction with an epilogue in its row."""
    x = te.placeholder("x", (n, m), "float32")
    k = te.reduce_axis(m, "k")
    top = te.compute("top", (n,), "float32", lambda i: te.reduce("max", k, te.read(x, i, k.var)))
    out = te.compute("out", (n, m), "float32", lambda i, j: (te.read(x, i, j) - te.read(top, i)) / 2.0)
    return Program((x,), (out,))


def product(n: int, m: int, depth: int) -> Program:
    """relu(a @ b)."""
    a = te.placeholder("a", (n, depth), "float32")
    b = te.placeholder("b", (depth, m), "float32")
    k = te.reduce_axis(depth, "k")
    c = te.compute(
        "c", (n, m), "float32", lambda i, j: te.reduce("sum", k, te.read(a, i, k.var) * te.read(b, k.var, j))
    )
    d = te.compute("d", (n, m), "float32", lambda i, j: maximum(te.read(c, i, j), 0.0))
    return Program((a, b), (d,))


def padded(n: int, m: int, inverted: bool = False) -> Program:
    """A sum of three neighbours with zeros beyond the edges: reads that only a condition keeps inside."""
    x = te.placeholder("x", (n, m), "int32")
    k = te.reduce_axis(3, "k")

    def padded_read(i: Expr, j: Expr) -> Expr:
        if inverted:
            return select(logical_or(j < 1, j > m), 0, te.read(x, i, m - j))
        inside = select(j >= 1, j <= m, False)
        return select(inside, te.read(x, i, j - 1), 0)

    p = te.compute("p", (n, m + 2), "int32", padded_read)
    out = te.compute("out", (n, m), "int32", lambda i, j: te.reduce("sum", k, te.read(p, i, j + k.var)))
    return Program((x,), (out,))


def flipped(n: int, m: int) -> Program:
    """Sums of pairs, read backwards: regions of negative stride."""
    x = te.placeholder("x", (n, m), "float32")
    p = te.compute("p", (n, m), "float32", lambda i, j: te.read(x, n - 1 - i, j) * 2.0)
    k = te.reduce_axis(2, "k")

    def pair(i: Expr, j: Expr) -> Expr:
        return te.reduce("sum", k, te.read(p, n - 1 - i, maximum(m - 1 - j - k.var, 0)))

    return Program((x,), (te.compute("out", (n, m), "float32", pair),))


def positions(combiner: str, n: int, m: int, axis: int) -> Program:
    """argmax or argmin along one axis."""
    x = te.placeholder("x", (n, m), "float32")
    k = te.reduce_axis((n, m)[axis], "k")
    kept = (n, m)[1 - axis]
    read = (lambda i: te.read(x, i, k.var)) if axis else (lambda i: te.read(x, k.var, i))
    out = te.compute("out", (kept,), "int64", lambda i: te.reduce(combiner, k, read(i)))
    return Program((x,), (out,))


@st.composite
def programs(draw: st.DrawFn, sizes: st.SearchStrategy[int] | None = None) -> Program:
    """One of the programs above on drawn extents."""
    sizes = st.integers(1, 9) if sizes is None else sizes
    n, m = draw(sizes), draw(sizes)
    which = draw(st.integers(0, 6))
    if which == 0:
        return chain(n, m)
    if which == 1:
        return centred(n, m)
    if which == 2:
        return product(n, m, draw(sizes))
    if which == 3:
        return padded(n, m, draw(st.booleans()))
    if which == 4:
        return positions(draw(st.sampled_from(["argmax", "argmin"])), n, m, draw(st.integers(0, 1)))
    return flipped(n, m) if which == 5 else mixed(draw, n, m)


def mixed(draw: st.DrawFn, n: int, m: int) -> Program:
    """A few random element-wise stages over two inputs, then perhaps a reduction of the last along a drawn axis."""
    a = te.placeholder("a", (n, m), "int32")
    b = te.placeholder("b", (m, n), "int32")
    tensors = [a, te.compute("bt", (n, m), "int32", lambda i, j: te.read(b, j, i))]
    for number in range(draw(st.integers(1, 3))):
        x, y = draw(st.sampled_from(tensors)), draw(st.sampled_from(tensors))
        kind = draw(st.integers(0, 3))

        def body(i: Expr, j: Expr, x: Tensor = x, y: Tensor = y, kind: int = kind) -> Expr:
            if kind == 0:
                return te.read(x, i, j) + te.read(y, i, j) * 2
            if kind == 1:
                return te.read(x, n - 1 - i, j) - te.read(y, i, m - 1 - j)
            if kind == 2:
                return select(i < j, te.read(x, i, j), te.read(y, i, 0))
            return cast(i * 3 + j, "int32") + te.read(x, i, j)

        tensors.append(te.compute(f"t{number}", (n, m), "int32", body))
    last = tensors[-1]
    if draw(st.booleans()):
        return Program((a, b), (last,))
    combiner = draw(st.sampled_from(["sum", "min", "max", "prod"]))
    k = te.reduce_axis(n, "k")
    out = te.compute("r", (m,), "int32", lambda j: te.reduce(combiner, k, te.read(last, k.var, j)))
    return Program((a, b), (out, last) if draw(st.booleans()) else (out,))


def scramble(draw: st.DrawFn, stage: Stage) -> None:
    """Random splits, fusions, orders and kinds of the loops of one stage."""
    for _ in range(draw(st.integers(0, 3))):
        action = draw(st.integers(0, 2))
        leaf = draw(st.sampled_from(stage.leaves))
        if action == 0:
            overlapping = not stage.reduce_axes and draw(st.booleans())
            stage.split(leaf, draw(st.integers(1, 5)), overlapping=overlapping)
        elif action == 1:
            position = stage.leaves.index(leaf)
            following = stage.leaves[position + 1 : position + 2]
            if following and following[0].kind == leaf.kind:
                stage.fuse(leaf, following[0])
        else:
            stage.reorder(*draw(st.permutations(stage.leaves)))
    kind = draw(st.integers(0, 4))
    leaf = draw(st.sampled_from(stage.leaves))
    if kind == 0:
        stage.vectorize(leaf)
    elif kind == 1:
        stage.unroll(leaf)
    elif kind == 2 and leaf.kind == "data":
        stage.parallel(leaf)
    elif kind == 3 and leaf.kind == "data":
        stage.virtual_thread(leaf)
