"""What users hand in for an op (strategy, compute, schedule, hand-written function) is checked before anything runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opgen_runtime import ir, ops
from opgen_runtime.base.arith import Cast, Var, cast, select
from opgen_runtime.base.errors import LanguageError, OpgenError, ScheduleError, StrategyError
from opgen_runtime.compute import te
from opgen_runtime.compute.te import IterVar, Tensor
from opgen_runtime.lower.library.schedules import generic
from opgen_runtime.lower.library.strategy import OpStrategy
from opgen_runtime.lower.schedule import Attach, Split, create_schedule
from opgen_runtime.operator.registry import Op, register_op_attr
from opgen_runtime.operator.types import TensorType
from opgen_runtime.run.calls import eager
from opgen_runtime.run.compile import pipeline

OP = "erf"  # float to float, elementwise
X = ir.var("x", TensorType((4, 6), "float32"))
CALL = ir.Function((X,), ops.erf(X))
DATA = np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 6)


@pytest.fixture(autouse=True)
def forget():
    yield
    for key in ("strategy", "compute"):
        Op.get(OP)._attrs[key] = [entry for entry in Op.get(OP)._attrs[key] if entry.plevel < 20]


def run() -> np.ndarray:
    (out,) = pipeline.compile_segment(CALL).run([DATA])
    return out


def with_strategy(compute: Any = None, schedule: Any = generic, **given: Any) -> None:
    def strategy(attrs: Any, inputs: Any, out_type: Any) -> OpStrategy:
        return OpStrategy().add_implementation(compute, schedule, "mine", 15, **given)

    register_op_attr(OP, "strategy", strategy, plevel=20)


def like(x: Tensor, **changes: Any) -> Tensor:
    """The tensor 2 * x, or one that differs from it in name, shape, dtype or function."""
    given = {"name": "out", "shape": x.shape, "dtype": x.dtype, "fn": lambda i, j: te.read(x, i, j) * 2.0}
    return te.compute(**{**given, **changes})


def raw(x: Tensor, body: Any) -> Tensor:
    """A tensor made of nodes, which nothing has checked."""
    axes = te.data_axes(x.shape)
    return Tensor("out", x.shape, x.dtype, te.Compute(axes, body(*[axis.var for axis in axes])))


COMPUTES = {
    "no tuple": (lambda x: like(x), "gave Tensor.*, expected a tuple of tensors"),
    "nothing": (lambda x: None, "gave None, expected a tuple of tensors"),
    "no tensor": (lambda x: (1,), r"gave \(1,\), expected a tuple of tensors"),
    "one too many": (lambda x: (like(x), like(x)), "it gave 2 tensors, expected 1 .rule: as many results"),
    "none": (lambda x: (), "it gave 0 tensors, expected 1"),
    "a larger shape": (
        lambda x: (like(x, shape=(8, 6), fn=lambda i, j: te.read(x, i // 2, j)),),
        r"result 0, out, has the shape \(8, 6\), expected \(4, 6\)",
    ),
    "another rank": (
        lambda x: (like(x, shape=(24,), fn=lambda i: te.read(x, i // 6, i % 6)),),
        r"result 0, out, has the shape \(24\), expected \(4, 6\)",
    ),
    "another dtype": (
        lambda x: (like(x, dtype="int32", fn=lambda i, j: cast(te.read(x, i, j), "int32")),),
        "result 0, out, is int32, expected float32",
    ),
    "past the end": (
        lambda x: (like(x, fn=lambda i, j: te.read(x, i, j + 1)),),
        r"out reads x\[i0, i1 \+ 1\]: cannot prove that index 1 of x is in bounds: i1 \+ 1 ranges over 1..6",
    ),
    "past the end, by hand": (
        lambda x: (raw(x, lambda i, j: te.read(x, i * 2, j)),),
        r"tensor out reads x\[i0 \* 2, i1\]: cannot prove that index 0 of x is in bounds",
    ),
    "a free variable": (
        lambda x: (raw(x, lambda i, j: te.read(x, Var(i.dtype, "q"), j)),),
        r"tensor out uses the variable q, which no axis of it binds",
    ),
    "no expression inside": (
        lambda x: (raw(x, lambda i, j: Cast(x.dtype, 3.0)),),
        "computed from 3.0, expected an expression",
    ),
    "no expression": (lambda x: (raw(x, lambda i, j: 3.0),), "computed from 3.0, expected an expression"),
    "too few indices": (
        lambda x: (raw(x, lambda i, j: te.Read(x.dtype, x, (i,))),),
        "reads x, which has 2 dims, with 1 indices",
    ),
    "reinterpreted": (
        lambda x: (Tensor("out", x.shape, x.dtype, te.Compute(*bits(x))),),
        "tensor out reads x, float32, as int32|tensor out is float32, its value is int32",
    ),
    "another's input": (
        lambda x: (like(te.placeholder("y", x.shape, "float32")),),
        "it reads the tensor y, which is no operand of the call",
    ),
    "its own mistake": (lambda x: x.shap, "raised AttributeError: 'Tensor' object has no attribute 'shap'"),
    "an error of ours": (lambda x: te.read(x, 0), "x has 2 dims, found 1 indices"),
}


def bits(x: Tensor) -> Any:
    axes = te.data_axes(x.shape)
    return axes, te.Read(te.placeholder("i", (), "int32").dtype, x, tuple(axis.var for axis in axes))


@pytest.mark.parametrize("name", COMPUTES)
@pytest.mark.parametrize("place", ["strategy", "compute"])
def test_a_compute_that_does_not_fit_is_refused(name: str, place: str) -> None:
    make, message = COMPUTES[name]

    def compute(binding: Any, operands: Any) -> Any:
        return make(operands[0])

    if place == "strategy":
        with_strategy(compute)
        stage = "erf: the compute of mine"
    else:
        register_op_attr(OP, "compute", compute, plevel=20)
        stage = "erf: its compute"
    with pytest.raises(OpgenError, match=message) as caught:
        run()
    assert str(caught.value).startswith(stage)


def test_a_compute_that_fits_is_run_in_both_executors() -> None:
    def compute(binding: Any, operands: Any) -> Any:
        x = operands[0]
        shifted = lambda i, j: select(j > 0, te.read(x, i, j - 1), 0.0)  # noqa: E731
        return (like(x, fn=shifted),)

    register_op_attr(OP, "compute", compute, plevel=20)
    expected = np.pad(DATA, ((0, 0), (1, 0)))[:, :6]
    np.testing.assert_array_equal(run(), expected)


def add_implementation(**changes: Any) -> Any:
    given = {"compute": None, "schedule": generic, "name": "mine"}
    return lambda attrs, inputs, out_type: OpStrategy().add_implementation(**{**given, **changes})


STRATEGIES = {
    "nothing": (
        lambda attrs, inputs, out_type: None,
        "the strategy function gave None, expected an OpStrategy",
    ),
    "its own mistake": (
        lambda attrs, inputs, out_type: {}["nothing"],
        "its strategy function raised KeyError: 'nothing'",
    ),
    "no schedule": (add_implementation(schedule=None), "its schedule is None, expected a function"),
    "no compute": (add_implementation(compute=3), "its compute is 3, expected a function"),
    "no plevel": (add_implementation(plevel="high"), "its plevel is 'high', expected an int"),
    "no function": ("fast", "erf: its strategy is 'fast', expected an OpStrategy or a function"),
    "a condition": (
        add_implementation(condition=lambda data: data.nothing, text="data.nothing"),
        "data.nothing raised AttributeError",
    ),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_that_is_none_is_refused(name: str) -> None:
    strategy, message = STRATEGIES[name]
    register_op_attr(OP, "strategy", strategy, plevel=20)
    with pytest.raises(StrategyError, match=message):
        run()


def changed(change: Any) -> Any:
    """A schedule function whose stage of the output has been changed by hand."""

    def schedule(outputs: Any, target: Any) -> Any:
        made = create_schedule(outputs)
        change(made, made[outputs[0]])
        return made

    return schedule


def foreign(x: Tensor) -> Tensor:
    return te.compute("f", (4, 6), "float32", lambda i, j: te.read(x, i, j))


def attach_elsewhere(made: Any, stage: Any) -> None:
    other = create_schedule([foreign(te.placeholder("p", (4, 6), "float32"))])
    stage.is_output = False
    stage.attach = Attach(other.stages[1], other.stages[1].axes[0])


def odd_split(made: Any, stage: Any) -> None:
    outer, inner = stage.split(stage.axes[0], 3)
    short = IterVar(outer.var, 1)
    stage.relations[0] = Split(stage.relations[0].parent, short, inner, 3)
    stage.leaves[0] = short


SCHEDULES = {
    "nothing": (lambda outputs, target: None, "gave None, expected a Schedule"),
    "a stage": (changed(lambda made, stage: None).__class__, "raised TypeError"),
    "its own mistake": (lambda outputs, target: outputs[7], "raised IndexError: tuple index out of range"),
    "an error of ours": (
        changed(lambda made, stage: stage.split(stage.axes[0], 0)),
        "split of .* on stage .*: factor must be at least 1, found 0",
    ),
    "other outputs": (
        lambda outputs, target: create_schedule([foreign(te.placeholder("p", (4, 6), "float32"))]),
        "its outputs are f, expected the given ones: .*rule: the outputs are the function's",
    ),
    "no loops": (changed(lambda made, stage: stage.leaves.clear()), "its loops are none, which do not cover"),
    "a loop twice": (
        changed(lambda made, stage: stage.leaves.append(stage.leaves[0])),
        "which do not cover its axes each once",
    ),
    "a loop of no axis": (
        changed(lambda made, stage: stage.leaves.__setitem__(0, te.reduce_axis(4, "k"))),
        "its loops are k, .*, which do not cover its axes",
    ),
    "a split that is too short": (changed(odd_split), "the split of .* by 3 does not cover its iterations"),
    "attached elsewhere": (changed(attach_elsewhere), "of stage f, which is not of this schedule"),
    "a stage that is gone": (changed(lambda made, stage: made.stages.pop()), "no stage computes"),
    "out of order": (changed(lambda made, stage: made.stages.reverse()), "which no stage before it computes"),
    "a kind that is none": (
        changed(lambda made, stage: stage.kinds.__setitem__(stage.axes[0], "fast")),
        "runs as 'fast', expected a ForKind",
    ),
    "inlined output": (changed(lambda made, stage: setattr(stage, "inlined", True)), "is inlined, but is an output"),
    "a free variable": (
        changed(lambda made, stage: setattr(stage, "axes", ())),
        "which do not cover its axes each once",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_that_is_wrong_is_refused(name: str) -> None:
    schedule, message = SCHEDULES[name]
    with_strategy(schedule=schedule)
    with pytest.raises(ScheduleError, match=message) as caught:
        run()
    assert str(caught.value).startswith("erf: schedule ")
    assert " of mine" in str(caught.value)


def test_our_own_schedules_keep_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPGEN_VERIFY", "1")
    pipeline.forget_kernels()
    assert eager.softmax(DATA, axis=1).sum() == pytest.approx(4)
    assert isinstance(LanguageError("x"), OpgenError)
