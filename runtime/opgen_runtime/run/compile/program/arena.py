"""Where the values of a program lie: one block of memory, shared by slots whose lives do not overlap."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ....base.arith import Analyzer, Expr, const, hinted, maximum
from ....base.vocabulary import INDEX
from .plan import Held, If, Instruction, Loop, ends, used

ALIGNMENT: Final = 64  # bytes: a cache line, and the widest vector


def laid_out(
    code: Sequence[Instruction], held: Sequence[Held], elsewhere: Collection[int]
) -> tuple[dict[int, int | Expr], int | Expr]:
    """The offset of each slot that is used and not `elsewhere`, and how many bytes they take together.

    A slot lives from the instruction that uses it first to the last one in the same block, or that holds a use: what is
    read inside a branch or a loop from outside lives until that ends, so that both sides of a branch may use
    the same memory, and a loop finds what it found before.
    """
    own = {slot: life for slot, life in lives(code).items() if slot not in elsewhere}
    if any(not isinstance(held[slot].size, int) for slot in own):
        return _in_blocks(own, held)
    dying: dict[int, list[int]] = {}
    born: dict[int, list[int]] = {}
    for slot, (first, last) in own.items():
        born.setdefault(first, []).append(slot)
        dying.setdefault(last, []).append(slot)
    room = _Room()
    offsets: dict[int, int] = {}
    for position in range(len(code)):
        # the greatest first, for which holes are rarest
        for slot in sorted(born.get(position, ()), key=lambda slot: (-held[slot].nbytes, slot)):
            offsets[slot] = room.take(_padded(held[slot].nbytes))
        for slot in dying.get(position, ()):
            room.give_back(offsets[slot], _padded(held[slot].nbytes))
    return dict(offsets), room.size


def _in_blocks(
    own: Mapping[int, tuple[int, int]], held: Sequence[Held]
) -> tuple[dict[int, int | Expr], int | Expr]:
    """Offsets of slots of symbolic sizes: in blocks one after the other, each for slots that live one after the other.

    A slot takes the block that needs to grow least for the hints of the dims; a block is as large as the largest of
    its slots, whatever the dims are.
    """
    analyzer = Analyzer()
    blocks: list[list[Expr]] = []  # the sizes of each block's slots
    until: list[int] = []
    block_of: dict[int, int] = {}
    for slot, (first, last) in sorted(own.items(), key=lambda item: (item[1][0], item[0])):
        size = as_index(held[slot].size)
        free = [number for number, end in enumerate(until) if end < first]
        wanted = hinted(size)
        number = min(free, key=lambda n: abs(max(map(hinted, blocks[n])) - wanted), default=len(blocks))
        if number == len(blocks):
            blocks.append([])
            until.append(last)
        until[number] = last
        block_of[slot] = number
        if not any(_is_seen_to_fit(size, other, analyzer) for other in blocks[number]):
            blocks[number] = [
                size,
                *[other for other in blocks[number] if not _is_seen_to_fit(other, size, analyzer)],
            ]
    starts: list[Expr] = []
    end: Expr = as_index(0)
    for sizes in blocks:
        starts.append(end)
        largest = sizes[0]
        for size in sizes[1:]:
            largest = maximum(largest, size)
        end = end + (largest + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT
    return {slot: starts[number] for slot, number in block_of.items()}, end


def _is_seen_to_fit(size: Expr, other: Expr, analyzer: Analyzer) -> bool:
    """Whether one size is at most another, term by term: where that takes a proof, both are computed when it runs."""
    least = analyzer.interval(other - size).lo
    return least is not None and least >= 0


def as_index(size: int | Expr) -> Expr:
    return const(size, INDEX) if isinstance(size, int) else size


def lives(code: Sequence[Instruction]) -> dict[int, tuple[int, int]]:
    """The first and the last position of each slot's life."""
    end = ends(code)
    open_: list[int] = []  # the positions of the ifs and loops around
    found: dict[int, tuple[int, int, int]] = {}  # first, last, and how many are around the first
    for position, each in enumerate(code):
        if position in end:
            open_.append(position)
        opens = isinstance(each, If | Loop)
        depth = len(open_) - opens
        for slot in used(each):
            first, last, level = found.get(slot, (position, position, depth))
            # what an if or a loop names is used to its end, a condition too long by a little
            reach = position if level >= len(open_) else end[open_[level]]
            found[slot] = (first, max(last, reach), level)
        if open_ and end[open_[-1]] == position:
            open_.pop()
    return {slot: (first, last) for slot, (first, last, _) in found.items()}


def _padded(size: int) -> int:
    return max(ALIGNMENT, -(-size // ALIGNMENT) * ALIGNMENT)


class _Room:
    """Memory as holes between what is taken; the tightest hole that fits is taken, the lowest of equal ones."""

    def __init__(self) -> None:
        self.size = 0
        self._by_size: list[tuple[int, int]] = []  # (size, offset) of holes
        self._by_end: dict[int, int] = {}  # the offset of the hole that ends there
        self._sizes: dict[int, int] = {}  # offset -> size

    def take(self, size: int) -> int:
        at = bisect_left(self._by_size, (size, 0))
        if at < len(self._by_size):
            hole, offset = self._by_size[at]
            self._fill(offset)
            if hole > size:
                self._open(offset + size, hole - size)
            return offset
        offset = self._by_end.get(self.size, self.size)  # a hole at the end grows
        if offset < self.size:
            self._fill(offset)
        self.size = offset + size
        return offset

    def give_back(self, offset: int, size: int) -> None:
        before = self._by_end.get(offset)
        if before is not None:
            size += self._fill(before)
            offset = before
        if offset + size in self._sizes:
            size += self._fill(offset + size)
        self._open(offset, size)

    def _open(self, offset: int, size: int) -> None:
        insort(self._by_size, (size, offset))
        self._by_end[offset + size] = offset
        self._sizes[offset] = size

    def _fill(self, offset: int) -> int:
        size = self._sizes.pop(offset)
        del self._by_end[offset + size]
        del self._by_size[bisect_left(self._by_size, (size, offset))]
        return size
