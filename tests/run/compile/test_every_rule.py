"""A planted violation of every rule of every stage is reported with the stage, the node and the rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from opgen_runtime import ir, ops
from opgen_runtime.base.arith import Binary, Select, Var, cast, const, lt
from opgen_runtime.base.contract import Contract, Rule, When
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import FLOAT32, INDEX, INT32
from opgen_runtime.compute import te
from opgen_runtime.compute.te import Tensor
from opgen_runtime.declaration.contract import Computed
from opgen_runtime.ir import Call, Function, IRModule, Let
from opgen_runtime.lower import tir
from opgen_runtime.lower.schedule import Attach, Schedule, create_schedule
from opgen_runtime.lower.schedule.contract import Made
from opgen_runtime.lower.tir import Allocate, Buffer, For, ForKind, Load, PrimFunc, Ramp, Splat, Stmt, Store
from opgen_runtime.operator.registry import Op
from opgen_runtime.operator.types import TensorType
from opgen_runtime.run.compile import pipeline
from opgen_runtime.run.compile.kernel.records import Lowered, Request
from opgen_runtime.run.compile.stage import Stage
from opgen_runtime.transform import FuseOps
from opgen_runtime.transform.contract import Step
from tests.run.compile.planted_programs import PLANS, STAGES

# ------------------------------------------------------------------ modules

A = ir.Var("a", TensorType((2, 3), "float32"))
FREE = ir.Var("free", TensorType((2, 3), "float32"))
MODULE = IRModule.from_expr(Function((A,), ops.softmax(ops.exp(A), axis=1)))


def after(body: Any) -> Step:
    main = Function((A,), body)
    return Step(MODULE, IRModule({ir.GlobalVar("main", main.checked_type): main}), changes_type=False)


def forged(**fields: object) -> Any:
    """A call of softmax with fields that making it would have refused."""
    body = MODULE["main"].body
    assert isinstance(body, Call)
    call = Call(body.op, body.args, body.attrs)
    for name, value in fields.items():
        object.__setattr__(call, name, value)
    return call


OPEN = ir.Var("open")
PASSES: dict[str, tuple[Callable[[], Any], str]] = {
    "made of nodes": (lambda: after(forged(args=(3.0,))), "the call of softmax is 3.0"),
    "ops are registered": (lambda: after(forged(op=Op("softmax", "elsewhere.py"))), "the call of softmax"),
    "attrs are of the op's class": (lambda: after(forged(attrs=None)), "the call of softmax has attrs None"),
    "as many operands as the op has inputs": (
        lambda: after(forged(args=(A, A))),
        "the call of softmax has 2",
    ),
    "bound once, in scope, closed": (lambda: after(ops.exp(FREE)), "variable %free is free"),
    "types are those of the operands": (
        lambda: after(forged(checked_type=TensorType((2, 3), "int32"))),
        "the call of softmax says that its type is",
    ),
    "types stay complete": (lambda: after(Let(OPEN, A, OPEN)), "the type of %open is not known"),
    "main keeps its type": (lambda: after(ops.sum(A)), "@main had the type"),
    "each call in one closed segment": (lambda: MODULE, "the call of softmax stands in no segment"),
}

# ------------------------------------------------------------------ tensors

X = te.placeholder("x", (4, 6), "float32")


def tensor(body: Any, shape: Any = (4, 6), axes: Any = None) -> Tensor:
    """A tensor made of nodes, which nothing has checked."""
    loops = te.data_axes(axes or (4, 6))
    return Tensor("out", shape, FLOAT32, te.Compute(loops, body(*[axis.var for axis in loops])))


def computed(**wrong: Any) -> Computed:
    out = te.compute("out", (4, 6), "float32", lambda i, j: te.read(X, i, j))
    return replace(Computed((out,), ((4, 6),), (FLOAT32,)), **wrong)


def reduced(combiner: str) -> Tensor:
    axis = te.reduce_axis(6, "k")
    return tensor(lambda i, j: te.Reduce(FLOAT32, combiner, (axis,), te.read(X, i, axis.var), None, None))


def result(array: Any) -> Any:
    return te.placeholder("sorted", (4,), "float32"), array, frozenset()


COMPUTES: dict[str, tuple[Callable[[], Any], str]] = {
    "as many results as outputs": (lambda: computed(tensors=()), "it gave 0 tensors"),
    "results have the outputs' shapes": (lambda: computed(shapes=((4, 5),)), "result 0, out"),
    "results have the outputs' dtypes": (lambda: computed(dtypes=(INT32,)), "result 0, out"),
    "made of operations and expressions": (
        lambda: tensor(lambda i, j: 3.0),
        "tensor out is computed from 3.0",
    ),
    "reductions are known ones": (lambda: reduced("median"), "tensor out reduces by 'median'"),
    "sorts have an axis": (
        lambda: Tensor("out", X.shape, FLOAT32, te.Sort(X, 2, descending=False, positions=False)),
        "tensor out sorts x, which has 2 dims, along axis 2",
    ),
    "no free variable": (lambda: tensor(lambda i, j: te.read(X, Var(INDEX, "q"), j)), "the variable q"),
    "dims are ints or expressions": (
        lambda: tensor(lambda i, j: te.read(X, i, j), (4, -6)),
        "axis 1 of tensor out has the extent -6",
    ),
    "axes cover the shape": (lambda: tensor(lambda i, j: te.read(X, i, j), axes=(4, 5)), "tensor out has"),
    "as many indices as dims": (lambda: tensor(lambda i, j: te.Read(FLOAT32, X, (i,))), "tensor out reads x"),
    "values have the tensor's dtype": (lambda: tensor(lambda i, j: const(1, INT32)), "tensor out is float32"),
    "reads have their tensor's dtype": (
        lambda: tensor(lambda i, j: cast(te.Read(INT32, X, (i, j)), FLOAT32)),
        "tensor out reads x, float32, as int32",
    ),
    "accesses are inside": (
        lambda: tensor(lambda i, j: te.read(X, i * 2, j)),
        "tensor out reads x[i0 * 2, i1]",
    ),
    "results have their dtype": (lambda: result(np.zeros(4)), "result sorted is float64[4]"),
    "results have their shape": (lambda: result(np.zeros(5, np.float32)), "result sorted is float32[5]"),
}

# ------------------------------------------------------------------ schedules

Y = te.compute("y", (4, 6), "float32", lambda i, j: te.read(X, i, j) + 1.0)
Z = te.compute("z", (4, 6), "float32", lambda i, j: te.read(Y, i, j) * 2.0)


def changed(change: Callable[[Any, Any, Any], object]) -> Made:
    """A schedule of two stages that was changed by hand, past its primitives."""
    made = create_schedule([Z])
    change(made, made[Y], made[Z])
    return Made(made, (Z,))


def elsewhere(made: Schedule, first: Any, last: Any) -> None:
    other = create_schedule([Z])[Z]
    first.attach = Attach(other, other.axes[0])


SCHEDULES: dict[str, tuple[Callable[[], Any], str]] = {
    "the outputs are the function's": (lambda: Made(create_schedule([Y]), (Z,)), "its outputs are y"),
    "stages are its own, producers first": (
        lambda: changed(lambda made, first, last: made.stages.reverse()),
        "stage z reads y",
    ),
    "loops cover the axes": (
        lambda: changed(lambda made, first, last: last.leaves.pop()),
        "stage z: its loops",
    ),
    "loops run as they can": (
        lambda: changed(lambda made, first, last: last.kinds.__setitem__(last.axes[0], "fast")),
        "stage z: i0 runs as 'fast'",
    ),
    "attach points exist": (lambda: changed(elsewhere), "stage y is computed at i0 of stage z"),
    "places are possible": (
        lambda: changed(lambda made, first, last: setattr(last, "inlined", True)),
        "stage z is inlined",
    ),
    "bodies have no free variable": (
        lambda: changed(lambda made, first, last: setattr(last, "body", te.read(X, Var(INDEX, "q"), 0))),
        "stage z uses the variable q",
    ),
}

# ------------------------------------------------------------------ loop IR

U = te.placeholder("u", (6,), "float32")
V = te.compute("v", (6,), "float32", lambda i: te.read(U, i) * 2.0)
FUNC = tir.run_phases(tir.lower(create_schedule([V]), [U], [V], "twice"))
(INPUT,), (OUTPUT,) = FUNC.inputs, FUNC.outputs
ZERO = const(0, INDEX)
Q = Var(INDEX, "q")


def stored(buffer: Buffer, *indices: Any, value: Any = None) -> Stmt:
    return Store(buffer, indices, const(1.0, FLOAT32) if value is None else value)


def loop(kind: ForKind) -> Stmt:
    return For(Q, ZERO, const(6, INDEX), kind, stored(OUTPUT, Q))


SQUARE = Buffer("square", (2, 2), FLOAT32, "local")
DOUBLE = Buffer("pair", (2,), FLOAT32, "double")
LOOP_IR: dict[str, tuple[Callable[[], Stmt], str]] = {
    "rows fit their kinds": (lambda: tir.Repetition((), ((0, ()),)), "a row is of kind 0, of 0"),
    "loops go on": (
        lambda: For(Q, ZERO, const(6, INDEX), ForKind.SERIAL, stored(OUTPUT, Q), step=0),
        "the loop over q goes on by 0",
    ),
    "transposed loads are squares": (
        lambda: tir.TransposedLoad(
            (Var(FLOAT32, "c"),), Load(FLOAT32, INPUT, (ZERO,)), None, stored(OUTPUT, ZERO)
        ),
        "u[0] is transposed, and no sequence of positions",
    ),
    "nodes that every phase knows": (lambda: tir.Outlined(stored(OUTPUT, ZERO)), "found Outlined"),
    "buffers are declared": (lambda: stored(SQUARE, ZERO, ZERO), "buffer square is used where"),
    "inputs are only read": (lambda: stored(INPUT, ZERO), "input u is stored to"),
    "as many indices as dims": (lambda: stored(OUTPUT, ZERO, ZERO), "buffer v of 1 dims"),
    "dtypes agree": (lambda: stored(OUTPUT, ZERO, value=const(1, INT32)), "int32 is stored to v"),
    "no free variable": (lambda: stored(OUTPUT, Q), "variable q is used where"),
    "buffers are flat": (lambda: Allocate(SQUARE, stored(SQUARE, ZERO, ZERO)), "buffer square has 2 dims"),
    "no vectorized loop": (lambda: loop(ForKind.VECTORIZED), "the loop over q is still vectorized"),
    "no virtual loop": (lambda: loop(ForKind.VIRTUAL), "the loop over q is still virtual"),
    "no unrolled loop": (lambda: loop(ForKind.UNROLLED), "the loop over q is still unrolled"),
    "no double buffer": (
        lambda: Allocate(DOUBLE, stored(DOUBLE, ZERO)),
        "buffer pair is still to be doubled",
    ),
    "lanes agree": (
        lambda: stored(OUTPUT, Binary(INDEX, "add", Ramp(INDEX, ZERO, ZERO, 4), Splat(INDEX, ZERO, 8))),
        "joins vectors of 4 and 8 lanes",
    ),
    "choices are safe": (
        lambda: For(Q, ZERO, const(6, INDEX), ForKind.SERIAL, stored(OUTPUT, Q, value=shifted(Q))),
        "u[q + 1] may be read outside of its buffer",
    ),
}


def shifted(q: Var) -> Any:
    return Select(FLOAT32, lt(q, 5), Load(FLOAT32, INPUT, (q + 1,)), const(0.0, FLOAT32))


def planted(contract: Contract[Any], rule: Rule[Any]) -> tuple[Any, str]:
    if contract.of == "loop IR":
        make, node = LOOP_IR[rule.name]
        return tir.View(replace(FUNC, body=make())), node
    make, node = {**PASSES, **COMPUTES, **SCHEDULES, **STAGES, **PLANS}[rule.name]
    return make(), node


ROWS = list(pipeline.contracts())


@pytest.mark.parametrize(
    ("stage", "contract", "rule"), ROWS, ids=[f"{stage}: {rule.name}" for stage, _, rule in ROWS]
)
def test_a_planted_violation_is_reported(stage: str, contract: Contract[Any], rule: Rule[Any]) -> None:
    thing, node = planted(contract, rule)
    with pytest.raises(contract.error) as caught:
        contract.verify(thing, f"stage {stage}")
    message = str(caught.value)
    assert message.startswith(f"stage {stage}: ")
    assert message.endswith(f"(rule: {rule.name})")
    assert node in message


def test_every_plant_has_its_rule() -> None:
    known = {rule.name for _, _, rule in ROWS}
    tables: tuple[Mapping[str, object], ...] = (PASSES, COMPUTES, SCHEDULES, LOOP_IR, STAGES, PLANS)
    assert known == set().union(*tables)


def test_what_is_right_keeps_every_contract_of_loop_ir() -> None:
    for row in tir.PHASES:
        row.contract.verify(tir.View(FUNC), row.name)


# ------------------------------------------------------------------ when


SEGMENT_CALL = FuseOps()(IRModule.from_expr(Function((A,), ops.exp(A))))["main"].body
assert isinstance(SEGMENT_CALL, Call)
SEGMENT: Any = SEGMENT_CALL.op
LOOP_STAGES = [stage.name for stage in pipeline.KERNEL if stage.hooked]


def spoiled(func: PrimFunc) -> PrimFunc:
    """Stores to an input."""
    (buffer,) = func.inputs
    return replace(func, body=Store(buffer, (ZERO,) * len(buffer.shape), const(1.0, FLOAT32)))


@pytest.mark.parametrize("name", LOOP_STAGES)
@pytest.mark.parametrize("verifying", [False, True])
def test_a_phase_of_ours_that_breaks_a_rule_is_named(
    name: str, verifying: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In tests right after it; else where the next contract that is always checked stands."""
    monkeypatch.setenv("OPGEN_VERIFY", "1" if verifying else "")

    def wrong(stage: Stage[Any, Any]) -> Stage[Any, Any]:
        def run(record: Any) -> Lowered:
            made = stage.run(record)
            return Lowered(made.segment, spoiled(made.func))

        return replace(stage, run=run)

    table = [wrong(stage) if stage.name == name else stage for stage in pipeline.KERNEL]
    always = [s.name for s in pipeline.KERNEL if s.hooked and s.contracts[0].when is When.ALWAYS]
    caught_after = name if verifying or name in always else always[-1]
    with pytest.raises(
        OpgenError, match=f"^opgen_exp, after {caught_after}: input a is stored to .rule: inputs"
    ):
        list(pipeline.through_kernel(Request(SEGMENT, Target.host()), table))


LAST = [stage for stage in pipeline.KERNEL if stage.hooked][-1]


@pytest.mark.parametrize("rule", [rule.name for rule in LAST.contracts[0].rules])
def test_what_code_is_made_of_is_held_to_every_rule_always(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPGEN_VERIFY", raising=False)
    make, node = LOOP_IR[rule]
    last = replace(LAST, run=lambda record: Lowered(record.segment, replace(FUNC, body=make())))
    table = [last if stage is LAST else stage for stage in pipeline.KERNEL]
    with pytest.raises(OpgenError) as caught:
        list(pipeline.through_kernel(Request(SEGMENT, Target.host()), table))
    message = str(caught.value)
    assert message.startswith(f"{FUNC.name}, after {LAST.name}: ")
    assert message.endswith(f"(rule: {rule})")
    assert node in message
