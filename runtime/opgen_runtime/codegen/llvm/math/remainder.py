"""fmod: the exact remainder with the sign of the dividend, as C's."""

from __future__ import annotations

import math
from typing import Final

from ....base import Target
from ..text import ModuleText
from .builder import BIAS, MANTISSA, Builder, Formula, Vec


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
    return b.copysign(b.replace_rare(~simple, symbol, (a, d), usual), x)


def long_division(element: str, target: Target) -> ModuleText:
    """The helper for |x| and |y| of any size: shift and subtract on the mantissas."""
    m, bias = MANTISSA[element], BIAS[element]
    hidden, infinity = 1 << m, (2 * bias + 1) << m
    module = ModuleText(target)
    module.source(
        _LONG_DIVISION,
        SYMBOL=f"opgen_fmod_long_{'f32' if element == 'float' else 'f64'}",
        FLOAT=element,
        INT="i32" if element == "float" else "i64",
        FRACTION=m,
        HIDDEN=hidden,
        BELOW_HIDDEN=hidden - 1,
        INFINITY=infinity,
        NAN=infinity | hidden >> 1,
    )
    return module


_LONG_DIVISION: Final = """
define internal void @$SYMBOL(ptr %a, ptr %d, ptr %out, i64 %count) noinline nounwind cold {
entry:
  br label %element
element:
  %j = phi i64 [ 0, %entry ], [ %next, %store ]
  %at_a = getelementptr $FLOAT, ptr %a, i64 %j
  %at_d = getelementptr $FLOAT, ptr %d, i64 %j
  %at_out = getelementptr $FLOAT, ptr %out, i64 %j
  %a_bits = load $INT, ptr %at_a
  %d_bits = load $INT, ptr %at_d
  %a_bad = icmp uge $INT %a_bits, $INFINITY
  %d_zero = icmp eq $INT %d_bits, 0
  %d_nan = icmp ugt $INT %d_bits, $INFINITY
  %bad0 = or i1 %a_bad, %d_zero
  %bad = or i1 %bad0, %d_nan
  br i1 %bad, label %store, label %compare
compare:
  %less = icmp ult $INT %a_bits, %d_bits
  br i1 %less, label %store, label %divide
divide:
  %a_field = lshr $INT %a_bits, $FRACTION
  %d_field = lshr $INT %d_bits, $FRACTION
  %a_fraction = and $INT %a_bits, $BELOW_HIDDEN
  %d_fraction = and $INT %d_bits, $BELOW_HIDDEN
  %a_normal = icmp ne $INT %a_field, 0
  %d_normal = icmp ne $INT %d_field, 0
  %a_full = or $INT %a_fraction, $HIDDEN
  %d_full = or $INT %d_fraction, $HIDDEN
  %a_mantissa = select i1 %a_normal, $INT %a_full, $INT %a_fraction
  %d_mantissa = select i1 %d_normal, $INT %d_full, $INT %d_fraction
  %a_exponent = select i1 %a_normal, $INT %a_field, $INT 1
  %d_exponent = select i1 %d_normal, $INT %d_field, $INT 1
  %distance = sub $INT %a_exponent, %d_exponent
  %first = urem $INT %a_mantissa, %d_mantissa
  br label %double
double:
  %r = phi $INT [ %first, %divide ], [ %reduced, %step ]
  %left = phi $INT [ %distance, %divide ], [ %left_less, %step ]
  %more = icmp ne $INT %left, 0
  br i1 %more, label %step, label %normalise
step:
  %doubled = shl $INT %r, 1
  %minus = sub $INT %doubled, %d_mantissa
  %fits = icmp uge $INT %doubled, %d_mantissa
  %reduced = select i1 %fits, $INT %minus, $INT %doubled
  %left_less = sub $INT %left, 1
  br label %double
normalise:
  %r_norm = phi $INT [ %r, %double ], [ %r_twice, %raise ]
  %e_norm = phi $INT [ %d_exponent, %double ], [ %e_less, %raise ]
  %short = icmp ult $INT %r_norm, $HIDDEN
  %above = icmp ugt $INT %e_norm, 1
  %nonzero = icmp ne $INT %r_norm, 0
  %lift0 = and i1 %short, %above
  %lift = and i1 %lift0, %nonzero
  br i1 %lift, label %raise, label %pack
raise:
  %r_twice = shl $INT %r_norm, 1
  %e_less = sub $INT %e_norm, 1
  br label %normalise
pack:
  %is_normal = icmp uge $INT %r_norm, $HIDDEN
  %field = shl $INT %e_norm, $FRACTION
  %low = and $INT %r_norm, $BELOW_HIDDEN
  %joined = or $INT %field, %low
  %packed = select i1 %is_normal, $INT %joined, $INT %r_norm
  br label %store
store:
  %bits = phi $INT [ $NAN, %element ], [ %a_bits, %compare ], [ %packed, %pack ]
  store $INT %bits, ptr %at_out
  %next = add i64 %j, 1
  %again = icmp slt i64 %next, %count
  br i1 %again, label %element, label %done
done:
  ret void
}
"""

FORMULAS: Final[dict[str, Formula]] = {"fmod": fmod}
