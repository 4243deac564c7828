"""The element functions: one row each says what a function takes and what it means, on Python numbers and by numpy.

Its lowering is a row of the same name in `codegen/llvm/intrinsics.py`; names, arities and dtypes that the language,
the analysis and the tracers know are read from here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np

from ..vocabulary import DType, dataclass
from .semantics import Number, round_float, wrap


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """The meaning of one element function.

    `number` computes on Python floats (it is None where only ints are taken) and may raise as `math` does; `limit` is
    the value where it raises (by default infinity where it overflows, else NaN).  `array` is the same on float64
    arrays; without it `number` is called on each element.
    `on_ints` is the value of ints of a dtype, its last argument.

    `adjoints(m, g, y, *x)` is what the adjoint of the operand grows by, of several a tuple: g is that of the value y, m
    the module that makes expressions (`build.py`, which stands on this one).  Without it all slopes are 0.  `steep_at`
    is the value at which the slope is infinite.
    """

    number: Callable[..., float | bool] | None = None
    array: Callable[..., Any] | None = None
    arity: int = 1
    takes: Literal["float", "number", "integer"] = "float"
    gives_bool: bool = False
    exact: bool = False  # exact or correctly rounded everywhere, so that folding cannot change a value
    cheap: bool = False  # a few instructions everywhere
    limit: Callable[..., float] | None = None
    on_ints: Callable[..., int] | None = None
    adjoints: Callable[..., Any] | None = None
    steep_at: float | None = None

    def why_not(self, dtype: DType) -> str | None:
        """What it needs, if it does not take `dtype`."""
        if self.takes == "float":
            return None if dtype.is_float else "a float"
        if self.takes == "integer":
            return None if dtype.is_int else "an integer"
        return "a number" if dtype.is_bool else None

    def value(self, *args: float) -> float | bool:
        """The function on floats; total."""
        assert self.number is not None
        try:
            return self.number(*args)
        except OverflowError:
            return math.inf if self.limit is None else self.limit(*args)
        except (ValueError, ZeroDivisionError):
            return math.nan if self.limit is None else self.limit(*args)

    def on_array(self, dtype: DType, *args: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The function on arrays of ints of `dtype`, or of float64."""
        if dtype.is_float:
            found = (np.frompyfunc(self.value, self.arity, 1) if self.array is None else self.array)(*args)
            return np.asarray(found, dtype=np.bool_ if self.gives_bool else np.float64)
        if self.array is not None:
            return np.asarray(self.array(*args))
        on_ints = self.on_ints
        assert on_ints is not None
        return np.asarray(np.frompyfunc(lambda a: on_ints(int(a), dtype), 1, 1)(*args), dtype=dtype.numpy)


@dataclass(frozen=True, slots=True)
class DotProduct:
    """A word of 32 bits as so many numbers, of which those of a first operand have a sign if `signed`."""

    steps: int
    signed: bool


def intrinsic(name: str, dtype: DType, args: tuple[Number, ...]) -> Number:
    """`name(*args)` for arguments of `dtype`; predicates give bool.

    Total: a domain error gives NaN, overflow an infinity.  Float results are computed in float64 and rounded once.
    """
    row = ELEMENT_FUNCTIONS[name]
    if not dtype.is_float:
        assert row.on_ints is not None, name
        return row.on_ints(*[int(a) for a in args], dtype)
    found = row.value(*(float(a) for a in args))
    return found if isinstance(found, bool) else round_float(found, dtype)


def _power_limit(a: float, b: float) -> float:
    """C's pow where `math.pow` raises: overflows, and poles, which are negative only for -0 to an odd power."""
    if a < 0 and math.fmod(b, 1.0) != 0:
        return math.nan
    return math.copysign(math.inf, a) if abs(math.fmod(b, 2.0)) == 1 else math.inf


