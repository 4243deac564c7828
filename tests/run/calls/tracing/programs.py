"""Random programs of numpy on arrays and under `jit`: the same results.

A program is a list of steps over the values so far.  Steps that numpy refuses, or whose results are not of element
types, are not taken.  A value carries the bound of its rounding
error (0: exact), so that steps that jump (comparisons, rounding) are applied to exact values only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import opgen_runtime as rt

DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
]
SHAPES = [(), (1,), (3,), (4,), (2, 3), (3, 1), (1, 3), (3, 4), (2, 3, 4), (2, 1, 3), (0, 3), (2, 0)]
LITERALS = [0, 1, 2, 3, -1, 7, True, False, 0.5, 2.0, -1.5, 0.0]
LARGEST = 32.0
Choose = Callable[[Sequence[Any]], Any]


@dataclass
class Known:
    """A value on arrays, with the greatest difference that rounding can have made."""

    value: Any
    error: float = 0.0

    @property
    def array(self) -> np.ndarray:
        return np.asarray(self.value)

    @property
    def tame(self) -> bool:
        a = self.array
        return a.dtype.kind != "f" or bool(
            np.all(np.isfinite(a)) and (not a.size or np.abs(a).max() <= LARGEST)
        )


@dataclass
class Step:
    """`apply` of values (by position in the program) makes one; `text` is for messages."""

    text: str
    apply: Callable[..., Any]
    operands: tuple[int, ...]


def make_input(choose: Choose, seed: int) -> Any:
    random = np.random.default_rng(seed)
    dtype = np.dtype(choose(DTYPES))
    if choose(range(8)) == 0:
        return float(choose([0.5, -2.0, 3.25, -0.0, 1.0]))
    shape = choose(SHAPES)
    if dtype.kind == "b":
        return np.asarray(random.integers(0, 2, shape) > 0)
    if dtype.kind == "f":
        return np.asarray(random.integers(-24, 25, shape) / 8).astype(dtype)
    low = 0 if dtype.kind == "u" else -20
    return np.asarray(random.integers(low, 21, shape)).astype(dtype)


# Name -> where an inexact operand may be: elsewhere the function is steep or jumps.
_SMOOTH: dict[str, Callable[[np.ndarray], Any]] = {
    "exp": lambda x: x < 3, "expm1": lambda x: x < 3, "exp2": lambda x: x < 4, "sin": np.isfinite, "cos": np.isfinite,
    "tanh": np.isfinite, "arctan": np.isfinite, "arcsinh": np.isfinite, "square": np.isfinite,
    "sqrt": lambda x: x > 0.1, "log": lambda x: x > 0.1, "log1p": lambda x: x > -0.9, "log2": lambda x: x > 0.1,
    "log10": lambda x: x > 0.1, "reciprocal": lambda x: np.abs(x) > 0.2, "sinh": lambda x: np.abs(x) < 3,
    "cosh": lambda x: np.abs(x) < 3, "arcsin": lambda x: np.abs(x) < 0.9, "arccos": lambda x: np.abs(x) < 0.9,
    "tan": lambda x: np.abs(x) < 1.2, "arctanh": lambda x: np.abs(x) < 0.9, "arccosh": lambda x: x > 1.2,
    "negative": np.isfinite, "absolute": np.isfinite, "positive": np.isfinite, "fabs": np.isfinite,
    "deg2rad": np.isfinite, "degrees": lambda x: np.abs(x) < 0.5,
}  # fmt: skip
_JUMPING = ["sign", "floor", "ceil", "trunc", "rint", "isnan", "isinf", "isfinite", "logical_not", "invert"]
_SMOOTH_BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "fmax", "fmin", "hypot", "logaddexp"]
_JUMPING_BINARY = [
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor",
    "bitwise_and", "bitwise_or", "bitwise_xor", "floor_divide", "remainder", "fmod", "divide", "float_power",
]  # fmt: skip
_OPERATORS: dict[str, tuple[Callable[[Any, Any], Any], bool]] = {
    "+": (lambda x, y: x + y, True), "-": (lambda x, y: x - y, True), "*": (lambda x, y: x * y, True),
    "/": (lambda x, y: x / y, False), "//": (lambda x, y: x // y, False), "%": (lambda x, y: x % y, False),
    "==": (lambda x, y: x == y, False), "!=": (lambda x, y: x != y, False), "<": (lambda x, y: x < y, False),
    "<=": (lambda x, y: x <= y, False), ">": (lambda x, y: x > y, False), ">=": (lambda x, y: x >= y, False),
    "&": (lambda x, y: x & y, False), "|": (lambda x, y: x | y, False), "^": (lambda x, y: x ^ y, False),
    "@": (lambda x, y: x @ y, True),
}  # fmt: skip
_REDUCTIONS: dict[str, bool] = {
    "sum": True, "prod": True, "mean": True, "max": True, "min": True, "any": False, "all": False, "std": False,
    "var": True, "argmax": False, "argmin": False, "cumsum": True, "cumprod": True,
}  # fmt: skip


def _index(choose: Choose) -> Any:
    one = [0, -1, 1, None, Ellipsis, slice(None), slice(1, None), slice(None, None, -1), slice(None, None, 2),
           slice(-2, None), slice(3, 0, -2), slice(1, 1), np.array([0, -1]), [1, 0], np.array([[0], [1]])]  # fmt: skip
    items = tuple(choose(one) for _ in range(choose([1, 1, 2, 3])))
    return items[0] if len(items) == 1 else items


def make_step(choose: Choose, values: Sequence[Known]) -> tuple[Step, bool] | None:
    """A step, and whether its function is smooth where its operands are."""
    at = choose(range(len(values)))
    other = choose(range(len(values)))
    x = values[at].array
    kind = choose(
        [
            "unary",
            "jump",
            "ufunc",
            "literal",
            "operator",
            "operator",
            "reduce",
            "shape",
            "index",
            "join",
            "cast",
        ]
    )
    if kind == "unary":
        name = choose(list(_SMOOTH))
        if name == "reciprocal" and x.dtype.kind != "f":
            return None  # of 0, whatever the machine gives
        with np.errstate(all="ignore"):
            fits = bool(np.all(_SMOOTH[name](x.astype("float64"))))
        return Step(f"np.{name}", lambda v: getattr(np, name)(v), (at,)), fits
    if kind == "jump":
        name = choose(_JUMPING)
        return Step(f"np.{name}", lambda v: getattr(np, name)(v), (at,)), False
    if kind == "ufunc":
        name = choose(_SMOOTH_BINARY + _JUMPING_BINARY)
        return Step(f"np.{name}", lambda v, w: getattr(np, name)(v, w), (at, other)), name in _SMOOTH_BINARY
    if kind == "literal":
        return _literal_step(choose, at, x.dtype.kind)
    if kind == "operator":
        symbol = choose(list(_OPERATORS))
        return Step(symbol, _OPERATORS[symbol][0], (at, other)), _OPERATORS[symbol][1]
    if kind == "reduce":
        name = choose(list(_REDUCTIONS))
        options: dict[str, Any] = {"axis": choose([None, 0, -1, 1])}
        if name not in ("cumsum", "cumprod"):
            options["keepdims"] = choose([False, True])
            if name not in ("argmax", "argmin") and choose([0, 0, 1]):
                options["axis"] = choose([(0, 1), (-1,), ()])
        text = f"{name}({options})"
        if choose([True, False]):
            return Step(f"np.{text}", lambda v: getattr(np, name)(v, **options), (at,)), _REDUCTIONS[name]
        return Step(f".{text}", lambda v: getattr(v, name)(**options), (at,)), _REDUCTIONS[name]
    if kind == "cast":
        dtype = np.dtype(choose(DTYPES))
        if (
            x.dtype.kind == "f"
            and dtype.kind in "iu"
            and x.size
            and (x.min() < 0 or not np.isfinite(x).all())
        ):
            return None  # what C leaves open
        return Step(f".astype({dtype})", lambda v: v.astype(dtype), (at,)), dtype.kind == "f"
    if kind == "index":
        index = _index(choose)
        return Step(f"[{index}]", lambda v: v[index], (at,)), True
    return _shape_step(choose, kind, at, other, x)


def _literal_step(choose: Choose, at: int, kind: str) -> tuple[Step, bool] | None:
    symbol, literal = choose([*_OPERATORS, "**", "<<", ">>"]), choose(LITERALS)
    if symbol == "**" and kind == "b":
        return None  # numpy takes the square of bools to be int8, other powers int64
    if symbol in ("**", "<<", ">>"):
        number = choose([0, 1, 2, 3])
        functions = {"**": lambda v: v**number, "<<": lambda v: v << number, ">>": lambda v: v >> number}
        return Step(f"{symbol} {number}", functions[symbol], (at,)), symbol == "**"
    function, smooth = _OPERATORS[symbol]
    if choose([True, False]):
        return Step(f"{symbol} {literal}", lambda v: function(v, literal), (at,)), smooth
    return Step(f"{literal} {symbol}", lambda v: function(literal, v), (at,)), smooth


def _shape_step(choose: Choose, kind: str, at: int, other: int, x: np.ndarray) -> tuple[Step, bool]:
    axis = choose([0, -1, 1])
    if kind == "join":
        choices: dict[str, Callable[[Any, Any], Any]] = {
            "concatenate": lambda v, w: np.concatenate([v, w], axis=axis),
            "stack": lambda v, w: np.stack([v, w], axis=axis),
            "vstack": lambda v, w: np.vstack([v, w]), "hstack": lambda v, w: np.hstack((v, w)),
            "where": lambda v, w: np.where(w != 0, v, 1), "where2": lambda v, w: np.where([True], v, w),
            "dot": lambda v, w: np.dot(v, w), "outer": lambda v, w: np.outer(v, w),
            "divmod": lambda v, w: divmod(v, w)[1],
            "clip": lambda v, w: np.clip(v, -2, w), "einsum": lambda v, w: np.einsum("ij,jk->ki", v, w),
        }  # fmt: skip
        name = choose(list(choices))
        return Step(name, choices[name], (at, other)), name not in ("where", "divmod")
    shapes: dict[str, Callable[[Any], Any]] = {
        "T": lambda v: v.T, "reshape": lambda v: v.reshape(-1, 1), "ravel": lambda v: v.ravel(),
        "transpose": lambda v: np.moveaxis(v, 0, -1), "swapaxes": lambda v: v.swapaxes(0, axis),
        "squeeze": lambda v: np.squeeze(v), "expand": lambda v: np.expand_dims(v, axis),
        "flip": lambda v: np.flip(v, axis), "roll": lambda v: np.roll(v, 2, axis), "tile": lambda v: np.tile(v, (2, 1)),
        "repeat": lambda v: np.repeat(v, 2, axis=axis), "broadcast": lambda v: np.broadcast_to(v, (2, *np.shape(v))),
        "pad": lambda v: np.pad(v, 1), "diff": lambda v: np.diff(v, axis=axis), "sort": lambda v: np.sort(v, axis=axis),
        "zeros_like": lambda v: np.zeros_like(v), "full_like": lambda v: np.full_like(v, 1),
        "split": lambda v: np.split(v, [1], axis=axis)[0], "iterate": lambda v: [*v][-1],
        "triu": lambda v: np.triu(v) if np.ndim(v) > 1 else v,
        "take": lambda v: np.take(v, [0, 0], axis=axis), "len": lambda v: v * len(v), "size": lambda v: v + v.size,
        "round": lambda v: np.round(v), "reduce": lambda v: np.add.reduce(v),
        "count": lambda v: np.count_nonzero(v, axis=0),
        "ptp": lambda v: np.ptp(v, axis=axis), "clip": lambda v: v.clip(-1.5, 2),
    }  # fmt: skip
    name = choose(list(shapes))
    return Step(name, shapes[name], (at,)), name not in ("round", "count")


def error_of(step: Step, result: np.ndarray, operands: Sequence[Known]) -> float:
    """A bound of what rounding does: that of the operands, amplified, and that of the step."""
    if result.dtype.kind != "f":
        return 0.0
    amplified = 40 * sum(known.error for known in operands)
    exact = step.text.startswith(("[", "+", "-", "*")) or step.text in _EXACT
    dtypes = [known.array.dtype for known in operands if known.array.dtype.kind == "f"]
    half = "float16" in {result.dtype.name, *[dtype.name for dtype in dtypes]}
    precision = np.finfo(np.float16 if half else result.dtype).eps
    return amplified + (0.0 if exact and not half else 64 * float(precision))


_EXACT = frozenset(
    {
        "T",
        "reshape",
        "ravel",
        "transpose",
        "swapaxes",
        "squeeze",
        "expand",
        "flip",
        "roll",
        "concatenate",
        "stack",
        "where",
    }
)


def build(choose: Choose, seed: int, length: int) -> tuple[list[Any], list[Step], list[Known]]:
    """Inputs, steps, and the values that numpy gives."""
    inputs = [make_input(choose, seed + k) for k in range(choose([1, 2, 3]))]
    values = [Known(each) for each in inputs]
    usable = list(range(len(values)))
    steps: list[Step] = []
    for _ in range(length):
        made = make_step(choose, [values[k] for k in usable])
        if made is None:
            continue
        step, smooth = made
        step.operands = tuple(usable[k] for k in step.operands)
        operands = [values[k] for k in step.operands]
        if not smooth and any(known.error for known in operands):
            continue
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = step.apply(*[known.value for known in operands])
        except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError, AttributeError):
            continue
        if type(result) is bool:
            result = np.bool_(result)  # of Python floats; the comparison of what stands for them is a tensor
        array = np.asarray(result)
        if array.dtype.name not in DTYPES or isinstance(result, list | tuple) or array.size > 4000:
            continue
        known = Known(result, error_of(step, array, operands))
        if known.error > 0.05:
            continue
        steps.append(step)
        values.append(known)
        if known.tame:
            usable.append(len(values) - 1)
    return inputs, steps, values


def check(choose: Choose, seed: int, length: int = 6) -> None:
    """Raises AssertionError where a random program gives something else under `jit` than on arrays."""
    inputs, steps, expected = build(choose, seed, length)

    def program(*given: Any) -> Any:
        values = list(given)
        for step in steps:
            values.append(step.apply(*[values[k] for k in step.operands]))
        return tuple(values)

    text = "; ".join(f"v{len(inputs) + k} = {s.text} of {s.operands}" for k, s in enumerate(steps))
    text = f"{[(a.dtype.name, a.shape) if isinstance(a, np.ndarray) else a for a in inputs]}: {text}"
    try:
        found = rt.jit(program)(*inputs)
    except Exception as error:
        raise AssertionError(f"{text}: {type(error).__name__}: {error}") from error
    for k, (known, result) in enumerate(zip(expected, found, strict=True)):
        place = f"v{k} of {text}"
        assert isinstance(result, np.ndarray), place
        wanted = known.array
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape), (
            f"{place}: {result.dtype}{result.shape}"
        )
        if wanted.dtype.kind != "f" or not known.error:
            np.testing.assert_array_equal(result, wanted, place)
        else:
            np.testing.assert_allclose(result, wanted, known.error, known.error, err_msg=place)
