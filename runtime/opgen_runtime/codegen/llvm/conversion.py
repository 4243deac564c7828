"""Conversions between element types, all of them total."""

from __future__ import annotations

from typing import Final

from ...base.arith.semantics import round_float
from ...base.errors import CodegenError
from ...base.vocabulary import BOOL, FLOAT32, FLOAT64, INT32, INT64, DType
from . import storage
from .text import FunctionText, Value, constant, register, splat
from .text.types import literal, register_type, suffix

_MAX_NARROW_BITS: Final = 16  # bits of ints to which vectors of floats have no instruction
_MAX_EXACT_INT: Final = 2.0**24  # float32 holds all ints up to here


def cast(f: FunctionText, a: Value, dtype: DType) -> Value:
    """int to int wraps; float to int truncates, saturates, NaN gives 0; to bool is `!= 0` (true for NaN)."""
    source, lanes = a.dtype, a.lanes
    if source is dtype:
        return a
    if a.uniform is not None and lanes > 1:
        return splat(cast(f, a.uniform, dtype), lanes)
    if source.is_storage:
        return cast(f, from_storage(f, a), dtype)
    if dtype.is_storage:
        return to_storage(f, a if source.is_float else _int_to_wide(f, a, dtype), dtype)
    if dtype.is_bool:
        return _nonzero(f, a)
    kind, result = register_type(source, lanes), register_type(dtype, lanes)
    operand = f.vector(a, lanes)
    if source.is_float:
        if dtype.is_float:
            return f.result(
                dtype, lanes, f"{'fpext' if dtype.bits > 32 else 'fptrunc'} {kind} {operand} to {result}"
            )
        if lanes > 1 and dtype.bits <= _MAX_NARROW_BITS:
            return _int_to_int(f, _within(f, a, dtype), dtype)
        name = f"llvm.fpto{'si' if dtype.is_signed else 'ui'}.sat.{suffix(result)}.{suffix(kind)}"
        return register(dtype, lanes, f.call(name, result, ((kind, operand),)))
    signed = source.is_signed
    if dtype.is_float:
        return f.result(dtype, lanes, f"{'si' if signed else 'ui'}tofp {kind} {operand} to {result}")
    return _int_to_int(f, a, dtype)


def _within(f: FunctionText, a: Value, dtype: DType) -> Value:
    """Floats as int32 that are in the range of a narrower int; LLVM converts to these themselves one by one."""
    kind, flag, wide = (register_type(each, a.lanes) for each in (a.dtype, BOOL, INT32))
    text = f.vector(a, a.lanes)
    if dtype.is_signed:
        number = f.emit(f"fcmp ord {kind} {text}, zeroinitializer")
        text = f.emit(f"select {flag} {number}, {kind} {text}, {kind} zeroinitializer")
    for compare, limit in (("ogt", dtype.lowest), ("olt", dtype.highest)):
        end = f.vector(constant(a.dtype, float(limit)), a.lanes)
        inside = f.emit(
            f"fcmp {compare} {kind} {text}, {end}"
        )  # NaN becomes the least value, which is 0 here
        text = f.emit(f"select {flag} {inside}, {kind} {text}, {kind} {end}")
    return f.result(INT32, a.lanes, f"fptosi {kind} {text} to {wide}")


def _int_to_int(f: FunctionText, a: Value, dtype: DType) -> Value:
    source, lanes = a.dtype, a.lanes
    kind, result = register_type(source, lanes), register_type(dtype, lanes)
    width = 1 if source.is_bool else source.bits
    operand = f.vector(a, lanes)
    if dtype.bits == width:
        return Value(dtype, lanes, operand, nonnegative=a.nonnegative and dtype.is_signed)
    if dtype.bits < width:
        return f.result(dtype, lanes, f"trunc {kind} {operand} to {result}")
    extend = "sext" if source.is_signed else "zext"
    text = f.emit(f"{extend} {kind} {operand} to {result}")
    return register(dtype, lanes, text, nonnegative=extend == "zext" or a.nonnegative)


