"""How an array is cut: the lengths of its chunks along each axis; and which of them a region lies in."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ...base.errors import CallError
from ...base.vocabulary import dataclass
from ...compute.te.regions import Region, Span

Cut: TypeAlias = tuple[int, ...]
"""The lengths of the chunks along one axis, whose sum is its extent."""
Grid: TypeAlias = tuple[Cut, ...]
"""The cuts of all axes."""
Place: TypeAlias = tuple[int, ...]
"""Which chunk: its number along each axis."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The part of a chunk that lies in a region: where it is in the chunk, and where in the region."""

    chunk: Place
    inside: tuple[slice, ...]
    at: tuple[slice, ...]


def spans_of(cut: Cut) -> list[Span]:
    """The span of each chunk along an axis."""
    ends = list(itertools.accumulate(cut))
    return [(end - length, end) for end, length in zip(ends, cut, strict=True)]


def places_of(grid: Grid) -> Iterator[Place]:
    """Every chunk of a grid, the last axis fastest; one of a grid without axes."""
    return itertools.product(*[range(len(cut)) for cut in grid])


def region_of(grid: Grid, place: Place) -> Region:
    """The region that a chunk is."""
    return tuple([spans_of(cut)[k] for cut, k in zip(grid, place, strict=True)])


def regions_of(grid: Grid) -> Iterator[tuple[Place, Region]]:
    """Every chunk of a grid with the region that it is."""
    spans = [spans_of(cut) for cut in grid]
    return zip(places_of(grid), itertools.product(*spans), strict=True)


def count_of(grid: Sequence[Cut]) -> int:
    """How many chunks a grid has."""
    count = 1
    for cut in grid:
        count *= len(cut)
    return count


def one_chunk(extents: Sequence[int]) -> Grid:
    """The grid of an array that is not cut."""
    return tuple([(extent,) for extent in extents])


def pieces_of(grid: Grid, region: Region) -> list[Piece]:
    """The parts of chunks of which a region consists; chunks of no element have none, if others have all."""
    along: list[list[tuple[int, slice, slice]]] = []
    for cut, (first, behind) in zip(grid, region, strict=True):
        found = [
            (
                k,
                slice(max(first, a) - a, min(behind, b) - a),
                slice(max(first, a) - first, min(behind, b) - first),
            )
            for k, (a, b) in enumerate(spans_of(cut))
            if max(first, a) < min(behind, b)
        ]
        along.append(found or [(0, slice(0, 0), slice(0, 0))])
    return [
        Piece(tuple([k for k, _, _ in each]), tuple([i for _, i, _ in each]), tuple([a for _, _, a in each]))
        for each in itertools.product(*along)
    ]


def scaled(cut: Cut, extent: int, onto: int) -> Cut:
    """A cut of an axis of `extent` as one of an axis of `onto` elements, of no more chunks."""
    if not extent or not onto:
        return (onto,)
    ends = sorted({round(end * onto / extent) for _, end in spans_of(cut)} - {0})
    return tuple([end - before for before, end in zip([0, *ends], ends, strict=False)])


def cut_of(chunks: object, extent: int, what: str) -> Cut:
    """The cut of an axis that is asked for by a length, or by all lengths.  Raises CallError, naming `what`."""
    if isinstance(chunks, int) and not isinstance(chunks, bool):
        length = extent if chunks == -1 else chunks
        if length <= 0 and extent:
            raise CallError(f"{what}: a chunk has at least one element, found {chunks}")
        if not extent:
            return (0,)
        full, rest = divmod(extent, length)
        return (length,) * full + ((rest,) if rest else ())
    if chunks is None:
        return (extent,)
    if isinstance(chunks, tuple | list) and all([isinstance(each, int) and each >= 0 for each in chunks]):
        if sum(chunks) == extent and chunks:
            return tuple(chunks)
        raise CallError(f"{what}: the chunks {tuple(chunks)} have {sum(chunks)} elements, expected {extent}")
    raise CallError(f"{what}: expected the length of chunks, or the lengths of all, found {chunks!r}")


def size_text(nbytes: int) -> str:
    """Bytes as people read them."""
    size = float(nbytes)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
