"""fmod: the exact remainder with the sign of the dividend, as C's."""

from __future__ import annotations

import math
from typing import Final

from ...base.target import Target
from .builder import Builder, Formula, Vec, type_text


def fmod(b: Builder, x: Vec, y: Vec) -> Vec:
    """|x| - trunc(|x|/|y|) |y| by FMA, exact for quotients below 2**mantissa; integer long division beyond.

    The quotient rounds up to the next integer at most, which one addition makes good.
    """
    a, d = b.abs(x), b.abs(y)
    q = b.intrinsic("trunc", a / d)
    r = b.fused(-q, d, a)
    r = b.select(r < 0.0, r + d, r)
    usual = b.select(a < d, a, r)
    smallest = 2.0 ** (b.mantissa + 2 - b.bias)
    simple = (q < 2.0 ** (b.mantissa - 1)) & (d > smallest) & (a < math.inf) if b.has_fma else a < d
    simple = simple | (a < d)
    symbol = f"opgen_fmod_long_{'f32' if b.element == 'float' else 'f64'}"
    b.add_helper(symbol, 2, lambda: long_division(b.element, b.target))
    return b.copysign(b.replace_rare(~simple, symbol, (a, d), usual), x)


def long_division(element: str, target: Target) -> dict[str, str]:
    """The helper for |x| and |y| of any size: shift and subtract on the mantissas."""
    symbol = f"opgen_fmod_long_{'f32' if element == 'float' else 'f64'}"
    b = Builder(element, 1, target)
    kind, m, integer = element, b.mantissa, type_text("i32" if element == "float" else "i64", 1)
    hidden, infinity, nan = 1 << m, (2 * b.bias + 1) << m, ((2 * b.bias + 1) << m) | 1 << (m - 1)
    text = f"""define internal void @{symbol}(ptr %a, ptr %d, ptr %out, i64 %count) noinline nounwind cold {{
entry:
  br label %element
element:
  %j = phi i64 [ 0, %entry ], [ %next, %store ]
  %at_a = getelementptr {kind}, ptr %a, i64 %j
  %at_d = getelementptr {kind}, ptr %d, i64 %j
  %at_out = getelementptr {kind}, ptr %out, i64 %j
  %a_bits = load {integer}, ptr %at_a
  %d_bits = load {integer}, ptr %at_d
  %a_bad = icmp uge {integer} %a_bits, {infinity}
  %d_zero = icmp eq {integer} %d_bits, 0
  %d_nan = icmp ugt {integer} %d_bits, {infinity}
  %bad0 = or i1 %a_bad, %d_zero
  %bad = or i1 %bad0, %d_nan
  br i1 %bad, label %store, label %compare
compare:
  %less = icmp ult {integer} %a_bits, %d_bits
  br i1 %less, label %store, label %divide
divide:
  %a_field = lshr {integer} %a_bits, {m}
  %d_field = lshr {integer} %d_bits, {m}
  %a_fraction = and {integer} %a_bits, {hidden - 1}
  %d_fraction = and {integer} %d_bits, {hidden - 1}
  %a_normal = icmp ne {integer} %a_field, 0
  %d_normal = icmp ne {integer} %d_field, 0
  %a_full = or {integer} %a_fraction, {hidden}
  %d_full = or {integer} %d_fraction, {hidden}
  %a_mantissa = select i1 %a_normal, {integer} %a_full, {integer} %a_fraction
  %d_mantissa = select i1 %d_normal, {integer} %d_full, {integer} %d_fraction
  %a_exponent = select i1 %a_normal, {integer} %a_field, {integer} 1
  %d_exponent = select i1 %d_normal, {integer} %d_field, {integer} 1
  %distance = sub {integer} %a_exponent, %d_exponent
  %first = urem {integer} %a_mantissa, %d_mantissa
  br label %double
double:
  %r = phi {integer} [ %first, %divide ], [ %reduced, %step ]
  %left = phi {integer} [ %distance, %divide ], [ %left_less, %step ]
  %more = icmp ne {integer} %left, 0
  br i1 %more, label %step, label %normalise
step:
  %doubled = shl {integer} %r, 1
  %minus = sub {integer} %doubled, %d_mantissa
  %fits = icmp uge {integer} %doubled, %d_mantissa
  %reduced = select i1 %fits, {integer} %minus, {integer} %doubled
  %left_less = sub {integer} %left, 1
  br label %double
normalise:
  %r_norm = phi {integer} [ %r, %double ], [ %r_twice, %raise ]
  %e_norm = phi {integer} [ %d_exponent, %double ], [ %e_less, %raise ]
  %short = icmp ult {integer} %r_norm, {hidden}
  %above = icmp ugt {integer} %e_norm, 1
  %nonzero = icmp ne {integer} %r_norm, 0
  %lift0 = and i1 %short, %above
  %lift = and i1 %lift0, %nonzero
  br i1 %lift, label %raise, label %pack
raise:
  %r_twice = shl {integer} %r_norm, 1
  %e_less = sub {integer} %e_norm, 1
  br label %normalise
pack:
  %is_normal = icmp uge {integer} %r_norm, {hidden}
  %field = shl {integer} %e_norm, {m}
  %low = and {integer} %r_norm, {hidden - 1}
  %joined = or {integer} %field, %low
  %packed = select i1 %is_normal, {integer} %joined, {integer} %r_norm
  br label %store
store:
  %bits = phi {integer} [ {nan}, %element ], [ %a_bits, %compare ], [ %packed, %pack ]
  store {integer} %bits, ptr %at_out
  %next = add i64 %j, 1
  %again = icmp slt i64 %next, %count
  br i1 %again, label %element, label %done
done:
  ret void
}}"""
    return {symbol: text}


FORMULAS: Final[dict[str, Formula]] = {"fmod": fmod}
