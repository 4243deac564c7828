"""What the library's schedules of a declared op say of themselves, for the test and the campaign of traces."""

from __future__ import annotations

import importlib
from itertools import islice

from opgen_runtime import ir, tir
from opgen_runtime.base.target import Target
from opgen_runtime.lower.schedule import replay
from opgen_runtime.run.compile import pipeline
from opgen_runtime.run.compile.kernel.records import Scheduled
from opgen_runtime.testing import case_call, suite_of
from opgen_runtime.transform import PassContext

_TARGET = Target.parse("llvm -mcpu=x86-64-v3")


def check_library(name: str, cases: int) -> int:
    """Replays the traces of the kernels of an op's first declared cases; gives how many had steps."""
    suite = suite_of(importlib.import_module(f"tests.generated.test_{name}"))
    steps = 0
    for case in islice(suite.declared_cases, cases):
        call, variables = case_call(suite.op, case)
        function = ir.Function(tuple(variables), call)
        request = pipeline.requested(function, _TARGET, PassContext())
        *_, (_, record) = pipeline.through_kernel(request, pipeline.upto("schedule"))
        if not isinstance(record, Scheduled):
            continue  # hand-written functions
        schedule = record.schedule
        trace = str(schedule.trace)
        again = replay(trace, schedule.outputs)
        assert str(again.trace) == trace, f"{name}: {case}"
        assert str(again) == str(schedule), f"{name}: {case}\n{trace}"
        steps += bool(trace)
        inputs = [stage.tensor for stage in schedule.stages if stage.is_placeholder]
        texts = [
            tir.to_text(tir.lower(each, inputs, schedule.outputs, "kernel")) for each in (schedule, again)
        ]
        assert texts[0] == texts[1], f"{name}: {case}\n{trace}"
    return steps
