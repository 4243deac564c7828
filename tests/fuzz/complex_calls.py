"""Random programs over complex arrays under `jit`, against numpy in more digits and against numpy itself.

A case is one expression over two complex arrays, a real one and Python's complex numbers.  Most have ordinary values:
what differs from numpy's value in long double may be `FACTOR` times what numpy's own differs, and the rounding of the
largest value on the way.  Every third has zeros of both signs, infinities and NaN among its values and takes one
function or operator: each part is numpy's, its sign included.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import opgen_runtime as rt

COUNT: Final = 200
FACTOR: Final = 16.0
PARTS: Final = {"complex64": "float32", "complex128": "float64"}
SPECIAL: Final = (0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan)

# Functions of bounded growth, so that programs of several stay finite.
UNARY: Final[dict[str, Callable[[Any], Any]]] = {
    "conj": np.conj, "negative": np.negative, "square": np.square, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos,
    "tanh": np.tanh, "exp": lambda z: np.exp(z * 0.25), "log": lambda z: np.log(z + 3.0), "transpose": np.transpose,
    "flip": lambda z: np.flip(z, -1), "roll": lambda z: np.roll(z, 1, axis=0), "cumsum": lambda z: np.cumsum(z, axis=1),
    "real": lambda z: np.real(z) + 1j * np.imag(z), "abs": lambda z: z / (1.0 + np.abs(z)),
    "fft": lambda z: np.fft.fft(z, axis=-1) * 0.5, "mean": lambda z: z - np.mean(z, axis=0, keepdims=True),
    "sum": lambda z: z + np.sum(z, axis=-1, keepdims=True) * 0.1, "angle": lambda z: z * np.angle(z + 2.0),
    "constant": lambda z: z * (0.5 - 0.25j) + 2j,
}  # fmt: skip
BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": lambda a, b: a / (b + 3.0 - 1j),
    "matmul": lambda a, b: (a @ b) * 0.2, "where": lambda a, b: np.where(np.abs(a) < np.abs(b), a, b),
    "power": lambda a, b: np.power(a, 2) - b, "outer": lambda a, b: np.einsum("ij,kj->ik", a, b) * 0.2,
}  # fmt: skip
# Where numpy's values of infinities, zeros and NaN are those of C99's Annex G, or of the plain formula.
OF_SPECIAL: Final[dict[str, Callable[..., Any]]] = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "conj": np.conj, "negative": np.negative, "abs": np.abs, "angle": np.angle, "isnan": np.isnan,
    "isinf": np.isinf, "isfinite": np.isfinite, "add": np.add, "subtract": np.subtract, "equal": np.equal,
}  # fmt: skip

Tree = tuple[Any, ...]
"""The name of an array, or of a function with the trees of its operands."""


def case(seed: int) -> None:
    """Raises AssertionError where `jit` and numpy differ."""
    choice, values = random.Random(seed), np.random.default_rng(seed)
    dtype = choice.choice(list(PARTS))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # numpy's, of divisions and overflow
        (_of_special if seed % 3 == 0 else _of_ordinary)(choice, values, dtype)


def _of_ordinary(choice: random.Random, values: np.random.Generator, dtype: str) -> None:
    side = choice.choice([1, 2, 5, 8, 17])
    inputs: dict[str, Any] = {
        name: (values.normal(size=(side, side)) + 1j * values.normal(size=(side, side))).astype(dtype)
        for name in ("z", "w")
    }
    inputs["x"] = values.normal(size=(side, side)).astype(PARTS[dtype])
    tree = _tree(choice, choice.randint(1, 5))
    found = rt.jit(lambda **given: value_of(tree, given))(**inputs)
    plain = value_of(tree, inputs)
    assert (found.shape, found.dtype) == (plain.shape, plain.dtype), (
        f"{text(tree)}: {found.dtype}, not {plain.dtype}"
    )
    largest = [1.0]
    wide = {
        name: x.astype("clongdouble" if x.dtype.kind == "c" else "longdouble") for name, x in inputs.items()
    }
    exact = value_of(tree, wide, largest)
    error, numpys = (float(np.abs(each - exact).max()) for each in (found, plain))
    rounding = float(np.finfo(PARTS[dtype]).eps) * max(largest)
    assert not np.isfinite(numpys) or error <= FACTOR * (numpys + rounding), (
        f"{text(tree)} of {dtype} {side} x {side}: {error:.3g} apart; numpy {numpys:.3g}, rounding {rounding:.3g}"
    )


def _of_special(choice: random.Random, values: np.random.Generator, dtype: str) -> None:
    name = choice.choice(list(OF_SPECIAL))
    function, count = OF_SPECIAL[name], 2 if name in ("add", "subtract", "equal") else 1
    inputs = {}
    for operand in ("z", "w")[:count]:
        parts = values.choice(SPECIAL, size=(2, 40)).astype(PARTS[dtype])
        inputs[operand] = np.empty(40, dtype)
        inputs[operand].real, inputs[operand].imag = parts
    found = rt.jit(lambda **given: function(*given.values()))(**inputs)
    wanted = function(*inputs.values())
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), (
        f"{name}: {found.dtype}, not {wanted.dtype}"
    )
    for part in (np.real, np.imag):
        mine, theirs = part(found), part(wanted)
        same = np.isclose(mine, theirs, rtol=32 * float(np.finfo(PARTS[dtype]).eps), atol=0, equal_nan=True)
        signs = np.isnan(theirs) | (np.signbit(mine) == np.signbit(theirs))
        where = np.flatnonzero(~(same & signs))
        assert not where.size, (
            f"{name} of {[x[where[0]] for x in inputs.values()]}: {found[where[0]]}, not {wanted[where[0]]}"
        )


def _tree(choice: random.Random, steps: int) -> Tree:
    """A tree of so many functions, of complex values."""
    if not steps:
        return (choice.choice("zw"),)
    if choice.random() < 0.55:
        return choice.choice(list(UNARY)), _tree(choice, steps - 1)
    left = choice.randint(0, steps - 1)
    if choice.random() < 0.2:  # a real array beside a complex one
        return choice.choice(["add", "subtract", "multiply"]), ("x",), _tree(choice, steps - 1)
    return choice.choice(list(BINARY)), _tree(choice, left), _tree(choice, steps - 1 - left)


def value_of(tree: Tree, inputs: dict[str, Any], largest: list[float] | None = None) -> Any:
    """The value of a tree; `largest` gets the size of the largest number on the way."""
    name, operands = tree[0], [value_of(each, inputs, largest) for each in tree[1:]]
    found = inputs[name] if not operands else (UNARY if len(operands) == 1 else BINARY)[name](*operands)
    if largest is not None:
        largest.append(float(np.abs(found).max()))
    return found


def text(tree: Tree) -> str:
    return f"{tree[0]}({', '.join(map(text, tree[1:]))})" if len(tree) > 1 else str(tree[0])
