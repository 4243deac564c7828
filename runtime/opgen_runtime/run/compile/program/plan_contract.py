"""What a plan must keep to: a table of rules over its code, its slots and where they lie.

Checked of plans that we make in tests, of those of files and of users' hooks always.  The rules are written from what
the instructions mean (`plan.py`), and use nothing of what planned and laid out.  Those about
memory are functions of `plan_places.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from ....base.arith import Expr, Var
from ....base.arith.expr import Shape
from ....base.contract import Contract, Rule, When
from ....base.errors import ExecutorError
from ..kernel.sizes import vars_of, why_not_a_size
from ..kernel.symbolic import SymbolicKernel
from .plan import Again, Copy, End, Held, If, Instruction, Loop, Put, PutSlice, Run, ends, flatten
from .plan_flow import defined, filled, mentioned, read, why_not_nested
from .plan_places import (
    why_not_aligned,
    why_not_apart,
    why_not_donated,
    why_not_in_place,
    why_not_over,
    why_not_placed,
)
from .plan_view import Place
from .plan_view import View as View


def _why_not_nested(view: View) -> str | None:
    return why_not_nested(view.plan.code)


def _why_not_slots(view: View) -> str | None:
    plan = view.plan
    count = len(plan.held)
    named: list[tuple[object, int]] = [
        (place, slot) for place, each in view.places for slot in mentioned(each)
    ]
    named += [("the plan", slot) for slot in (*range(plan.num_params), *plan.constants, *plan.offsets)]
    named += [("a result", slot) for slot in view.of_callers]
    for place, slot in named:
        if not 0 <= slot < count:
            return f"{place} names %{slot}, where there are {count} slots"
    for slot, array in plan.constants.items():
        if slot < plan.num_params:
            return f"the input %{slot} is a constant, too"
        if not _is(plan.held[slot], array.shape, array.dtype):
            return (
                f"the constant %{slot} is {array.dtype.name}{list(array.shape)}, expected {plan.held[slot]}"
            )
    return None


def _why_not_operands(view: View) -> str | None:
    for place, each in view.places:
        if not isinstance(each, Run):
            continue
        if not 0 <= each.kernel < len(view.kernels):
            return f"{place} calls kernel {each.kernel}, where there are {len(view.kernels)}"
        kernel = view.kernels[each.kernel]
        if kernel.why_not_native is not None:
            return f"{place}: {kernel.name} is no machine code: {kernel.why_not_native}"
        lengths = 1 + max([position for _, _, position in kernel.lengths], default=-1)
        for what, found, wanted in (
            ("inputs", each.inputs, len(kernel.inputs)),
            ("outputs", each.outputs, len(kernel.outputs)),
            ("lengths", each.lengths, lengths),
        ):
            if len(found) != wanted:
                return f"{place}, of {kernel.name}, has {len(found)} {what}, expected {wanted}"
    return None


def _why_not_kernel_types(view: View) -> str | None:
    held = view.plan.held
    for place, each in view.places:
        if not isinstance(each, Run):
            continue
        kernel = view.kernels[each.kernel]
        shapes: list[Sequence[Shape]] = [[s.shape for s in kernel.inputs], [s.shape for s in kernel.outputs]]
        if isinstance(kernel, SymbolicKernel):
            values = kernel.bound([held[slot].shape for slot in each.inputs])
            shapes = [kernel.shapes(part, values) for part in kernel.operands]
        for positions, slots, wanted in zip(
            (each.inputs, each.outputs), (kernel.inputs, kernel.outputs), shapes, strict=True
        ):
            for position, slot, shape in zip(positions, slots, wanted, strict=True):
                if held[position].dtype != slot.dtype or not _may_be(held[position].shape, shape):
                    return (
                        f"{place}: %{position} holds {held[position]}, where {kernel.name} has "
                        f"{Held(tuple(shape), slot.dtype)} ({slot.name})"
                    )
        for position in each.lengths:
            if not _is(held[position], (), np.dtype(np.int64)):
                return f"{place}: %{position} holds {held[position]}, expected int64[] for a length"
    return None


def _why_not_alike(view: View) -> str | None:
    held = view.plan.held
    for place, each in view.places:
        pairs: list[tuple[int, int]] = []
        if isinstance(each, Copy):
            pairs = [(each.source, each.target)]
        elif isinstance(each, Loop):
            count = len(each.params)
            if (len(each.initial), len(each.buffers)) != (count, 2 * count):
                given = f"{len(each.initial)} first ones and {len(each.buffers)} buffers"
                return f"{place} carries {count} values, and has {given}"
            pairs = list(zip((*each.initial, *each.buffers), each.params * 3, strict=True))
        for one, other in pairs:
            if held[one].dtype != held[other].dtype or not _may_be(held[one].shape, held[other].shape):
                return f"{place}: %{one} holds {held[one]}, %{other} {held[other]}"
    return None


def _why_not_carried(view: View) -> str | None:
    """What a loop goes on with is as its params."""
    held, code = view.plan.held, view.plan.code
    for position, each in enumerate(code):
        if isinstance(each, Again):
            loop = code[_loop_of(code, position)]
            assert isinstance(loop, Loop)
            for value, param in zip(each.values, loop.params, strict=True):
                if held[value] != held[param]:
                    shown = f"%{value} holds {held[value]}, %{param} {held[param]}"
                    return f"instruction {position}, Again: {shown}"
    return None


def _why_not_conditions(view: View) -> str | None:
    held = view.plan.held
    for place, each in view.places:
        if isinstance(each, If) and not _is(held[each.condition], (), np.dtype(np.bool_)):
            return f"{place}: the condition %{each.condition} holds {held[each.condition]}, expected bool[]"
    return None


def _why_not_rows(view: View) -> str | None:
    held = view.plan.held
    for place, each in view.places:
        if not isinstance(each, Put):
            continue
        rows, value = held[each.rows], held[each.value]
        if held[each.place].dtype != np.dtype(np.int64) or held[each.place].size != 8:
            return f"{place}: %{each.place} holds {held[each.place]}, expected one int64 for a place"
        if not rows.shape or rows.size != rows.shape[0] * value.size or rows.dtype != value.dtype:
            return f"{place}: %{each.value} holds {value}, which is no row of %{each.rows}, {rows}"
    return None


def _why_not_slices(view: View) -> str | None:
    held = view.plan.held
    for place, each in view.places:
        if not isinstance(each, PutSlice):
            continue
        whole, part = held[each.whole], held[each.part]
        rank, axis = len(whole.shape), each.axis
        if not 0 <= axis < rank or len(part.shape) != rank or part.dtype != whole.dtype:
            return f"{place}: %{each.part} holds {part}, which is no slice of %{each.whole}, {whole}, along axis {axis}"
        around = [shape[:axis] + shape[axis + 1 :] for shape in (whole.shape, part.shape)]
        end, room = each.start + part.shape[axis], whole.shape[axis]
        fits = not (isinstance(end, int) and isinstance(room, int)) or end <= room
        starts = not isinstance(each.start, int) or each.start >= 0
        if not (_may_be(*around) and fits and starts):
            return (
                f"{place}: %{each.part}, {part}, from {each.start} on along axis {axis} is not within "
                f"%{each.whole}, {whole}"
            )
    return None


def _loop_of(code: Sequence[Instruction], position: int) -> int:
    """Where the innermost loop around a position begins."""
    return max(
        first
        for first, last in ends(code).items()
        if first < position < last and isinstance(code[first], Loop)
    )


def _why_not_sizes(view: View) -> str | None:
    plan = view.plan
    whole = {dim for held in plan.held[: plan.num_params] for dim in held.shape if isinstance(dim, Var)}
    for dim in plan.dims:
        if dim not in whole:
            return f"no input has the dim {dim.name} itself"
    seen: set[int] = set()  # shapes of many slots have the same expressions
    for what, sizes in (
        *((f"%{slot}", held.shape) for slot, held in enumerate(plan.held)),
        *((f"the place of %{slot}", (offset,)) for slot, offset in plan.offsets.items()),
        ("the arena", (plan.space,)),
        *(
            (f"the start of {place}", (each.start,))
            for place, each in view.places
            if isinstance(each, PutSlice)
        ),
    ):
        for size in sizes:
            if isinstance(size, int) or id(size) in seen:
                continue
            seen.add(id(size))
            why_not = why_not_a_size(size)
            if why_not is not None:
                return f"{what}: {why_not}"
            unknown = [var for var in vars_of([(size,)]) if var not in plan.dims]
            if unknown:
                return f"{what} has a size of {unknown[0].name}, which is no dim of the program"
    return None


def _why_not_kept(view: View) -> str | None:
    """Inputs and constants are what they are."""
    for place, each in view.places:
        for slot in (*filled(each), *((each.rows,) if isinstance(each, Put) else ())):
            if slot in view.given:
                what = "a constant" if slot in view.plan.constants else "an input"
                return f"{place} fills %{slot}, which is {what}"
    return None


def _why_not_defined(view: View) -> str | None:
    for position, each, before in defined(view.plan.code, tuple(view.given)):
        if before is None:
            continue
        for slot in read(each):
            if slot not in before:
                place = f"instruction {position}, {type(each).__name__}"
                return f"{place}, reads %{slot}, which is not filled on all ways to it"
    return None


def _why_not_once(view: View) -> str | None:
    """A slot is filled once on each way, and by one operand: nothing that is read later is replaced."""
    for position, each, before in defined(view.plan.code, ()):
        made = filled(each)
        if len(set(made)) < len(made):
            return f"{Place((position, each))}, fills {_slots(made)}, one of them twice"
        for slot in made if before is not None else ():
            if slot in before:  # type: ignore[operator]  # it is a set here
                return f"{Place((position, each))}, fills %{slot}, which is filled before"
    return None


def _why_not_results(view: View) -> str | None:
    plan = view.plan
    if len(view.of_callers) != len(plan.outputs) + len({slot for _, _, slot in plan.lengths}):
        return f"the results {_slots(plan.outputs)} are not slots of their own"
    if sorted(flatten(plan.result)) != list(range(len(plan.outputs))):
        return f"the value {plan.result} does not hold each of the {len(plan.outputs)} results once"
    for output, axis, slot in plan.lengths:
        if not 0 <= output < len(plan.outputs) or not 0 <= axis < len(plan.held[plan.outputs[output]].shape):
            return f"%{slot} is the length of axis {axis} of result {output}, which is none"
        if not _is(plan.held[slot], (), np.dtype(np.int64)):
            return f"the length %{slot} holds {plan.held[slot]}, expected int64[]"
    opened: list[If | Loop] = []
    wanted: dict[int, str] = {}  # what must be filled when the next instruction begins
    for position, each, before in defined(plan.code, tuple(view.given)):
        if position == len(plan.code):
            wanted = dict.fromkeys(view.of_callers, "the program") | wanted
        missing = [] if before is None else [slot for slot in wanted if slot not in before]
        if missing:
            return f"%{missing[0]} is a result of {wanted[missing[0]]}, and not filled on all ways to its end"
        wanted = {}
        if isinstance(each, If | Loop):
            opened.append(each)
        elif isinstance(each, End) and opened:
            ended = opened.pop()
            wanted = dict.fromkeys(
                ended.results, f"the {type(ended).__name__} that ends at instruction {position}"
            )
    return None


def _is(held: Held, shape: Shape, dtype: np.dtype[np.generic]) -> bool:
    return held.shape == tuple(shape) and held.dtype == dtype


def _may_be(one: Shape, other: Shape) -> bool:
    """Whether two shapes may be one; of dims that are no ints the program itself says when it runs."""
    if len(one) != len(other):
        return False
    return all(
        [a == b or isinstance(a, Expr) or isinstance(b, Expr) for a, b in zip(one, other, strict=True)]
    )


def _slots(slots: Sequence[int]) -> str:
    return ", ".join([f"%{slot}" for slot in slots])


_RULES: Final[Sequence[tuple[str, Callable[[View], str | None]]]] = (
    ("blocks are nested, and ways through loops end", _why_not_nested),
    ("slots are there, constants are what they hold", _why_not_slots),
    ("as many operands as the kernel has", _why_not_operands),
    ("operands are of the kernel's types", _why_not_kernel_types),
    ("what is copied and carried is alike", _why_not_alike),
    ("loops go on with what they carry", _why_not_carried),
    ("conditions are bools", _why_not_conditions),
    ("what is put is a row", _why_not_rows),
    ("what is put is a slice", _why_not_slices),
    ("donated memory is of the result's type", why_not_donated),
    ("sizes are made of the inputs' dims", _why_not_sizes),
    ("inputs and constants are only read", _why_not_kept),
    ("filled before it is read", _why_not_defined),
    ("filled once on each way", _why_not_once),
    ("results are filled", _why_not_results),
    ("rows are put where nothing else reads", why_not_in_place),
    ("donated memory is filled when it is read no more", why_not_over),
    ("each slot has one place", why_not_placed),
    ("places are aligned and in the arena", why_not_aligned),
    ("what lives at one time lies apart", why_not_apart),
)
PLAN: Final[Contract[View]] = Contract(
    "a plan", ExecutorError, When.TESTS, tuple([Rule(name, why_not) for name, why_not in _RULES])
)