def _fma(a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    from fractions import Fraction  # few kernels have constants to multiply and add

    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _whole(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda a: math.copysign(float(function(a)), a) if math.isfinite(a) else a


def _sigmoid(a: float) -> float:
    if a >= 0:
        return 1.0 / (1.0 + math.exp(-a))
    power = math.exp(a)
    return power / (1.0 + power)


def _sigmoids(a: np.ndarray[Any, Any]) -> Any:
    power = np.exp(-np.abs(a))
    return np.where(a >= 0, 1.0, power) / (1.0 + power)


def _sign(a: float) -> float:
    return a if a != a else float((a > 0) - (a < 0))


def _one_minus_square(m: Any, x: Any) -> Any:
    """1 - x**2 by its factors, of which neither cancels near an end."""
    one = m.const(1.0, x.dtype)
    return m.mul(m.sub(one, x), m.add(one, x))


def _asinh_adjoint(m: Any, g: Any, _: Any, x: Any) -> Any:
    """1 / sqrt(x**2 + 1), which is 1 / |x| long before x**2 overflows."""
    size = m.call("abs", x)
    return m.div(g, m.select(m.lt(size, 1e10), m.call("sqrt", m.add(m.mul(x, x), 1.0)), size))


def _tanh_adjoint(m: Any, g: Any, _: Any, x: Any) -> Any:
    """1 - tanh(x)**2, which is 4 times the slope of the sigmoid at 2 x; what is left of 1 is lost in the value."""
    return m.mul(m.mul(g, 4.0), _sigmoid_slope(m, m.add(x, x)))


def _sigmoid_slope(m: Any, x: Any) -> Any:
    """exp(-|x|) / (1 + exp(-|x|))**2."""
    power = m.call("exp", m.negate(m.call("abs", x)))
    return m.div(power, m.mul(m.add(power, 1.0), m.add(power, 1.0)))


def _power_adjoints(m: Any, g: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    none = m.const(0.0, g.dtype)
    base = m.select(m.eq(b, 0.0), none, m.mul(m.mul(g, b), m.call("pow", a, m.sub(b, 1.0))))
    exponent = m.mul(m.mul(g, y), m.call("log", a))
    return base, m.select(m.logical_and(m.eq(a, 0.0), m.ge(b, 0.0)), none, exponent)


def _atan2_adjoints(m: Any, g: Any, _: Any, y: Any, x: Any) -> tuple[Any, Any]:
    squared = m.add(m.mul(x, x), m.mul(y, y))
    return m.div(m.mul(g, x), squared), m.negate(m.div(m.mul(g, y), squared))


def _pole(at: float, value: float) -> Callable[[float], float]:
    """The value at a pole, NaN elsewhere."""
    return lambda a: value if a == at else math.nan


def _unsigned(a: int, dtype: DType) -> int:
    return a & ((1 << dtype.bits) - 1)


def _dot(form: DotProduct) -> Intrinsic:
    """The sum of the products of the numbers that two words hold; those of the second have a sign.

    The lowest bits of a word hold the first number.
    """
    bits, signed = 32 // form.steps, form.signed
    half, mask = 1 << (bits - 1), (1 << bits) - 1

    def on_ints(a: int, b: int, dtype: DType) -> int:
        return wrap(int(total(np.int64(a), np.int64(b))), dtype)

    def total(a: Any, b: Any) -> Any:
        pairs = [((a >> n) & mask, (b >> n) & mask) for n in range(0, 32, bits)]
        return sum([((x ^ half) - half if signed else x) * ((y ^ half) - half) for x, y in pairs])

    def array(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> Any:
        return total(a.astype(np.int64), b.astype(np.int64)).astype(np.int32)

    return Intrinsic(array=array, arity=2, takes="integer", exact=True, cheap=True, on_ints=on_ints)


_LOG: Final = _pole(0.0, -math.inf)

INTRINSICS: Final[dict[str, Intrinsic]] = {
    "exp": Intrinsic(math.exp, np.exp, adjoints=lambda m, g, y, x: m.mul(g, y)),
    "exp2": Intrinsic(math.exp2, np.exp2, adjoints=lambda m, g, y, x: m.mul(g, m.mul(y, math.log(2.0)))),
    "expm1": Intrinsic(math.expm1, np.expm1, adjoints=lambda m, g, y, x: m.mul(g, m.call("exp", x))),
    "log": Intrinsic(math.log, np.log, limit=_LOG, adjoints=lambda m, g, y, x: m.div(g, x)),
    "log2": Intrinsic(
        math.log2, np.log2, limit=_LOG, adjoints=lambda m, g, y, x: m.div(g, m.mul(x, math.log(2.0)))
    ),
    "log10": Intrinsic(
        math.log10, np.log10, limit=_LOG, adjoints=lambda m, g, y, x: m.div(g, m.mul(x, math.log(10.0)))
    ),
    "log1p": Intrinsic(
        math.log1p,
        np.log1p,
        limit=_pole(-1.0, -math.inf),
        adjoints=lambda m, g, y, x: m.div(g, m.add(x, 1.0)),
    ),
    "sqrt": Intrinsic(
        math.sqrt,
        np.sqrt,
        exact=True,
        cheap=True,
        adjoints=lambda m, g, y, x: m.div(m.mul(g, 0.5), y),
        steep_at=0.0,
    ),
    "rsqrt": Intrinsic(
        lambda a: 1.0 / math.sqrt(a),
        lambda a: 1.0 / np.sqrt(a),
        limit=lambda a: math.copysign(math.inf, a) if a == 0.0 else math.nan,
        adjoints=lambda m, g, y, x: m.mul(m.mul(m.mul(g, -0.5), y), m.mul(y, y)),
    ),
    "cbrt": Intrinsic(math.cbrt, np.cbrt, adjoints=lambda m, g, y, x: m.div(g, m.mul(m.mul(y, y), 3.0))),
    "sin": Intrinsic(math.sin, np.sin, adjoints=lambda m, g, y, x: m.mul(g, m.call("cos", x))),
    "cos": Intrinsic(math.cos, np.cos, adjoints=lambda m, g, y, x: m.negate(m.mul(g, m.call("sin", x)))),
    "tan": Intrinsic(math.tan, np.tan, adjoints=lambda m, g, y, x: m.mul(g, m.add(m.mul(y, y), 1.0))),
    "asin": Intrinsic(
        math.asin, np.arcsin, adjoints=lambda m, g, y, x: m.div(g, m.call("sqrt", _one_minus_square(m, x)))
    ),
    "acos": Intrinsic(
        math.acos,
        np.arccos,
        adjoints=lambda m, g, y, x: m.negate(m.div(g, m.call("sqrt", _one_minus_square(m, x)))),
    ),
    "atan": Intrinsic(math.atan, np.arctan, adjoints=lambda m, g, y, x: m.div(g, m.add(m.mul(x, x), 1.0))),
    "atan2": Intrinsic(math.atan2, np.arctan2, arity=2, adjoints=_atan2_adjoints),
    "sinh": Intrinsic(
        math.sinh,
        np.sinh,
        limit=lambda a: math.copysign(math.inf, a),
        adjoints=lambda m, g, y, x: m.mul(g, m.call("cosh", x)),
    ),
    "cosh": Intrinsic(math.cosh, np.cosh, adjoints=lambda m, g, y, x: m.mul(g, m.call("sinh", x))),
    "tanh": Intrinsic(math.tanh, np.tanh, adjoints=_tanh_adjoint),
    "asinh": Intrinsic(
        math.asinh,
        np.arcsinh,
        adjoints=_asinh_adjoint,
    ),
    "acosh": Intrinsic(
        math.acosh,
        np.arccosh,
        adjoints=lambda m, g, y, x: m.div(
            g, m.mul(m.call("sqrt", m.sub(x, 1.0)), m.call("sqrt", m.add(x, 1.0)))
        ),
    ),
    "atanh": Intrinsic(
        math.atanh,
        np.arctanh,
        limit=lambda a: math.copysign(math.inf, a) if abs(a) == 1.0 else math.nan,
        adjoints=lambda m, g, y, x: m.div(g, _one_minus_square(m, x)),
    ),
    "erf": Intrinsic(
        math.erf,
        adjoints=lambda m, g, y, x: m.mul(
            m.mul(g, 2.0 / math.sqrt(math.pi)), m.call("exp", m.negate(m.mul(x, x)))
        ),
    ),
    "erfc": Intrinsic(
        math.erfc,
        adjoints=lambda m, g, y, x: m.mul(
            m.mul(g, -2.0 / math.sqrt(math.pi)), m.call("exp", m.negate(m.mul(x, x)))
        ),
    ),
    "sigmoid": Intrinsic(
        _sigmoid,
        _sigmoids,
        adjoints=lambda m, g, y, x: m.mul(g, _sigmoid_slope(m, x)),
    ),
    "pow": Intrinsic(math.pow, np.power, arity=2, limit=_power_limit, adjoints=_power_adjoints),
    "fmod": Intrinsic(
        math.fmod,
        np.fmod,
        arity=2,
        adjoints=lambda m, g, y, a, b: (g, m.negate(m.mul(g, m.call("trunc", m.div(a, b))))),
    ),
    "floor": Intrinsic(_whole(math.floor), np.floor, exact=True, cheap=True),
    "ceil": Intrinsic(_whole(math.ceil), np.ceil, exact=True, cheap=True),
    "round": Intrinsic(_whole(round), np.rint, exact=True, cheap=True),
    "trunc": Intrinsic(_whole(math.trunc), np.trunc, exact=True, cheap=True),
    "isnan": Intrinsic(math.isnan, np.isnan, gives_bool=True, exact=True, cheap=True),
    "isinf": Intrinsic(math.isinf, np.isinf, gives_bool=True, exact=True, cheap=True),
    "isfinite": Intrinsic(math.isfinite, np.isfinite, gives_bool=True, exact=True, cheap=True),
    "copysign": Intrinsic(
        math.copysign,
        np.copysign,
        arity=2,
        exact=True,
        cheap=True,
        adjoints=lambda m, g, y, a, b: (
            m.mul(g, m.mul(m.call("sign", a), m.call("copysign", m.const(1.0, b.dtype), b))),
            None,
        ),
    ),
    "fma": Intrinsic(
        _fma, arity=3, cheap=True, adjoints=lambda m, g, y, a, b, c: (m.mul(g, b), m.mul(g, a), g)
    ),
    "abs": Intrinsic(
        abs,
        np.abs,
        takes="number",
        exact=True,
        cheap=True,
        on_ints=lambda a, dtype: wrap(abs(a), dtype),
        adjoints=lambda m, g, y, x: m.mul(g, m.call("sign", x)),
    ),
    "sign": Intrinsic(
        _sign, np.sign, takes="number", exact=True, cheap=True, on_ints=lambda a, _: (a > 0) - (a < 0)
    ),
    "popcount": Intrinsic(
        takes="integer", exact=True, cheap=True, on_ints=lambda a, dtype: _unsigned(a, dtype).bit_count()
    ),
    "clz": Intrinsic(
        takes="integer",
        exact=True,
        cheap=True,
        on_ints=lambda a, dtype: dtype.bits - _unsigned(a, dtype).bit_length(),
    ),
}
# Functions of words, int32, which schedules write; the language has no names for them.
DOT_PRODUCTS: Final[dict[str, DotProduct]] = {
    "dot4": DotProduct(4, signed=False),  # of uint8 with int8
    "dot2": DotProduct(2, signed=True),  # of int16
}
ELEMENT_FUNCTIONS: Final = {**INTRINSICS, **{name: _dot(form) for name, form in DOT_PRODUCTS.items()}}
