"""Random expressions of numpy over a few arrays, as text: what `tests/fuzz/numpy_calls.py` evaluates.

An expression is drawn with numpy's values at hand, so that most arguments fit.  Inner steps are exact; what rounds, or
fails, is only the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tests.fuzz._numpy_values import DTYPES, Values, literal

TAME: Final = 32.0  # the greatest element of operands of sums and of functions that are steep
SAME_UNARY: Final = (
    "negative", "positive", "absolute", "fabs", "square", "sign", "floor", "ceil", "trunc", "rint", "isnan", "isinf",
    "isfinite", "logical_not", "invert", "conjugate", "sqrt", "reciprocal", "signbit", "bitwise_count",
)  # fmt: skip
ROUNDED_UNARY: Final = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "sinh",
    "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "deg2rad", "rad2deg", "radians", "degrees",
)  # fmt: skip
SAME_BINARY: Final = (
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "maximum", "minimum", "fmax",
    "fmin",
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
    "logical_xor",
    "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "divmod", "copysign", "gcd", "heaviside",
)  # fmt: skip
ROUNDED_BINARY: Final = ("power", "float_power", "hypot", "logaddexp", "logaddexp2", "arctan2")
OPERATORS: Final = (
    "+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=",
)  # fmt: skip
REDUCED: Final = (
    "add", "multiply", "maximum", "minimum", "logical_and", "logical_or", "logical_xor", "bitwise_and",
    "bitwise_or", "fmax",
    "subtract", "equal",
)  # fmt: skip
REDUCTIONS: Final = (
    "sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "argmax", "argmin", "cumsum", "cumprod", "ptp",
    "count_nonzero", "amax", "amin", "median", "average", "nansum", "nanmax", "cumulative_sum",
)  # fmt: skip
SUMS: Final = frozenset(
    {
        "sum",
        "prod",
        "mean",
        "var",
        "std",
        "cumsum",
        "cumprod",
        "add",
        "multiply",
        "subtract",
        "cumulative_sum",
    }
)
EXTREMES: Final = frozenset(
    {"maximum", "minimum", "fmax", "fmin", "max", "min", "amax", "amin", "ptp", "sort"}
)
"""Of zeros that are the greatest or least, either sign is one of them."""


@dataclass(frozen=True)
class Expression:
    """Python text over the inputs; `ulps` and `scale` bound what rounding may do: `ulps` units in the last place of
    numpy's result, and `scale` times the spacing of its dtype at 1.  `signs`: zeros are told apart by their signs.
    `inner`: the text of the operand of the last step."""

    text: str
    ulps: float = 0.0
    scale: float = 0.0
    signs: bool = True
    inner: str = ""

    @property
    def is_exact(self) -> bool:
        return not (self.ulps or self.scale)


def expression(values: Values) -> Expression:
    """One of one to three steps."""
    text = str(values.pick(*[name for name in values.inputs if name != "s"]))
    for _ in range(values.pick(0, 0, 1, 1, 2)):
        made = _step(values, text)
        value = values.known(made.text) if made is not None and made.is_exact and made.signs else None
        if isinstance(value, np.ndarray | np.generic) and value.dtype.name in DTYPES and value.size <= 400:
            assert made is not None
            text = made.text
    while True:
        found = _step(values, text)
        if found is not None:
            return Expression(found.text, found.ulps, found.scale, found.signs, text)


def _step(values: Values, text: str) -> Expression | None:
    x = np.asarray(values.known(text))
    made: Expression | None = values.pick(*_STEPS)(values, text if text.isidentifier() else f"({text})", x)
    return made


def _tame(*arrays: object) -> bool:
    """Whether all elements are finite and small."""
    floats = [np.asarray(a).astype(np.float64) for a in arrays if a is not None]
    return all(bool(np.all(np.isfinite(a)) and (not a.size or np.abs(a).max() <= TAME)) for a in floats)


def _is_open_power(values: Values, name: str, x: str, exponent: str) -> bool:
    """Whether `jit` cannot see what numpy refuses, an int to a negative power, or numpy's scalars have a rule that its
    arrays of rank 0 have not."""
    if name not in ("power", "**"):
        return False
    base, y = np.asarray(values.known(x)), np.asarray(values.known(exponent))
    if base.dtype.kind == "b" and not base.ndim:
        return True
    return y.dtype.kind == "i" and bool((y < 0).any()) and values.is_traced(exponent)


def _loses(x: np.ndarray, dtype: str) -> bool:
    """Whether elements are floats that are no ints of a dtype: what numpy makes of them is the machine's."""
    name = dtype.strip("'").removeprefix("np.").removesuffix("_")
    if x.dtype.kind != "f" or name not in DTYPES or np.dtype(name).kind not in "iu":
        return False
    limits = np.iinfo(name)
    wide = x.astype(np.float64)
    return bool(x.size and not np.all(np.isfinite(wide) & (wide > limits.min - 1.0) & (wide < limits.max)))


