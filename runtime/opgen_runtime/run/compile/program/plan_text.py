"""Plans as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..kernel.kernel import Kernel
from .plan import Again, Copy, Else, End, If, Leave, Loop, Plan, Put, PutSlice, Run


def plan_lines(plan: Plan, inputs: Sequence[str], kernels: Sequence[Kernel]) -> Iterator[str]:
    """What the slots are that the code does not fill, the code, and the memory that it takes."""
    yield from [f"%{slot} is input {name}" for slot, name in enumerate(inputs)]
    yield from [f"%{slot} is a constant, {plan.held[slot]}" for slot in plan.constants]
    where = {each.result: f", in the memory of input {inputs[each.param]}" for each in plan.donations}
    yield from [f"%{slot} is output {k}{where.get(k, '')}" for k, slot in enumerate(plan.outputs)]
    yield plan_text(plan, kernels)


def memory_line(plan: Plan) -> str:
    """What lies between the kernels of a plan."""
    when = ", at the sizes scheduled for" if plan.dims else ""
    return f"{plan.arena:,} bytes of memory between kernels, for tensors of {plan.tensors:,} bytes{when}"


def plan_text(plan: Plan, kernels: Sequence[Kernel]) -> str:
    """The code of a plan, one instruction a line; `%3` is slot 3."""
    lines: list[str] = []
    depth = 0
    for each in plan.code:
        kind = type(each).__name__
        depth -= kind in ("Else", "End")
        lines.append("  " * depth + _line(each, kernels))
        depth += kind in ("If", "Else", "Loop")
    return "\n".join(lines)


def _line(each: object, kernels: Sequence[Kernel]) -> str:
    match each:
        case Run():
            return f"{_slots((*each.outputs, *each.lengths))} = {kernels[each.kernel].name}({_slots(each.inputs)})"
        case Copy():
            return f"%{each.target} = %{each.source}"
        case Put():
            return f"%{each.rows}[%{each.place}] = %{each.value}"
        case PutSlice():
            before = ":, " * each.axis
            return f"%{each.whole}[{before}{each.start}:] = %{each.part}"
        case If():
            return f"if %{each.condition}:" + (f"  # fills {_slots(each.results)}" if each.results else "")
        case Else():
            return "else:"
        case Loop():
            return f"loop {_slots(each.params)} = {_slots(each.initial)}:  # fills {_slots(each.results)}"
        case Again():
            return f"again {_slots(each.values)}"
        case Leave():
            return "leave"
        case End():
            return "end"
    raise TypeError(each)


def _slots(slots: Sequence[int]) -> str:
    return ", ".join([f"%{slot}" for slot in slots])
