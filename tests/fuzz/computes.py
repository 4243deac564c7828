"""Right computes, schedules, hand-written functions and passes with something changed: a clear error or a right result.

Each case runs in a child process, so that a crash is a failure.  What is raised must be an error of ours; what runs
must give what numpy gives for the unchanged op, or for what the mutant computes where that is as well defined.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opgen_runtime import ir, ops
from opgen_runtime.base.arith import (
    Binary,
    Cast,
    Compare,
    Const,
    Expr,
    Select,
    Table,
    Var,
    cast,
    const,
    select,
)
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.base.vocabulary import DTYPES, INDEX, DType
from opgen_runtime.compute import te
from opgen_runtime.compute.te import Compute, IterVar, Read, Reduce, Tensor
from opgen_runtime.lower.library.schedules import generic
from opgen_runtime.lower.library.strategy import OpStrategy
from opgen_runtime.lower.schedule import Attach, Schedule, Split, Stage, create_schedule
from opgen_runtime.lower.schedule.stages.kind import ForKind
from opgen_runtime.operator.registry import Op, register_op_attr
from opgen_runtime.operator.types import TensorType
from opgen_runtime.run.compile import pipeline
from opgen_runtime.run.executor import create_executor
from opgen_runtime.transform import FunctionPass, PassContext, PassInfo

COUNT = 1000
OP = "sum"  # of the last axis: a read, a reduction, one output
JUNK: tuple[object, ...] = (None, -1, 0, 7, 2.5, "x", (), [], object(), float("nan"))


def case(seed: int) -> None:
    """One mutant of one kind."""
    rng = random.Random(seed)
    kind = rng.choice((_a_compute, _a_schedule, _a_function, _a_pass))
    pipeline.forget_kernels()
    try:
        kind(rng)
    except OpgenError as error:
        if len(str(error)) <= 10:
            raise AssertionError(f"an error without a text: {error!r}") from error


# ------------------------------------------------------------------ computes


def _a_compute(rng: random.Random) -> None:
    rows, columns = rng.randint(1, 9), rng.randint(1, 40)
    x = ir.var("x", TensorType((rows, columns), "float32"))
    function = ir.Function((x,), ops.sum(x, axis=1))
    right = rng.random() < 0.1

    def compute(binding: Any, operands: Sequence[Any]) -> Any:
        found = _row_sums(operands[0], rng, 0.0 if right else 0.15)
        return _mutated_result(found, rng, 0.0 if right else 0.3)

    data = np.random.default_rng(rng.randrange(1 << 30)).standard_normal((rows, columns)).astype(np.float32)
    register_op_attr(OP, "compute", compute, plevel=30)
    try:
        (out,) = pipeline.compile_segment(function).run([data])
    finally:
        _forget("compute", 30)
    assert out.shape == (rows,), out.shape
    assert out.dtype == np.float32, out.dtype
    if right:
        np.testing.assert_allclose(out, data.sum(axis=1), rtol=1e-4, atol=1e-4)


def _row_sums(x: Tensor, rng: random.Random, rate: float) -> Tensor:
    """The sums of the rows of `x`; each part is another one with probability `rate`."""

    def maybe(value: Any, *others: Callable[[], Any]) -> Any:
        return rng.choice(others)() if rng.random() < rate else value

    rows, columns = x.shape
    i = IterVar(Var(INDEX, "i"), maybe(rows, lambda: rows + 1, lambda: -rows, lambda: "rows"))
    k = IterVar(
        Var(INDEX, "k"), maybe(columns, lambda: columns + 3, lambda: 0, lambda: const(5, INDEX)), "reduce"
    )
    first = maybe(
        i.var, lambda: i.var + 1, lambda: const(-1, INDEX), lambda: const(1.0, "float32"), lambda: i.var - 1
    )
    second = maybe(
        k.var, lambda: k.var * 2, lambda: Var(INDEX, "free"), lambda: cast(te.read(x, 0, 0), "int64")
    )
    dtype = maybe(x.dtype, lambda: DType(rng.choice(sorted(DTYPES))))
    indices = maybe((first, second), lambda: (first,), lambda: (first, second, first), lambda: (first, 3.0))
    value: Any = Read(dtype, x, indices)
    if rng.random() < rate:
        value = _strange(value, i.var, rng)
    combiner = maybe("sum", lambda: "max", lambda: "argmax", lambda: "first", lambda: "nothing")
    body: Any = Reduce(dtype, combiner, maybe((k,), lambda: (), lambda: (k, k), lambda: (i,)), value)
    if rng.random() < rate:
        body = _strange(body, i.var, rng)
    shape = maybe(
        (rows,), lambda: (rows + 1,), lambda: (rows, 1), lambda: (), lambda: (-1,), lambda: ("rows",)
    )
    out_dtype = maybe(x.dtype, lambda: DType(rng.choice(sorted(DTYPES))), lambda: INDEX, lambda: "float32")
    operation: Any = maybe(
        Compute((i,), body),
        lambda: Compute((), body),
        lambda: te.Placeholder(),
        lambda: te.Scan((te.State((i,), 0, body),), rows, 1),
        lambda: te.Update(x, (te.Put((i.var,), "add", body),), (x,)),
        lambda: rng.choice(JUNK),
    )
    return Tensor("out", shape, out_dtype, operation)


def _strange(e: Expr, i: Var, rng: random.Random) -> Any:
    """A node around `e` that its constructors would not make."""
    other = DType(rng.choice(sorted(DTYPES)))
    return rng.choice(
        (
            lambda: Binary(e.dtype, rng.choice(("add", "xor", "nothing")), e, Const(other, 1)),
            lambda: Cast(other, e),
            lambda: Select(e.dtype, Compare(DType("bool"), "lt", i, Const(INDEX, 2)), e, Const(other, 0)),
            lambda: Select(e.dtype, e, e, e),
            lambda: Table(e.dtype, (1.0, 2.0), i),
            lambda: select(i < 1, e, e),
            lambda: rng.choice(JUNK),
        )
    )()


def _mutated_result(found: Tensor, rng: random.Random, rate: float) -> object:
    if rng.random() >= rate:
        return (found,)
    return rng.choice((found, [found], (found, found), (), (found, None), *JUNK))


# ------------------------------------------------------------------ schedules


def _a_schedule(rng: random.Random) -> None:
    rows, columns = rng.randint(1, 9), rng.randint(1, 40)
    x = ir.var("x", TensorType((rows, columns), "float32"))
    function = ir.Function((x,), ops.sum(ops.exp(x), axis=1))

    def schedule(outputs: Any, target: Any) -> Any:
        made = generic(outputs, target) if rng.random() < 0.3 else create_schedule(outputs)
        for _ in range(rng.randint(0, 4)):
            _primitive(made, rng)
        if rng.random() < 0.5:
            return _broken(made, rng)
        return made

    def strategy(attrs: Any, inputs: Any, out_type: Any) -> OpStrategy:
        return OpStrategy().add_implementation(None, schedule, "mine", 15)

    data = np.random.default_rng(rng.randrange(1 << 30)).standard_normal((rows, columns)).astype(np.float32)
    register_op_attr(OP, "strategy", strategy, plevel=30)
    try:
        (out,) = pipeline.compile_segment(function).run([data])
    finally:
        _forget("strategy", 30)
    np.testing.assert_allclose(out, np.exp(data).sum(axis=1), rtol=1e-4)


def _primitive(made: Schedule, rng: random.Random) -> None:
    """A primitive of a stage with whatever arguments; one that refuses them leaves the schedule as it is."""
    stage = rng.choice(made.stages)
    axes = [*stage.leaves, *rng.choice(made.stages).leaves]
    if not axes:
        return
    axis, other = rng.choice(axes), rng.choice(axes)
    parent = rng.choice(made.stages)
    try:
        rng.choice(
            (
                lambda: stage.split(axis, rng.choice((1, 2, 3, 8, 64)), overlapping=rng.random() < 0.3),
                lambda: stage.fuse(axis, other),
                lambda: stage.reorder(axis, other),
                lambda: stage.vectorize(axis),
                lambda: stage.unroll(axis),
                lambda: stage.parallel(axis),
                lambda: stage.virtual_thread(axis),
                lambda: stage.compute_at(parent, axis),
                lambda: stage.compute_inline(),
                lambda: made.rfactor(stage.tensor, axis),
                lambda: made.cache_write(stage.tensor),
                lambda: stage.set_scope(rng.choice(("global", "local"))),
                lambda: stage.double_buffer(),
                lambda: stage.storage_align(axis, 8, 1),
                lambda: stage.prefetch(rng.choice(made.stages).tensor, axis, 1),
            )
        )()
    except OpgenError:
        return


def _broken(made: Schedule, rng: random.Random) -> object:
    """The schedule with something changed that only primitives may change."""
    stage = rng.choice(made.stages)
    fresh = IterVar(Var(INDEX, "q"), rng.randint(1, 5))
    leaf = stage.leaves[0] if stage.leaves else fresh
    foreign = create_schedule([te.compute("f", (4,), "float32", lambda i: const(1.0, "float32"))])

    def set_(name: str, value: object) -> None:
        setattr(stage, name, value)

    rng.choice(
        (
            lambda: stage.leaves.append(fresh),
            lambda: stage.leaves.append(leaf),
            lambda: stage.leaves.clear(),
            lambda: stage.relations.append(Split(leaf, fresh, leaf, 2)),
            lambda: stage.kinds.update({fresh: ForKind.PARALLEL}),
            lambda: stage.kinds.update({leaf: rng.choice(JUNK)}),  # type: ignore[dict-item]
            lambda: set_("attach", Attach(foreign.stages[0], foreign.stages[0].axes[0])),
            lambda: set_("attach", Attach(stage, leaf)),
            lambda: set_("inlined", True),
            lambda: set_("scope", "nowhere"),
            lambda: set_("axes", ()),
            lambda: made.stages.pop(rng.randrange(len(made.stages))),
            lambda: made.stages.reverse(),
            lambda: made.stages.append(foreign.stages[0]),
            lambda: made.stages.append(Stage(stage.tensors, stage.op)),
            lambda: set_("leaves", rng.choice(JUNK)),
        )
    )()
    return rng.choice((made, made, made, made, foreign, *JUNK))


# ------------------------------------------------------------------ hand-written functions


def _a_function(rng: random.Random) -> None:
    size = rng.randint(0, 9)
    x = te.placeholder("x", (size,), "float32")
    junk: Callable[[np.ndarray], object] = rng.choice(
        (
            lambda a: a,
            lambda a: a[::-1],
            lambda a: a.astype(">f4"),
            lambda a: a.astype(object),
            lambda a: a.astype("float64"),
            lambda a: np.append(a, a).astype("float32"),
            lambda a: a[:, None],
            lambda a: (a, a),
            lambda a: np.lib.stride_tricks.as_strided(a[:1], (size,), (0,)) if size else a,
            lambda a: np.ma.masked_array(a),
            lambda a: a.tolist(),
            lambda a: rng.choice(JUNK),
            lambda a: 1 / 0,
            lambda a: a.sort(),
            lambda a: a.resize(99),
        )
    )
    tensor = Tensor("out", (size,), x.dtype, te.Extern((x,), junk, ()))  # type: ignore[arg-type]
    data = np.arange(size, dtype=np.float32)
    (out,) = te.evaluate([tensor], {x: data})
    assert out.shape == (size,)
    assert out.dtype == np.dtype("float32")
    np.testing.assert_array_equal(data, np.arange(size))


# ------------------------------------------------------------------ passes


def _a_pass(rng: random.Random) -> None:
    x = ir.var("x", TensorType((3, 4), "float32"))
    y = ir.var("y", TensorType((3, 4), "float32"))
    body = ops.softmax(ops.exp(x), axis=1)
    function = ir.Function((x,), body)
    module = ir.IRModule.from_expr(function)

    def mutant(pre: ir.Function, _: ir.IRModule, __: PassContext) -> Any:
        call = ir.Call(body.op, body.args, body.attrs)
        field = rng.choice(("op", "args", "attrs", "checked_type"))
        values = (
            *JUNK,
            (x, x),
            (y,),
            (3.0,),
            Op("softmax", "f"),
            TensorType((3,), "float32"),
            Op.get("matmul"),
        )
        object.__setattr__(call, field, rng.choice(values))
        changed = rng.choice((call, ir.Let(y, x, ir.Let(y, x, y)), ops.exp(y), ops.sum(x), ops.tanh(x), x))
        return rng.choice((ir.Function((x,), changed), ir.Function((x,), changed), changed, pre, *JUNK))

    after = FunctionPass(mutant, PassInfo("Mutant"))(module)
    assert after["main"].checked_type == function.checked_type
    data = np.ones((3, 4), np.float32)
    found = create_executor("graph").evaluate(after["main"])(data)  # type: ignore[operator]
    assert found.numpy().shape == (3, 4)


def _forget(key: str, plevel: int) -> None:
    attrs = Op.get(OP)._attrs
    attrs[key] = [entry for entry in attrs[key] if entry.plevel != plevel]
