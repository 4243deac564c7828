"""Schedules, and what they are lowered to."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path

import numpy as np

import opgen_runtime as rt
from opgen_runtime import ops, te, tir

from .programs import F32, near, numbers, program


def two_stages() -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    a = te.placeholder((4, 8), name="A")
    b = te.compute((4, 8), lambda i, j: a[i, j] + 1.0, name="B")
    return a, b, te.compute((4, 8), lambda i, j: b[i, j] * 2.0, name="C")


def runs_as_two_stages(schedule: te.Schedule, args: list[te.Tensor]) -> None:
    near(rt.build(schedule, args)(numbers(4, 8)), (numbers(4, 8) + 1) * 2)


@program()
def inlined_and_normalized() -> None:
    a, b, c = two_stages()
    s = te.create_schedule(c.op)
    s[b].compute_inline()
    s = s.normalize()
    assert "B[" not in str(rt.lower(s, [a, c]))
    runs_as_two_stages(s, [a, c])


@program()
def compute_at_and_root() -> None:
    a, b, c = two_stages()
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], c.op.axis[0])
    runs_as_two_stages(s, [a, c])
    s[b].compute_root()
    runs_as_two_stages(s, [a, c])


@program()
def fused_and_split() -> None:
    a, b, c = two_stages()
    s = te.create_schedule(c.op)
    fused = s[c].fuse(*c.op.axis)
    outer, inner = s[c].split(fused, nparts=4)
    s[c].parallel(outer)
    s[c].vectorize(inner)
    s[b].compute_inline()
    runs_as_two_stages(s, [a, c])


@program()
def read_cached() -> None:
    a, _, c = two_stages()
    b = c.op.inputs()[0]
    s = te.create_schedule(c.op)
    cached = s.cache_read(a, "local", [b])
    s[cached].compute_at(s[b], b.op.axis[0])
    runs_as_two_stages(s, [a, c])


@program(
    "topi's schedules ask for tags of its own; here the library derives what it asks, and tags are yours"
)
def inlined_by_tag() -> None:
    a = te.placeholder((4, 8), name="A")
    with te.tag_scope(tag="injective"):
        b = te.compute((4, 8), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((4, 8), lambda i, j: b[i, j] * 2.0, name="C", tag="scale", attrs={"by": 2})
    assert (c.op.tag, c.op.attrs["by"]) == ("scale", 2)
    s = te.create_schedule(c.op)
    for each in c.op.inputs():
        if each.op.tag == "injective":
            s[each].compute_inline()
    assert "B[" not in str(rt.lower(s, [a, c]))
    runs_as_two_stages(s, [a, c])


@program("print(tvm.lower(...)) prints TVMScript; here it prints loop IR of its own form")
def lowered_text() -> None:
    a, _, c = two_stages()
    text = str(rt.lower(te.create_schedule(c.op), [a, c], simple_mode=True))
    assert text.startswith("C(A: float32[4, 8]) -> (C: float32[4, 8]):")


@program("binds maps a tensor to a buffer of tvm.tir.decl_buffer, which may have strides")
def bound_buffers() -> None:
    a, _, c = two_stages()
    buffer = tir.decl_buffer((4, 8), F32, name="memory")
    assert "memory[i, j]" in str(rt.lower(te.create_schedule(c.op), [a, c], "f", binds={a: buffer}))


@program("tvm.te.schedule.InferBound, tvm.te.schedule.ScheduleOps")
def bounds_and_statements_alone() -> None:
    _, b, c = two_stages()
    s = te.create_schedule(c.op)
    bounds = tir.infer_bound(s)
    assert set(bounds) == {s[b], s[c]}
    assert "C[i, j] = B[i, j] * 2.0" in tir.stmt_text(tir.schedule_ops(s, bounds))


@program("tvm.tir.stmt_functor.substitute(stmt, {n: 4})")
def substituted_dims() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="B")
    lowered = rt.lower(te.create_schedule(b.op), [a, b])
    assert (
        tir.stmt_text(tir.substitute(lowered.body, {n: 4})) == "for i in range(4):\n    B[i] = A[i] + 1.0\n"
    )


@program(
    "tvm.tir.transform.UnrollLoop and its like, in a Sequential; here a table of phases, with hooks between them"
)
def phases() -> None:
    a, _, c = two_stages()
    seen: list[str] = []
    tir.run_phases(tir.lower(te.create_schedule(c.op), [a], [c], "f"), lambda name, _: seen.append(name))
    assert seen[:2] == ["loop_fission", "inject_prefetch"]


@program('config={"tir.disable_vectorize": True}, {"tir.UnrollLoop": {"auto_max_step": ..}}')
def options_of_kernels() -> None:
    a, _, c = two_stages()
    s = te.create_schedule(c.op)
    s[c].vectorize(c.op.axis[1])
    with rt.PassContext(config={"tir.vectorize.disable": True}):
        assert "ramp" not in str(rt.lower(s, [a, c], simple_mode=False))
    assert "ramp" in str(rt.lower(s, [a, c], simple_mode=False))


@program('config={"tir.add_lower_pass": [(phase, pass)]}')
def hooks_between_phases() -> None:
    a, _, c = two_stages()
    seen: list[str] = []

    def look(func: tir.PrimFunc) -> tir.PrimFunc:
        seen.append(func.name)
        return func

    with rt.PassContext(hooks={"lower": look}):
        rt.build(te.create_schedule(c.op), [a, c], name="hooked")
    assert seen == ["hooked"]


@program("tvm.build(prim_func)")
def built_loop_ir() -> None:
    a, _, c = two_stages()
    function = rt.build(rt.lower(te.create_schedule(c.op), [a, c]))
    near(function(numbers(4, 8)), (numbers(4, 8) + 1) * 2)


@program("func.export_library(path), tvm.runtime.load_module(path)")
def saved_function() -> None:
    a, _, c = two_stages()
    path = Path(tempfile.mkdtemp()) / "function"
    rt.build(te.create_schedule(c.op), [a, c]).save(path)
    near(rt.load_function(path)(numbers(4, 8)), (numbers(4, 8) + 1) * 2)


@program("functions of TVM are not pickled")
def pickled_function() -> None:
    a, _, c = two_stages()
    function = pickle.loads(pickle.dumps(rt.build(te.create_schedule(c.op), [a, c])))
    near(function(numbers(4, 8)), (numbers(4, 8) + 1) * 2)


@program('with tvm.target.Target("llvm"):')
def target_by_with() -> None:
    with rt.Target("llvm -num-threads=1") as target:
        assert rt.Target.current() is target
        x = rt.var("x", shape=(4,))
        near(rt.build(rt.Function((x,), ops.exp(x))).run([numbers(4)]), np.exp(numbers(4)))


@program("te.create_prim_func([A, B, C])")
def created_prim_func() -> None:
    a, _, c = two_stages()
    near(rt.build(rt.create_prim_func([a, c]))(numbers(4, 8)), (numbers(4, 8) + 1) * 2)


@program("prim_func.specialize({n: 4})")
def specialized_kernel() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    func = rt.create_prim_func([a, te.compute((n,), lambda i: a[i] * 2.0, name="B")])
    assert str(tir.specialize(func, {n: 4})).startswith("main(A: float32[4]) -> (B: float32[4]):")


@program("te.extern([(n,), (m,)], ..., fcompute) fills all of outs, likewise")
def kernel_of_several_outputs() -> None:
    @tir.kernel("(x: float32[n]) -> (total: float32[1], twice: float32[n])")
    def totals(x, total, twice, n):
        total[0] = 0.0
        for i in range(n):
            total[0] += x[i]
            twice[i] = x[i] * 2.0

    share = rt.jit(lambda x: totals(x)[1] / totals(x)[0])(numbers(4))
    near(share, 2 * numbers(4) / numbers(4).sum())


@program("pragma unrolls the axis itself, too; there are other pragmas there, such as import_llvm")
def unrolled_by_pragma() -> None:
    a, _, c = two_stages()
    s = te.create_schedule(c.op)
    s[c].pragma(c.op.axis[0], "auto_unroll_max_step", 16)
    assert "unrolled for j in range(8)" in str(rt.lower(s, [a, c]))
    runs_as_two_stages(s, [a, c])
