"""Element functions: one row each, how a call of it is written.

What a function means is the row of the same name in `arith.INTRINSICS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...base.arith import DOT_PRODUCTS
from ...base.errors import CodegenError
from ...base.vocabulary import BOOL, FLOAT32, DType
from . import math as vector_math
from .conversion import from_storage, to_storage
from .dot_product import dot
from .text import FunctionText, Value, constant, register, splat
from .text.types import register_type, suffix

Lowering = Callable[[FunctionText, Sequence[Value], int], Value]


def call(f: FunctionText, name: str, dtype: DType, arguments: Sequence[Value]) -> Value:
    """`name(arguments)`, of element type `dtype`; uniform vectors are computed once, halves in float32."""
    lanes = max(a.lanes for a in arguments)
    uniform = [a.uniform for a in arguments]
    if lanes > 1 and all(u is not None for u in uniform):
        return splat(call(f, name, dtype, [u for u in uniform if u is not None]), lanes)
    source = arguments[0].dtype
    if source.is_storage:
        wide = call(f, name, FLOAT32, [from_storage(f, a) for a in arguments])
        return to_storage(f, wide, source) if wide.dtype.is_float else wide
    lowering = (LOWERINGS if source.is_float else INT_LOWERINGS).get(name)
    if lowering is None:
        raise CodegenError(f"{name} is not defined on {source}")
    return lowering(f, arguments, lanes)


def _llvm(name: str) -> Lowering:
    """LLVM's own intrinsic, whose operands and result have one type and which is compiled to instructions."""

    def lower(f: FunctionText, arguments: Sequence[Value], lanes: int) -> Value:
        dtype = arguments[0].dtype
        kind = register_type(dtype, lanes)
        operands = tuple((kind, f.vector(a, lanes)) for a in arguments)
        return register(dtype, lanes, f.call(f"llvm.{name}.{suffix(kind)}", kind, operands))

    return lower


def _llvm_with_flag(name: str) -> Lowering:
    """LLVM's intrinsic with a second operand that makes no value poison."""

    def lower(f: FunctionText, arguments: Sequence[Value], lanes: int) -> Value:
        (a,) = arguments
        kind = register_type(a.dtype, lanes)
        callee = f.module.declare(f"llvm.{name}.{suffix(kind)}", kind, f"{kind}, i1")
        return f.result(a.dtype, lanes, f"call {kind} {callee}({kind} {f.vector(a, lanes)}, i1 false)")

    return lower


def _dot(name: str) -> Lowering:
    def lower(f: FunctionText, arguments: Sequence[Value], lanes: int) -> Value:
        return dot(f, name, *arguments)

    return lower


def _formula(name: str) -> Lowering:
    """A function of the vector math library."""

    def lower(f: FunctionText, arguments: Sequence[Value], lanes: int) -> Value:
        dtype = arguments[0].dtype
        kind = register_type(dtype, lanes)
        symbol, module = vector_math.function(name, dtype, lanes, f.module.target)
        f.module.include(module)
        listed = ", ".join(f"{kind} {f.vector(a, lanes)}" for a in arguments)
        return f.result(dtype, lanes, f"call {kind} @{symbol}({listed})")

    return lower


def _isnan(f: FunctionText, arguments: Sequence[Value], lanes: int) -> Value:
    (a,) = arguments
    kind = register_type(a.dtype, lanes)
    return f.result(BOOL, lanes, f"fcmp uno {kind} {f.vector(a, lanes)}, zeroinitializer")


def _magnitude_is(predicate: str) -> Lowering:
    """How |a| compares with infinity."""

    def lower(f: FunctionText, arguments: Sequence[Value], lanes: int) -> Value:
        (a,) = arguments
        kind = register_type(a.dtype, lanes)
        magnitude = f.vector(_llvm("fabs")(f, arguments, lanes), lanes)
        infinity = f.vector(constant(a.dtype, float("inf")), lanes)
        return f.result(BOOL, lanes, f"fcmp {predicate} {kind} {magnitude}, {infinity}")

    return lower


def _float_sign(f: FunctionText, arguments: Sequence[Value], lanes: int) -> Value:
    """-1, 0 or 1 by the sign; zeros and NaN give themselves, zeros without their sign."""
    (a,) = arguments
    kind, flag, operand = register_type(a.dtype, lanes), register_type(BOOL, lanes), f.vector(a, lanes)
    one, minus_one = (f.vector(constant(a.dtype, v), lanes) for v in (1.0, -1.0))
    positive = f.emit(f"fcmp ogt {kind} {operand}, zeroinitializer")
    negative = f.emit(f"fcmp olt {kind} {operand}, zeroinitializer")
    is_nan = f.emit(f"fcmp uno {kind} {operand}, zeroinitializer")
    rest = f.emit(f"select {flag} {is_nan}, {kind} {operand}, {kind} zeroinitializer")
    below = f.emit(f"select {flag} {negative}, {kind} {minus_one}, {kind} {rest}")
    return f.result(a.dtype, lanes, f"select {flag} {positive}, {kind} {one}, {kind} {below}")


def _int_abs(f: FunctionText, arguments: Sequence[Value], lanes: int) -> Value:
    """The least value is its own absolute value: ints wrap."""
    return _llvm_with_flag("abs")(f, arguments, lanes) if arguments[0].dtype.is_signed else arguments[0]


def _int_sign(f: FunctionText, arguments: Sequence[Value], lanes: int) -> Value:
    (a,) = arguments
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


LOWERINGS: Final[dict[str, Lowering]] = {
    "sqrt": _llvm("sqrt"),
    "floor": _llvm("floor"),
    "ceil": _llvm("ceil"),
    "trunc": _llvm("trunc"),
    "round": _llvm("roundeven"),
    "fma": _llvm("fma"),
    "copysign": _llvm("copysign"),
    "abs": _llvm("fabs"),
    "sign": _float_sign,
    "isnan": _isnan,
    "isinf": _magnitude_is("oeq"),
    "isfinite": _magnitude_is("olt"),
    **{name: _formula(name) for name in vector_math.FORMULAS},
}
INT_LOWERINGS: Final[dict[str, Lowering]] = {
    "abs": _int_abs,
    "sign": _int_sign,
    "popcount": _llvm("ctpop"),
    "clz": _llvm_with_flag("ctlz"),
    **{name: _dot(name) for name in DOT_PRODUCTS},
}
