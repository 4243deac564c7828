"""More than sixty small programs of TVM's documentation and tests, in its spelling; what differs stands beside each.

    python examples/from_tvm.py          runs all, and prints what each is
    python examples/from_tvm.py -v       and what differs from TVM

A program is a function that asserts what it computes.  `there` is what is written in TVM, where it is another thing.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from opgen_runtime.types import TypeSolver

import opgen_runtime as rt
from opgen_runtime import ir, ops, te, tir

F32 = "float32"


@dataclass(frozen=True)
class Program:
    """A program: its name, what it runs, and what TVM writes otherwise."""

    name: str
    run: Callable[[], None]
    there: str


PROGRAMS: list[Program] = []


def program(there: str = "") -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Notes a function as a program; `there`: what TVM writes otherwise."""

    def noted(run: Callable[[], None]) -> Callable[[], None]:
        PROGRAMS.append(Program(run.__name__, run, there))
        return run

    return noted


def numbers(*shape: int) -> np.ndarray:
    """An array of float32 that is the same each time."""
    return np.random.default_rng(0).uniform(0.5, 1.5, shape).astype(F32)


def near(found: object, wanted: object) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-4, atol=1e-5)


# ------------------------------------------------------------------ te: tensor expressions


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


# ------------------------------------------------------------------ schedules and lowering


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


# ------------------------------------------------------------------ relay: programs of operators


def layer() -> tuple[rt.Function, dict[str, np.ndarray]]:
    x, w = rt.var("x", shape=(2, 4), dtype=F32), rt.var("w", rt.TensorType((3, 4), F32))
    return rt.Function((x, w), ops.relu(ops.dense(x, w))), {"w": numbers(3, 4) - 1}


def runs_as_layer(run: Callable[[np.ndarray], object]) -> None:
    near(run(numbers(2, 4)), np.maximum(numbers(2, 4) @ (numbers(3, 4) - 1).T, 0))


@program("relay.Function([x, w], body)")
def built_with_params() -> None:
    function, params = layer()
    runs_as_layer(lambda x: rt.build(function, params=params, target="llvm").run({"x": x}))


@program("graph, lib, params = relay.build(...), and graph_executor.create")
def graph_runtime() -> None:
    function, params = layer()
    runtime = rt.GraphRuntime(rt.build(function, params=params))
    runtime.set_input("x", numbers(2, 4))
    runtime.run()
    runs_as_layer(lambda _: runtime.get_output(0).numpy())


@program("lib.get_graph_json()")
def graph_as_json() -> None:
    function, params = layer()
    assert '"opgen_dense_relu_2"' in rt.build(function, params=params).graph


@program(
    "lib.get_params(); relay.save_param_dict(params), load_param_dict; here a file of the form safetensors"
)
def params_in_files() -> None:
    function, params = layer()
    executable = rt.build(function, params=params)
    path = Path(tempfile.mkdtemp()) / "params"
    executable.save_params(path)
    executable.set_params({"w": np.zeros((3, 4), F32)})
    near(executable.run([numbers(2, 4)]), np.zeros((2, 3)))
    executable.load_params(path)
    runs_as_layer(lambda x: executable.run([x]))


@program("nnvm: sym.Variable(name, init=...), nnvm.compiler.build(..., shape=..., dtype=...)")
def initialised_variables() -> None:
    x = rt.var("x")
    bias = rt.var("bias", init=lambda kind: ops.full(rt.const(0.5, kind.dtype), shape=kind.shape))
    executable = rt.build(rt.Function((x, bias), ops.bias_add(x, bias)), shape={"x": (2, 3)}, dtype=F32)
    near(executable.run([numbers(2, 3)]), numbers(2, 3) + 0.5)


@program("nnvm.compiler.graph_util.infer_shape(graph, x=(2, 4))")
def types_by_name() -> None:
    function = rt.Function((x := rt.var("x"), w := rt.var("w")), ops.dense(x, w, units=3))
    typed = rt.infer(function, shape={"x": (2, 4)}, dtype={"x": F32})
    assert str(typed.checked_type.params[1]) == "Tensor[(3, 4), float32]"


