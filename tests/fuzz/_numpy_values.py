"""What expressions of numpy are drawn from, as text: arrays, numbers, axes, positions, shapes.

Most fit the operand; about one of ten is wrong on purpose: an axis out of range, a float for an int, True for 1.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from random import Random
from typing import Any, Final

import numpy as np

INTS: Final = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS: Final = ("float16", "float32", "float64")
DTYPES: Final = ("bool", *INTS, *FLOATS)
SHAPES: Final = (
    (), (1,), (2,), (3,), (4,), (7,), (0,), (2, 3), (3, 1), (1, 3), (3, 4), (4, 4), (1, 1), (0, 3), (2, 0), (2, 3, 4),
    (2, 1, 3), (1, 1, 1), (2, 0, 3), (1, 2, 2, 3),
)  # fmt: skip
NAMES: Final[dict[str, Any]] = {"np": np, "nan": float("nan"), "inf": float("inf")}
_BEYOND: Final = (
    "300", "-300", "70000", "2**31", "2**40", "(-2**63)", "2**63", "(2**64 - 1)", "2**64", "1e39", "inf", "nan",
)  # fmt: skip
_NO_AXES: Final = (
    "True",
    "1.0",
    "np.int64(0)",
    "np.int8(-1)",
    "np.True_",
    "np.array(0)",
    "'x'",
    "[0]",
    "7",
    "-7",
)
_KEPT: Final = ("True", "False", "1", "np.True_")


def value_of(text: str, inputs: dict[str, Any]) -> Any:
    """What numpy gives on (copies of) the inputs."""
    copies = {name: x.copy() if isinstance(x, np.ndarray) else x for name, x in inputs.items()}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(text, {**NAMES, **copies})  # text of our own


def literal(array: np.ndarray) -> str:
    """Text that makes an array."""
    items = [repr(each) for each in array.ravel().tolist()]
    text = f"np.array([{', '.join(items)}], {array.dtype.name!r})"
    return text if array.ndim == 1 else f"{text}.reshape({array.shape})"


class Values:
    """Draws of a seed: the inputs of a program, and text of what stands beside them."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        names = "abc"[: self.pick(1, 2, 2, 3)]
        self.inputs: dict[str, Any] = {name: self._input() for name in names}
        if self.often(0.15):
            self.inputs["s"] = self.pick(0.5, -2.0, 3.25, -0.0, 1.0, 1e30)

    def often(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(self, *items: Any) -> Any:
        return self.random.choice(items)

    def known(self, text: str) -> Any:
        """The value of an expression; None where numpy raises."""
        try:
            return value_of(text, self.inputs)
        except Exception:  # whatever it is, the expression that it is part of says it
            return None

    def is_traced(self, text: str) -> bool:
        """Whether the program computes the value, so that it is not known while the program is traced."""
        return any(re.search(rf"\b{name}\b", text) for name in self.inputs)

    def _input(self) -> np.ndarray:
        return self.array(self.pick(*DTYPES), self.pick(*SHAPES), wild=self.often(0.35))

    def array(self, dtype: str, shape: tuple[int, ...], wild: bool = False) -> np.ndarray:
        """Small numbers; `wild`: half of them at the ends of the dtype, infinite, NaN."""
        draw = np.random.default_rng(self.random.getrandbits(32))
        kind = np.dtype(dtype).kind
        if kind == "b":
            return np.asarray(draw.integers(0, 2, shape) > 0)
        if kind == "f":
            found = np.asarray(draw.integers(-24, 25, shape) / 8).astype(dtype)
            ends = np.finfo(dtype)
            edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, float(ends.max), float(ends.tiny)]
        else:
            found = np.asarray(draw.integers(0 if kind == "u" else -20, 21, shape)).astype(dtype)
            limits = np.iinfo(dtype)
            edges = [0, 1, limits.min, limits.max, limits.min + 1, limits.max - 1]
        if wild:
            special = np.array(edges, dtype)[draw.integers(0, len(edges), shape)]
            found = np.where(draw.integers(0, 2, shape) > 0, special, found).astype(dtype)
        return found

    # What `fill` writes: each a function of the operand.

    def fill(self, template: str, of: str, x: np.ndarray) -> str:
        """The template with a draw in place of each `{name}`; `{x}` is the operand."""
        parts = template.split("{")
        text = parts[0]
        for part in parts[1:]:
            name, _, rest = part.partition("}")
            text += (of if name == "x" else _DRAWS[name](self, x)) + rest
        return text

    def scalar(self, x: np.ndarray) -> str:
        """A number: of Python, of numpy, or outside of most dtypes."""
        if self.often(0.12):
            return str(self.pick(*_BEYOND))
        if self.often(0.3):
            dtype = self.pick(*DTYPES)
            number = self.array(dtype, (), wild=self.often(0.3)).item()
            return f"np.{dtype if dtype != 'bool' else 'bool_'}({number!r})"
        ints = ("0", "1", "2", "3", "(-1)", "7", "(-5)", "100")
        if x.dtype.kind in "iu" and self.often(0.7):
            return str(self.pick(*ints))
        return str(self.pick(*ints, "0.5", "2.0", "(-1.5)", "0.0", "(-0.0)", "1e-3", "True", "False"))

    def other(self, x: np.ndarray) -> str:
        """The second operand of a function: an input, a number, or an array that is known."""
        way = self.random.random()
        if way < 0.4:
            return str(self.pick(*self.inputs))
        if way < 0.7:
            return self.scalar(x)
        shape = x.shape if self.often(0.6) else self.pick(*SHAPES)
        dtype = str(x.dtype) if self.often(0.5) else self.pick(*DTYPES)
        made = self.array(dtype, shape, wild=self.often(0.2))
        return literal(made) if made.size < 30 else "2"

    def int_axis(self, x: np.ndarray) -> str:
        if self.often(0.1):
            return str(self.pick(*_NO_AXES, str(x.ndim), str(-x.ndim - 1)))
        return str(self.random.randrange(-x.ndim, x.ndim) if x.ndim else self.pick(0, -1))

    def axis(self, x: np.ndarray) -> str:
        return "None" if self.often(0.2) else self.int_axis(x)

    def axes(self, x: np.ndarray) -> str:
        """One, several, or all."""
        if self.often(0.7):
            return self.axis(x)
        count = self.pick(0, 1, 2, 2, 3)
        found = [str(self.random.randrange(-x.ndim, x.ndim) if x.ndim else 0) for _ in range(count)]
        return f"({', '.join(found)}{',' if count == 1 else ''})"

    def order(self, x: np.ndarray) -> str:
        """A permutation of the axes, mostly."""
        axes = list(range(x.ndim))
        self.random.shuffle(axes)
        axes = [axis - x.ndim if self.often(0.3) else axis for axis in axes]
        if axes and self.often(0.1):
            axes[0] = self.pick(axes[-1], x.ndim, 7)
        return repr(self.pick(tuple, list)(axes))

    def new_axes(self, x: np.ndarray) -> str:
        found = self.axes(x[..., None])
        return "0" if found == "None" and self.often(0.9) else found

    def dtype(self, _: np.ndarray | None = None) -> str:
        if self.often(0.04):
            return str(self.pick("'complex64'", "'datetime64'", "'x'", "3"))
        name = self.pick(*DTYPES)
        return repr(name) if self.often(0.3) else f"np.{name if name != 'bool' else 'bool_'}"

    def mask(self, x: np.ndarray) -> str:
        return literal(self.array("bool", x.shape if self.often(0.8) else self.pick(*SHAPES)))

    def whole_slice(self, extent: int) -> str:
        ends = [
            "" if self.often(0.35) else str(self.random.randint(-extent - 2, extent + 2)) for _ in range(2)
        ]
        step = self.pick("", "", ":1", ":2", ":-1", ":-1", ":-2", ":3", ":-7", ":2", ":np.int64(-1)")
        return f"{ends[0]}:{ends[1]}{':0' if self.often(0.01) else step}"

    def position(self, extent: int) -> str:
        if self.often(0.07):
            wrong = ("1.0", "True", "np.float32(0)", "'x'", "2**70", str(extent), str(-extent - 1))
            return str(self.pick(*wrong))
        at = self.random.randrange(-extent, extent) if extent else 0
        return str(self.pick(at, at, at, f"np.int64({at})", f"np.int8({at})", f"np.array({at})"))

    def positions(self, extent: int, shape: tuple[int, ...] | None = None) -> str:
        """An array of positions along an axis: known, or of the program."""
        traced = [name for name, value in self.inputs.items() if np.asarray(value).dtype.kind in "iu"]
        if traced and extent and self.often(0.3):
            return f"({self.pick(*traced)} % {extent})"
        if shape is None:
            shape = self.pick((), (1,), (2,), (3,), (0,), (2, 1), (1, 3), (2, 2))
        if not extent and 0 not in shape and self.often(0.8):
            shape = (0,)
        dtype = self.pick("int64", "int64", "int64", *INTS)
        draw = np.random.default_rng(self.random.getrandbits(32))
        low = 0 if np.dtype(dtype).kind == "u" else -extent
        found = draw.integers(low, max(extent, low + 1), shape).astype(dtype)
        if self.often(0.06):
            beyond = literal(found + np.array(extent, dtype))
            return str(
                self.pick(literal(found.astype(np.float64)), beyond, "np.array([0.5])", "[[0, 1], [0]]")
            )
        return repr(found.tolist()) if self.often(0.4) else literal(found)

    def shape(self, x: np.ndarray) -> str:
        """A shape of as many elements, mostly."""
        divisors = [n for n in range(1, x.size + 1) if x.size % n == 0] or [0]
        first = self.pick(*divisors)
        dims = [first, x.size // first if first else self.pick(0, 1, 3)]
        if self.often(0.3):
            dims.insert(self.random.randint(0, 2), 1)
        if self.often(0.5):
            dims[self.random.randrange(len(dims))] = -1
        if self.often(0.08):
            dims[self.random.randrange(len(dims))] = self.pick(-1, 5, -2, 0)
        text = repr(self.pick(tuple, list)(dims))
        wrong = self.pick("(1.0, -1)", "True", "'x'") if self.often(0.1) else "-1"
        return str(
            self.pick(
                text, text, text, wrong, str(x.size), f"np.array({dims})", "(-1,)", f"(np.int64({x.size}),)"
            )
        )

    def stretched(self, x: np.ndarray) -> str:
        return repr(self.pick((2, *x.shape), x.shape, (3, 2), (1, *x.shape), (0,), x.shape[1:], (4,)))

    def repeats(self, x: np.ndarray) -> str:
        """`repeats` and `axis` of np.repeat."""
        axis = self.axis(x)
        at = self.known(axis)
        if type(at) is int and -x.ndim <= at < x.ndim and self.often(0.4):
            return f"{[self.pick(0, 1, 2) for _ in range(x.shape[at])]}, axis={axis}"
        wrong = self.pick("-1", "2.0", "'x'") if self.often(0.15) else "2"
        return f"{self.pick('0', '1', '2', '3', '[2]', 'np.int64(2)', 'True', wrong)}, axis={axis}"

    def width(self, x: np.ndarray) -> str:
        each = repr(tuple((self.pick(0, 1, 2), self.pick(0, 1)) for _ in range(x.ndim)))
        wrong = self.pick("-1", "1.5", "'x'") if self.often(0.1) else "1"
        return str(self.pick("0", "1", "2", "(1, 2)", "((1, 2),)", "[[0, 1]]", "(1,)", each, each, wrong))


def _one_of(*texts: str) -> Callable[[Values, np.ndarray], str]:
    return lambda values, _: str(values.pick(*texts))


_DRAWS: Final[dict[str, Callable[[Values, np.ndarray], str]]] = {
    "other": Values.other, "scalar": Values.scalar, "axis": Values.axis, "int_axis": Values.int_axis,
    "axes": Values.axes, "order": Values.order, "new_axes": Values.new_axes, "dtype": Values.dtype,
    "mask": Values.mask,
    "shape": Values.shape, "stretched": Values.stretched, "repeats": Values.repeats, "width": Values.width,
    "kept": _one_of(*_KEPT), "count": _one_of("0", "1", "2", "3", "-1"), "k": _one_of("0", "1", "-1", "2",
    "-3", "9", "0.0"),
    "shift": _one_of("0", "1", "-1", "2", "5", "-7", "(1, 2)", "np.int64(1)", "1.0", "True"),
    "sections": _one_of("1", "2", "3", "[1]", "[1, 2]", "[2, 1]", "[-1]", "[0, 0]", "[5]", "[]", "0", "1.5",
    "np.array([1])"),
    "mode": _one_of(
        "", "", "", ", mode='edge'", ", mode='reflect'", ", mode='wrap'", ", mode='symmetric'", ", constant_values=3",
        ", constant_values=2.5", ", mode='constant'", ", constant_values=-1", ", constant_values=(1, 2)",
        ", mode='mean'",
        ", constant_values=300", ", mode='x'",
    ),
    "times": _one_of("2", "(2, 1)", "(1, 2, 1)", "0", "()", "[2]", "-1", "1.0", "True", "(0, 2)"),
    "decimals": _one_of("0", "1", "2", "-1", "-2", "3", "-30", "40", "True", "1.0", "np.int64(1)"),
    "letter": _one_of("'C'", "'F'", "'A'", "'K'", "'x'"),
    "new_shape": _one_of("2", "(2, 3)", "()", "(0,)", "-1", "1.0"),
    "bound": lambda values, x: values.pick("None", values.scalar(x), values.scalar(x), values.other(x)),
    "small": _one_of("0", "1", "0.5", "True", "np.uint16(0)", "np.float32(0.5)"),
    "pair": _one_of("ij,jk", "ij,jk->ki", "ij,ij->", "i,i", "i,j->ji", "ij,kj", "...i,...i", "ii,ij->j",
    "ij,jk->z", "ab,bc->"),
    "single": _one_of("ii", "ii->i", "ij->ji", "ij->j", "i->", "...->...", "i...->...", "ji", "", "ij->ijk"),
    "contracted": _one_of(
        "0", "1", "2", "([0], [0])", "([1], [0])", "((0, 1), (0, 1))", "(0, 0)", "-1", "([-1], [0])",
        "([0, 0], [0, 1])", "7",
    ),
    "ord": _one_of("1", "2", "inf", "'fro'", "0"),
}  # fmt: skip
