"""SimplifyExpr: what changes nothing goes, and two moves of the same elements become one.

    multiply(%x, 1f)   multiply(%x, ones_like(%x))   add(%i, 0)   subtract(%x, 0f)       %x
    transpose(transpose(%x))   reshape(reshape(%x))   layout_transform(layout_transform(%x))   one of them, or %x
    cast(cast(%x, "float64"), "float32")                   cast(%x, "float32"), or %x

Every bit stays: `x + 0.0` is kept, since it makes 0.0 of -0.0, and so are chains of conversions that lose something,
and products of two constants, which round in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from ..base.vocabulary import DType
from ..ir import Call, Constant, Expr, Function, IRModule, MixedModeMutator
from ..operator import Op, TensorType
from .build import LAYOUT, ORDER_KEEPING, TRANSPOSE, cast, layout_transform, reshape, transpose
from .calls import Facts, move_facts
from .context import PassContext
from .define import function_pass
from .infer_type import InferType

Test = Callable[[np.ndarray], bool]


@function_pass(opt_level=0, required=(InferType,), preserves=("InferType",))
def SimplifyExpr(function: Function, module: IRModule, context: PassContext) -> Function:
    """Calls that change nothing go; chains of moves and of conversions become one."""
    found = _Rewrite().rewrite(function)
    assert isinstance(found, Function)
    return found


class _Rewrite(MixedModeMutator):
    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        known = move_facts(post)
        if known is None or not isinstance(post.checked_type, TensorType):
            return post
        for rule in _RULES:
            found = rule(post, known)
            if found is not None and found.checked_type == post.checked_type:
                return found
        return post


def _copy(post: Call, known: Facts) -> Expr | None:
    """A call that gives an operand back, and says nothing of dims that is to be checked."""
    if known.made.binding.undecided:
        return None
    position = known.copied(0)
    return None if position is None else post.args[position]


def _zero(a: np.ndarray) -> bool:
    return bool((a == 0).all()) and not _negative_zero(a)


def _negative_zero(a: np.ndarray) -> bool:
    return bool((a == 0).all() and np.signbit(a.astype(np.float64)).any())


def _minus_zero(a: np.ndarray) -> bool:
    """What vanishes in a sum: -0.0, or the 0 of integers."""
    if not np.issubdtype(a.dtype, np.integer):
        return bool((a == 0).all() and np.signbit(a.astype(np.float64)).all())
    return bool((a == 0).all())


def _one(a: np.ndarray) -> bool:
    return bool((a == 1).all())


def _one_of_integers(a: np.ndarray) -> bool:
    """A quotient of floats that is rounded is not the dividend, whatever divides it."""
    return np.issubdtype(a.dtype, np.integer) and _one(a)


def _all_bits(a: np.ndarray) -> bool:
    if a.dtype == np.bool_:
        return bool(a.all())
    return np.issubdtype(a.dtype, np.integer) and bool((a == np.array(-1).astype(a.dtype)).all())


NEUTRAL: Final[Mapping[str, tuple[Test | None, Test | None]]] = {
    "add": (_minus_zero, _minus_zero),
    "sub": (None, _zero),
    "mul": (_one, _one),
    "div": (None, _one),
    "truncdiv": (None, _one_of_integers),
    "floordiv": (None, _one_of_integers),
    "or": (_zero, _zero),
    "xor": (_zero, _zero),
    "and": (_all_bits, _all_bits),
    "shl": (None, _zero),
    "shr": (None, _zero),
}
"""Of `a op b`: when a constant on the left, or on the right, leaves the other operand as it is."""


def _neutral(post: Call, known: Facts) -> Expr | None:
    form = known.binary
    if form is None or form.op not in NEUTRAL:
        return None
    a, b = post.args[form.a.position], post.args[form.b.position]
    for test, constant, other in zip(NEUTRAL[form.op], (a, b), (b, a), strict=True):
        elements = None if test is None else _elements(constant)
        if test is not None and elements is not None and elements.size and test(elements):
            return other
    return None


def _elements(expr: Expr) -> np.ndarray | None:
    """What is known of the elements: those of a constant, or the one number that all are."""
    if isinstance(expr, Constant):
        return expr.data
    known = move_facts(expr)
    return None if known is None else known.number


def _permuted_twice(post: Call, known: Facts) -> Expr | None:
    outer = known.permutation
    inner = _inner(post, outer, lambda f: f.permutation)
    if outer is None or inner is None:
        return None
    source, first = inner
    axes = tuple([first[axis] for axis in outer[1]])
    if axes == tuple(range(len(axes))):
        return source
    assert isinstance(post.op, Op)
    return transpose(source, axes) if post.op.name == TRANSPOSE[0] else None


def _inner(
    post: Call,
    outer: tuple[int, tuple[int, ...]] | None,
    form: Callable[[Facts], tuple[int, tuple[int, ...]] | None],
) -> tuple[Expr, tuple[int, ...]] | None:
    """The operand of the operand of a move, and how that moves it."""
    inside = None if outer is None else post.args[outer[0]]
    known = None if inside is None else move_facts(inside)
    found = None if known is None else form(known)
    if found is None:
        return None
    assert isinstance(inside, Call)
    return inside.args[found[0]], found[1]


def _stored_twice(post: Call, known: Facts) -> Expr | None:
    inside = post.args[0] if _is_layout(post) else None
    if inside is None or not _is_layout(inside):
        return None
    assert isinstance(inside, Call)
    (first, middle), (last_source, last) = _layouts(inside), _layouts(post)
    if middle != last_source:
        return None
    source = inside.args[0]
    return source if first == last else layout_transform(source, first, last)


def _is_layout(expr: Expr) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == LAYOUT[0]


def _layouts(call: Call) -> tuple[str, str]:
    """The layouts before and after."""
    attrs = {} if call.attrs is None else call.attrs.as_dict()
    return str(attrs[LAYOUT[1]]), str(attrs[LAYOUT[2]])


def _reshaped_twice(post: Call, known: Facts) -> Expr | None:
    inside = post.args[0] if _keeps_order(post) else None
    type_ = post.checked_type
    if inside is None or not isinstance(type_, TensorType) or not type_.is_static:
        return None
    if _keeps_order(inside):
        assert isinstance(inside, Call)
        source = inside.args[0]
        return source if source.checked_type == type_ else reshape(source, type_.concrete_shape)
    return inside if inside.checked_type == type_ else None


def _keeps_order(expr: Expr) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name in ORDER_KEEPING


def _converted_twice(post: Call, known: Facts) -> Expr | None:
    inside = None if known.conversion is None else post.args[known.conversion[0]]
    inner = None if inside is None else move_facts(inside)
    if known.conversion is None or inner is None or inner.conversion is None:
        return None
    assert isinstance(inside, Call)
    position, first, middle = inner.conversion
    last = known.conversion[2]
    if not is_exact(first, middle) or (first.is_int and middle.is_float and last.is_int):
        return None  # an integer wraps, a float saturates
    source = inside.args[position]
    return source if first is last else cast(source, last)


def is_exact(source: DType, target: DType) -> bool:
    """Whether `target` holds every value of `source`."""
    if source is target or source.is_bool:
        return True
    if target.is_bool:
        return False
    a, b = source.float_format, target.float_format
    if b is not None:
        if a is not None:
            return (
                a.fraction <= b.fraction
                and a.least >= b.least
                and a.greatest <= b.greatest
                and a.has_infinities <= b.has_infinities
            )
        return source.bits - int(source.is_signed) <= b.fraction + 1 and b.greatest >= source.bits
    return source.is_int and source.lowest >= target.lowest and source.highest <= target.highest


_RULES: Final = (_copy, _neutral, _permuted_twice, _stored_twice, _reshaped_twice, _converted_twice)
