"""Which passes run: kernels that once made a pass that is off by default abort the process."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opgen_runtime.base.arith import Var, call, cast, const, select
from opgen_runtime.base.errors import CodegenError
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import INDEX
from opgen_runtime.codegen import Pipeline, choose_pipeline, emit, optimise_and_compile
from opgen_runtime.compute import te
from opgen_runtime.lower import tir
from opgen_runtime.lower.library import schedules
from opgen_runtime.lower.schedule import create_schedule

TARGET = Target.host()


def lowered(rows: int, columns: int) -> tir.PrimFunc:
    """A causal mask: out[q, k] = -inf if k > q + (columns - rows) else x[q, k]."""
    x = te.placeholder("x", (rows, columns), "float32")
    out = te.compute(
        "out",
        (rows, columns),
        "float32",
        lambda q, k: select(k > q + (columns - rows), const(float("-inf"), "float32"), te.read(x, q, k)),
    )
    schedule = schedules.generic((out,), TARGET)
    return tir.run_phases(tir.lower(schedule, (x,), (out,), "masked"))


def test_masks_of_every_small_shape_compile():
    for rows in range(1, 7):
        for columns in range(1, 7):
            func = lowered(rows, columns)
            assert optimise_and_compile(emit(func, TARGET), TARGET, choose_pipeline(func)).object_code


def test_a_stream_with_branches_has_the_passes_for_loops(build):
    func = build.element_kernel(lambda x: x + x, ["float32"], 256, 16)
    assert isinstance(func.body, tir.For)
    assert choose_pipeline(func) is Pipeline.DIRECT
    guarded = replace(func.body, body=tir.If(func.body.var < 4, func.body.body))
    assert choose_pipeline(replace(func, body=guarded)) is Pipeline.LOOPS
    named = tir.LetStmt(Var(INDEX, "piece"), const(4, INDEX), func.body)
    assert choose_pipeline(replace(func, body=named)) is Pipeline.DIRECT


def rows_of(function):
    """out[h, k] = function(h, x[h, k]), in vectors of k."""
    x = te.placeholder("x", (4, 64), "float32")
    out = te.compute("out", x.shape, "float32", lambda h, k: function(h, te.read(x, h, k)))
    schedule = schedules.generic((out,), TARGET)
    return tir.run_phases(tir.lower(schedule, (x,), (out,), "rows"))


def test_what_stays_in_an_inner_loop_is_hoisted_where_it_is_costly():
    assert choose_pipeline(rows_of(lambda h, x: x * cast(h, "float32"))) is Pipeline.DIRECT
    assert choose_pipeline(rows_of(lambda h, x: call("exp", x))) is Pipeline.DIRECT
    assert choose_pipeline(rows_of(lambda h, x: x * call("exp", cast(h, "float32")))) is Pipeline.LOOPS


def test_long_scalar_loops_beside_vectors_are_for_the_vectorizer(build):
    vectors = build.element_kernel(lambda x: x + x, ["float32"], 256, 16)
    scalar = build.element_kernel(lambda x: x + x, ["float32"], 256, 1).body
    assert isinstance(scalar, tir.For)

    def beside(extent):
        body = tir.Block((vectors.body, replace(scalar, extent=extent)))
        return choose_pipeline(replace(vectors, body=body))

    assert beside(const(64, INDEX)) is Pipeline.MIXED
    assert beside(const(63, INDEX)) is Pipeline.LOOPS


@pytest.mark.parametrize(("count", "expected"), [(24, Pipeline.AUTOMATIC), (25, Pipeline.CHOICES)])
def test_many_choices_in_one_loop_are_kept_from_the_vectorizer(build, count, expected):
    func = build.element_kernel(lambda x: x + x, ["float32"], 256, 1)
    assert isinstance(func.body, tir.For)
    choices = [tir.If(func.body.var < number, func.body.body) for number in range(count)]
    many = replace(func, body=replace(func.body, body=tir.Block(tuple(choices))))
    assert choose_pipeline(many) is expected
    apart = replace(func, body=tir.Block(tuple([replace(func.body, body=each) for each in choices])))
    assert choose_pipeline(apart) is Pipeline.AUTOMATIC
    if expected is Pipeline.CHOICES:
        assert optimise_and_compile(emit(many, TARGET), TARGET, expected).object_code


def test_guarded_reads_are_choices():
    x = te.placeholder("x", (64,), "int32")

    def chain(depth):
        out = te.compute("out", (64,), "int32", lambda i: nested(te.read(x, i), i, depth))
        return tir.run_phases(tir.lower(create_schedule((out,)), (x,), (out,), "chain"))

    def nested(value, i, depth):
        for step in range(depth):
            known = select(i >= step, te.read(x, i - step), const(step, "int32"))
            value = select(value > step, known, value + 1)
        return value

    assert choose_pipeline(chain(4)) is Pipeline.AUTOMATIC
    assert choose_pipeline(chain(40)) is Pipeline.CHOICES


def test_what_runs_once_is_not_made_faster_than_it_is_worth():
    def packed(columns):
        """out[block, k, row] = x[8 block + row, k]: what LLVM would make vectors of, for long."""
        x = te.placeholder("x", (64, columns), "float32")
        out = te.compute(
            "out", (8, columns, 8), "float32", lambda block, k, row: te.read(x, block * 8 + row, k)
        )
        return tir.run_phases(tir.lower(create_schedule((out,)), (x,), (out,), "packed"))

    few, many = packed(64), packed(1 << 18)
    assert [choose_pipeline(func) for func in (few, many)] == [Pipeline.AUTOMATIC] * 2
    assert choose_pipeline(few, runs_once=True) is Pipeline.DIRECT
    assert choose_pipeline(many, runs_once=True) is Pipeline.AUTOMATIC


def test_absurd_vectors_never_reach_llvm(build):
    x = te.placeholder("x", (1 << 20,), "float32")
    out = te.compute("out", x.shape, "float32", lambda i: te.read(x, i) * 2.0)
    schedule = create_schedule((out,))
    schedule[out].vectorize(schedule[out].axes[0])
    func = tir.run_phases(tir.lower(schedule, (x,), (out,), "wide"))
    assert choose_pipeline(func) is Pipeline.AUTOMATIC  # the loop stays scalar
    by_hand = build.element_kernel(lambda v: v + v, ["float32"], 1 << 20, 1 << 16)
    with pytest.raises(CodegenError, match="a vector of 65536 lanes; expected at least 1 and at most 1024"):
        emit(by_hand, TARGET)


_SUMS = """
define void @sums(ptr noalias %x, ptr noalias %scale, ptr noalias %out) {
  %sums = alloca [16 x float], align 64
  %second = getelementptr [8 x float], ptr %sums, i64 1
  store <8 x float> zeroinitializer, ptr %sums
  store <8 x float> zeroinitializer, ptr %second
  br label %loop
loop:
  %k = phi i64 [ 0, %0 ], [ %next, %loop ]
  %factor = load <8 x float>, ptr %scale, !invariant.load !{}
  %place = getelementptr <8 x float>, ptr %x, i64 %k
  %value = load <8 x float>, ptr %place
  %product = fmul <8 x float> %value, %factor
  %first.was = load <8 x float>, ptr %sums
  %first.is = fadd <8 x float> %first.was, %product
  store <8 x float> %first.is, ptr %sums
  %second.was = load <8 x float>, ptr %second
  %second.is = fsub <8 x float> %second.was, %product
  store <8 x float> %second.is, ptr %second
  %next = add nsw i64 %k, 1
  %again = icmp slt i64 %next, 1000
  br i1 %again, label %loop, label %done
done:
  %first = load <8 x float>, ptr %sums
  %last = load <8 x float>, ptr %second
  %difference = fsub <8 x float> %first, %last
  store <8 x float> %difference, ptr %out
  ret void
}
"""


@pytest.mark.parametrize(("pipeline", "loads"), [(Pipeline.LOOPS, 1), (Pipeline.DIRECT, 2)])
def test_loops_keep_sums_in_registers_and_read_what_stays_outside(pipeline, loads):
    text = optimise_and_compile(f'target triple = "{TARGET.triple}"\n{_SUMS}', TARGET, pipeline).ir
    (loop,) = [block for block in text.split("\n\n") if "phi i64" in block]
    assert (loop.count(" load "), loop.count("store ")) == (loads, 0)
