"""How many steps a loop takes at most: as it states, or as a counter in its tests tells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..base.errors import PassError
from ..ir import Call, Constant, Expr, Function, If, Var, post_order
from ..ir.loops import LOOP, MOST, ends_of, is_again, is_loop
from ..ir.operators import operator_op
from ..operator import Op, TensorType
from .build import ALL, NAMED

_TESTS: Final = (("<", False, 0), ("<=", False, 1), (">", True, 0), (">=", True, 1))


def most_steps(loop: Function, call: Call) -> tuple[int, bool]:
    """The steps that a loop takes at most, as it states or as a counter tells, and whether a counter does.

    Raises PassError where neither does.
    """
    stated, found = loop.attrs.get(MOST), _least(loop, call)
    if isinstance(stated, int) and (found is None or stated < found):
        return stated, False
    if found is None:
        raise PassError(
            f"the gradient of {loop.attrs[LOOP]} keeps its states, and nothing says how many steps it takes at "
            f"most; rt.while_loop(..., most=n) states it, the attr {MOST!r} of a function of the IR, or a test "
            "`step < n` where a step adds a constant to `step` and n is a constant, or the smaller of a number and "
            "a constant"
        )
    return max(1, found), True


def _least(loop: Function, call: Call) -> int | None:
    """What the tests of counters say: a step is taken within the bound of the end that takes it."""
    made: dict[int, int | None] = {}
    for node in post_order(loop.body, is_loop):
        if not isinstance(node, If):
            made[id(node)] = None if is_again(node) else 0
            continue
        tests = [_steps(loop, call, *test) for test in _tests(node.condition)]
        then = min([each for each in (made[id(node.then)], *tests) if each is not None], default=None)
        otherwise = made[id(node.otherwise)]
        made[id(node)] = None if then is None or otherwise is None else max(then, otherwise)
    return made[id(loop.body)]


def _tests(condition: Expr) -> Iterator[tuple[Expr, Expr, int]]:
    """(a, b, 0) for each a < b without which a condition does not hold, (a, b, 1) for each a <= b."""
    holds = [condition]
    tests = {operator_op(symbol): (swapped, slack) for symbol, swapped, slack in _TESTS}
    both = {operator_op("&"), Op.get(ALL)}
    while holds:
        each = holds.pop()
        if not isinstance(each, Call) or not isinstance(each.op, Op):
            continue
        if each.op in both:
            holds += each.args
        elif each.op in tests:
            swapped, slack = tests[each.op]
            yield each.args[swapped], each.args[not swapped], slack


def _steps(loop: Function, call: Call, small: Expr, large: Expr, slack: int) -> int | None:
    """The most steps of a loop that goes on while small < large, one more with `slack`; None where nothing tells.

    Nothing does where a counter may leave its dtype and begin again at the other end of it.
    """
    rising, falling = _pace(loop, small), _pace(loop, large)
    start, end = _bounds(_given(loop, call, small))[0], _bounds(_given(loop, call, large))[1]
    if rising is None or falling is None or start is None or end is None or rising - falling <= 0:
        return None
    steps = max(0, -(-(end - start + slack) // (rising - falling)))
    greatest, least = end + steps * max(falling, 0), start + steps * min(rising, 0)
    reached = ((small, least, greatest - 1 + slack + rising), (large, least + 1 - slack + falling, greatest))
    return steps if all([_fits(value, low, high) for value, low, high in reached]) else None


def _fits(value: Expr, low: int, high: int) -> bool:
    type_ = value.checked_type
    if isinstance(value, Constant) or not isinstance(type_, TensorType):
        return True
    return type_.dtype.lowest <= low and high <= type_.dtype.highest


def _pace(loop: Function, value: Expr) -> int | None:
    """What each step adds to a value at least, and at most; None where it is not known."""
    if isinstance(value, Constant):
        return 0
    if not isinstance(value, Var) or value not in loop.params:
        return None
    added: set[int | None] = set()
    for end in ends_of(loop.body):
        if isinstance(end, Call) and is_again(end):
            added.add(_added(end.args[loop.params.index(value)], value))
    return added.pop() if len(added) == 1 else None


def _added(after: Expr, var: Var) -> int | None:
    if after is var:
        return 0
    if not isinstance(after, Call):
        return None
    sign = 1 if after.op is operator_op("+") else -1 if after.op is operator_op("-") else 0
    if sign > 0 and after.args[1] is var:
        amount = after.args[0]
    elif sign and after.args[0] is var:
        amount = after.args[1]
    else:
        return None
    low, high = _bounds(amount)
    return sign * low if low is not None and low == high else None


def _given(loop: Function, call: Call, value: Expr) -> Expr:
    """What a param is given at first; other values stay what they are."""
    return call.args[loop.params.index(value)] if isinstance(value, Var) and value in loop.params else value


def _bounds(value: Expr) -> tuple[int | None, int | None]:
    """The least and the greatest value of an integer of rank 0, as far as they are known."""
    if isinstance(value, Constant) and value.is_scalar and not value.checked_type.dtype.is_float:  # type: ignore[attr-defined]  # a tensor
        return int(value.data), int(value.data)
    if isinstance(value, Call) and value.op is Op.get(NAMED["min"]):
        (a, b), (c, d) = map(_bounds, value.args)
        tops = [each for each in (b, d) if each is not None]
        return (None if a is None or c is None else min(a, c)), min(tops, default=None)
    return None, None
