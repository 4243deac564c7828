"""The rules of plans about memory: each slot has one place, and nothing is filled over what is still read.

Donated memory is that of an input, in which a result lies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ....base.arith import Var, evaluate_scalar
from ....base.arith.expr import Dim
from .arena import ALIGNMENT
from .plan import Copy, Loop, Plan, Put, PutSlice, ends
from .plan_flow import clashes, filled, mentioned, read
from .plan_view import Place, View

_TRIED: Final = (1, 37)  # values of symbolic dims, beside their hints; the second with steps of 10


def why_not_donated(view: View) -> str | None:
    """Donated memory is that of an input, for one result of its type whose size is known before the run."""
    plan = view.plan
    params: set[int] = set()
    results: set[int] = set()
    for each in plan.donations:
        if not 0 <= each.param < plan.num_params or not 0 <= each.result < len(plan.outputs):
            return f"result {each.result} takes the memory of input {each.param}, and one of them is none"
        if each.param in params or each.result in results:
            return f"result {each.result} takes the memory of input {each.param}, and one of them is donated twice"
        params.add(each.param)
        results.add(each.result)
        given, taken = plan.held[each.param], plan.held[plan.outputs[each.result]]
        if given != taken:
            return f"result {each.result} is {taken}, and takes the memory of input {each.param}, {given}"
        if each.result in [output for output, _, _ in plan.lengths]:
            return (
                f"result {each.result} takes the memory of input {each.param}, and its size depends on data"
            )
    return None


def why_not_over(view: View) -> str | None:
    """Memory of an input is filled when the input is read no more, but below what is appended to it."""
    plan = view.plan
    given = {plan.outputs[each.result]: each for each in plan.donations}
    for place, each in view.places:
        if isinstance(each, PutSlice) and each.whole not in given:
            return f"{place}, fills a slice of %{each.whole}, which has the memory of no input"
    for position, slot, others in clashes(plan.code) if given else ():
        if slot not in given or given[slot].param not in others:
            continue
        instruction = plan.code[position]
        if not (
            isinstance(instruction, PutSlice) and given[slot].grows and instruction.part != given[slot].param
        ):
            return (
                f"{Place((position, instruction))}, fills %{slot} in the memory of the input %{given[slot].param}, "
                "which is read there or later"
            )
    return None


def why_not_in_place(view: View) -> str | None:
    """Rows are put where nothing but these puts reads, in memory that was filled before the loop around them."""
    code = view.plan.code
    until = ends(code)
    params = {slot for each in code if isinstance(each, Loop) for slot in each.params}
    for position, each in enumerate(code):
        if not isinstance(each, Put):
            continue
        place = f"instruction {position}, Put"
        if each.rows in params:
            return f"{place}, writes into %{each.rows}, which a loop carries: it may lie where another value does"
        if each.rows in (each.place, each.value):
            return f"{place}, reads %{each.rows} besides, into which it writes"
        loops = [
            first
            for first, last in until.items()
            if first < position < last and isinstance(code[first], Loop)
        ]
        if not loops:
            return f"{place}, is in no loop"
        for other in range(max(loops), until[max(loops)]):
            reader = code[other]
            if isinstance(reader, Put) and reader.rows == each.rows:
                continue
            results = code[max(loops)].results  # type: ignore[union-attr]  # it is a loop
            if isinstance(reader, Copy) and reader.source == each.rows and reader.target in results:
                continue
            if each.rows in (*read(reader), *filled(reader)):
                what = f"instruction {other}, {type(reader).__name__}"
                return f"{place}, writes into %{each.rows}, which {what}, has, too"
    return None


def why_not_placed(view: View) -> str | None:
    """Every slot lies in one place: with the caller, the constants, in a buffer, or in the arena."""
    plan = view.plan
    params = {slot for each in plan.code if isinstance(each, Loop) for slot in each.params}
    elsewhere = {**dict.fromkeys(params, "what a loop carries"), **dict.fromkeys(view.of_callers, "a result")}
    elsewhere |= dict.fromkeys(view.given, "an input or a constant")
    for place, each in view.places:
        for slot in mentioned(each):
            if (slot in elsewhere) == (slot in plan.offsets):
                why = (
                    f"as {elsewhere[slot]} does not"
                    if slot in elsewhere
                    else "and is neither given nor a result"
                )
                where = "lies in the arena" if slot in plan.offsets else "has no place in the arena"
                return f"{place}: %{slot} {where}, {why}"
    return None


def why_not_aligned(view: View) -> str | None:
    plan = view.plan
    for numbers in _Numbers.tried(plan):
        for slot in plan.offsets:
            begin, end = numbers.range(slot)
            if begin % ALIGNMENT or begin < 0 or end > numbers.space:
                return (
                    f"%{slot} lies at {begin} to {end}{numbers}, expected a multiple of {ALIGNMENT} within the arena's "
                    f"{numbers.space} bytes"
                )
    return None


def why_not_apart(view: View) -> str | None:
    """While a slot is filled, what is read then or later lies elsewhere."""
    plan = view.plan
    tried = list(_Numbers.tried(plan))
    for position, slot, others in clashes(plan.code):
        if slot not in plan.offsets:
            continue
        for numbers in tried:
            begin, end = numbers.range(slot)
            for other in others if begin < end else ():
                if other in plan.offsets:
                    first, last = numbers.range(other)
                    if first < end and begin < last:
                        place = f"instruction {position}, {type(plan.code[position]).__name__}"
                        return (
                            f"{place}, fills %{slot} at {begin} to {end}{numbers}, where %{other}, which is read "
                            f"later, lies at {first} to {last}"
                        )
    return None


class _Numbers:
    """The places of a plan for values of its dims."""

    def __init__(self, plan: Plan, values: Mapping[Var, int]) -> None:
        self._plan = plan
        self._values = dict(values)
        self._known: dict[int, int] = {}
        self._ranges: dict[int, tuple[int, int]] = {}
        self.space = self._number(plan.space)

    @staticmethod
    def tried(plan: Plan) -> Iterator[_Numbers]:
        """For the hints, and other values for which all extents are at least 0; once where there are no dims."""
        hints = {dim: 1 if dim.hint is None else dim.hint for dim in plan.dims}
        rows = [hints, *[{dim: n + 10 * k for k, dim in enumerate(plan.dims)} for n in _TRIED]]
        for values in rows if plan.dims else [{}]:
            found = _Numbers(plan, values)
            if all([found._number(dim) >= 0 for held in plan.held for dim in held.shape]):
                yield found

    def range(self, slot: int) -> tuple[int, int]:
        """Where a slot of the arena begins and ends."""
        if slot not in self._ranges:
            begin = self._number(self._plan.offsets[slot])
            held = self._plan.held[slot]
            size = held.dtype.itemsize
            for dim in held.shape:
                size *= self._number(dim)
            self._ranges[slot] = begin, begin + size
        return self._ranges[slot]

    def _number(self, size: Dim) -> int:
        if isinstance(size, int):
            return size
        if id(size) not in self._known:
            self._known[id(size)] = int(evaluate_scalar(size, self._values))
        return self._known[id(size)]

    def __str__(self) -> str:
        return "".join([f", {dim.name} = {value}" for dim, value in self._values.items()])
