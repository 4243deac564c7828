"""Reduction of huge arguments by pi/2 (Payne and Hanek 1983), in scalar integer code that is called rarely."""

from __future__ import annotations

from collections.abc import Callable

from ....base import Target
from ..text import FunctionText, ModuleText
from .builder import Builder, Vec
from .coefficients import TWO_OVER_PI

_TABLE = (
    f"@opgen_two_over_pi = internal unnamed_addr constant [{len(TWO_OVER_PI) + 1} x i64] "
    f"[i64 0, {', '.join(f'i64 {w}' for w in TWO_OVER_PI)}]"
)


def reduce_huge(b: Builder, x: Vec) -> tuple[Vec, Vec, Vec]:
    """(high, low, q): |x| - q pi/2 = high + low with |high| <= pi/4; q is meant modulo 4.

    `b` has one lane of double; |x| is at least 2**-10.  x = m 2**k with a 53-bit m; the digits of 2/pi from
    the place where m 2**k times them is less than 4, 192 of them, times m, give the fraction in 128 bits.
    """
    b.f.module.define("opgen_two_over_pi", _TABLE)
    bits = x.bits() & 0x7FFFFFFFFFFFFFFF
    k = (bits >> 52) - 1075
    m = b.cast("zext", (bits & 0xFFFFFFFFFFFFF) | (1 << 52), "i128")
    position = k + (64 - 2)
    word, shift = position >> 6, position & 63
    entry = [_digits(b, word + j) for j in range(4)]
    window = [b.cast("zext", _funnel(b, entry[j], entry[j + 1], shift), "i128") for j in range(3)]
    below = b.emit("i128", f"lshr i128 {(m * window[2]).text}, 64")
    fraction = ((m * window[0]) << 64) + m * window[1] + below
    signed = fraction << 2
    quarter = b.cast("trunc", b.emit("i128", f"lshr i128 {fraction.text}, 126"), "i64")
    negative = signed < 0
    q = quarter + b.cast("zext", negative, "i64")
    magnitude = b.select(negative, -signed, signed)
    zeros = Vec(b, "i128", b.f.call("llvm.ctlz.i128", "i128", [("i128", magnitude.text), ("i1", "false")]))
    zeros = b.select(zeros > 127, b.const(127, "i128"), zeros)
    normal = magnitude << zeros
    top = b.cast("trunc", b.emit("i128", f"lshr i128 {normal.text}, 64"), "i64")
    rest = (top << 53) | b.emit("i64", f"lshr i64 {b.cast('trunc', normal, 'i64').text}, 11")
    high = b.cast("uitofp", top & ~0x7FF, "double")
    low = b.cast("uitofp", rest, "double") * 2.0**-53
    scale = b.power_of_two(b.cast("trunc", -64 - zeros, "i64"))
    scale = b.select(negative, -scale, scale)
    high, low = high * scale, low * scale
    half_pi = b.constants["half_pi"]
    product = high * half_pi[0]
    error = b.product_error(high, half_pi[0], product) + b.fma(high, half_pi[1], low * half_pi[0])
    total = product + error
    return total, (product - total) + error, q


def _digits(b: Builder, index: Vec) -> Vec:
    size = len(TWO_OVER_PI) + 1
    last = b.const(size - 1, "i64")
    index = b.select(index > last, last, index)  # infinities and NaN read some digits
    place = b.emit("ptr", f"getelementptr [{size} x i64], ptr @opgen_two_over_pi, i64 0, i64 {index.text}")
    return b.emit("i64", f"load i64, ptr {place.text}")


def _funnel(b: Builder, high: Vec, low: Vec, shift: Vec) -> Vec:
    return b.intrinsic("fshl", high, low, shift)


def rare_helper(
    symbol: str, element: str, operands: int, target: Target, value: Callable[..., Vec]
) -> ModuleText:
    """`void symbol(ptr in..., ptr out, i64 count)`: out[j] = value(builder, in[j]...), one by one."""
    f = FunctionText(ModuleText(target))
    b = Builder(f, element, 1)
    body, done = f.label("element"), f.label("done")
    before = f.block
    f.branch(body)
    f.start(body)
    j = f.recurrence("i64", "0", before)
    names = [f"%in{k}" for k in range(operands)]
    places = [f.emit(f"getelementptr {element}, ptr {name}, i64 {j.name}") for name in (*names, "%out")]
    result = value(b, *(b.emit(element, f"load {element}, ptr {place}") for place in places[:-1]))
    f.do(f"store {element} {result.text}, ptr {places[-1]}")
    following = f.emit(f"add i64 {j.name}, 1")
    j.again(following, f.block)
    f.branch_if(f.emit(f"icmp slt i64 {following}, %count"), body, done)
    f.start(done)
    f.do("ret void")
    parameters = ", ".join(f"ptr {name}" for name in (*names, "%out"))
    f.define(symbol, "void", f"{parameters}, i64 %count", "noinline nounwind cold")
    return f.module