@program("executor.evaluate(func)(x), of kinds debug, graph, vm, aot; here debug and graph")
def executors() -> None:
    function, params = layer()
    for kind in ("debug", "graph"):
        evaluate = rt.create_executor(kind, rt.IRModule.from_expr(function)).evaluate()
        runs_as_layer(lambda x, evaluate=evaluate: evaluate(x, params["w"]).numpy())


@program("mod.astext(), relay.parse")
def text_and_back() -> None:
    module = rt.IRModule.from_expr(layer()[0])
    assert rt.structural_equal(rt.parse_module(str(module))["main"], module["main"])


@program("relay.Let, relay.If; conditions are scalars of bool in both")
def let_and_if() -> None:
    x, v = rt.var("x", shape=()), rt.var("v", rt.TensorType((), F32))
    body = rt.Let(v, ops.exp(x), rt.If(ops.greater(v, 2.0), v, ops.negative(v)))
    near(rt.build(rt.Function((x,), body)).run([np.array(1, F32)]), np.exp(1))


@program()
def tuples() -> None:
    x = rt.var("x", shape=(4,))
    pair = rt.Tuple((ops.exp(x), ops.log(x)))
    near(rt.build(rt.Function((x,), rt.TupleGetItem(pair, 1))).run([numbers(4)]), np.log(numbers(4)))


@program("a loop is a function that calls itself; at its end it is a loop of machine code here")
def recursion() -> None:
    module = rt.parse_module(
        "def @main(%n: Tensor[(), int64], %x: Tensor[(), float32]) -> Tensor[(), float32] {\n"
        "  if (greater(%n, 0i64)) { @main(subtract(%n, 1i64), multiply(%x, 2f)) } else { %x }\n}"
    )
    near(rt.build(module).run([np.array(5), np.array(1, F32)]), 32)


@program("relay.Any(); the VM runs it")
def open_dims() -> None:
    x = rt.var("x", shape=(rt.dim("n"), 4))
    executable = rt.build(rt.Function((x,), ops.softmax(x)))
    for rows in (1, 3):
        near(executable.run([numbers(rows, 4)]).sum(axis=1), np.ones(rows))


@program("relay.nn.*; here all ops are in one namespace")
def convolution() -> None:
    x, w = rt.var("x", shape=(1, 2, 5, 5)), rt.var("w", shape=(3, 2, 3, 3))
    y = ops.conv2d(x, w, channels=3, kernel_size=(3, 3), padding=(1, 1, 1, 1))
    found = rt.build(rt.Function((x, w), y)).run([np.ones((1, 2, 5, 5), F32), np.ones((3, 2, 3, 3), F32)])
    assert found.shape == (1, 3, 5, 5)
    near(found[0, 0, 2, 2], 18)


@program("relay.transform.gradient(func)")
def gradient() -> None:
    square = rt.grad(lambda x: ops.sum(ops.multiply(x, x)))
    near(square(numbers(4)), 2 * numbers(4))