def _nonzero(f: FunctionText, a: Value) -> Value:
    kind = register_type(a.dtype, a.lanes)
    compare = "fcmp une" if a.dtype.is_float else "icmp ne"
    return f.result(BOOL, a.lanes, f"{compare} {kind} {f.vector(a, a.lanes)}, zeroinitializer")


def bitcast(f: FunctionText, a: Value, dtype: DType) -> Value:
    """The same bits as another type of the same width."""
    if a.dtype.bits != dtype.bits or BOOL in (a.dtype, dtype):
        raise CodegenError(f"bitcast of {a.dtype} to {dtype}: the widths differ")
    kind, result = register_type(a.dtype, a.lanes), register_type(dtype, a.lanes)
    operand = f.vector(a, a.lanes)
    if a.uniform is not None and a.lanes > 1:
        return splat(bitcast(f, a.uniform, dtype), a.lanes)
    if kind == result:
        return register(dtype, a.lanes, operand)
    return f.result(dtype, a.lanes, f"bitcast {kind} {operand} to {result}")


def from_storage(f: FunctionText, a: Value) -> Value:
    """A float of storage to float32, exactly."""
    if a.lanes == 1 and a.literal is not None:
        return constant(FLOAT32, a.literal)
    return _convert_storage(f, a, FLOAT32)


def to_storage(f: FunctionText, a: Value, dtype: DType) -> Value:
    """float32 or float64 to a float of storage, rounded once, half to even."""
    if a.lanes == 1 and a.literal is not None:
        rounded = round_float(float(a.literal), dtype)
        return Value(dtype, 1, literal(dtype, rounded), literal=rounded)
    return _convert_storage(f, a, dtype)


def _int_to_wide(f: FunctionText, a: Value, dtype: DType) -> Value:
    """An int as a wider float whose rounding to `dtype` is that of the int.

    Most are infinite long before float32 rounds.  For the others an int goes through float64; one of 64 bits loses
    its lowest 11 first, which leave their trace in the bit above them (round to odd), as none decides alone.
    """
    assert dtype.float_format is not None
    if dtype.float_format.highest < _MAX_EXACT_INT or a.dtype.is_bool or a.dtype.bits <= 16:
        return cast(f, a, FLOAT32)
    if a.dtype.bits == 64:
        a = _sticky(f, a)
    return cast(f, a, FLOAT64)


def _sticky(f: FunctionText, a: Value) -> Value:
    """A 64-bit int of at most 53 significant bits: those of 2**53 and more are rounded to odd multiples of 2048."""
    if a.uniform is not None and a.lanes > 1:
        return splat(_sticky(f, a.uniform), a.lanes)
    kind, flag, operand = register_type(a.dtype, a.lanes), register_type(BOOL, a.lanes), f.vector(a, a.lanes)
    number = {n: f.vector(constant(INT64, n), a.lanes) for n in (11, 52, 2047, -2048)}
    carried = f.emit(f"add {kind} {f.emit(f'and {kind} {operand}, {number[2047]}')}, {number[2047]}")
    odd = f.emit(f"and {kind} {f.emit(f'or {kind} {operand}, {carried}')}, {number[-2048]}")
    shift = "ashr" if a.dtype.is_signed else "lshr"
    high = f.emit(f"{shift} {kind} {operand}, {number[52]}")
    small = f.emit(f"icmp eq {kind} {high}, zeroinitializer")
    if a.dtype.is_signed:
        minus = f.emit(f"icmp eq {kind} {high}, {f.vector(constant(INT64, -1), a.lanes)}")
        small = f.emit(f"or {flag} {small}, {minus}")
    return f.result(a.dtype, a.lanes, f"select {flag} {small}, {kind} {operand}, {kind} {odd}")


def _convert_storage(f: FunctionText, a: Value, dtype: DType) -> Value:
    lanes = a.lanes
    if a.uniform is not None and lanes > 1:
        return splat(_convert_storage(f, a.uniform, dtype), lanes)
    symbol, module = storage.function(a.dtype, dtype, lanes, f.module.target)
    f.module.include(module)
    kind, result = register_type(a.dtype, lanes), register_type(dtype, lanes)
    return f.result(dtype, lanes, f"call {result} @{symbol}({kind} {f.vector(a, lanes)})")
