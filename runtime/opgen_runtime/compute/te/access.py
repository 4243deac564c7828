"""Bounds checks at compile time: proofs that an index stays inside its dim, under the domains and conditions of its
place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

from ...base import arith
from ...base.arith.expr import Compare, Const, Dim, Expr, Select, Var
from ...base.vocabulary import INDEX
from .tensor import Read

_PLAIN: Final = re.compile(r"\bint64\((-?\d+)\)")  # a literal that joined element values
_LAST_EFFORT: Final = 8  # times as far as otherwise a proof is sought, before an index is refused
_MAX_CHOICES: Final = 3  # on dims, of which each case is proved by itself
_UNKNOWN: Final = 1 << 62  # a bound that only the dtype gives


def is_plainly_inside(index: Expr, extent: Dim, extents: Mapping[Var, Dim], facts: Iterable[Expr]) -> bool:
    """Whether a look at the domains and `facts` shows 0 <= index < extent: no proof is needed."""
    if isinstance(index, Var):
        own = extents.get(index)
        if own is not None and (
            own is extent or (isinstance(own, int) and isinstance(extent, int) and own <= extent)
        ):
            return True
    elif isinstance(index, Const) and isinstance(extent, int) and 0 <= index.value < extent:
        return True
    if any(isinstance(e, int) and e == 0 for e in extents.values()):  # the domain is empty
        return True
    if isinstance(extent, int):
        return arith.is_inside(index, extent, extents, facts)
    return _is_seen_inside(index, extent, extents, facts)


def _is_seen_inside(index: Expr, extent: Expr, extents: Mapping[Var, Dim], facts: Iterable[Expr]) -> bool:
    """Whether 0 <= index < extent is written there, of a symbolic extent.

    The index runs over that extent, or is 0 where one does; it is either of two of which it is written; facts say it.
    """
    if isinstance(index, Select):
        return all([_is_seen_inside(each, extent, extents, facts) for each in (index.then, index.otherwise)])
    if isinstance(index, Var) and _is_dim(extents.get(index), extent):
        return True
    if isinstance(index, Const) and index.value == 0 and any([_is_dim(n, extent) for n in extents.values()]):
        return True
    said = [part for fact in facts for part, holds in arith.conjuncts(fact, True) if holds]
    least = any([_says(part, "le", arith.const(0, INDEX), index) for part in said])
    return least and any([_says(part, "lt", index, extent) for part in said])


def _is_dim(own: Dim | None, extent: Expr) -> bool:
    return isinstance(own, Expr) and arith.structural_equal(own, extent)


def _says(part: Expr, op: str, a: Expr, b: Expr) -> bool:
    """Whether a condition is `a op b` as it is written."""
    equal = arith.structural_equal
    return isinstance(part, Compare) and part.op == op and equal(part.a, a) and equal(part.b, b)


def why_not_inside(
    name: str,
    position: int,
    index: Expr,
    extent: Dim,
    extents: Mapping[Var, Dim],
    facts: Sequence[Expr],
) -> str | None:
    """Why 0 <= index < extent is not proved, where each var v runs over 0 <= v < extents[v] and `facts` hold.

    `name` and `position` tell whose index it is.  None if it is proved.
    """
    if is_inside(index, extent, extents, facts):
        return None
    return not_inside(f"index {position} of {name}", index, extent, extents, facts)


def is_inside(index: Expr, extent: Dim, extents: Mapping[Var, Dim], facts: Sequence[Expr]) -> bool:
    """Whether 0 <= index < extent is proved, however long a search that takes."""
    if is_plainly_inside(index, extent, extents, facts):
        return True
    upper = extent if isinstance(extent, Expr) else arith.const(extent, INDEX)
    within = arith.logical_and(arith.le(0, index), arith.lt(index, upper))
    with analysis(extents, facts) as analyzer:
        if analyzer.prove(within):
            return True
    if _is_inside_case_by_case(within, extents, facts):
        return True
    with analysis(
        extents, facts
    ) as analyzer:  # what is refused here has no kernel: it is worth a longer search
        return analyzer.prove(within, _LAST_EFFORT)


def bearing_on(
    index: Expr, extent: Dim, extents: Mapping[Var, Dim], facts: Sequence[Expr]
) -> tuple[dict[Var, Dim], tuple[Expr, ...]] | None:
    """The domains and facts from which 0 <= index < extent may follow, if all can hold together; None where all may.

    They speak of the vars and tensors of the access, or of such that others of them speak of.
    """
    parts = [
        part if holds else arith.logical_not(part)
        for fact in facts
        for part, holds in arith.conjuncts(fact, True)
    ]
    rest = [({var, *_symbols(own)}, var) for var, own in extents.items()]
    said = [(_symbols(part), part) for part in parts]
    reached = _symbols(index) | _symbols(extent)
    before = -1
    while len(reached) != before:
        before = len(reached)
        for symbols, _ in (*rest, *said):
            if not reached.isdisjoint(symbols):
                reached |= symbols
    own = {var: extents[var] for symbols, var in rest if not reached.isdisjoint(symbols)}
    kept = [part for symbols, part in said if not symbols or not reached.isdisjoint(symbols)]
    return None if len(own) == len(extents) and len(kept) == len(parts) else (own, tuple(kept))


def _symbols(e: Dim) -> set[object]:
    """The vars of an expression, and the tensors that it reads."""
    nodes = arith.post_order(e) if isinstance(e, Expr) else ()
    return {node.tensor if isinstance(node, Read) else node for node in nodes if isinstance(node, Var | Read)}


def not_inside(what: str, index: Expr, extent: Dim, extents: Mapping[Var, Dim], facts: Sequence[Expr]) -> str:
    """That 0 <= index < extent is not proved of `what`, with what is known of the index."""
    with analysis(extents, facts) as analyzer:
        found = analyzer.interval(index)
        shown = _PLAIN.sub(r"\1", arith.to_text(analyzer.simplify(index)))
    message = (
        f"cannot prove that {what} is in bounds: {shown} {_span(found)}, "
        f"the dim is {extent} (0..{extent - 1})"
    )
    if isinstance(index, Const) and index.value < 0:
        message += f"; tensors are indexed from 0: write `{extent} {index.value}`".replace(" -", " - ")
    elif arith.holds(index, Read):
        message += "; limit what is read with `clip`, or read under a condition"
    return message


def _is_inside_case_by_case(
    within: Expr, extents: Mapping[Var, Dim], facts: Sequence[Expr], depth: int = 0
) -> bool:
    """Whether a condition holds on both sides of each choice that is made on dims alone, few as they are.

    `m - 2` positions from the end on: `(m*2 - 2 if m - 2 < 0 else m - 2) + i` lies inside on either side.
    """
    sizes = [extent for extent in extents.values() if isinstance(extent, Expr)]
    choice = next((c for e in (within, *sizes) for c in arith.post_order(e) if _is_choice_on_dims(c)), None)
    if choice is None or depth == _MAX_CHOICES:
        return False
    assert isinstance(choice, Select)
    for holds in (True, False):
        case = partial(_chosen, condition=choice.condition, holds=holds)
        own = {var: arith.rewrite(e, case) if isinstance(e, Expr) else e for var, e in extents.items()}
        fact = choice.condition if holds else arith.logical_not(choice.condition)
        known, one = (*facts, fact), arith.rewrite(within, case)
        with analysis(own, known) as analyzer:
            proved = analyzer.prove(one)
        if not proved and not _is_inside_case_by_case(one, own, known, depth + 1):
            return False
    return True


def _is_choice_on_dims(e: Expr) -> bool:
    return isinstance(e, Select) and arith.is_size(e.condition)


def _chosen(e: Expr, condition: Expr, holds: bool) -> Expr | None:
    """What a choice on a condition is where that holds, or does not; None for all else."""
    if not isinstance(e, Select) or not arith.structural_equal(e.condition, condition):
        return None
    return e.then if holds else e.otherwise


@contextmanager
def analysis(extents: Mapping[Var, Dim], facts: Iterable[Expr]) -> Iterator[arith.Analyzer]:
    """An analyzer that knows the domains of vars, and `facts`."""
    analyzer = arith.Analyzer()
    for var, extent in extents.items():
        analyzer.bind(var, 0, extent)
    for fact in facts:
        analyzer.given(fact)  # for good: nobody else has the analyzer
    yield analyzer


def _span(found: arith.Interval) -> str:
    """Where an index lies, for a message."""
    known = [bound if bound is not None and abs(bound) < _UNKNOWN else None for bound in (found.lo, found.hi)]
    if known == [None, None]:
        return "may be any value"
    low, high = ("?" if bound is None else bound for bound in known)
    return f"ranges over {low}..{high}"
