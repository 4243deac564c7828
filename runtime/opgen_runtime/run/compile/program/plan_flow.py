"""What a plan's code reads and fills, and what lives where: found from the code alone, not from who planned it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from .plan import Again, Copy, Else, End, If, Instruction, Leave, Loop, Put, PutSlice, Run, ends

Defined: TypeAlias = "set[int] | None"
"""The slots that are filled on all ways to a place; None where no way leads to it."""


def read(each: Instruction) -> tuple[int, ...]:
    """The slots that an instruction reads."""
    match each:
        case Run():
            return each.inputs
        case Copy():
            return (each.source,)
        case Put():
            return each.rows, each.place, each.value
        case PutSlice():
            return (each.part,)
        case If():
            return (each.condition,)
        case Loop():
            return each.initial
        case Again():
            return each.values
    return ()


def filled(each: Instruction) -> tuple[int, ...]:
    """The slots that an instruction fills as a whole; of a loop its params, which are names of what is carried."""
    match each:
        case Run():
            return (*each.outputs, *each.lengths)
        case Copy():
            return (each.target,)
        case PutSlice():  # the rest is what lies in the memory that it has
            return (each.whole,)
        case Loop():
            return each.params
    return ()


def mentioned(each: Instruction) -> tuple[int, ...]:
    """All slots that an instruction names."""
    results = each.results if isinstance(each, If | Loop) else ()
    buffers = each.buffers if isinstance(each, Loop) else ()
    return *read(each), *filled(each), *results, *buffers


def why_not_nested(code: Sequence[Instruction]) -> str | None:
    """Why the code is no blocks within blocks; None where it is, and each way through a loop goes on or leaves it."""
    nesting = _Nesting()
    for position, each in enumerate(code):
        why_not = nesting.why_not(each)
        if why_not is not None:
            return f"instruction {position}, {type(each).__name__}, {why_not}"
    if nesting.around:
        return f"the code ends within {type(nesting.around[-1]).__name__}"
    return None


class _Nesting:
    """What is open at a place of the code."""

    def __init__(self) -> None:
        self.around: list[If | Loop] = []
        self.has_else: list[bool] = []
        self.goes_on = True  # whether a way leads to this place
        self.behind: list[
            bool
        ] = []  # whether one leads behind what is open: of an If by its first side, by a Leave

    def why_not(self, each: Instruction) -> str | None:
        """Why an instruction cannot stand here; it is gone through otherwise."""
        if not isinstance(each, Else | End) and not self.goes_on:
            return "is behind an Again or a Leave, which end a block"
        if isinstance(each, If | Loop):
            self.around.append(each)
            self.has_else.append(False)
            self.behind.append(False)
            return None
        if isinstance(each, Else):
            return self._else()
        if isinstance(each, End):
            return self._end()
        return self._leave(each) if isinstance(each, Again | Leave) else None

    def _else(self) -> str | None:
        if not self.around or not isinstance(self.around[-1], If) or self.has_else[-1]:
            return "belongs to no If"
        self.has_else[-1], self.behind[-1], self.goes_on = True, self.goes_on, True
        return None

    def _end(self) -> str | None:
        if not self.around:
            return "ends nothing"
        opened, has_else, behind = self.around.pop(), self.has_else.pop(), self.behind.pop()
        if isinstance(opened, If):
            self.goes_on = behind or self.goes_on
            return None if has_else else "ends an If without an Else"
        if self.goes_on:
            return "ends a loop, one way through which neither goes on nor leaves"
        self.goes_on = behind
        return None

    def _leave(self, each: Again | Leave) -> str | None:
        loops = [k for k, opened in enumerate(self.around) if isinstance(opened, Loop)]
        if not loops:
            return "is in no loop"
        loop = self.around[loops[-1]]
        if isinstance(each, Leave):
            self.behind[loops[-1]] = True
        elif isinstance(loop, Loop) and len(each.values) != len(loop.params):
            return f"carries {len(each.values)} values, where the loop carries {len(loop.params)}"
        self.goes_on = False
        return None


def defined(code: Sequence[Instruction], given: Sequence[int]) -> Iterator[tuple[int, Instruction, Defined]]:
    """Each instruction of nested code with its position and what is filled before it; `given` is from the beginning.

    After the last one comes what is filled at the end, with an `End` that there is none.
    """
    state: Defined = set(given)
    saved: list[Defined] = []  # before an If, before its Else; of a Loop: what its Leaves have in common
    kinds: list[If | Loop] = []
    over: list[Defined] = []  # of an If: at the end of the first side
    for position, each in enumerate(code):
        yield position, each, state
        if isinstance(each, If):
            kinds.append(each)
            saved.append(None if state is None else set(state))
            over.append(None)
        elif isinstance(each, Loop):
            kinds.append(each)
            saved.append(None)
            over.append(None)
        elif isinstance(each, Else):
            over[-1], state = state, saved[-1]
        elif isinstance(each, Leave):
            loop = max(k for k, opened in enumerate(kinds) if isinstance(opened, Loop))
            saved[loop] = _met(saved[loop], state)
            state = None
        elif isinstance(each, Again):
            state = None
        elif isinstance(each, End):
            opened, before, first = kinds.pop(), saved.pop(), over.pop()
            state = _met(first, state) if isinstance(opened, If) else before
        if state is not None:
            state = state | set(filled(each)) if isinstance(each, If | Loop) else _with(state, filled(each))
    yield len(code), End(), state


def _with(state: set[int], more: Sequence[int]) -> set[int]:
    """The set itself, which nobody else has."""
    state.update(more)
    return state


def _met(one: Defined, other: Defined) -> Defined:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def clashes(code: Sequence[Instruction]) -> Iterator[tuple[int, int, frozenset[int]]]:
    """(position, slot, others): an instruction fills a slot, or a buffer of its loop, while the others hold what is
    read there or later, or are filled with it.

    Found from the end on, in nested code whose values are filled once on each way.  What a loop begins with and its
    buffers live in all its steps, and so does what it reads from outside.
    """
    begin = {last: first for first, last in ends(code).items()}
    live: set[int] = set()
    opened: list[_Open] = []
    for position in reversed(range(len(code))):
        each = code[position]
        if isinstance(each, End):
            first = code[begin[position]]
            through: set[int] = set()
            if isinstance(first, Loop):
                reads, fills = _inside(code[begin[position] : position])
                through = {*((reads | live) - fills), *first.initial, *first.buffers}
            opened.append(_Open(first, set(live), through))
        elif isinstance(each, Else):
            opened[-1].other, live = live, set(opened[-1].after)
        elif isinstance(each, If):
            live = live | opened.pop().other | {each.condition}
        elif isinstance(each, Loop):
            live = (live | opened.pop().through) - {*each.params, *each.buffers} | set(each.initial)
        elif isinstance(each, Leave):
            loop = _innermost(opened)
            live = loop.after | loop.through
        elif isinstance(each, Again):
            loop = _innermost(opened)
            assert isinstance(loop.first, Loop)
            live = loop.through | set(each.values)
            yield from [(position, slot, frozenset(live - {slot})) for slot in loop.first.buffers]
        else:
            made = filled(each)
            held = live | set(read(each)) | set(made)
            yield from [(position, slot, frozenset(held - {slot})) for slot in made]
            live = (live - set(made)) | set(read(each))


class _Open:
    """An If or a Loop that is gone through from its end on."""

    def __init__(self, first: Instruction, after: set[int], through: set[int]) -> None:
        """`after`: what lives behind it; `through`: in all steps of a loop."""
        self.first, self.after, self.through = first, after, through
        self.other: set[int] = set()  # what lives before the second side of an If


def _innermost(opened: Sequence[_Open]) -> _Open:
    return next(each for each in reversed(opened) if isinstance(each.first, Loop))


def _inside(code: Sequence[Instruction]) -> tuple[set[int], set[int]]:
    """What a loop reads and what it fills."""
    reads: set[int] = set()
    fills: set[int] = set()
    for each in code:
        reads.update(read(each))
        fills.update(filled(each))
    return reads, fills
