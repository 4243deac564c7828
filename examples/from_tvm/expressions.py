"""Tensor expressions."""

from __future__ import annotations

import numpy as np

import opgen_runtime as rt
from opgen_runtime import te, tir

from .programs import F32, near, numbers, program


@program("tvm.nd.array around each array; here they are numpy's")
def vector_add() -> None:
    n = te.var("n")
    a, b = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    c = te.compute(a.shape, lambda i: a[i] + b[i], name="C")
    add = rt.build(te.create_schedule(c.op), [a, b, c], "llvm", name="vecadd")
    x, y, z = numbers(5), numbers(5), np.empty(5, F32)
    add(x, y, z)
    near(z, x + y)


def matrix_product(size: int = 16) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    a, b = te.placeholder((size, size), name="A"), te.placeholder((size, size), name="B")
    k = te.reduce_axis((0, size), name="k")
    return a, b, te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")


def runs_as_product(schedule: te.Schedule, args: list[te.Tensor]) -> None:
    x, y = numbers(16, 16), numbers(16, 16)[::-1].copy()
    near(rt.build(schedule, args)(x, y), x @ y)


@program()
def matmul_default() -> None:
    a, b, c = matrix_product()
    runs_as_product(te.create_schedule(c.op), [a, b, c])


@program()
def matmul_blocked() -> None:
    a, b, c = matrix_product()
    s = te.create_schedule(c.op)
    mo, no, mi, ni = s[c].tile(c.op.axis[0], c.op.axis[1], 8, 8)
    ko, ki = s[c].split(s[c].op.reduce_axis[0], factor=4)
    s[c].reorder(mo, no, ko, ki, mi, ni)
    s[c].vectorize(ni)
    s[c].parallel(mo)
    runs_as_product(s, [a, b, c])


@program()
def matmul_write_cache() -> None:
    a, b, c = matrix_product()
    s = te.create_schedule(c.op)
    cached = s.cache_write(c, "global")
    mo, no, mi, ni = s[c].tile(c.op.axis[0], c.op.axis[1], 8, 8)
    s[cached].compute_at(s[c], no)
    s[cached].unroll(s[cached].op.reduce_axis[0])
    s[c].vectorize(ni)
    assert mo is not mi
    runs_as_product(s, [a, b, c])


