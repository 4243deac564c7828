"""numpy's element functions on tracers: which op computes each, in the dtypes that numpy's own tables give."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from .... import ops
from ....base.arith import INTRINSICS
from ....base.errors import CallError
from ....base.vocabulary import is_extension_array
from ....ir import Constant
from .functions import without_defaults
from .operands import Operand, common_dtype, element, full, is_weak, operand, promotable, tensor, to
from .shaping import reshape
from .tracer import Tracer, weak_result

Loop: TypeAlias = Callable[..., Any]
Rule: TypeAlias = "str | Loop | Mapping[str, str | Loop]"
"""An op's name, a function of tracers, or one of these for each kind of dtype: "b" bool, "iu" integers, "f" floats,
"c" complex."""


def _same(x: Tracer) -> Tracer:
    return x


def _never(x: Tracer) -> Tracer:
    return full(x.shape, False, bool)


def _always(x: Tracer) -> Tracer:
    return full(x.shape, True, bool)


def _below(x: Tracer, y: Tracer) -> Any:
    """False is less than True."""
    return ops.logical_and(ops.logical_not(x), y)


def _at_most(x: Tracer, y: Tracer) -> Any:
    return ops.logical_or(ops.logical_not(x), y)


def _int_power(x: Tracer, y: Tracer) -> Any:
    """By squaring, where the exponent is known; exponents that the program computes are not looked at."""
    known = y.expr.data if isinstance(y.expr, Constant) else None
    if known is not None and x.size and (known < 0).any():
        raise ValueError("Integers to negative integer powers are not allowed.")
    if known is None or known.ndim or not x.size:
        return ops.power(x, y)
    return _raised(x, int(known))


def _raised(x: Tracer, exponent: int) -> Any:
    """`x` to an exponent of at least 0, by squaring."""
    found: Any = None
    square: Any = x
    while exponent:
        if exponent & 1:
            found = square if found is None else ops.multiply(found, square)
        exponent >>= 1
        square = ops.multiply(square, square) if exponent else square
    return ops.ones_like(x) if found is None else found


def _float_power(x: Tracer, y: Tracer) -> Any:
    """The square and the square root exactly, as numpy has them."""
    exponent = float(y.expr.data) if isinstance(y.expr, Constant) and not y.expr.data.ndim else None
    return ops.square(x) if exponent == 2.0 else ops.sqrt(x) if exponent == 0.5 else ops.power(x, y)


def _complex_power(x: Tracer, y: Tracer) -> Any:
    """By squaring, where the exponent is a known integer of few digits, as numpy has it."""
    known = complex(y.expr.data) if isinstance(y.expr, Constant) and not y.expr.data.ndim else 0.5
    if known.imag != 0 or not known.real.is_integer() or not 0 < abs(known.real) < 100:
        return ops.power(x, y)
    found: Any = _raised(x, abs(int(known.real)))
    return found if known.real > 0 else ops.divide(1.0, found)


def _divmod(x: Tracer, y: Tracer) -> tuple[Any, Any]:
    return ops.floor_divide(x, y), ops.floor_mod(x, y)


def _parts(x: Tracer) -> tuple[Any, Any]:
    """The fraction and the whole, both with the sign of the operand."""
    whole = ops.trunc(x)
    rest = ops.where(ops.isinf(x), 0.0, ops.subtract(x, whole))
    return ops.copysign(rest, x), whole


def _spacing(x: Tracer) -> Any:
    """The distance to the next float away from 0."""
    return ops.subtract(ops.nextafter(x, ops.copysign(float("inf"), x)), x)


def _ldexp(x: Tracer, exponent: Tracer) -> Any:
    """Beyond 5000 nothing is left of a float, or it is infinite."""
    bounded: Any = ops.clip(exponent, a_min=-5000, a_max=5000)
    return ops.ldexp(x, to(bounded, np.int32))


def _times(factor: float) -> Loop:
    return lambda x: ops.multiply(x, factor)


UFUNCS: Final[dict[np.ufunc, Rule]] = {
    **{
        row.array: name
        for name, row in INTRINSICS.items()
        if isinstance(row.array, np.ufunc) and name in ops.__all__
    },
    np.add: {"b": "logical_or", "iufc": "add"},
    np.subtract: "subtract",
    np.multiply: {"b": "logical_and", "iufc": "multiply"},
    np.divide: "divide",
    np.floor_divide: "floor_divide",
    np.remainder: "floor_mod",
    np.divmod: _divmod,
    np.modf: _parts,
    np.power: {"iu": _int_power, "f": _float_power, "c": _complex_power},
    np.float_power: "power",
    np.negative: "negative",
    np.positive: _same,
    np.absolute: {"b": _same, "iufc": "abs"},
    np.fabs: "abs",
    np.square: "square",
    np.reciprocal: {"iu": lambda x: ops.divide(1, x), "fc": "reciprocal"},
    np.hypot: "hypot",
    np.logaddexp: "logaddexp",
    np.logaddexp2: "logaddexp2",
    np.heaviside: "heaviside",
    np.signbit: "signbit",
    np.arctan2: "atan2",
    np.copysign: "copysign",
    np.nextafter: "nextafter",
    np.spacing: _spacing,
    np.frexp: "frexp",
    np.ldexp: _ldexp,
    np.gcd: "gcd",
    np.lcm: "lcm",
    np.deg2rad: _times(np.pi / 180.0),
    np.radians: _times(np.pi / 180.0),
    np.rad2deg: _times(180.0 / np.pi),
    np.degrees: _times(180.0 / np.pi),
    np.floor: {"biu": _same, "f": "floor"},
    np.ceil: {"biu": _same, "f": "ceil"},
    np.trunc: {"biu": _same, "f": "trunc"},
    np.isnan: {"biu": _never, "fc": "isnan"},
    np.isinf: {"biu": _never, "fc": "isinf"},
    np.isfinite: {"biu": _always, "fc": "isfinite"},
    np.conjugate: {"biuf": _same, "c": "conj"},
    np.maximum: {"b": "logical_or", "iuf": "maximum"},
    np.minimum: {"b": "logical_and", "iuf": "minimum"},
    np.fmax: {"b": "logical_or", "iu": "maximum", "f": "fmax"},
    np.fmin: {"b": "logical_and", "iu": "minimum", "f": "fmin"},
    np.equal: "equal",
    np.not_equal: "not_equal",
    np.less: {"b": _below, "iuf": "less"},
    np.less_equal: {"b": _at_most, "iuf": "less_equal"},
    np.greater: {"b": lambda x, y: _below(y, x), "iuf": "greater"},
    np.greater_equal: {"b": lambda x, y: _at_most(y, x), "iuf": "greater_equal"},
    np.logical_and: "logical_and",
    np.logical_or: "logical_or",
    np.logical_xor: "logical_xor",
    np.logical_not: "logical_not",
    np.bitwise_and: "bitwise_and",
    np.bitwise_or: "bitwise_or",
    np.bitwise_xor: "bitwise_xor",
    np.invert: "bitwise_not",
    np.left_shift: "left_shift",
    np.right_shift: "right_shift",
    np.bitwise_count: {"iu": "bitwise_count"},
}  # fmt: skip
_LOGICAL: Final = frozenset(
    {np.logical_and, np.logical_or, np.logical_xor, np.logical_not}
)  # of truth values
_COMPARISONS: Final[dict[np.ufunc, Callable[[Any, Any], bool]]] = {
    np.equal: operator.eq, np.not_equal: operator.ne, np.less: operator.lt, np.less_equal: operator.le,
    np.greater: operator.gt, np.greater_equal: operator.ge,
}  # fmt: skip


def apply(ufunc: np.ufunc, *values: object, dtype: object = None) -> Any:
    """The ufunc on operands of which one is traced; several results are a tuple.

    Raises TypeError where numpy does (no loop for the dtypes), CallError where no op computes the function, and
    DTypeError for a Python int that does not fit.
    """
    rule = UFUNCS.get(ufunc)
    if rule is None:
        raise CallError(
            f"np.{ufunc.__name__} is not there while a function is traced; no declared op computes it"
        )
    operands = [operand(value) for value in values]
    compare = _COMPARISONS.get(ufunc)
    if compare is not None:
        decided = _beyond(compare, operands)
        if decided is not None and (dtype is None or element(dtype).is_bool):  # type: ignore[arg-type]  # as below
            return decided
    dtypes, results = _loop(ufunc, operands, dtype)
    if compare is not None and dtypes[0] != dtypes[1]:
        return _mixed(ufunc, compare, operands, dtypes)
    made = _computed(ufunc, rule, dtypes[0])(*[to(x, d) for x, d in zip(operands, dtypes, strict=True)])
    if ufunc.nout > 1:
        return tuple([to(x, d) for x, d in zip(made, results, strict=True)])
    return to(made, results[0])


def apply_python(ufunc: np.ufunc, *values: object) -> Any:
    """`apply` for Python's operators, under which Python's floats and complex numbers alone stay such: weak."""
    operands = [operand(value) for value in values]
    made = apply(ufunc, *operands)
    if (
        all([is_weak(x) for x in operands])
        and isinstance(made, Tracer)
        and made.dtype in (np.float64, np.complex128)
    ):
        return weak_result(made.expr)
    return made


def _loop(ufunc: np.ufunc, operands: list[Operand], dtype: object) -> tuple[list[Any], list[Any]]:
    """The dtypes in which numpy computes, and those of the results."""
    known = [promotable(x) for x in operands]
    if ufunc in _LOGICAL:
        if dtype is not None and not element(dtype).is_bool:  # type: ignore[arg-type]  # what is no dtype raises
            raise TypeError(f"np.{ufunc.__name__} gives bool, found the dtype {dtype}")
        return [np.dtype(bool)] * len(known), [np.dtype(bool)]
    if any([isinstance(k, np.dtype) and is_extension_array(k) for k in known]):  # weak floats do not widen it
        joined = common_dtype(operands)
        known = [joined if not isinstance(k, np.dtype) else k for k in known]
    loops = (*known, *[None] * ufunc.nout)
    if dtype is None:
        found = ufunc.resolve_dtypes(loops)
    else:
        wanted = np.dtype(dtype)  # type: ignore[call-overload]  # what is no dtype raises
        found = ufunc.resolve_dtypes(loops, signature=(*[None] * ufunc.nin, *[wanted] * ufunc.nout))
    for each in found:
        element(each)
    return list(found[: ufunc.nin]), list(found[ufunc.nin :])


def _computed(ufunc: np.ufunc, rule: Rule, dtype: np.dtype[Any]) -> Loop:
    if isinstance(rule, Mapping):
        kind = element(dtype).kind
        chosen = next((each for kinds, each in rule.items() if kind in kinds), None)
        if chosen is None:
            raise CallError(f"no declared op computes np.{ufunc.__name__} of {dtype}")
        rule = chosen
    return getattr(ops, rule) if isinstance(rule, str) else rule


def _beyond(compare: Callable[[Any, Any], bool], operands: list[Operand]) -> Tracer | None:
    """A comparison with a Python int outside the dtype beside it: the same for every element."""
    for position, (number, other) in enumerate([operands, operands[::-1]]):
        if type(number) is int and isinstance(other, Tracer) and not other.weak:
            dtype = element(other.dtype)
            if dtype.is_int and not dtype.lowest <= number <= dtype.highest:
                sides = (number, 0) if position == 0 else (0, number)
                return full(other.shape, compare(*sides), bool)
    return None


def _mixed(
    ufunc: np.ufunc, compare: Callable[[Any, Any], bool], operands: list[Operand], dtypes: list[Any]
) -> Any:
    """An int64 compared with a uint64, exactly: one below zero is less than any of the other."""
    name = UFUNCS[ufunc]
    name = name["iuf"] if isinstance(name, Mapping) else name
    assert isinstance(name, str)
    x, y = (to(v, d) for v, d in zip(operands, dtypes, strict=True))
    signed, negative = (x, compare(-1, 0)) if x.dtype.kind == "i" else (y, compare(0, -1))
    both = getattr(ops, name)(to(x, np.uint64), to(y, np.uint64))
    return ops.where(ops.less(signed, 0), np.asarray(negative), both)


_DEFAULTS: Final = {"where": True, "casting": "same_kind", "order": "K", "subok": True}


def array_ufunc(self: Tracer, ufunc: np.ufunc, method: str, *inputs: object, **options: Any) -> Any:
    """numpy's protocol `__array_ufunc__`."""
    name = f"np.{ufunc.__name__}"
    if method in _METHODS:
        function = _METHODS[method].get(ufunc)
        if function is None:
            raise CallError(f"{name}.{method} is not there while a function is traced")
        return without_defaults(f"{name}.{method}", function)(*inputs, **options)
    if method == "outer":
        x, y = (tensor(value) for value in inputs)
        return ufunc(reshape(x, (*x.shape, *[1] * y.ndim)), y, **options)
    if method != "__call__":
        raise CallError(f"{name}.{method} is not there while a function is traced")
    special = SPECIAL.get(ufunc)
    if special is not None and set(options) == {"axis"}:
        return without_defaults(name, special)(*inputs, **options)
    dtype = options.pop("dtype", None)
    if options.pop("out", None) is not None:
        raise CallError(f"{name}: nothing can be written to `out` while a function is traced")
    for option, value in options.items():
        if type(value) not in (bool, str) or value != _DEFAULTS.get(option):
            raise CallError(f"{name}: the option {option!r} is not there while a function is traced")
    if special is not None:
        return special(*inputs)
    return apply(ufunc, *inputs, dtype=dtype)


SPECIAL: Final[dict[np.ufunc, Loop]] = {}
"""ufuncs that work on more than elements, such as matmul."""
_METHODS: Final[dict[str, dict[np.ufunc, Loop]]] = {"reduce": {}, "accumulate": {}}


def as_method(method: str, ufunc: np.ufunc, function: Loop) -> None:
    """Let `ufunc.reduce` or `ufunc.accumulate` be `function`, whose parameters are those of the method."""
    _METHODS[method][ufunc] = function
