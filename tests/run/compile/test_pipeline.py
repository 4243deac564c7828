"""Every prefix of the tables of passes and kernels (test_program.py: of programs), by their oracles; hooks; texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from opgen_runtime import ir, ops
from opgen_runtime.base.errors import PassError
from opgen_runtime.base.target import Target
from opgen_runtime.codegen.objects.cache import default_cache
from opgen_runtime.lower import tir
from opgen_runtime.operator.types import TensorType
from opgen_runtime.run.compile import front_key, pipeline, stage_texts
from opgen_runtime.run.compile.interpret import run_op_by_op
from opgen_runtime.run.compile.kernel.kernel import Kernel
from opgen_runtime.run.compile.kernel.records import Request
from opgen_runtime.run.compile.kernel.segments import segments_of
from opgen_runtime.run.executor import build
from opgen_runtime.transform import FuseOps, PassContext, PassInstrument, PassTiming
from tests.run.hand_written import ordered

HOST = Target.host()
A = ir.var("a", TensorType((3, 10), "float32"))
B = ir.var("b", TensorType((10,), "float32"))
C = ir.var("c", TensorType((4, 10), "float32"))
PROGRAMS = {
    "elementwise": ir.Function((A, B), ops.tanh(ops.add(ops.multiply(A, B), A))),
    "softmax": ir.Function((A,), ops.softmax(A, axis=1)),
    "matmul": ir.Function((A, C), ops.relu(ops.dense(A, C))),
    "a table": ir.Function((A,), ops.add(A, ir.const(np.arange(10, dtype=np.float32)))),
    "two results": ir.Function((A,), ops.split(A, indices_or_sections=2, axis=1)),
    "two kernels": ir.Function((A, C), ops.dense(ops.softmax(A, axis=1), C)),
    "data-dependent": ir.Function((B,), ops.argwhere(B)),
    "a sort": ir.Function((A,), ops.sort(A, axis=0)),
}


def arrays(function: ir.Function) -> list[np.ndarray]:
    random = np.random.default_rng(3)
    found = []
    for param in function.params:
        assert isinstance(param.checked_type, TensorType)
        found.append(random.integers(-3, 4, param.checked_type.concrete_shape).astype(np.float32))
    return found


def flat(value: Any) -> list[np.ndarray]:
    return list(value) if isinstance(value, tuple | list) else [value]


def compare(found: Any, expected: Any) -> None:
    for got, want in zip(flat(found), flat(expected), strict=True):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_prefix_computes_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPGEN_VERIFY", "1")
    check_every_prefix(PROGRAMS[name])


def test_a_hand_written_function_is_called_after_every_prefix() -> None:
    with ordered() as by_hand:
        check_every_prefix(ir.Function((B,), by_hand(B)))


def check_every_prefix(function: ir.Function) -> None:
    inputs = arrays(function)
    expected = run_op_by_op(function.body, dict(zip(function.params, inputs, strict=True)))
    module = ir.IRModule.from_expr(function)
    for row, module in pipeline.through_graph(module, PassContext()):  # noqa: B020  # the last one is looked at below
        assert row.oracle is not None
        compare(row.oracle(module, inputs), expected)
    for segment in segments_of(module["main"]).functions:
        given = arrays(segment)
        wanted = run_op_by_op(segment.body, dict(zip(segment.params, given, strict=True)))
        for stage, record in pipeline.through_kernel(Request(segment, HOST)):
            if isinstance(record, Kernel):
                compare(record.run(given), wanted)
            elif stage.oracle is not None:
                compare(stage.oracle(record, given), wanted)
        assert isinstance(record, Kernel)
    compare(build(function).run(inputs), expected)


def segment_of(function: ir.Function) -> ir.Function:
    (segment,) = segments_of(FuseOps()(ir.IRModule.from_expr(function))["main"]).functions
    return segment


def test_texts_follow_the_tables() -> None:
    names = [name for name, _ in stage_texts.texts(PROGRAMS["elementwise"])]
    graph = [row.name for row in pipeline.GRAPH if PassContext().enabled(row.run.info)]  # type: ignore[attr-defined]
    assert names[: len(graph)] == graph
    phases = [row.name for row in tir.PHASES]
    assert names[names.index("lower") + 1 : names.index("llvm")] == phases
    assert names[names.index("llvm") :] == ["llvm", "llvm optimised", "assembly", "plan"]
    several = [name for name, _ in stage_texts.texts(PROGRAMS["two kernels"])]
    assert {"kernel 0: lower", "kernel 1: assembly"} <= set(several)
    assert several[-2:] == ["plan", "driver"]


# ------------------------------------------------------------------ instruments


class Watch(PassInstrument):
    """Notes the stages of kernels, and the texts of one."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.shown: dict[str, str] = {}

    def run_before_stage(self, kernel: str, stage: str) -> None:
        self.seen.append(f"before {stage} of {kernel}")

    def run_after_stage(self, kernel: str, stage: str, texts: Any) -> None:
        self.seen.append(f"after {stage} of {kernel}")
        if stage in ("segment", "lower"):
            self.shown |= dict(texts())


