"""Random calls of numpy under `jit` against numpy itself: values, dtypes, shapes, and what is refused.

A case is a program of a few expressions over the same arrays (`_numpy_expressions.py`), compiled as one function.
Where numpy gives a value, `jit` gives the same one or refuses the call in the words of `REFUSALS`; where numpy raises,
so does `jit`, with an error of numpy's types or one of ours.  What differs is told by the smallest expression and
arrays that show it.  What may differ is listed in docs/jit.md; `KNOWN` says where each is kept out.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any, Final

import numpy as np

import opgen_runtime as rt
from tests.fuzz._numpy_expressions import Expression, expression
from tests.fuzz._numpy_values import NAMES, Values, value_of

COUNT: Final = 4000
EXPRESSIONS: Final = 4

REFUSALS: Final[dict[str, str]] = {
    r"while (a|the) function is traced": "functions, methods, options and dtypes that no declared op computes",
    r"tensors have no dtype|a constant of dtype (object|complex|datetime)": "complex numbers, dates, ints of 65 bits",
    r"does not fit dtype": "Python's ints beyond an int dtype, which numpy's pad wraps",
    r"a mask must be the only index": "masks that the program computes, beside other indices",
}
"""What `jit` says (a pattern) where numpy gives a value -> why."""
KNOWN: Final[dict[str, str]] = {
    "a position or a negative exponent of ints that the program computes is not checked": "positions, _is_open_power",
    "floats beyond an int dtype, and reciprocals of the int 0, are the machine's in numpy": "_loses, _unary",
    "sums and functions round otherwise; numpy rounds sums of halves at each step": "Expression.ulps, _bounds",
    "of zeros that are the greatest or least, either sign may come": "EXTREMES",
    "sorts are stable": "argsort is drawn with kind='stable'",
    "numpy's scalars have fewer methods than its arrays of rank 0, other powers": "why_different, _is_open_power",
    "numpy 2.4 dies of `np.greater(-1, x, where=mask)`, and wraps by an extent of 0 for ever": "not drawn",
    "numpy's warnings are not given; `a += b`, `round(a)` and bfloat16 have rules of their own": "not drawn",
}
"""What may differ -> where cases keep clear of it."""
NUMPY_ERRORS: Final = (TypeError, ValueError, IndexError)
refused: Final[Counter[str]] = Counter()
"""How often each pattern of `REFUSALS` was met in this process."""


def case(seed: int) -> None:
    """Raises AssertionError with each expression that differs."""
    values = Values(seed)
    expressions = [expression(values) for _ in range(EXPRESSIONS)]
    found, errors = traced(expressions, values.inputs)
    lines = []
    for each in expressions:
        if why_different(each, values.inputs, found.get(each.text), errors.get(each.text)):
            small, inputs, said = smallest(each, values.inputs)
            lines += [*[f"{name} = {shown(x)}" for name, x in inputs.items()], f"{small.text}: {said}"]
    assert not lines, "\n".join(lines)


def shown(x: Any) -> str:
    if not isinstance(x, np.ndarray):
        return repr(x)
    return f"np.array({x.ravel().tolist()}, {x.dtype.name!r}).reshape({x.shape})"


def traced(
    expressions: list[Expression], inputs: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Exception]]:
    """What each expression gives under `jit`, or raises; all compiled together, or one by one where that fails."""
    errors: dict[str, Exception] = {}

    def program(**given: Any) -> dict[str, Any]:
        made = {}
        for each in expressions:
            try:
                made[each.text] = eval(each.text, {**NAMES, **given})  # text of our own
            except Exception as error:  # judged by its type afterwards
                errors[each.text] = error
        return {text: value for text, value in made.items() if value is not None}

    try:
        return rt.jit(program)(**inputs), errors
    except Exception as error:  # whatever it is, it is told with its expression
        if len(expressions) == 1:
            return {}, {expressions[0].text: error}
        together = error
    found: dict[str, Any] = {}
    for each in expressions:
        one, failed = traced([each], inputs)
        found |= one
        errors |= failed
    assert errors, f"together: {type(together).__name__}: {together}: {[each.text for each in expressions]}"
    return found, errors


def why_different(
    given: Expression, inputs: dict[str, Any], found: Any, error: Exception | None
) -> str | None:
    try:
        wanted = value_of(given.text, inputs)
    except AttributeError:
        return None
    except Exception as theirs:  # whatever numpy raises
        if error is None:
            return f"numpy raises {type(theirs).__name__}: {theirs}; jit gives {found!r}"
        if isinstance(error, (rt.OpgenError, type(theirs), *NUMPY_ERRORS)) or is_refusal(error):
            return None
        return f"foreign {type(error).__name__}: {error}; numpy raises {type(theirs).__name__}: {theirs}"
    if error is not None:
        refusal = is_refusal(error)
        return None if refusal else f"raises {type(error).__name__}: {error}; numpy gives {wanted!r:.300}"
    return _why_not_same(found, wanted, given)


def is_refusal(error: Exception) -> bool:
    """Whether `jit` says of something that it is not there."""
    for pattern in REFUSALS:
        if isinstance(error, (rt.OpgenError, AttributeError)) and re.search(pattern, str(error)):
            refused[pattern] += 1
            return True
    return False


def _why_not_same(found: Any, wanted: Any, given: Expression) -> str | None:
    if isinstance(wanted, list | tuple):
        if not isinstance(found, list | tuple) or len(found) != len(wanted):
            return f"{found!r}, expected {wanted!r}"
        told = (_why_not_same(mine, theirs, given) for mine, theirs in zip(found, wanted, strict=True))
        return next((each for each in told if each), None)
    got, want = np.asarray(found), np.asarray(wanted)
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        return f"{got.dtype}{got.shape}, expected {want.dtype}{want.shape}"
    same = _near(got, want, given) if want.dtype.kind == "f" else np.array_equal(got, want)
    return None if same else f"{got.tolist()}, expected {want.tolist()}"


def _near(got: np.ndarray, want: np.ndarray, given: Expression) -> bool:
    number = ~np.isnan(want)
    if given.is_exact:
        turned = given.signs and bool((np.signbit(got) != np.signbit(want))[number].any())
        return not turned and bool(np.array_equal(got, want, equal_nan=True))
    with np.errstate(all="ignore"):
        g, w, finite = got.astype(np.float64), want.astype(np.float64), np.isfinite(want)
        spacing = np.spacing(np.abs(want)).astype(np.float64)
        off = np.abs(g - w) > given.ulps * spacing + given.scale * float(np.finfo(want.dtype).eps)
    same = np.array_equal(g[~finite], w[~finite], equal_nan=True)
    return bool(same and np.isfinite(g[finite]).all() and not off[finite].any())


def smallest(given: Expression, inputs: dict[str, Any]) -> tuple[Expression, dict[str, Any], str]:
    """The expression with less around what differs: its operand as an input, arrays that are cut; and what differs."""

    def said_of(each: Expression, arrays: dict[str, Any]) -> str | None:
        try:
            found, errors = traced([each], arrays)
        except AssertionError:
            return None
        return why_different(each, arrays, found.get(each.text), errors.get(each.text))

    said = said_of(given, inputs) or "differs beside the other expressions of its program only"
    if not given.inner.isidentifier():
        value = np.asarray(value_of(given.inner, inputs))
        short = replace(given, text=given.text.replace(f"({given.inner})", "x"), inner="x")
        told = said_of(short, {**inputs, "x": value})
        if told:
            given, inputs, said = short, {**inputs, "x": value}, told
    inputs = {name: x for name, x in inputs.items() if re.search(rf"\b{name}\b", given.text)}
    cuts = [(name, d) for name, x in inputs.items() for d in range(np.ndim(x))]
    for name, d in cuts:
        while np.shape(inputs[name])[d] > 1:
            half = np.shape(inputs[name])[d] // 2
            smaller = {**inputs, name: np.take(inputs[name], np.arange(half), axis=d)}
            told = said_of(given, smaller)
            if not told:
                break
            inputs, said = smaller, told
    return given, inputs, said
