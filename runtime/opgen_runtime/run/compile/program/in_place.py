"""Rows that a loop collects, in one place: a step writes its row, where it would give a tensor with one other row.

    loop %7 = %3:                             %7 = %3
      %14 = scatter_nd(%7, %12, %13)    -->   loop:
      again %14                                 %7[%12] = %13
    end                                         again
                                              end

So that a loop that keeps the states of its steps takes time and memory linear in their number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from .plan import Again, Copy, Instruction, Loop, Put, Run, ends, renamed, used


def in_place(code: Sequence[Instruction], puts: Collection[int], kept: Collection[int]) -> list[Instruction]:
    """The code with such rows in place.

    `puts`: the kernels that give their first input with the third one as the row at the second; `kept`: slots that
    keep their numbers, results of the program.
    """
    found = list(code)
    position = 0
    while position < len(found):
        each = found[position]
        for param in each.params if isinstance(each, Loop) else ():
            made = _with_place(found, position, param, puts, kept)
            if made is not None:
                found = made
                position += 1  # the copy that goes before
        position += 1
    return found


def _with_place(
    code: list[Instruction], start: int, param: int, puts: Collection[int], kept: Collection[int]
) -> list[Instruction] | None:
    """The code with one param of a loop in one place; None where something else is done with it."""
    end, loop = ends(code)[start], code[start]
    assert isinstance(loop, Loop)
    at = loop.params.index(param)
    made: list[Instruction] = []
    results: list[Copy] = []
    written: list[int] = []  # what the rows would be, which nothing else may read
    fresh = param  # what they are on the way to the end of this step
    for is_own, each in _own(code, start, end):
        if is_own and isinstance(each, Run) and each.kernel in puts and each.inputs[0] == fresh == param:
            (fresh,) = each.outputs
            written.append(fresh)
            made.append(Put(*each.inputs))
        elif is_own and isinstance(each, Again) and each.values[at] == fresh:
            fresh = param
            made.append(Again(each.values[:at] + each.values[at + 1 :]))
        elif (
            is_own
            and isinstance(each, Copy)
            and each.source == fresh == param
            and each.target in loop.results
        ):
            results.append(each)
            made.append(each)
        elif param in used(each) or (fresh != param and not isinstance(each, Run | Copy)):
            return None
        else:
            made.append(each)
    rest = [each for each in made if each not in results and not isinstance(each, Put)]
    own = {*written, param}
    if not written or any(not own.isdisjoint(used(each)) for each in rest):
        return None
    # results that are these rows alone are these rows
    targets = {each.target for each in results} - set(kept)
    alone = targets.difference(*[used(each) for each in rest])
    body = [
        each for each in made if not (isinstance(each, Copy) and each in results and each.target in alone)
    ]
    count = len(loop.params)
    without = replace(
        loop,
        params=loop.params[:at] + loop.params[at + 1 :],
        initial=loop.initial[:at] + loop.initial[at + 1 :],
        buffers=tuple([slot for k, slot in enumerate(loop.buffers) if k % count != at]),
    )
    whole = [*code[:start], Copy(loop.initial[at], param), without, *body, *code[end:]]
    names = dict.fromkeys(alone, param)
    return [renamed(each, lambda slot: names.get(slot, slot)) for each in whole]


def _own(code: Sequence[Instruction], start: int, end: int) -> Iterator[tuple[bool, Instruction]]:
    """What is inside a loop, and whether it is in no other loop inside."""
    until, inner = ends(code), start
    for position in range(start + 1, end):
        if isinstance(code[position], Loop) and position > inner:
            inner = until[position]
        yield position > inner, code[position]