@program("visit_call calls self.visit; here it yields what to visit, so that no depth is too great")
def visitor() -> None:
    class Names(ir.ExprVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def visit_call(self, call: ir.Call) -> ir.Steps[None]:
            yield from self.visit_default(call)
            self.names.append(call.op.name)  # type: ignore[union-attr]

    names = Names()
    names.visit(layer()[0].body)
    assert names.names == ["dense", "relu"]


# ------------------------------------------------------------------ passes


@program("relay.transform.FoldConstant()(mod)")
def folded_constants() -> None:
    x = rt.var("x", shape=(2,))
    body = ops.add(x, ops.exp(rt.const(np.zeros(2, F32))))
    folded = rt.transform.FoldConstant()(rt.IRModule.from_expr(body))
    assert "exp" not in str(folded)


@program("tvm.transform.Sequential([...])")
def passes_in_sequence() -> None:
    passes = rt.Sequential(
        [rt.transform.InferType(), rt.transform.SimplifyInference(), rt.transform.FuseOps()]
    )
    with rt.PassContext(opt_level=3):
        assert "Primitive" in str(passes(rt.IRModule.from_expr(layer()[0])))


@program("tvm.transform.PassContext(opt_level=3, disabled_pass=[...], required_pass=[...])")
def pass_context() -> None:
    with rt.PassContext(opt_level=3, disabled=["CombineParallelDense"], required=["FastMath"]) as context:
        assert rt.PassContext.current() is context
        assert context.opt_level == 3


@program("@relay.transform.function_pass(opt_level=1)")
def pass_of_ones_own() -> None:
    @rt.transform.function_pass(name="FromTvm.Same", opt_level=1)
    def same(function: rt.Function, module: rt.IRModule, context: rt.PassContext) -> rt.Function:
        return function

    module = rt.IRModule.from_expr(layer()[0])
    assert rt.structural_equal(same()(module)["main"], module["main"])


@program("tvm.instrument.PassTimingInstrument")
def instruments() -> None:
    timing = rt.transform.PassTiming()
    with rt.PassContext(instruments=[timing]):
        rt.build(layer()[0])
    assert "FuseOps" in timing.text()


@program("relay.transform.ConvertLayout({'nn.conv2d': ['NHWC', 'default']})")
def converted_layout() -> None:
    x, w = rt.var("x", shape=(1, 2, 5, 5)), rt.var("w", shape=(3, 2, 3, 3))
    y = ops.conv2d(x, w, channels=3, kernel_size=(3, 3))
    module = rt.transform.InferType()(rt.IRModule.from_expr(y))
    assert "NHWC" in str(rt.transform.ConvertLayout(layouts={"conv2d": "NHWC"})(module))


@program("tvm.ir.structural_hash")
def hashes() -> None:
    assert rt.structural_hash(layer()[0]) == rt.structural_hash(layer()[0])


# ------------------------------------------------------------------ registries and types


@program("tvm.register_func, tvm.get_global_func")
def global_functions() -> None:
    rt.register_func("from_tvm.twice", lambda x: x * 2, override=True)
    assert rt.get_global_func("from_tvm.twice")(21) == 42


@program("tvm.ir.Op.get(name); relay.op.op.register(...) and its chain")
def registered_ops() -> None:
    op = rt.Op.get("dense")
    assert op.num_inputs == 2
    assert op.get_attr("TOpPattern").name == "OUT_ELEMWISE_FUSABLE"


@program('tvm.get_global_func("relay.op.nn._make.dense")')
def call_makers() -> None:
    make = rt.get_global_func("op._make.dense")
    x, w = rt.var("x", shape=(2, 4)), rt.var("w", shape=(3, 4))
    assert rt.structural_equal(make(x, w), ops.dense(x, w))


@program("call.attrs.get_int('axis'), attrs.keys()")
def attrs_of_calls() -> None:
    call = ops.softmax(rt.var("x", shape=(2, 3)), axis=1)
    assert call.attrs.axis == 1
    assert [name for name, _, _ in type(call.attrs).list_field_info()] == ["axis"]


@program("tvm.relay.analysis._ffi_api._test_type_solver()")
def type_solver() -> None:
    solver = TypeSolver()
    a = solver.fresh("a")
    solver.unify(rt.TupleType((a,)), rt.TupleType((rt.TensorType((3,), "int8"),)))
    assert solver.resolve(a) == rt.TensorType((3,), "int8")


@program("a relation that fails is an error at InferType; here where the call is made")
def wrong_types() -> None:
    x, w = rt.var("x", shape=(2, 4)), rt.var("w", shape=(3, 5))
    try:
        ops.dense(x, w)
    except rt.OpgenError as error:
        found = str(error)
    assert found.startswith("dense: ")


def main(arguments: list[str]) -> None:
    """Runs all programs."""
    for each in PROGRAMS:
        each.run()
        print(each.name, f"  # there: {each.there}" if "-v" in arguments and each.there else "", sep="")
    print(f"{len(PROGRAMS)} programs")


if __name__ == "__main__":
    main(sys.argv[1:])