def _summed(x: np.ndarray, power: int = 1) -> tuple[float, float]:
    """What rounding does to sums of all elements, their products, or their squares: ULPs and scale."""
    largest = max(1.0, float(np.abs(x.astype(np.float64)).max()) if x.size else 1.0) ** power
    return 8.0 * max(x.size, 4), 16.0 * max(x.size, 4) * largest


def _unary(values: Values, of: str, x: np.ndarray) -> Expression | None:
    name = values.pick(*SAME_UNARY, *ROUNDED_UNARY)
    if name == "reciprocal" and x.dtype.kind in "iu" and not np.all(x):
        return None  # of 0, whatever the machine gives
    dtype = values.dtype() if values.often(0.1) else ""
    rounds = name in ROUNDED_UNARY
    if rounds and not _tame(x) and x.dtype.kind != "f":
        return None
    return Expression(f"np.{name}({of}{f', dtype={dtype}' if dtype else ''})", 8.0 if rounds else 0.0)


def _sides(values: Values, of: str, x: np.ndarray) -> tuple[str, str]:
    other = values.other(x)
    return (of, other) if values.often(0.6) else (other, of)


def _binary(values: Values, of: str, x: np.ndarray) -> Expression | None:
    name = values.pick(*SAME_BINARY, *ROUNDED_BINARY)
    first, second = _sides(values, of, x)
    if _is_open_power(values, name, first, second):
        return None
    options = ""
    if values.often(0.08):
        ways = (", dtype={dtype}", ", where={mask}", ", casting='no'", ", out=None", ", casting='unsafe'")
        options = values.fill(values.pick(*ways), of, x)
    if "where=" in options and not all(
        isinstance(values.known(side), np.ndarray) for side in (first, second)
    ):
        return None  # np.greater(-1, uint8 array, where=mask) ends the process of numpy 2.4
    outer = values.pick("", "", "", "", ".outer") if not options else ""
    ulps = 8.0 if name in ROUNDED_BINARY else 0.0
    return Expression(f"np.{name}{outer}({first}, {second}{options})", ulps, signs=name not in EXTREMES)


def _operator(values: Values, of: str, x: np.ndarray) -> Expression | None:
    name = values.pick(*OPERATORS)
    first, second = _sides(values, of, x)
    if _is_open_power(values, name, first, second):
        return None
    if name == "@" and not _tame(values.known(first), values.known(second)):
        return None
    ulps, scale = (8.0, 0.0) if name == "**" else (64.0, 4096.0) if name == "@" else (0.0, 0.0)
    return Expression(f"{first} {name} {second}", ulps, scale)


def _reduction(values: Values, of: str, x: np.ndarray) -> Expression | None:
    name = values.pick(*REDUCTIONS)
    runs = name.startswith("cum")
    one = runs or name in ("argmax", "argmin")
    options: dict[str, str] = {}
    chances = {
        "axis": 0.75, "keepdims": 0.0 if runs else 0.3, "dtype": 0.3 if name in SUMS else 0.0, "out": 0.03,
        "where": 0.1 if name in ("sum", "prod", "max", "min", "any", "all", "mean", "var", "std") else 0.0,
        "initial": 0.15 if name in ("sum", "prod", "max", "min") else 0.0,
        "ddof": 0.3 if name in ("var", "std") else 0.0, "correction": 0.1 if name in ("var", "std") else 0.0,
    }  # fmt: skip
    drawn = {
        "axis": "{axis}" if one else "{axes}", "keepdims": "{kept}", "dtype": "{dtype}", "out": "None",
        "where": "{mask}",
        "initial": "{scalar}", "ddof": "{count}", "correction": values.pick("0", "1", "2", "0.5", "7"),
    }  # fmt: skip
    for option, chance in chances.items():
        if values.often(chance):
            options[option] = values.fill(drawn[option], of, x)
    bounds = _bounds(values, name, x, options)
    if bounds is None:
        return None
    arguments = ", ".join(f"{option}={value}" for option, value in options.items())
    text = f"np.{name}({', '.join([of, *([arguments] if arguments else [])])})"
    if values.often(0.5) and hasattr(np.ndarray, name):
        text = f"{of}.{name}({arguments})"
    return Expression(text, *bounds, signs=name not in EXTREMES)