def test_instruments_watch_every_stage_of_a_kernel_that_is_compiled() -> None:
    watch, timing = Watch(), PassTiming()
    function = ir.Function((A,), ops.exp(A))
    for _ in range(2):  # the second time the kernel is there
        with PassContext(instruments=[watch, timing]):
            build(function)
    expected: list[str] = []
    for has_kernel in (False, True):
        for row in pipeline.PROGRAM:
            expected.append(f"before {row.name} of @main")
            if row.name == "compile" and not has_kernel:
                expected += [
                    f"{when} {s.name} of opgen_exp" for s in pipeline.KERNEL for when in ("before", "after")
                ]
            expected.append(f"after {row.name} of @main")
    assert watch.seen == expected
    assert list(watch.shown) == ["tensor expressions", "strategy", "lower"]
    assert "exp(a[i0, i1])" in watch.shown["tensor expressions"]
    names = [run.name for run in timing.runs]
    assert {"InferType", "FuseOps", "lower", "vectorize_loop", "compile"} <= set(names)
    assert names.count("FuseOps") == 2
    assert names.count("load") == 1
    assert names.count("plan") == 2


# ------------------------------------------------------------------ hooks


def negative(func: tir.PrimFunc) -> tir.PrimFunc:
    """What is stored, with the other sign."""

    class Change(tir.visit.StmtMutator):
        def stmt(self, s: tir.Stmt) -> tir.Stmt:
            return replace(s, value=-s.value) if isinstance(s, tir.Store) else super().stmt(s)

    return replace(func, body=Change().stmt(func.body))


def test_a_hook_changes_what_a_build_compiles() -> None:
    function = ir.Function((A,), ops.exp(A))
    inputs = arrays(function)
    (plain,) = flat(build(function).run(inputs))
    for stage in ("lower", "storage_flatten", "rewrite_unsafe_select"):
        with PassContext(hooks={stage: negative}):
            (found,) = flat(build(function).run(inputs))
        np.testing.assert_array_equal(found, -plain)
    (again,) = flat(build(function).run(inputs))
    np.testing.assert_array_equal(again, plain)


def test_a_hook_is_part_of_the_key_or_there_is_none() -> None:
    segment = segment_of(ir.Function((A,), ops.exp(A)))
    calls: list[str] = []

    def counting(func: tir.PrimFunc) -> tir.PrimFunc:
        calls.append(func.name)
        return func

    plain, hooked = front_key(segment, HOST), front_key(segment, HOST, {"lower": negative})
    assert len({plain, hooked, front_key(segment, HOST, {"simplify": negative})}) == 3
    assert front_key(segment, HOST, {"lower": counting}) is None  # it closes over a list
    for _ in range(2):
        pipeline.compile_segment(segment, HOST, PassContext(hooks={"lower": counting}))
    assert len(calls) == 2
    first = pipeline.compile_segment(segment, HOST, PassContext(hooks={"lower": negative}))
    assert pipeline.compile_segment(segment, HOST, PassContext(hooks={"lower": negative})) is first
    assert hooked is not None
    assert default_cache().get(hooked) is not None


def test_a_hook_of_no_stage_is_refused() -> None:
    with pytest.raises(PassError, match=r"no stage 'simplfy' to hook; did you mean 'simplify'.*lower, loop_"):
        build(ir.Function((A,), ops.exp(A)), context=PassContext(hooks={"simplfy": negative}))


def test_lets_fuse_as_what_they_are() -> None:
    """Named values are compiled as the same program without names; at level 0 each op is a kernel."""
    v, w = ir.Var("v", A.checked_type), ir.Var("w", A.checked_type)
    named = ir.Function((A,), ir.Let(v, ops.exp(A), ir.Let(w, ops.tanh(v), ops.add(v, w))))
    shared = ops.exp(A)
    plain = ir.Function((A,), ops.add(shared, ops.tanh(shared)))
    assert len(build(named, opt_level=0).kernels) == 3
    for level in (1, 2, 3):
        context = PassContext(opt_level=level)
        modules = [pipeline.optimise(ir.IRModule.from_expr(each), context) for each in (named, plain)]
        assert ir.structural_equal(modules[0]["main"], modules[1]["main"])
        assert len(build(named, opt_level=level).kernels) == 1


BY_LEVEL = {
    0: "LowerExternalFunctions Inline RemoveUnusedFunctions InferType SimplifyInference FoldStatic SimplifyExpr "
    "DivToMul FuseOps",
    1: "ToGraphNormalForm DecomposeOps DeadCodeElimination",
    2: "IntegerProducts FoldConstant PruneFilterTaps",
    3: "CanonicalizeOps FoldScaleAxis FoldShift AlterOpLayout EliminateCommonSubexpr CanonicalizeCast",
    4: "CombineParallelConv2D CombineParallelDense CombineParallelBatchMatmul FastMath",
    5: "Winograd",
}


def test_passes_by_level() -> None:
    module = ir.IRModule.from_expr(PROGRAMS["matmul"])
    wanted: set[str] = set()
    for level, names in BY_LEVEL.items():
        wanted |= set(names.split())
        ran = [stage.name for stage, _ in pipeline.through_graph(module, PassContext(opt_level=level))]
        assert set(ran) == wanted
        assert ran == [stage.name for stage in pipeline.GRAPH if stage.name in wanted]
