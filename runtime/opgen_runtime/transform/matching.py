"""What a pattern finds in a graph: each way in which an expression is of it.

A name that stands twice is one expression, by identity (a shared result), or equal constants; of attrs, equal values.
Operands of operators that are commutative are tried in both orders, fields of tuples against any number of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from ..base.vocabulary import DTYPE_CLASSES, DType
from ..declaration.patterns import (
    COMMUTATIVE,
    CONSTANT,
    KNOWN,
    MOVES,
    Apply,
    Capture,
    Fields,
    Literal,
    Pattern,
    Rest,
)
from ..ir import Call, Constant, Expr, Tuple
from ..operator import Op, TensorType
from .build import ORDER_KEEPING
from .calls import Facts, is_aligned, move_facts

Bound = Mapping[str, object]
NOTHING: Final[Bound] = {}
NO_FORMS: Final[frozenset[str]] = frozenset()
_RESHAPE: Final = frozenset({"reshape"})


def matches(
    pattern: Pattern,
    expr: Expr,
    is_operand: bool = False,
    bound: Bound = NOTHING,
    known: Facts | None = None,
) -> Iterator[Bound]:
    """What is captured, in each way in which `expr` is of the pattern: expressions, tuples of them, values of attrs.

    `is_operand`: what is found is to stand for the call as it is, so that operators may have operands whose axes are
    not those that numpy's broadcasting aligns.  `known`: `move_facts` of a call, where they are known.
    """
    match pattern:
        case Capture():
            yield from _captured(pattern, expr, bound)
        case Fields(parts):
            if isinstance(expr, Tuple):
                yield from _in_order(parts, expr.fields, is_operand, bound)
        case Apply(name, args, attrs, True):
            if isinstance(expr, Call):
                found = known or move_facts(expr)
                if found is not None and isinstance(expr.checked_type, TensorType):
                    yield from _of_form(pattern, expr, found, is_operand, bound)
        case Apply(name, args, attrs, False):
            if isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == name:
                after = _attrs(attrs, expr, bound, pattern.any_attrs)
                if after is None or len(args) != len(expr.args):
                    return
                yield from _in_order(args, expr.args, is_operand, after)
                if len(args) == 2 and args[0] != args[1] and _commutes(expr):
                    yield from _in_order(args, expr.args[::-1], is_operand, after)


def forms_of(call: Call, known: Facts) -> frozenset[str]:
    """The forms that a call has, by what `move_facts` knows of it: patterns of other forms are not of it."""
    return known.forms | _RESHAPE if _keeps_order(call) else known.forms


def elements(expr: Expr) -> np.ndarray | None:
    """What is known of the elements: those of a constant, or the one number, of rank 0, that all are."""
    if isinstance(expr, Constant):
        return expr.data
    known = move_facts(expr)
    return None if known is None else known.number


def _captured(pattern: Capture, expr: Expr, bound: Bound) -> Iterator[Bound]:
    if pattern.name in bound:
        if _is_same(bound[pattern.name], expr):
            yield bound
    elif _is_of_kind(pattern.kind, expr):
        yield {**bound, pattern.name: expr}


def _is_of_kind(kind: str, expr: Expr) -> bool:
    if not kind:
        return True
    if kind == CONSTANT:
        return isinstance(expr, Constant)
    if kind == KNOWN:
        return elements(expr) is not None
    type_ = expr.checked_type
    dtypes = DTYPE_CLASSES[kind] if kind in DTYPE_CLASSES else (DType(kind),)
    return isinstance(type_, TensorType) and type_.dtype in dtypes


def _is_same(before: object, expr: Expr) -> bool:
    if before is expr:
        return True
    if not isinstance(before, Constant) or not isinstance(expr, Constant):
        return False
    a, b = before.data, expr.data
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def _attrs(
    wanted: Sequence[tuple[str, Capture | Literal]], call: Call, bound: Bound, any_others: bool
) -> Bound | None:
    """What is captured of the attrs; None where they are others.

    Those that are not named have their defaults, or whatever value (`any_others`).
    """
    if call.attrs is None:
        return bound if not wanted else None
    found = dict(bound)
    names = {name for name, _ in wanted}
    have = call.attrs.as_dict()
    if not names <= have.keys():
        return None
    for name, pattern in wanted:
        value = have[name]
        expected = pattern.value if isinstance(pattern, Literal) else found.setdefault(pattern.name, value)
        if expected != value:
            return None
    if any_others:
        return found
    others = [field for field in type(call.attrs).fields() if field.name not in names]
    return found if all([have[field.name] == field.default for field in others]) else None


def _in_order(
    patterns: Sequence[Pattern | Rest], exprs: Sequence[Expr], is_operand: bool, bound: Bound
) -> Iterator[Bound]:
    if not patterns:
        if not exprs:
            yield bound
        return
    first, *others = patterns
    if isinstance(first, Rest):
        for count in range(len(exprs) + 1):
            taken = tuple(exprs[:count])
            before = bound.get(first.name, taken)
            if before == taken:
                yield from _in_order(others, exprs[count:], is_operand, {**bound, first.name: taken})
    elif exprs:
        for after in matches(first, exprs[0], is_operand, bound):
            yield from _in_order(others, exprs[1:], is_operand, after)


def _commutes(call: Call) -> bool:
    known = move_facts(call)
    return known is not None and known.binary is not None and known.binary.op in COMMUTATIVE


def _of_form(pattern: Apply, call: Call, known: Facts, is_operand: bool, bound: Bound) -> Iterator[Bound]:
    if pattern.name in MOVES:
        found = _move(pattern.name, call, known)
        if found is None:
            return
        position, value = found
        for _, attr in pattern.attrs:
            expected = attr.value if isinstance(attr, Literal) else bound.get(attr.name, value)
            if expected != value:
                return
            if isinstance(attr, Capture):
                bound = {**bound, attr.name: value}
        yield from matches(pattern.args[0], call.args[position], is_operand, bound)
        return
    form = known.binary
    type_ = call.checked_type
    assert isinstance(type_, TensorType)
    if form is None or form.op != pattern.name:
        return
    if not is_operand and not all([is_aligned(each.axes, type_.ndim) for each in (form.a, form.b)]):
        return
    a, b = call.args[form.a.position], call.args[form.b.position]
    first, second = pattern.args
    for x, y in ((a, b), (b, a)) if form.op in COMMUTATIVE and first != second else ((a, b),):
        if isinstance(second, Capture) and not _is_of_kind(second.kind, y):
            continue  # before anything is captured
        for after in matches(first, x, is_operand, bound):
            yield from matches(second, y, is_operand, after)


def _move(form: str, call: Call, known: Facts) -> tuple[int, object] | None:
    """(operand, the value of the form's attr) of a call that has a form of one operand."""
    if form == "reshape":
        return (0, None) if _keeps_order(call) else None
    if form not in known.forms:
        return None
    if form == "permutation":
        return known.permutation
    if form == "conversion":
        found = known.conversion
        return None if found is None else (found[0], found[2])
    return known.copied(0) or 0, None


def _keeps_order(call: Call) -> bool:
    return isinstance(call.op, Op) and call.op.name in ORDER_KEEPING
