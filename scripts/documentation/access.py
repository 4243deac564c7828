"""Which elements of its operands an element of a result is computed from, as a picture.

out[i, j] = sum(x[i, k] for k in range(4))     -->     a cell of out, and a row of x
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from opgen_runtime.compute.te import Tensor
from opgen_runtime.compute.te.graph import tensor_order
from opgen_runtime.compute.te.regions import Need, Region, Whole, extents_of, needed

_SIDE, _GAP, _MARGIN = 112, 28, 4  # pixels: of the longer side of a matrix, between tensors, around all
_MAX_CELLS = 28  # in a row that is drawn cell by cell
_MAX_MATRICES = 6  # of the leading axes of a tensor
_WORDS = {
    Whole.DATA: "at positions that are data",
    Whole.SCAN: "one after the other (a scan)",
    Whole.SORT: "sorted",
    Whole.UPDATE: "at positions that are written",
    Whole.FUNCTION: "by a function",
}


def access_text(operands: Sequence[Tensor], results: Sequence[Tensor]) -> str | None:
    """The picture, and each axis of each operand in words; None where there is nothing to see."""
    out = results[0]
    if not operands or any(0 in extents_of(t) for t in (*operands, *results)):
        return None
    order = tensor_order(results)
    element = tuple((extent // 2, extent // 2 + 1) for extent in extents_of(out))
    reads = needed(order, {out: element})
    read = [(t, reads[t]) for t in operands if t in reads]
    if not read:
        return None
    moved = [needed(order, {out: _next(element, k, extent)}) for k, extent in enumerate(extents_of(out))]
    lines = [
        f"- `{t.name}`: {_words(t, need, [other[t] for other in moved if t in other])}" for t, need in read
    ]
    return "\n".join([_picture(out, element, read), "", *lines])


def _next(element: Region, axis: int, extent: int) -> Region:
    """Another element along an axis, where there is one."""
    first = element[axis][0] - 1 if element[axis][0] else min(1, extent - 1)
    return (*element[:axis], (first, first + 1), *element[axis + 1 :])


def _words(tensor: Tensor, need: Need, moved: Sequence[Need]) -> str:
    extents = extents_of(tensor)
    if not extents:
        return "its one element"
    return "; ".join(f"axis {k} {_role(k, extent, need, moved)}" for k, extent in enumerate(extents))


def _role(axis: int, extent: int, need: Need, moved: Sequence[Need]) -> str:
    """How an axis is read for one element of the result; `moved`: for its neighbours."""
    if axis in need.whole:
        return f"whole, {_WORDS[need.whole[axis]]}"
    first, behind = need.region[axis]
    moves = any(other.region[axis] != (first, behind) for other in moved)
    if behind - first == 1:
        return "pointwise" if moves else "one place"
    if behind - first == extent and not moves:
        return "whole (reduced)"
    return f"a window of {behind - first}"


def _picture(out: Tensor, element: Region, read: Sequence[tuple[Tensor, Need]]) -> str:
    """The result with the element, an arrow, and the operands with what is read."""
    parts: list[str] = []
    x = float(_MARGIN)
    height = 0.0
    for number, (tensor, region) in enumerate([(out, element), *[(t, need.region) for t, need in read]]):
        if number == 1:
            parts.append(f'<text class="access-arrow" x="{x:.0f}" y="{20 + _SIDE / 2:.0f}">←</text>')
            x += _GAP
        drawn, width, tall = _tensor(tensor, region, x)
        parts += drawn
        x += width + _GAP
        height = max(height, tall)
    names = ", ".join(f"{t.name}{list(extents_of(t))}" for t, _ in read)
    label = (
        f"One element of {out.name}{list(extents_of(out))} is computed from the marked elements of {names}."
    )
    width = x - _GAP + _MARGIN
    return (
        f'<svg class="access" role="img" aria-label="{escape(label)}" viewBox="0 0 {width:.0f} {height + 8:.0f}" '
        f'width="{width:.0f}" height="{height + 8:.0f}">{"".join(parts)}</svg>'
    )


def _tensor(tensor: Tensor, region: Region, x: float) -> tuple[list[str], float, float]:
    """A tensor at `x`, its last two axes as a matrix, one for each place of the others; its width and height."""
    extents = extents_of(tensor)
    rows, columns = ((1, 1, *extents)[-2:]) if len(extents) != 1 else (1, extents[0])
    (top, bottom), (left, right) = (
        (((0, 1), (0, 1), *region)[-2:]) if len(extents) != 1 else ((0, 1), region[0])
    )
    places = _places(extents[:-2])
    shown = places[:_MAX_MATRICES]
    marked = [_holds(region[:-2], place) for place in places]
    if True in marked and not any(marked[:_MAX_MATRICES]):
        shown = [*places[: _MAX_MATRICES - 1], places[marked.index(True)]]
    longest = max(rows, columns)
    cell = min(16.0, _SIDE / longest / (1 if len(places) == 1 else 1.6))
    height, width = rows * cell, columns * cell
    parts = [f'<text x="{x:.0f}" y="12">{escape(tensor.name)}</text>']
    at = x
    for place in shown:
        parts.append(
            f'<rect class="access-all" x="{at:.1f}" y="20" width="{width:.1f}" height="{height:.1f}"/>'
        )
        if _holds(region[:-2], place):
            corner = f'x="{at + left * cell:.1f}" y="{20 + top * cell:.1f}"'
            size = f'width="{(right - left) * cell:.1f}" height="{(bottom - top) * cell:.1f}"'
            parts.append(f'<rect class="access-read" {corner} {size}/>')
        if longest <= _MAX_CELLS:
            lines = [f"M{at + k * cell:.1f} 20v{height:.1f}" for k in range(1, columns)]
            lines += [f"M{at:.1f} {20 + k * cell:.1f}h{width:.1f}" for k in range(1, rows)]
            parts.append(f'<path class="access-cells" d="{"".join(lines)}"/>' if lines else "")
        at += width + 6
    if len(shown) < len(places):
        parts.append(f'<text x="{at:.0f}" y="{20 + height / 2:.0f}">…</text>')
        at += 16
    return parts, max(at - 6 - x, 8.0 * len(tensor.name)), 20 + height


def _places(extents: Sequence[int]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for extent in extents:
        found = [(*place, k) for place in found for k in range(extent)]
    return found


def _holds(region: Region, place: tuple[int, ...]) -> bool:
    return all(first <= k < behind for (first, behind), k in zip(region, place, strict=True))
