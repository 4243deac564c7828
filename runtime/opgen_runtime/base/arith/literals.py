"""Python numbers as literals, casts, and the dtype in which two operands meet."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..errors import DTypeError, shown
from ..vocabulary import BOOL, DTYPE_CLASSES, FLOAT32, INDEX, INT64, UINT64, DType
from .expr import Bitcast, Cast, Complex, Const, Expr, Part, Select
from .semantics import convert, reinterpret, round_float

Operand = Expr | bool | int | float

_SMALL_INDEX: Final = {n: Const(INDEX, n) for n in range(-16, 257)}
BOOLS: Final = (Const(BOOL, False), Const(BOOL, True))


def const(value: object, dtype: DType | str) -> Const:
    """A literal of `dtype`.  Raises DTypeError where the value does not fit."""
    if type(value) is int and dtype is INDEX and -16 <= value <= 256:  # most of all
        return _SMALL_INDEX[value]
    dtype = dtype if isinstance(dtype, DType) else DType(dtype)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        if dtype is BOOL:
            return BOOLS[value]
    elif isinstance(value, int):
        if dtype is INDEX and -16 <= value <= 256:
            return _SMALL_INDEX[value]
        if dtype.is_int:
            if dtype.lowest <= value <= dtype.highest:
                return Const(dtype, value)
            raise DTypeError(f"{value} does not fit {dtype} ({dtype.lowest} to {dtype.highest})")
        if dtype.is_float:
            return Const(dtype, convert(value, INT64, dtype))
    elif isinstance(value, float) and dtype.is_float:
        return Const(dtype, round_float(value, dtype))
    kind = type(value).__name__
    raise DTypeError(
        f"a literal {kind} ({shown(value)}) does not suit dtype {dtype}{_cast_hint(kind, dtype)}"
    )


def _cast_hint(kind: str, dtype: DType) -> str:
    if kind == "float" and dtype.is_int:
        dims = (
            "; what is made of dims alone is a float by float(N) in a declaration" if dtype is INDEX else ""
        )
        return f"; cast the other operand to a float dtype, e.g. cast(x, float32){dims}"
    if kind == "bool" or dtype is BOOL:
        return f"; use cast(..., {'int32' if dtype is BOOL else dtype}) to convert"
    return ""


def literal(value: object, dtype: DType | str) -> Expr:
    """A number that meets values of `dtype`.  Beside halves it is one of float32, in which they are computed.

    Raises DTypeError where it does not fit.
    """
    dtype = dtype if isinstance(dtype, DType) else DType(dtype)
    if dtype.is_complex:
        real, imag = (value.real, value.imag) if isinstance(value, complex) else (value, 0.0)
        return complex_number(const(real, dtype.part), const(imag, dtype.part))
    return Const(dtype, const(value, FLOAT32).value) if dtype.is_storage else const(value, dtype)


def natural(value: object) -> Const:
    """A Python number that stands alone."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return BOOLS[value]
    if isinstance(value, int):
        return const(value, INDEX)
    raise DTypeError(f"{shown(value)} has no dtype of its own here; use const({shown(value)}, dtype)")


def common_dtype(a: DType, b: DType, what: str = "combine") -> DType:
    """The dtype in which operands of dtypes `a` and `b` meet.

    Equal dtypes stay; `index` meets another integer type (except uint64) in int64; any other mix raises DTypeError.
    """
    if a is b:
        return a
    if (a is INDEX and b.is_int and b is not UINT64) or (b is INDEX and a.is_int and a is not UINT64):
        return INT64
    wide = max(a, b, key=lambda dtype: (dtype.is_complex, dtype.is_float, dtype.bits))
    target = INT64 if wide is INDEX else wide
    raise DTypeError(
        f"cannot {what} {a} and {b}: dtypes never mix silently; use cast(..., {target}) on one operand"
    )


