"""Every form that a segment takes on its way to machine code, as text, for `explain`."""

from __future__ import annotations

from collections.abc import Iterator

from ... import codegen, ir
from ...base.target import Target
from ...compute import te
from ...compute.te.tensor import Extern
from ...lower import tir
from ...lower.tir.stmt import PrimFunc
from .build import anchor_of, lower_segment, schedule_of
from .segment import segment_of


def stages(function: ir.Function, target: Target | str | None = None) -> Iterator[tuple[str, str]]:
    """(stage, text): the graph, tensor expressions, the choice of the strategy, the schedule, loop IR after each
    phase, LLVM IR as emitted and as optimised, and assembly.

    A segment that calls hand-written functions ends with the strategy: they run in Python.
    """
    target = Target.host() if target is None else Target.parse(target)
    yield "graph", ir.to_text(function)
    segment = segment_of(function, target)
    yield "tensor expressions", te.to_text(segment.outputs)
    yield "strategy", "\n".join(call.selection.explain() for call in segment.calls)
    if any(isinstance(tensor.op, Extern) for tensor in te.tensor_order(segment.outputs)):
        return
    outputs = te.normalize(segment.outputs)
    pattern, reason = te.derive_pattern(outputs, segment.inputs)
    anchor = anchor_of(segment.calls)
    followed = f"; follows {anchor.op.name}" if anchor is not None else ""
    yield "pattern", f"{pattern.name.lower()}: {reason}{followed}"
    yield "schedule", str(schedule_of(segment, outputs, target))
    traced: list[tuple[str, str]] = []

    def trace(name: str, func: PrimFunc) -> None:
        traced.append((name, tir.to_text(func)))

    func = lower_segment(segment, target, trace)
    yield from traced
    text = codegen.emit(func, target)
    yield "llvm", text
    compiled = codegen.optimise_and_compile(text, target, codegen.choose_pipeline(func))
    yield "llvm optimised", compiled.ir
    yield "assembly", compiled.assembly
