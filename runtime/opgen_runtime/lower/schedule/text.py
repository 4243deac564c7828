"""A schedule as text, for people: every stage, a table of its loops, and what is computed inside them.

    out: float32[64, 96], output
        i0_o_i1_o   32  parallel    fuse(i0 // 4, i1 // 64)
        k          128  reduce
        i0_i         4  unrolled    i0 % 4
        i1_i        64  vectorized  i1 % 64
        out[i0, i1] = sum(a[i0, k] * b[k, i1] for k in range(128))
        guarded: i1 < 96
        reordered from i0_o_i1_o, i0_i, i1_i, k

A row is a loop, outermost first: its name, its trips, how it runs, and what it walks of the stage's axes.  `//` and
`%` are the two loops of a split.  A stage that is computed at a loop stands below that loop's row; it computes what one
iteration needs, so that its trips over data axes are upper bounds (`<=`) until lowering infers them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ...base.arith import Expr
from ...base.arith import to_text as expr_text
from ...compute.te.tensor import Extern, IterVar, Scan, Sort, Tensor, Update
from .stages.extents import ceil_div, product
from .stages.kind import ForKind
from .stages.relations import Fuse, Split
from .stages.stage import Stage

_INDENT: Final = "    "


def to_text(stages: Sequence[Stage]) -> str:
    """The stages of a schedule, producers first; lines without a newline at the end."""
    members = set(stages)
    inside: dict[IterVar, list[Stage]] = {}
    outermost: list[Stage] = []
    for stage in stages:
        if stage.attach is not None and stage.attach.stage in members and _why_lost(stage) is None:
            inside.setdefault(stage.attach.axis, []).append(stage)
        else:
            outermost.append(stage)
    return "\n".join(line for stage in outermost for line in _stage_lines(stage, inside))


def _why_lost(stage: Stage) -> str | None:
    """Why a stage has no loop around it although it is attached to one; lowering refuses it."""
    attach = stage.attach
    if attach is None:
        return None
    if attach.stage.inlined:
        return "which is inlined"
    return None if attach.axis in attach.stage.leaves else "which is no longer a loop"


def _stage_lines(stage: Stage, inside: Mapping[IterVar, Sequence[Stage]]) -> Iterator[str]:
    tensors = ", ".join(_declared(tensor) for tensor in stage.tensors)
    yield ", ".join([tensors, *_facts(stage)])
    if stage.body is None:
        return
    if not stage.inlined:
        for leaf, row in zip(stage.leaves, _table(stage), strict=True):
            yield _INDENT + row
            if leaf in stage.unroll_steps:
                yield f"{_INDENT * 2}loops of at most {stage.unroll_steps[leaf]} statements unrolled"
            for tensor, axis, offset in stage.prefetches:
                if axis is leaf:
                    yield f"{_INDENT * 2}prefetch {tensor.name}, {offset} ahead"
            for prefetch in stage.line_prefetches:
                if prefetch.axis is leaf:
                    lines = f"{prefetch.lines} lines of {prefetch.tensor.name}"
                    yield f"{_INDENT * 2}prefetch {lines}, {prefetch.offset} ahead"
            for member in inside.get(leaf, ()):
                yield from (_INDENT * 2 + line for line in _stage_lines(member, inside))
    indices = ", ".join(axis.var.name for axis in stage.axes) or "()"
    yield f"{_INDENT}{stage.name}[{indices}] = {expr_text(stage.body)}"
    guards = _guards(stage)
    if guards:
        yield f"{_INDENT}guarded: {', '.join(guards)}"
    before = _order_of_axes(stage)
    if before != stage.leaves:
        yield f"{_INDENT}reordered from {', '.join(leaf.var.name for leaf in before)}"


# ------------------------------------------------------------------ the line of a stage


def _declared(tensor: Tensor) -> str:
    return f"{tensor.name}: {tensor.dtype}[{', '.join(_number(d) for d in tensor.shape)}]"


def _number(n: int | Expr) -> str:
    return expr_text(n) if isinstance(n, Expr) else str(n)


def _facts(stage: Stage) -> Iterator[str]:
    """Where a stage is computed and stored, and where it comes from."""
    op = stage.op
    if isinstance(op, Scan):
        axis = op.states[0].axes[op.states[0].scan_axis].var.name
        yield f"scan over {axis} {'upwards' if op.direction > 0 else 'downwards'}"
    elif isinstance(op, Update):
        yield f"update of {op.base.name}"
    elif isinstance(op, Sort):
        yield f"{'positions of a ' * op.positions}sort of {op.source.name} along axis {op.axis}"
    elif isinstance(op, Extern):
        yield "extern"
    if stage.rows is not None:
        for tensor, window in stage.rows.windows.items():
            yield f"{window} {'row' if window == 1 else 'rows'} of {tensor.name} kept"
    if stage.follows is not None:
        leader = stage.follows.members[0].name
        yield f"after the steps of {leader}" if stage.line is None else f"in the steps of {leader}"
    if stage.origin:
        yield stage.origin
    yield from _place(stage)
    for position, (factor, offset) in sorted(stage.alignment.items()):
        yield f"stride of {stage.axes[position].var.name} % {factor} == {offset}"


def _place(stage: Stage) -> Iterator[str]:
    if stage.is_placeholder:
        yield "input"
    elif stage.is_output:
        yield "output"
    elif stage.inlined:
        yield "inlined"
    else:
        scope = "global"
        if stage.attach is None:
            yield "root"
        else:
            scope = "local"
            lost = _why_lost(stage)
            at = f"at {stage.attach.axis.var.name}"
            yield at if lost is None else f"{at} of {stage.attach.stage.name}, {lost}"
        yield "double buffer" if stage.scope == "double" else stage.scope or scope


# ------------------------------------------------------------------ the loops of a stage


def _table(stage: Stage) -> list[str]:
    """A row for each loop, in columns as wide as their texts need; a column without texts is left out."""
    trips, walks = _trips(stage), _walks(stage)
    tile = stage.leaves[stage.leaves.index(stage.tile_of.axis) :] if stage.tile_of else []
    rows = []
    for leaf in stage.leaves:
        bound = "<=" if stage.attach is not None and leaf.kind == "data" else ""
        how = ["reduce"] if leaf.kind == "reduce" else []
        if stage.kind(leaf) is not ForKind.SERIAL:
            how.append(stage.kind(leaf).value)
        if leaf in tile and stage.tile_of is not None:
            how.append(f"by {stage.tile_of.intrinsic.name}")
        rows.append((leaf.var.name, bound + _number(trips[leaf]), " ".join(how), walks.get(leaf, "")))
    columns = [_column(texts, ">" if c == 1 else "<") for c, texts in enumerate(zip(*rows, strict=True))]
    return ["  ".join(filter(None, row)).rstrip() for row in zip(*columns, strict=True)]


def _column(texts: Sequence[str], align: str) -> list[str]:
    width = max(map(len, texts))
    return [f"{text:{align}{width}}" for text in texts]


def _trips(stage: Stage) -> dict[IterVar, int | Expr]:
    """The trips of every loop where the whole tensor is computed; a split longer than its axis has fewer."""
    trips = {axis: axis.extent for axis in (*stage.axes, *stage.reduce_axes)}
    for relation in stage.relations:
        if isinstance(relation, Fuse):
            trips[relation.fused] = product(trips[relation.outer], trips[relation.inner])
            continue
        whole, factor = trips[relation.parent], relation.factor
        trips[relation.outer] = ceil_div(whole, factor)
        trips[relation.inner] = min(factor, whole) if isinstance(whole, int) and whole else factor
    return trips


def _walks(stage: Stage) -> dict[IterVar, str]:
    """What each loop that was made by splits and fusions walks, in terms of the stage's axes."""
    trips = _trips(stage)
    texts: dict[IterVar, str] = {}
    parts: dict[IterVar, list[str]] = {}  # of fused loops; fusing them again is one longer fusion
    for relation in stage.relations:
        if isinstance(relation, Split):
            parent = texts.get(relation.parent, relation.parent.var.name)
            has_overlap = relation.has_overlap(trips[relation.parent])
            texts[relation.outer] = f"{parent} // {relation.factor}"
            texts[relation.inner] = (
                f"overlap({parent}, {relation.factor})" if has_overlap else f"{parent} % {relation.factor}"
            )
            continue
        both = (relation.outer, relation.inner)
        made = [text for axis in both for text in parts.get(axis, [texts.get(axis, axis.var.name)])]
        parts[relation.fused] = made
        texts[relation.fused] = f"fuse({', '.join(made)})"
    return texts


def _guards(stage: Stage) -> list[str]:
    """What must hold for an iteration to count: splits that do not divide, as far as is known before lowering."""
    trips = _trips(stage)
    found = []
    for split in stage.relations:
        if isinstance(split, Fuse) or (stage.attach is not None and split.parent.kind == "data"):
            continue
        whole = trips[split.parent]
        if split.has_overlap(whole):
            continue
        if not isinstance(whole, int) or (whole % split.factor and whole > split.factor):
            found.append(f"{split.parent.var.name} < {_number(whole)}")
    return found


def _order_of_axes(stage: Stage) -> list[IterVar]:
    """The loops in the order that splits and fusions alone leave them in."""
    loops = [*stage.loop_axes, *stage.reduce_axes]
    for relation in stage.relations:
        if isinstance(relation, Split):
            position = loops.index(relation.parent)
            loops[position : position + 1] = [relation.outer, relation.inner]
        else:
            loops[loops.index(relation.outer)] = relation.fused
            loops.remove(relation.inner)
    return loops