def operands(a: object, b: object, what: str = "combine") -> tuple[Expr, Expr]:
    """Both operands as expressions of one dtype.  Raises DTypeError."""
    if isinstance(a, Expr):
        if isinstance(b, Expr):
            if a.dtype is b.dtype:
                return a, b
            dtype = common_dtype(a.dtype, b.dtype, what)
            return cast(a, dtype), cast(b, dtype)
        return a, literal(b, a.dtype)
    if isinstance(b, Expr):
        return literal(a, b.dtype), b
    if isinstance(a, float) or isinstance(b, float):
        raise DTypeError(
            f"cannot {what} the numbers {a!r} and {b!r} without a dtype; use const(value, dtype)"
        )
    return natural(a), natural(b)


def _keeps_values(source: DType, dtype: DType) -> bool:
    """Every value of `source` is a value of `dtype`."""
    if source is BOOL:
        return True
    if source.is_float or dtype.is_float:
        return source is dtype or (source.is_float and dtype.is_float and source.bits < dtype.bits)
    return dtype.is_int and dtype.lowest <= source.lowest and source.highest <= dtype.highest


def cast(a: Operand, dtype: DType | str) -> Expr:
    """Conversion: int to int wraps; float to int truncates, saturates, NaN gives 0; to bool is `!= 0`."""
    dtype = dtype if isinstance(dtype, DType) else DType(dtype)
    x = a if isinstance(a, Expr) else const(a, "float64") if isinstance(a, float) else natural(a)
    if x.dtype is dtype:
        return x
    if x.dtype.is_complex or dtype.is_complex:
        return _cast_complex(x, dtype)
    if isinstance(x, Const):
        return const(convert(x.value, x.dtype, dtype), dtype)
    if isinstance(x, Cast) and dtype is not BOOL and _keeps_values(x.a.dtype, x.dtype):
        return cast(x.a, dtype)
    return Cast(dtype, x)


def _cast_complex(x: Expr, dtype: DType) -> Expr:
    """Part by part; what is real has the imaginary part 0."""
    if dtype.is_complex:
        parts = (part(x, 0), part(x, 1)) if x.dtype.is_complex else (x, const(0, dtype.part))
        return complex_number(cast(parts[0], dtype.part), cast(parts[1], dtype.part))
    if dtype is BOOL:  # other than 0 in one part
        return Select(BOOL, cast(part(x, 0), BOOL), BOOLS[True], cast(part(x, 1), BOOL))
    raise DTypeError(f"cannot cast {x.dtype} to {dtype}, which has no imaginary part; take real(x)")


def complex_number(real: Expr, imag: Expr) -> Expr:
    """`real + imag * 1j`, of the complex dtype whose parts these are.  Raises DTypeError where there is none."""
    found = next((d for d in DTYPE_CLASSES["complex"] if d.part is real.dtype), None)
    if found is None or imag.dtype is not real.dtype:
        raise DTypeError(
            f"a complex number has two parts of float32 or float64, found {real.dtype}, {imag.dtype}"
        )
    if (
        isinstance(real, Part)
        and isinstance(imag, Part)
        and real.a is imag.a
        and (real.which, imag.which) == (0, 1)
    ):
        return real.a
    return Complex(found, real, imag)


def part(a: Expr, which: int) -> Expr:
    """The real part (0) or the imaginary one (1) of a complex number.  Raises DTypeError for what is none."""
    if not a.dtype.is_complex:
        raise DTypeError(f"parts are of complex numbers, found {a.dtype}")
    if isinstance(a, Select):
        then, otherwise = part(a.then, which), part(a.otherwise, which)
        return then if then is otherwise else Select(then.dtype, a.condition, then, otherwise)
    return a.children()[which] if isinstance(a, Complex) else Part(a.dtype.part, a, which)


def bitcast(a: Expr, dtype: DType | str) -> Expr:
    """The same bits read as `dtype`.  Raises DTypeError unless the widths are equal."""
    dtype = dtype if isinstance(dtype, DType) else DType(dtype)
    if a.dtype is dtype:
        return a
    if a.dtype.bits != dtype.bits or BOOL in (a.dtype, dtype) or "c" in (a.dtype.kind, dtype.kind):
        raise DTypeError(f"bitcast needs dtypes of one width, found {a.dtype} and {dtype}")
    if isinstance(a, Const) and a.value == a.value:
        return const(reinterpret(a.value, a.dtype, dtype), dtype)
    return Bitcast(dtype, a)
