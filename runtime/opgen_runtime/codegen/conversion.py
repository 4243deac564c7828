"""Conversions between element types, all of them total."""

from __future__ import annotations

from ..errors import CodegenError
from ..vocabulary import BOOL, FLOAT16, FLOAT32, DType
from . import half
from .llvm_types import literal, register_type, suffix
from .text import FunctionText, constant
from .values import Value, register, splat


def cast(f: FunctionText, a: Value, dtype: DType) -> Value:
    """int to int wraps; float to int truncates, saturates, NaN gives 0; to bool is `!= 0` (true for NaN)."""
    source, lanes = a.dtype, a.lanes
    if source is dtype:
        return a
    if a.uniform is not None and lanes > 1:
        return splat(cast(f, a.uniform, dtype), lanes)
    if source == "float16":
        return cast(f, from_half(f, a), dtype)
    if dtype == "float16":
        return to_half(f, a if source.is_float else cast(f, a, FLOAT32))
    if dtype.is_bool:
        return _nonzero(f, a)
    kind, result = register_type(source, lanes), register_type(dtype, lanes)
    operand = f.vector(a, lanes)
    if source.is_float:
        if dtype.is_float:
            return f.result(
                dtype, lanes, f"{'fpext' if dtype.bits > 32 else 'fptrunc'} {kind} {operand} to {result}"
            )
        name = f"llvm.fpto{'si' if dtype.is_signed else 'ui'}.sat.{suffix(result)}.{suffix(kind)}"
        return register(dtype, lanes, f.call(name, result, ((kind, operand),)))
    signed = source.is_signed
    if dtype.is_float:
        return f.result(dtype, lanes, f"{'si' if signed else 'ui'}tofp {kind} {operand} to {result}")
    return _int_to_int(f, a, dtype)


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


def from_half(f: FunctionText, a: Value) -> Value:
    """float16 to float32, exactly."""
    if a.lanes == 1 and a.literal is not None:
        return constant(FLOAT32, a.literal)
    return _convert_half(f, a, FLOAT32)


def to_half(f: FunctionText, a: Value) -> Value:
    """float32 or float64 to float16, rounded once, half to even."""
    if a.lanes == 1 and a.literal is not None:
        return Value(FLOAT16, 1, literal(FLOAT16, a.literal), literal=a.literal)
    return _convert_half(f, a, FLOAT16)


def _convert_half(f: FunctionText, a: Value, dtype: DType) -> Value:
    lanes = a.lanes
    if a.uniform is not None and lanes > 1:
        return splat(_convert_half(f, a.uniform, dtype), lanes)
    symbol, text = half.function(a.dtype, dtype, lanes, f.module.target)
    f.module.add(text)
    kind, result = register_type(a.dtype, lanes), register_type(dtype, lanes)
    return f.result(dtype, lanes, f"call {result} @{symbol}({kind} {f.vector(a, lanes)})")
