"""Elements as unsigned integers in their order, and back.

int8     -128  -1    0     127          float32  -1.5        0.0         NaN
uint8    0     0x7f  0x80  0xff         uint32   0x403fffff  0x80000000  0xffffffff
"""

from __future__ import annotations

from ....base.arith import Const, Expr, bit_and, bit_not, bit_or, bit_xor, cast, const, eq, ge, gt, ne, select
from ....base.arith.expr import Bitcast
from ....base.vocabulary import DType, FloatFormat


def key_dtype(dtype: DType) -> DType:
    """The unsigned integers that elements of `dtype` are sorted as."""
    return DType(f"uint{dtype.bits}")


def key_of(value: Expr, descending: bool, equal_zeros: bool) -> Expr:
    """The key of an element: less where it comes before.

    NaN is the greatest; with `equal_zeros`, -0.0 has the key of 0.0.
    """
    dtype, wanted = value.dtype, key_dtype(value.dtype)
    if dtype.is_bool:
        key = cast(value, wanted)
    elif dtype.float_format is not None:
        key = _key_of_float(Bitcast(wanted, value), dtype.float_format, equal_zeros)
    else:
        key = bit_xor(Bitcast(wanted, value), _sign(wanted)) if dtype.is_signed else value
    return bit_not(key) if descending else key


def element_of(key: Expr, dtype: DType, descending: bool) -> Expr:
    """The element that has a key; of those that are NaN one."""
    bits = bit_not(key) if descending else key
    if dtype.is_bool:
        return ne(bits, 0)
    if dtype.is_float:
        sign = _sign(bits.dtype)
        bits = select(ge(bits, sign), bit_xor(bits, sign), bit_not(bits))
    elif dtype.is_signed:
        bits = bit_xor(bits, _sign(bits.dtype))
    return bits if dtype is bits.dtype else Bitcast(dtype, bits)


def _key_of_float(bits: Expr, form: FloatFormat, equal_zeros: bool) -> Expr:
    unsigned = bits.dtype
    sign, magnitude = _sign(unsigned), (1 << (unsigned.bits - 1)) - 1
    last_number = magnitude - (((1 << form.fraction) - 1) if form.has_infinities else 1)
    is_nan = gt(bit_and(bits, const(magnitude, unsigned)), const(last_number, unsigned))
    if equal_zeros:
        bits = select(eq(bits, sign), const(0, unsigned), bits)
    key = select(ge(bits, sign), bit_not(bits), bit_or(bits, sign))
    return select(is_nan, const((1 << unsigned.bits) - 1, unsigned), key)


def _sign(unsigned: DType) -> Const:
    """The bit of the sign."""
    return const(1 << (unsigned.bits - 1), unsigned)