def _bounds(values: Values, name: str, x: np.ndarray, options: dict[str, str]) -> tuple[float, float] | None:
    """The ULPs and scale of a sum, a product or a mean; None where numpy's own result is nothing to compare with."""
    dtype = options.get("dtype", str(x.dtype))
    begin = np.asarray(values.known(options.get("initial", "0")))
    if _loses(x, dtype) or _loses(begin, dtype):
        return None
    if not (name in SUMS or name in ("average", "nansum", "median")):
        return 0.0, 0.0
    halves = "float16" in dtype
    if not _tame(x) or (halves and x.dtype.kind != "f") or (halves and x.size > 6):
        return None  # numpy rounds sums of halves at each step
    ulps, scale = _summed(x, 2 if name in ("var", "std") else 1)
    return ulps, scale**0.5 * 64 if name == "std" else scale


def _method(values: Values, of: str, x: np.ndarray) -> Expression | None:
    method = values.pick("reduce", "reduce", "reduce", "accumulate", "accumulate", "reduceat", "at")
    name = values.pick(*REDUCED)
    if method == "at":
        return Expression(f"np.{name}.at({of}, 0, 1)")
    options: dict[str, str] = {}
    if values.often(0.7):
        options["axis"] = values.fill("{axes}" if method == "reduce" else "{int_axis}", of, x)
    if name in SUMS and values.often(0.3):
        options["dtype"] = values.dtype()
    if method == "reduce":
        for option, template, chance in (
            ("keepdims", "{kept}", 0.3),
            ("initial", "{scalar}", 0.15),
            ("where", "{mask}", 0.1),
        ):
            if values.often(chance):
                options[option] = values.fill(template, of, x)
    bounds = _bounds(values, name, x, options)
    if bounds is None:
        return None
    given = ", [0]" if method == "reduceat" else ""
    arguments = "".join(f", {option}={value}" for option, value in options.items())
    return Expression(f"np.{name}.{method}({of}{given}{arguments})", *bounds, signs=name not in EXTREMES)


def _index(values: Values, of: str, x: np.ndarray) -> Expression:
    if values.often(0.12):
        prefix = x.shape[: values.random.randint(1, x.ndim)] if x.ndim else ()
        mask = values.pick(
            f"{of} > 1", f"{of} == {of}", values.mask(x), literal(values.array("bool", prefix))
        )
        return Expression(f"{of}[{mask}]")
    count = values.random.randint(0, x.ndim + (1 if values.often(0.05) else 0))
    dots = values.random.randint(0, count) if values.often(0.25) else count
    # What stands after the dots names the last axes.
    named = [*range(dots), *range(x.ndim - (count - dots), x.ndim)] if count <= x.ndim else range(count)
    items: list[str] = []
    for axis in named:
        extent = x.shape[axis] if 0 <= axis < x.ndim else 1
        ways = (values.whole_slice, values.whole_slice, values.position, values.positions)
        items.append(values.pick(*ways)(extent))
        if values.often(0.03):
            items[-1] = literal(values.array("bool", (extent,)))
    if dots < count or values.often(0.1):
        items.insert(dots, "...")
    for _ in range(values.pick(0, 0, 0, 1, 1, 2)):
        items.insert(values.random.randint(0, len(items)), "True" if values.often(0.1) else "None")
    if values.often(0.02):
        items.append("...")
    if len(items) == 1 and values.often(0.8):
        return Expression(f"{of}[{items[0]}]")
    return Expression(f"{of}[{', '.join(items)}{',' if len(items) == 1 else ''}]" if items else f"{of}[()]")


def _taking(values: Values, of: str, x: np.ndarray) -> Expression:
    axis = values.axis(x)
    known = values.known(axis)
    extent = x.shape[known] if type(known) is int and -x.ndim <= known < x.ndim else x.size
    if values.often(0.6) or not x.ndim:
        truths = literal(values.array("bool", (2,)))
        indices = values.pick(
            values.positions(extent), values.positions(extent), values.position(extent), truths
        )
        modes = (
            ("clip", "raise", "x") if extent == 0 else ("clip", "wrap", "raise", "x")
        )  # wrapped by 0 for ever
        mode = f", mode={values.pick(*map(repr, modes))}" if values.often(0.3) else ""
        return Expression(
            values.pick(f"np.take({of}, {indices}, axis={axis}{mode})", f"{of}.take({indices}, {axis}{mode})")
        )
    at = values.random.randrange(-x.ndim, x.ndim)
    shape = list(x.shape)
    shape[at] = values.pick(1, 2, 3, 0)
    if values.often(0.2):
        shape[values.random.randrange(x.ndim)] = 1
    indices = values.positions(x.shape[at], tuple(shape))
    indices = f"np.array({indices})" if indices.startswith("[") else indices
    axis = str(at) if values.is_traced(indices) or values.often(0.8) else axis
    return Expression(f"np.take_along_axis({of}, {indices}, axis={axis})")


