"""What the stages of a program must give, from its sections to the native function; of its plan: plan_contract.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ....base.contract import Contract, Rule, When
from ....base.errors import ExecutorError
from ....ir import Function, Tuple, post_order
from ....ir.visitor import free_vars
from ....lower.library.segment import flat_types
from ....operator import TensorType
from ..kernel.dims import declared_of
from ..kernel.kernel import Kernel
from ..kernel.lazy_kernel import LazyKernel
from ..kernel.segments import is_segment
from .plan import flatten
from .plan_contract import PLAN as PLAN
from .program_records import Built, Cut, Linked, Prepared, Specialised

# ------------------------------------------------------------------ sections


def _numbers(cut: Cut) -> Iterator[tuple[str, int, Function, tuple[int, ...]]]:
    """Each section: its name for messages, how many values there are before it, its function and what it takes."""
    count = len(cut.closed.main.params)
    for number, each in enumerate(cut.sections):
        yield f"section {number}", count, each.function, each.takes
        assert isinstance(each.function.body, Tuple)
        count += len(each.function.body.fields)


def _why_not_before(cut: Cut) -> str | None:
    for place, count, _, takes in _numbers(cut):
        for taken in takes:
            if not 0 <= taken < count:
                return f"{place} takes value {taken}, where there are {count} before it"
    return None


def _why_not_as_many(cut: Cut) -> str | None:
    for place, _, function, takes in _numbers(cut):
        if len(takes) != len(function.params):
            return f"{place} takes {len(takes)} values, and has {len(function.params)} parameters"
        free = free_vars(function)
        if free:
            return f"{place} uses %{free[0].name_hint}, which is no parameter of it"
    inputs = len(cut.closed.main.params)
    if cut.sections[0].takes != tuple(range(inputs)):
        return f"section 0 takes the values {cut.sections[0].takes}, expected the {inputs} inputs in order"
    return None


def _why_not_cut_result(cut: Cut) -> str | None:
    rows = list(_numbers(cut))
    body = rows[-1][2].body
    assert isinstance(body, Tuple)
    count = rows[-1][1] + len(body.fields)
    for number in flatten(cut.result):
        if not 0 <= number < count:
            return f"the result has value {number}, where the sections give {count}"
    return None


SECTIONS: Final[Contract[Cut]] = Contract(
    "sections of a program",
    ExecutorError,
    When.TESTS,
    (
        Rule("sections take what is there before them", _why_not_before),
        Rule("sections are functions of what they take", _why_not_as_many),
        Rule("the result is of values that sections give", _why_not_cut_result),
    ),
)

# ------------------------------------------------------------------ kernels


def _called(made: Specialised) -> Iterator[Function]:
    """The segments that a program calls."""
    for function in made.closed.module.functions.values():
        yield from [node for node in post_order(function.body, is_segment) if is_segment(node)]


def _why_not_numbered(made: Specialised) -> str | None:
    count = len(made.functions)
    for each in _called(made):
        number = made.segments.numbers.get(id(each))
        if number is None or not 0 <= number < count:
            return f"the segment {_text(each)} has the kernel {number}, where there are {count}"
    return None


def _why_not_same_operands(made: Specialised) -> str | None:
    """What is compiled takes and gives what the segment does, but for the dims that it names."""
    for segment, function in zip(made.segments.functions, made.functions, strict=True):
        for what, own, other in (
            ("takes", _taken(function), _taken(segment)),
            ("gives", _given(function), _given(segment)),
        ):
            if [(each.ndim, each.dtype) for each in own] != [(each.ndim, each.dtype) for each in other]:
                return f"a kernel {what} {_types(own)}, the segment {_text(segment)} {_types(other)}"
    return None


def _taken(function: Function) -> list[TensorType]:
    return [each for param in function.params for each in flat_types(param.checked_type, param.name_hint)]


def _given(function: Function) -> list[TensorType]:
    return list(flat_types(function.body.checked_type, "a result"))


def _types(kinds: list[TensorType]) -> str:
    return ", ".join(map(str, kinds)) or "nothing"


def _text(segment: Function) -> str:
    return f"{segment!s:.80}"


TO_COMPILE: Final[Contract[Specialised]] = Contract(
    "functions to compile",
    ExecutorError,
    When.TESTS,
    (
        Rule("each segment has a kernel", _why_not_numbered),
        Rule("kernels are of their segments' types", _why_not_same_operands),
    ),
)


def _why_not_taking(made: Built) -> str | None:
    specialised = made.specialised
    if len(made.parts) != len(specialised.functions):
        return f"there are {len(made.parts)} kernels, expected {len(specialised.functions)}"
    for parts, function in zip(made.parts, specialised.functions, strict=True):
        count = len(_taken(function))
        for position in (*parts.operands, *parts.constants):
            if not 0 <= position < count:
                return f"{parts.main.name} takes operand {position}, where the segment has {count}"
        if not isinstance(parts.main, LazyKernel):
            wanted = len(parts.operands) + (0 if parts.precompute is None else len(parts.precompute.outputs))
            if len(parts.main.inputs) != wanted:
                return f"{parts.main.name} takes {len(parts.main.inputs)} operands, and is given {wanted}"
    return None


def _why_not_of_constants(made: Built) -> str | None:
    for parts, constant in zip(made.parts, made.specialised.segments.constant, strict=True):
        for position in parts.constants:
            if position not in constant:
                return f"{parts.main.name} prepares operand {position}, which is no constant"
    return None


def _why_not_giving(made: Built) -> str | None:
    for parts, function in zip(made.parts, made.specialised.functions, strict=True):
        if isinstance(parts.main, LazyKernel):
            continue
        found = [slot.dtype for slot in parts.main.outputs]
        if found != [each.dtype.numpy for each in _given(function)]:
            shown = ", ".join(map(str, parts.main.outputs))
            return f"{parts.main.name} gives {shown}, its segment {_types(_given(function))}"
    return None


BUILT: Final[Contract[Built]] = Contract(
    "kernels of a program",
    ExecutorError,
    When.TESTS,
    (
        Rule("kernels take operands of their segments", _why_not_taking),
        Rule("what is prepared is of constants", _why_not_of_constants),
        Rule("kernels give what their segments do", _why_not_giving),
    ),
)


def _why_not_sited(made: Prepared) -> str | None:
    for each in _called(made.built.specialised):
        site = made.sites.get(id(each))
        if site is None or not 0 <= site.kernel < len(made.kernels):
            return (
                f"the segment {_text(each)} is called nowhere"
                if site is None
                else f"there is no kernel {site.kernel}"
            )
    return None


def _why_not_prepared(made: Prepared) -> str | None:
    for site in made.sites.values():
        kernel: Kernel = made.kernels[site.kernel]
        if isinstance(kernel, LazyKernel):
            continue
        given = len(site.operands) + len(site.precomputed)
        if given != len(kernel.inputs):
            return f"{kernel.name} is called with {given} operands, and takes {len(kernel.inputs)}"
        for slot, array in zip(kernel.inputs[len(site.operands) :], site.precomputed, strict=True):
            if array.dtype != slot.dtype or not slot.takes(array.shape):
                return f"{kernel.name} is given {array.dtype.name}{list(array.shape)}, and takes {slot} ({slot.name})"
            if array.flags.writeable:
                return f"what is prepared for {kernel.name} can be written to"
    return None


SITES: Final[Contract[Prepared]] = Contract(
    "calls of kernels",
    ExecutorError,
    When.TESTS,
    (
        Rule("each segment is called with a kernel", _why_not_sited),
        Rule("kernels are given what they take", _why_not_prepared),
    ),
)

# ------------------------------------------------------------------ the whole


def _why_not_takes(made: Linked) -> str | None:
    assert made.whole is not None
    main = made.planned.prepared.closed.main
    found, wanted = list(made.whole.inputs), _taken(main)
    same = zip(found, wanted, strict=False)
    if len(found) != len(wanted) or any(slot.dtype != kind.dtype.numpy for slot, kind in same):
        return f"{made.whole.name} takes {', '.join(map(str, found)) or 'nothing'}, main {_types(wanted)}"
    return None


def _why_not_gives(made: Linked) -> str | None:
    assert made.whole is not None
    wanted = flat_types(declared_of(made.planned.prepared.closed.main), "the result")
    given = list(flatten(made.result))
    if any(not 0 <= number < len(made.whole.outputs) for number in given):
        return f"the value {made.result} is not of the {len(made.whole.outputs)} results of {made.whole.name}"
    found = [made.whole.outputs[number] for number in given]
    if [slot.dtype for slot in found] != [kind.dtype.numpy for kind in wanted]:
        return f"{made.whole.name} gives {', '.join(map(str, found))}, main {_types(list(wanted))}"
    return None


LINKED: Final[Contract[Linked]] = Contract(
    "a native program",
    ExecutorError,
    When.TESTS,
    (
        Rule("the program takes what main does", _why_not_takes),
        Rule("the program gives what main does", _why_not_gives),
    ),
)