@program()
def array_packing() -> None:
    a, b = te.placeholder((16, 16), name="A"), te.placeholder((16, 16), name="B")
    packed = te.compute((4, 16, 4), lambda o, k, i: b[k, o * 4 + i], name="packedB")
    k = te.reduce_axis((0, 16), name="k")
    c = te.compute((16, 16), lambda i, j: te.sum(a[i, k] * packed[j // 4, k, j % 4], axis=k), name="C")
    s = te.create_schedule(c.op)
    s[packed].vectorize(s[packed].op.axis[2])
    runs_as_product(s, [a, b, c])


@program()
def rows_summed() -> None:
    a = te.placeholder((4, 6), name="A")
    k = te.reduce_axis((0, 6), "k")
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")
    near(rt.build(te.create_schedule(b.op), [a, b])(numbers(4, 6)), numbers(4, 6).sum(axis=1))


@program("the new axis of rfactor is bound to threads of a GPU")
def partial_sums_by_rfactor() -> None:
    a = te.placeholder((4, 16), name="A")
    k = te.reduce_axis((0, 16), "k")
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    _, ki = s[b].split(s[b].op.reduce_axis[0], factor=4)
    partial = s.rfactor(b, ki)
    s[partial].parallel(s[partial].op.axis[0])
    near(rt.build(s, [a, b])(numbers(4, 16)), numbers(4, 16).sum(axis=1))


@program(
    "te.comm_reducer gives a reduction of any kind; here what is no sum, product, min or max keeps its steps"
)
def product_by_comm_reducer() -> None:
    a = te.placeholder((4, 6), name="A")
    k = te.reduce_axis((0, 6), "k")
    product = te.comm_reducer(lambda x, y: x * y, lambda t: te.const(1, dtype=t), name="product")
    b = te.compute((4,), lambda i: product(a[i, k], axis=k), name="B")
    near(rt.build(te.create_schedule(b.op), [a, b])(numbers(4, 6)), numbers(4, 6).prod(axis=1))


@program()
def argmax_by_comm_reducer() -> None:
    value = te.placeholder((3, 5), name="value")
    k = te.reduce_axis((0, 5), "k")

    def combine(x: tuple[rt.arith.Expr, ...], y: tuple[rt.arith.Expr, ...]) -> tuple[rt.arith.Expr, ...]:
        better = x[1] >= y[1]
        return te.if_then_else(better, x[0], y[0]), te.if_then_else(better, x[1], y[1])

    argmax = te.comm_reducer(combine, lambda t0, t1: (te.const(-1, t0), te.min_value(t1)), name="argmax")
    place, best = te.compute((3,), lambda i: argmax((te.cast(k, "int32"), value[i, k]), axis=k), name="T")
    found = rt.build(te.create_schedule([place.op, best.op]), [value, place, best])(numbers(3, 5))
    near(found[0], numbers(3, 5).argmax(axis=1))


@program("te.scan takes the same arguments; the init has the state's first rows")
def cumulative_sum_by_scan() -> None:
    x = te.placeholder((5, 3), name="X")
    state = te.placeholder((5, 3), name="state")
    init = te.compute((1, 3), lambda _, i: x[0, i], name="init")
    update = te.compute((5, 3), lambda t, i: state[t - 1, i] + x[t, i], name="update")
    scan = te.scan(init, update, state, inputs=[x])
    near(rt.build(te.create_schedule(scan.op), [x, scan])(numbers(5, 3)), numbers(5, 3).cumsum(axis=0))


@program()
def two_results() -> None:
    a = te.placeholder((4,), name="A")
    doubled, squared = te.compute((4,), lambda i: (a[i] * 2.0, a[i] * a[i]), name="B")
    found = rt.build(te.create_schedule([doubled.op, squared.op]), [a, doubled, squared])(numbers(4))
    near(found[0], numbers(4) * 2)
    near(found[1], numbers(4) ** 2)


@program()
def fcompute_of_buffers() -> None:
    a = te.placeholder((4,), name="A")

    def reverse(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        return tir.loop("i", 4, lambda i: tir.store(outs[0], (i,), tir.load(ins[0], 3 - i)))

    b = te.extern((4,), [a], reverse, name="B")
    near(rt.build(te.create_schedule(b.op), [a, b])(numbers(4)), numbers(4)[::-1])


@program("te.extern(..., lambda ins, outs: tvm.tir.call_packed(name, ...)), which fills outs")
def registered_function_in_a_kernel() -> None:
    rt.register_func("from_tvm.sorted", lambda array: np.sort(array), override=True)
    a = te.placeholder((4,), name="A")
    b = te.extern((4,), [a], "from_tvm.sorted", name="B")
    near(rt.build(te.create_schedule(b.op), [a, b])(numbers(4)), np.sort(numbers(4)))


@program()
def padded() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((6,), lambda i: te.if_then_else(te.all(i >= 1, i < 5), a[i - 1], 0.0), name="B")
    near(rt.build(te.create_schedule(b.op), [a, b])(numbers(4)), np.pad(numbers(4), 1))


@program("A[i] == B[i] is an expression; outside of compute it is identity here: te.equal(A[i], B[i])")
def comparison() -> None:
    a, b = te.placeholder((4,), "int32", name="A"), te.placeholder((4,), "int32", name="B")
    c = te.compute((4,), lambda i: te.if_then_else(te.equal(a[i], b[i]), 1, 0), name="C")
    x, y = np.array([1, 2, 3, 4], "int32"), np.array([1, 0, 3, 0], "int32")
    near(rt.build(te.create_schedule(c.op), [a, b, c])(x, y), x == y)


@program("mixed dtypes are promoted; here the cast is written")
def mixed_dtypes() -> None:
    a = te.placeholder((4,), "int32", name="A")
    b = te.compute((4,), lambda i: a[i].astype(F32) * 0.5, name="B")
    near(rt.build(te.create_schedule(b.op), [a, b])(np.arange(4, dtype="int32")), np.arange(4) * 0.5)


@program("a name of one's own for each: tvm.te.exp, tvm.topi.erf, ...")
def element_functions() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: te.exp(te.tanh(a[i])) + te.sqrt(te.sigmoid(a[i])), name="B")
    x = numbers(4)
    near(rt.build(te.create_schedule(b.op), [a, b])(x), np.exp(np.tanh(x)) + np.sqrt(1 / (1 + np.exp(-x))))


@program()
def tensorized() -> None:
    a, b = te.placeholder((4,), name="a"), te.placeholder((4, 4), name="b")
    k = te.reduce_axis((0, 4), name="k")
    c = te.compute((4,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")

    def row(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        (u, v), (w,) = ins, outs
        step = tir.loop("k", 4, lambda k: tir.store(w, (), tir.load(w) + tir.load(u, k) * tir.load(v, k)))
        return tir.block(tir.store(w, (), 0.0), step)

    u, v = te.placeholder((4,), name="u"), te.placeholder((4,), name="v")
    j = te.reduce_axis((0, 4), name="j")
    dot = te.decl_tensor_intrin(te.compute((), lambda: te.sum(u[j] * v[j], axis=j)).op, row, name="dot")
    s = te.create_schedule(c.op)
    s[c].tensorize(s[c].op.reduce_axis[0], dot)
    near(rt.build(s, [a, b, c])(numbers(4), numbers(4, 4)), numbers(4, 4) @ numbers(4))


@program("tvm.tir.hypot, ldexp, nextafter, ceildiv; exponents of ldexp may be of any type there")
def functions_of_floats() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: te.hypot(te.ldexp(a[i], 2), te.nextafter(a[i], 9.0)), name="B")
    near(rt.build(te.create_schedule(b.op), [a, b])(numbers(4)), np.hypot(4 * numbers(4), numbers(4)))