def _sorting(values: Values, of: str, x: np.ndarray) -> Expression:
    kinds = ("kind='stable'", "stable=True", "kind='quicksort'", "kind='stable'", "kind='x'", "", "")
    name = values.pick("sort", "argsort")
    kind = values.pick(*kinds) if name == "sort" else values.pick("kind='stable'", "stable=True")
    axis = f"axis={values.axis(x)}" if values.often(0.7) else ""
    arguments = ", ".join(each for each in (axis, kind) if each)
    if name == "argsort" and values.often(0.3):
        return Expression(f"{of}.argsort({arguments})")
    return Expression(
        f"np.{name}({', '.join(each for each in (of, arguments) if each)})", signs=name != "sort"
    )


MOVES: Final = (
    "{x}.reshape({shape})", "np.reshape({x}, {shape})", "{x}.reshape(-1)", "{x}.T", "{x}.mT",
    "np.reshape({x}, {shape}, order={letter})", "np.ravel({x})", "{x}.ravel({letter})", "{x}.flatten()",
    "np.transpose({x}, {order})", "{x}.transpose(*{order})", "np.transpose({x})",
    "np.moveaxis({x}, {int_axis}, {int_axis})",
    "np.moveaxis({x}, {axes}, {axes})", "np.swapaxes({x}, {int_axis}, {int_axis})",
    "{x}.swapaxes({int_axis}, {int_axis})",
    "np.expand_dims({x}, {new_axes})", "np.squeeze({x}, axis={axes})", "np.squeeze({x})", "{x}.squeeze({axis})",
    "np.flip({x}, {axes})", "np.flip({x})", "np.fliplr({x})", "np.rot90({x})", "np.roll({x}, {shift}, {axes})",
    "np.roll({x}, {shift})", "np.repeat({x}, {repeats})", "{x}.repeat({repeats})", "np.tile({x}, {times})",
    "np.pad({x}, {width}{mode})", "np.pad({x}, {width}{mode})", "np.split({x}, {sections}, axis={int_axis})",
    "np.array_split({x}, {sections}, axis={int_axis})", "np.split({x}, {sections})",
    "np.broadcast_to({x}, {stretched})",
    "np.atleast_1d({x})", "np.atleast_2d({x})", "np.matrix_transpose({x})", "np.size({x}, {axes})", "np.ndim({x})",
    "np.shape({x})", "np.vsplit({x}, {sections})", "np.rollaxis({x}, {int_axis})", "np.permute_dims({x}, {order})",
    "np.concatenate([{x}, {other}], axis={axis})", "np.concatenate(({x}, {x}), axis={axis})", "np.concatenate({x})",
    "np.concatenate([{other}, {x}, {x}], dtype={dtype})", "np.concat([{x}])", "np.stack([{x}, {x}], axis={axis})",
    "np.stack([{x}, {other}])", "np.stack({x}, axis={int_axis})", "np.stack([{x}, {x}], 1, dtype={dtype})",
    "np.vstack([{x}, {other}])", "np.hstack(({x}, {other}))", "np.dstack([{x}])", "np.column_stack([{x}, {other}])",
    "np.vstack({x})", "np.append({x}, {other})", "np.append({x}, {other}, axis={axis})", "np.block([{x}, {other}])",
    "np.broadcast_arrays({x}, {other})", "np.meshgrid({x}, {other})", "np.resize({x}, {stretched})",
    "len({x})", "[*{x}]", "{x}.size", "{x}.nbytes", "{x}.copy()", "np.copy({x})", "{x}.real", "np.iscomplexobj({x})",
    "np.diagonal({x})", "np.diag({x})", "np.triu({x}, {k})", "np.tril({x}, k={k})", "np.trace({x})",
)  # fmt: skip
ELEMENTS: Final = (
    "abs({x})", "-{x}", "~{x}", "+{x}", "divmod({x}, {other})", "divmod({other}, {x})",
    "np.where({x}, {other}, {other})",
    "np.where({other}, {x}, {other})", "np.where({x} > 0, {x}, {other})", "np.where({x})",
    "np.select([{x} > 0, {x} < 0], [{other}, {x}], {small})", "np.select([{x} > 0], [{x}])",
    "np.diff({x}, {count}, axis={int_axis})", "np.diff({x}, n={count})", "np.array_equal({x}, {x})",
    "np.array_equal({x}, {other})", "np.zeros_like({x})", "np.ones_like({x}, dtype={dtype})", "np.nan_to_num({x})",
    "np.zeros_like({x}, shape={new_shape})", "np.isin({x}, [1, 2])", "np.sign({x}) * {x}",
    "np.interp({x}, [0, 1], [0, 1])",
    "np.isclose({x}, {other})", "np.isclose({x}, {x}, rtol=0)",
    "np.isclose({other}, {x}, atol={small}, equal_nan=True)",
    "np.allclose({x}, {other}, rtol={small})", "np.isclose({x}, {other}, {small}, {small})",
    "np.put({x}, [0], 1)", "np.place({x}, {x} > 0, 1)", "np.compress([True], {x}, axis={axis})",
    "np.choose({x} > 0, [1, 2])",
    "np.extract({x} > 0, {x})", "np.nonzero({x})", "np.argwhere({x})", "np.delete({x}, 0, axis=0)",
    "np.insert({x}, 0, 1)", "np.searchsorted({x}, 1)",
    "np.unique({x})", "np.partition({x}, 0)[..., 0]", "np.put_along_axis({x}, {x}, 1, axis=0)",
)  # fmt: skip
CLIPS: Final = (
    "np.clip({x}, {bound}, {bound})", "{x}.clip({bound}, {bound})", "np.clip({x}, min={bound}, max={bound})",
    "{x}.clip({bound})",
)  # fmt: skip
PRODUCTS: Final = (
    "np.matmul({x}, {other})", "np.dot({x}, {other})", "{x}.dot({x}.T)", "np.inner({x}, {x})",
    "np.outer({x}, {other})",
    "np.vdot({x}, {x})", "np.tensordot({x}, {other}, {contracted})", "np.tensordot({x}, {x}.T, {contracted})",
    "np.einsum('{pair}', {x}, {other})", "np.einsum('{pair}', {x}, {x}.T)", "np.einsum('{single}', {x})",
    "np.kron({x}, {other})",
    "np.cross({x}, {other})", "np.linalg.norm({x})", "np.linalg.norm({x}, axis={axes})",
    "np.linalg.norm({x}, ord={ord})",
)  # fmt: skip
ROUNDS: Final = ("np.round({x}, {decimals})", "{x}.round({decimals})", "np.around({x})", "{x}.round()")


