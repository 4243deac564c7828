"""Arithmetic on index sequences: sums, multiples, quotients and remainders stay sequences, with jumps where they wrap.

(i + lane) // 27 * 100 + (i + lane) % 27  ==  i // 27 * 100 + i % 27 + lane + 73 * ((i % 27 + lane) // 27)

Positions in rows of a matrix that were fused into one loop are such: pieces of a vector lie side by side.
"""

from __future__ import annotations

from ...base.vocabulary import INDEX
from .division import int_division
from .text import FunctionText, Jumps, Value, constant, ramp


def are_like(a: Jumps | None, b: Jumps | None) -> bool:
    """Whether two sequences jump in the same lanes, or only one of them jumps."""
    return a is None or b is None or (a.first.text == b.first.text and a.every == b.every)


def total(a: Jumps | None, b: Jumps | None, sign: int) -> Jumps | None:
    """The jumps of a + sign * b."""
    one = a or b
    jump = (0 if a is None else a.jump) + sign * (0 if b is None else b.jump)
    return None if one is None or not jump else Jumps(one.first, one.every, jump)


def multiple(a: Jumps | None, factor: int) -> Jumps | None:
    """The jumps of a * factor."""
    return None if a is None or not factor else Jumps(a.first, a.every, a.jump * factor)


def divided(f: FunctionText, op: str, a: Value, divisor: int) -> Value | None:
    """The quotient or remainder of a sequence without jumps by a constant; None where it is no sequence."""
    assert a.ramp is not None
    (first, stride), lanes = a.ramp, a.lanes
    if divisor < 2 or (stride != 1 and stride % divisor):
        return None
    if isinstance(first.literal, int):
        remainder = constant(INDEX, first.literal % divisor)
        quotient = constant(INDEX, first.literal // divisor)
    else:
        number = constant(INDEX, divisor)
        remainder = int_division(f, "floormod", first, number, 1)
        quotient = int_division(f, "floordiv", first, number, 1) if op == "floordiv" else remainder
    start = quotient if op == "floordiv" else remainder
    if stride % divisor == 0:
        return ramp(start, stride // divisor if op == "floordiv" else 0, lanes)
    if op == "floordiv":
        return ramp(start, 0, lanes, Jumps(remainder, divisor, 1))
    return ramp(start, 1, lanes, Jumps(remainder, divisor, -divisor))
