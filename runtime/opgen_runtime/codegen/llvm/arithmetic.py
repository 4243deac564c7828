"""Binary operations, comparisons and complements: total, wrapping, NaN-propagating.

Every function takes the function being written and operands of one dtype and gives a value of `lanes` lanes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Final

from ...base.errors import CodegenError
from ...base.vocabulary import BOOL, INT32
from . import division, sequences
from .conversion import cast, from_storage, to_storage
from .text import FunctionText, Value, constant, ramp, register, splat
from .text.types import iota, register_type, suffix

_FLOAT_OPS: Final[dict[str, str]] = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INT_OPS: Final[dict[str, str]] = {"add": "add", "sub": "sub", "mul": "mul"}
_BIT_OPS: Final = frozenset({"and", "or", "xor"})
_BOOL_OPS: Final[dict[str, str]] = {
    "and": "and", "or": "or", "xor": "xor", "add": "or", "mul": "and", "sub": "xor", "min": "and", "max": "or",
}  # fmt: skip
_PREDICATES: Final[dict[str, tuple[str, str, str]]] = {  # float, signed, unsigned
    "lt": ("olt", "slt", "ult"),
    "le": ("ole", "sle", "ule"),
    "gt": ("ogt", "sgt", "ugt"),
    "ge": ("oge", "sge", "uge"),
    "eq": ("oeq", "eq", "eq"),
    "ne": ("une", "ne", "ne"),
}


def binary(f: FunctionText, op: str, a: Value, b: Value, *, contract: str = "") -> Value:
    """`a op b`; uniform vectors are computed once, and sums of index sequences stay sequences.

    `contract`: flags that let a float operation be reordered with its like, or fused into a multiply-add.
    """
    lanes = max(a.lanes, b.lanes)
    if lanes > 1:
        ua, ub = a.uniform, b.uniform
        if ua is not None and ub is not None:
            return splat(binary(f, op, ua, ub, contract=contract), lanes)
        sequence = _sequence(f, op, a, b, lanes)
        if sequence is not None:
            return sequence
    dtype = a.dtype
    if dtype.is_storage:
        return to_storage(f, binary(f, op, from_storage(f, a), from_storage(f, b)), dtype)
    if dtype.is_bool:
        if op not in _BOOL_OPS:
            raise CodegenError(f"operation {op!r} is not defined on bool")
        return _plain(f, _BOOL_OPS[op], a, b, lanes)
    emitter = _EMITTERS.get(op)
    if emitter is not None:
        if contract and op in _KEEPING_NAN and dtype.is_float:
            return _accumulated(f, op, a, b, lanes)
        return emitter(f, a, b, lanes)
    if dtype.is_float:
        if op in _FLOAT_OPS:
            return _plain(f, f"{_FLOAT_OPS[op]}{contract}", a, b, lanes)
        return division.float_division(f, op, a, b, lanes)
    if op in _BIT_OPS:
        return _plain(f, op, a, b, lanes)
    if op in _INT_OPS:
        return _wrapping(f, op, a, b, lanes)
    return division.int_division(f, op, a, b, lanes)


def _plain(f: FunctionText, instruction: str, a: Value, b: Value, lanes: int) -> Value:
    kind = register_type(a.dtype, lanes)
    return f.result(a.dtype, lanes, f"{instruction} {kind} {f.vector(a, lanes)}, {f.vector(b, lanes)}")


def _wrapping(f: FunctionText, op: str, a: Value, b: Value, lanes: int) -> Value:
    """Integer add, sub and mul.  Only sums of loop variables and dims promise not to overflow."""
    clean = a.clean and b.clean
    kind = register_type(a.dtype, lanes)
    flags = " nsw" if clean else ""
    text = f.compute(f"{op}{flags} {kind} {f.vector(a, lanes)}, {f.vector(b, lanes)}")
    nonnegative = clean and op != "sub" and a.nonnegative and b.nonnegative
    return register(a.dtype, lanes, text, clean=clean, nonnegative=nonnegative)


def _sequence(f: FunctionText, op: str, a: Value, b: Value, lanes: int) -> Value | None:
    """Sums of index sequences, multiples, quotients and remainders by constants, as sequences."""
    first_a, first_b = (v if v.lanes == 1 else v.scalar for v in (a, b))
    if a.dtype != "index" or first_a is None or first_b is None:
        return None
    factor_a, factor_b = (None if v.uniform is None else v.uniform.literal for v in (a, b))
    if op in ("add", "sub"):
        sign = 1 if op == "add" else -1
        if not sequences.are_like(a.jumps, b.jumps):
            return None
        jumps = sequences.total(a.jumps, b.jumps, sign)
        return ramp(binary(f, op, first_a, first_b), a.stride + sign * b.stride, lanes, jumps)
    if op == "mul":
        for v, factor in ((a, factor_b), (b, factor_a)):
            if isinstance(factor, int):
                jumps = sequences.multiple(v.jumps, factor)
                return ramp(binary(f, "mul", first_a, first_b), v.stride * factor, lanes, jumps)
    if op in ("floordiv", "floormod") and a.ramp is not None and isinstance(factor_b, int):
        return sequences.divided(f, op, a, factor_b)
    return None


def _extreme(op: str) -> Callable[[FunctionText, Value, Value, int], Value]:
    """min or max."""

    def emit(f: FunctionText, a: Value, b: Value, lanes: int) -> Value:
        kind = register_type(a.dtype, lanes)
        if not a.dtype.is_float:
            name = f"llvm.{'s' if a.dtype.is_signed else 'u'}{op}.{suffix(kind)}"
            text = f.call(name, kind, ((kind, f.vector(a, lanes)), (kind, f.vector(b, lanes))))
            nonnegative = (
                (a.nonnegative and b.nonnegative) if op == "min" else (a.nonnegative or b.nonnegative)
            )
            return register(a.dtype, lanes, text, clean=a.clean and b.clean, nonnegative=nonnegative)
        if _is_number(b):
            a, b = b, a  # a constant first: the comparison is false for a NaN in b, which is then the result
        ta, tb = f.vector(a, lanes), f.vector(b, lanes)
        flag, predicate = register_type(BOOL, lanes), "olt" if op == "min" else "ogt"
        chosen = f.emit(f"fcmp {predicate} {kind} {ta}, {tb}")
        result = f.emit(f"select {flag} {chosen}, {kind} {ta}, {kind} {tb}")
        if not _is_number(a):
            is_nan = f.emit(f"fcmp uno {kind} {ta}, zeroinitializer")
            result = f.emit(f"select {flag} {is_nan}, {kind} {ta}, {kind} {result}")
        return register(a.dtype, lanes, result)

    return emit


_KEEPING_NAN: Final = {"min": "minimum", "max": "maximum"}


def _accumulated(f: FunctionText, op: str, a: Value, b: Value, lanes: int) -> Value:
    """min or max of floats in any order, whichever zero it is, and NaN if there is one.

    x86 looks for NaN in the first operand, aside of the chain of accumulations: `a`, which accumulates, is the last.
    """
    kind = register_type(a.dtype, lanes)
    operands = ((kind, f.vector(b, lanes)), (kind, f.vector(a, lanes)))
    return register(a.dtype, lanes, f.call(f"llvm.{_KEEPING_NAN[op]}.{suffix(kind)}", kind, operands, "nsz "))


def _is_number(value: Value) -> bool:
    """Whether a value is one constant that is not NaN."""
    scalar = value.uniform
    return scalar is not None and scalar.literal is not None and scalar.literal == scalar.literal


def _shift(op: str) -> Callable[[FunctionText, Value, Value, int], Value]:
    """Shifts whose amount, read as unsigned, may reach or pass the width: 0, or the sign to the right."""

    def emit(f: FunctionText, a: Value, b: Value, lanes: int) -> Value:
        dtype, kind, flag = a.dtype, register_type(a.dtype, lanes), register_type(BOOL, lanes)
        bits = dtype.bits
        instruction = "shl" if op == "shl" else ("ashr" if dtype.is_signed else "lshr")
        amount = b.uniform.literal if b.uniform is not None else None
        if isinstance(amount, int) and 0 <= amount < bits:
            return _plain(f, instruction, a, b, lanes)
        last = f.vector(constant(dtype, bits - 1), lanes)
        ta, tb = f.vector(a, lanes), f.vector(b, lanes)
        name = f"llvm.umin.{suffix(kind)}"
        clamped = f.call(name, kind, ((kind, tb), (kind, last)))
        shifted = f.emit(f"{instruction} {kind} {ta}, {clamped}")
        if instruction == "ashr":
            return register(dtype, lanes, shifted)
        beyond = f.emit(f"icmp ugt {kind} {tb}, {last}")
        zero = f.vector(constant(dtype, 0), lanes)
        return f.result(dtype, lanes, f"select {flag} {beyond}, {kind} {zero}, {kind} {shifted}")

    return emit


_EMITTERS: Final[dict[str, Callable[[FunctionText, Value, Value, int], Value]]] = {
    "min": _extreme("min"),
    "max": _extreme("max"),
    "shl": _shift("shl"),
    "shr": _shift("shr"),
}


def compare(f: FunctionText, op: str, a: Value, b: Value) -> Value:
    """`a op b` as bool; with NaN only `ne` holds."""
    lanes = max(a.lanes, b.lanes)
    if lanes > 1:
        ua, ub = a.uniform, b.uniform
        if ua is not None and ub is not None:
            return splat(compare(f, op, ua, ub), lanes)
        mask = _tail_mask(f, op, a, b, lanes)
        if mask is not None:
            return mask
    if a.dtype.is_storage:
        a, b = from_storage(f, a), from_storage(f, b)
    kind = register_type(a.dtype, lanes)
    floating, signed, unsigned = _PREDICATES[op]
    predicate = floating if a.dtype.is_float else (signed if a.dtype.is_signed else unsigned)
    instruction = "fcmp" if a.dtype.is_float else "icmp"
    return f.result(
        BOOL, lanes, f"{instruction} {predicate} {kind} {f.vector(a, lanes)}, {f.vector(b, lanes)}"
    )


_MIRRORED: Final[dict[str, str]] = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _tail_mask(f: FunctionText, op: str, a: Value, b: Value, lanes: int) -> Value | None:
    """`i, i+s, ... < n` as 0, 1, ... < ceil(clamp(n - i, 0, s * lanes) / s) in 32 bits: a quarter of the registers."""
    if op not in _MIRRORED or a.dtype != "index" or a.ramp is None or b.ramp is None:
        return None
    (first, stride), (bound, bound_stride) = a.ramp, b.ramp
    if bound_stride != 0:
        op, first, stride, bound, bound_stride = _MIRRORED[op], bound, bound_stride, first, stride
    if stride < 1 or bound_stride != 0 or not (first.clean and bound.clean):
        return None
    left = binary(f, "sub", bound, first)  # lanes before it are below the bound
    if op in ("le", "gt"):
        left = binary(f, "add", left, constant(left.dtype, 1))
    most = constant(left.dtype, lanes * stride)
    count = binary(f, "min", binary(f, "max", left, constant(left.dtype, 0)), most)
    if stride > 1:
        last = constant(left.dtype, stride - 1)
        count = binary(f, "floordiv", binary(f, "add", count, last), constant(left.dtype, stride))
    limit = splat(cast(f, count, INT32), lanes)
    kind = register_type(INT32, lanes)
    predicate = "slt" if op in ("lt", "le") else "sge"
    return f.result(BOOL, lanes, f"icmp {predicate} {kind} {iota('i32', lanes)}, {f.vector(limit, lanes)}")


def complement(f: FunctionText, a: Value) -> Value:
    """Bitwise complement of ints, negation of bools."""
    if a.uniform is not None and a.lanes > 1:
        return splat(complement(f, a.uniform), a.lanes)
    kind = register_type(a.dtype, a.lanes)
    ones = f.vector(constant(a.dtype, True if a.dtype.is_bool else -1), a.lanes)
    return f.result(a.dtype, a.lanes, f"xor {kind} {f.vector(a, a.lanes)}, {ones}")


def select(f: FunctionText, condition: Value, then: Value, otherwise: Value) -> Value:
    """Both sides are computed; the condition chooses lane by lane."""
    lanes = max(condition.lanes, then.lanes, otherwise.lanes)
    uc, ut, uo = condition.uniform, then.uniform, otherwise.uniform
    if lanes > 1 and uc is not None and ut is not None and uo is not None:
        return splat(select(f, uc, ut, uo), lanes)
    kind = register_type(then.dtype, lanes)
    scalar = uc is not None
    flag = "i1" if scalar else register_type(BOOL, lanes)
    chooser = uc.text if uc is not None else f.vector(condition, lanes)
    text = f.emit(
        f"select {flag} {chooser}, {kind} {f.vector(then, lanes)}, {kind} {f.vector(otherwise, lanes)}"
    )
    clean = then.clean and otherwise.clean
    nonnegative = then.nonnegative and otherwise.nonnegative
    return register(then.dtype, lanes, text, clean=clean, nonnegative=nonnegative)


_REDUCERS: Final[dict[str, tuple[str, str, str, str]]] = {  # bool, signed, unsigned, float
    "sum": ("or", "add", "add", "fadd"),
    "prod": ("and", "mul", "mul", "fmul"),
    "min": ("and", "smin", "umin", "fmin"),
    "max": ("or", "smax", "umax", "fmax"),
    "and": ("and", "and", "and", ""),
    "or": ("or", "or", "or", ""),
}


def horizontal(f: FunctionText, combiner: str, values: Sequence[Value]) -> Value:
    """A scalar from all lanes of vectors, of several only by min or max; float sums and products associate freely.

    min and max keep NaN, in one look at all lanes aside of the reduction, which need not look at each step.
    """
    value, dtype = values[0], values[0].dtype
    names = _REDUCERS.get({"any": "or", "all": "and"}.get(combiner, combiner))
    if names is None:
        raise CodegenError(f"no horizontal reduction {combiner!r}; expected one of {', '.join(_REDUCERS)}")
    if dtype.is_storage:
        return to_storage(f, horizontal(f, combiner, [from_storage(f, each) for each in values]), dtype)
    column = 0 if dtype.is_bool else 3 if dtype.is_float else 1 if dtype.is_signed else 2
    name = names[column]
    if not name:
        raise CodegenError(f"horizontal reduction {combiner!r} is not defined on {dtype}")
    if name in ("fmin", "fmax") and value.lanes > 1:
        return _extreme_number(f, combiner, values)
    for other in values[1:]:
        value = binary(f, combiner, value, other)
    if value.lanes == 1:
        return value
    kind, element = register_type(dtype, value.lanes), register_type(dtype)
    arguments = [(kind, f.vector(value, value.lanes))]
    flags = ""
    if name in ("fadd", "fmul"):
        start = constant(dtype, -0.0 if name == "fadd" else 1.0)
        arguments.insert(0, (element, f.vector(start, 1)))
        flags = "reassoc "
    return register(dtype, 1, f.call(f"llvm.vector.reduce.{name}.{suffix(kind)}", element, arguments, flags))


def _extreme_number(f: FunctionText, op: str, values: Sequence[Value]) -> Value:
    """min or max of all lanes of float vectors, or NaN if there is one."""
    dtype, lanes = values[0].dtype, values[0].lanes
    kind, element, flags = register_type(dtype, lanes), register_type(dtype), register_type(BOOL, lanes)
    found = [f.vector(each, lanes) for each in values]
    unordered = [
        f.emit(f"fcmp uno {kind} {a}, {b}")
        for a, b in zip_longest(found[::2], found[1::2], fillvalue=found[0])
    ]
    while len(unordered) > 1:
        unordered.append(f.emit(f"or {flags} {unordered.pop(0)}, {unordered.pop(0)}"))
    while len(found) > 1:
        pair = ((kind, found.pop(0)), (kind, found.pop(0)))
        found.append(f.call(f"llvm.{_KEEPING_NAN[op]}.{suffix(kind)}", kind, pair, "nnan nsz "))
    number = f.call(f"llvm.vector.reduce.f{op}.{suffix(kind)}", element, [(kind, found[0])], "nnan nsz ")
    is_nan = f.call(f"llvm.vector.reduce.or.{suffix(flags)}", "i1", [(flags, unordered[0])])
    nan = f.vector(constant(dtype, math.nan), 1)
    return register(dtype, 1, f.emit(f"select i1 {is_nan}, {element} {nan}, {element} {number}"))
