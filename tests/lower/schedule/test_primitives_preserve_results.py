"""Law: whatever is scheduled, the results are those of the tensor expressions."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime.compute.te import Reduce
from opgen_runtime.lower.schedule import create_schedule, reads_of
from tests.lower.tir.programs import Program, check_lowered, programs, scramble


@settings(max_examples=150, deadline=None)
@given(st.data(), programs())
def test_random_loops(data: st.DataObject, program: Program) -> None:
    schedule = create_schedule(program.outputs)
    for stage in schedule.stages:
        if stage.body is None:
            continue
        if not stage.is_output and not isinstance(stage.body, Reduce) and data.draw(st.booleans()):
            stage.compute_inline()
        elif stage.leaves:
            scramble(data.draw, stage)
    check_lowered(program, schedule, every_phase=True)


@settings(max_examples=100, deadline=None)
@given(st.data(), programs())
def test_random_attachment(data: st.DataObject, program: Program) -> None:
    schedule = create_schedule(program.outputs)
    leader = schedule[program.outputs[0]]
    scramble(data.draw, leader)
    for stage in schedule.stages:
        if stage.is_output or stage.is_placeholder or stage.body is None:
            continue
        readers = [s for s in schedule.stages if s.body is not None and stage.tensor in s.op.inputs()]
        if readers == [leader] and data.draw(st.booleans()):
            stage.compute_at(leader, data.draw(st.sampled_from(leader.leaves)))
            scramble(data.draw, stage)
            if data.draw(st.booleans()):
                stage.double_buffer()
    source = data.draw(st.sampled_from(reads_of(leader)))
    leader.prefetch(source, data.draw(st.sampled_from(leader.leaves)), 2)
    check_lowered(program, schedule, every_phase=True)


@settings(max_examples=60, deadline=None)
@given(st.data(), programs())
def test_caches_and_partial_reductions(data: st.DataObject, program: Program) -> None:
    schedule = create_schedule(program.outputs)
    for stage in list(schedule.stages):
        if stage.body is None:
            continue
        if stage.reduce_axes and stage.tensor.dtype != "int64" and data.draw(st.booleans()):
            outer, inner = stage.split(stage.reduce_axes[0], data.draw(st.integers(1, 4)))
            schedule.rfactor(stage.tensor, data.draw(st.sampled_from([outer, inner])))
        elif data.draw(st.booleans()):
            schedule.cache_write(stage.tensor, data.draw(st.sampled_from(["local", "global"])))
        source = data.draw(st.sampled_from(reads_of(stage)))
        if data.draw(st.booleans()):
            schedule.cache_read(source, "local", [stage.tensor])
    check_lowered(program, schedule)