def _from(
    templates: Sequence[str], signs: bool = True, ulps: float = 0.0
) -> Callable[..., Expression | None]:
    return lambda values, of, x: Expression(values.fill(values.pick(*templates), of, x), ulps, signs=signs)


def _product(values: Values, of: str, x: np.ndarray) -> Expression | None:
    text = values.fill(values.pick(*PRODUCTS), of, x)
    operands = [x, *[value for name, value in values.inputs.items() if name in text]]
    return Expression(text, 64.0, 4096.0) if _tame(*operands) else None


def _filled(values: Values, of: str, x: np.ndarray) -> Expression | None:
    number, dtype = values.scalar(x), values.dtype()
    given = np.asarray(values.known(number))
    template = values.pick(
        "np.full_like({x}, N)", "np.full_like({x}, N, dtype=D)", "{x}.astype(D)", "np.astype({x}, D)"
    )
    lost = (
        _loses(x, dtype)
        if "astype" in template
        else _loses(given, dtype if "D" in template else str(x.dtype))
    )
    return None if lost else Expression(template.format(x=of).replace("N", number).replace("D", dtype))


_STEPS: Final[Sequence[Callable[[Values, str, np.ndarray], Expression | None]]] = (
    _unary, _binary, _binary, _binary, _operator, _operator, _reduction, _reduction, _reduction, _method,
    _index, _index,
    _index, _taking, _sorting, _from(MOVES), _from(MOVES), _from(MOVES), _from(MOVES), _from(ELEMENTS),
    _from(ELEMENTS),
    _from(CLIPS, signs=False), _from(ROUNDS, ulps=2.0), _product, _filled,
)  # fmt: skip
