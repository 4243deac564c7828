"""Calls of element functions: LLVM's own where they are native, else the vector math library's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...base.errors import CodegenError
from ...base.vocabulary import BOOL, FLOAT32, NUMBER_INTRINSICS, PREDICATE_INTRINSICS, DType
from .. import math as vector_math
from .conversion import from_half, to_half
from .llvm_types import register_type, suffix
from .text import FunctionText, constant
from .values import Value, register, splat

# Names that LLVM compiles to instructions, under LLVM's name for them.
_NATIVE: Final[dict[str, str]] = {
    "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "roundeven",
    "fma": "fma", "copysign": "copysign",
}  # fmt: skip


def call(f: FunctionText, name: str, dtype: DType, arguments: Sequence[Value]) -> Value:
    """`name(arguments)`, of element type `dtype`; uniform vectors are computed once."""
    lanes = max(a.lanes for a in arguments)
    uniform = [a.uniform for a in arguments]
    if lanes > 1 and all(u is not None for u in uniform):
        return splat(call(f, name, dtype, [u for u in uniform if u is not None]), lanes)
    source = arguments[0].dtype
    if name in PREDICATE_INTRINSICS:
        return _predicate(f, name, arguments[0], lanes)
    if source.is_half:
        wide = call(f, name, FLOAT32, [from_half(f, a) for a in arguments])
        return to_half(f, wide, source)
    if name in NUMBER_INTRINSICS:
        emitter = (_FLOAT_NUMBER if source.is_float else _INT_NUMBER).get(name)
        if emitter is None:
            raise CodegenError(f"{name} is not defined on {source}")
        return emitter(f, arguments[0], lanes)
    if not source.is_float:
        raise CodegenError(f"{name} is defined on floats only, not on {source}")
    kind = register_type(source, lanes)
    operands = tuple((kind, f.vector(a, lanes)) for a in arguments)
    native = _NATIVE.get(name)
    if native is not None:
        return register(source, lanes, f.call(f"llvm.{native}.{suffix(kind)}", kind, operands))
    symbol, text = vector_math.function(name, source, lanes, f.module.target)
    f.module.add(text)
    listed = ", ".join(f"{k} {operand}" for k, operand in operands)
    return f.result(source, lanes, f"call {kind} @{symbol}({listed})")


def _predicate(f: FunctionText, name: str, a: Value, lanes: int) -> Value:
    """isnan, isinf, isfinite; integers are finite."""
    if not a.dtype.is_float:
        return splat(constant(BOOL, name == "isfinite"), lanes)
    if a.dtype.is_half:
        a = from_half(f, a)
    kind, operand = register_type(a.dtype, lanes), f.vector(a, lanes)
    if name == "isnan":
        return f.result(BOOL, lanes, f"fcmp uno {kind} {operand}, zeroinitializer")
    magnitude = f.call(f"llvm.fabs.{suffix(kind)}", kind, ((kind, operand),))
    infinity = f.vector(constant(a.dtype, float("inf")), lanes)
    predicate = "oeq" if name == "isinf" else "olt"
    return f.result(BOOL, lanes, f"fcmp {predicate} {kind} {magnitude}, {infinity}")


def _float_abs(f: FunctionText, a: Value, lanes: int) -> Value:
    kind = register_type(a.dtype, lanes)
    text = f.call(f"llvm.fabs.{suffix(kind)}", kind, ((kind, f.vector(a, lanes)),))
    return register(a.dtype, lanes, text)


def _float_sign(f: FunctionText, a: Value, lanes: int) -> Value:
    """-1, 0 or 1 by the sign; zeros and NaN give themselves, zeros without their sign."""
    kind, flag, operand = register_type(a.dtype, lanes), register_type(BOOL, lanes), f.vector(a, lanes)
    one, minus_one = (f.vector(constant(a.dtype, v), lanes) for v in (1.0, -1.0))
    positive = f.emit(f"fcmp ogt {kind} {operand}, zeroinitializer")
    negative = f.emit(f"fcmp olt {kind} {operand}, zeroinitializer")
    is_nan = f.emit(f"fcmp uno {kind} {operand}, zeroinitializer")
    rest = f.emit(f"select {flag} {is_nan}, {kind} {operand}, {kind} zeroinitializer")
    below = f.emit(f"select {flag} {negative}, {kind} {minus_one}, {kind} {rest}")
    return f.result(a.dtype, lanes, f"select {flag} {positive}, {kind} {one}, {kind} {below}")


def _int_abs(f: FunctionText, a: Value, lanes: int) -> Value:
    """The least value is its own absolute value: ints wrap."""
    if not a.dtype.is_signed:
        return a
    kind = register_type(a.dtype, lanes)
    name = f"llvm.abs.{suffix(kind)}"
    callee = f.module.declare(name, kind, f"{kind}, i1")
    return f.result(a.dtype, lanes, f"call {kind} {callee}({kind} {f.vector(a, lanes)}, i1 false)")


def _int_sign(f: FunctionText, a: Value, lanes: int) -> Value:
    kind, operand = register_type(a.dtype, lanes), f.vector(a, lanes)
    flag = register_type(BOOL, lanes)
    signed = a.dtype.is_signed
    positive = f.emit(f"icmp {'sgt' if signed else 'ne'} {kind} {operand}, zeroinitializer")
    one = f.emit(f"zext {flag} {positive} to {kind}")
    if not signed:
        return register(a.dtype, lanes, one)
    negative = f.emit(f"icmp slt {kind} {operand}, zeroinitializer")
    minus_one = f.emit(f"sext {flag} {negative} to {kind}")
    return f.result(a.dtype, lanes, f"or {kind} {one}, {minus_one}")


def _popcount(f: FunctionText, a: Value, lanes: int) -> Value:
    kind = register_type(a.dtype, lanes)
    text = f.call(f"llvm.ctpop.{suffix(kind)}", kind, ((kind, f.vector(a, lanes)),))
    return register(a.dtype, lanes, text)


def _clz(f: FunctionText, a: Value, lanes: int) -> Value:
    """Leading zeros; the width for 0."""
    kind = register_type(a.dtype, lanes)
    callee = f.module.declare(f"llvm.ctlz.{suffix(kind)}", kind, f"{kind}, i1")
    return f.result(a.dtype, lanes, f"call {kind} {callee}({kind} {f.vector(a, lanes)}, i1 false)")


_Emitter = Callable[[FunctionText, Value, int], Value]
_FLOAT_NUMBER: Final[dict[str, _Emitter]] = {"abs": _float_abs, "sign": _float_sign}
_INT_NUMBER: Final[dict[str, _Emitter]] = {
    "abs": _int_abs, "sign": _int_sign, "popcount": _popcount, "clz": _clz,
}  # fmt: skip
