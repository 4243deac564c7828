"""What a tracer is called with: Python's operators, arrays' methods and numpy's protocols, attached to `Tracer`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from ....base.errors import CallError
from . import algebra as algebra  # these fill the tables
from . import elements, selecting, shaping, statistics
from . import histograms as histograms
from . import linear_algebra as linear_algebra
from . import norms as norms
from . import ordered as ordered
from . import padding as padding
from . import quantiles as quantiles
from . import reductions as reductions
from . import sequences as sequences
from . import transforms as transforms
from . import vectors as vectors
from . import without_nan as without_nan
from .functions import METHODS, array_function
from .indexing import index
from .operands import is_operand, to
from .tracer import Tracer
from .ufuncs import SPECIAL, apply_python, array_ufunc

_BINARY: Final[dict[str, np.ufunc]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "divmod": np.divmod, "pow": np.power, "matmul": np.matmul, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
}  # fmt: skip
_COMPARISONS: Final[dict[str, np.ufunc]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_UNARY: Final[dict[str, np.ufunc]] = {
    "neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert,
}  # fmt: skip


def _binary(ufunc: np.ufunc, reflected: bool) -> Callable[[Tracer, object], Any]:
    compute = SPECIAL.get(ufunc) or (lambda x, y: apply_python(ufunc, x, y))

    def operate(self: Tracer, other: object) -> Any:
        if not is_operand(other):
            return NotImplemented  # Python then asks the other operand
        return compute(other, self) if reflected else compute(self, other)

    return operate


def _power(self: Tracer, other: object) -> Any:
    """numpy's arrays have a rule of their own for `**` by the number 2: it is the square, of bools in int8."""
    if type(other) is int and other == 2 and not self.weak and self.dtype.kind == "b":
        return apply_python(np.square, self)
    return _BINARY_POWER(self, other)


_BINARY_POWER: Final = _binary(np.power, reflected=False)


def _comparison(ufunc: np.ufunc) -> Callable[[Tracer, object], Any]:
    def compare(self: Tracer, other: object) -> Any:
        if not is_operand(other):
            raise CallError(f"np.{ufunc.__name__} of {self!r} and a {type(other).__name__} is not there")
        return apply_python(ufunc, self, other)

    return compare


def _unary(ufunc: np.ufunc) -> Callable[[Tracer], Any]:
    return lambda self: apply_python(ufunc, self)


def _iterate(self: Tracer) -> Iterator[Any]:
    if not self.shape:
        raise TypeError("iteration over a tensor without axes")
    return iter([index(self, k) for k in range(self.shape[0])])


def _reshape(self: Tracer, *shape: Any, order: str = "C") -> Tracer:
    return shaping.reshape(self, shape[0] if len(shape) == 1 else shape, order)


def _transpose(self: Tracer, *axes: Any) -> Tracer:
    return shaping.transpose(self, axes[0] if len(axes) == 1 else axes or None)


def _astype(self: Tracer, dtype: Any, order: str = "K", casting: str = "unsafe", copy: bool = True) -> Tracer:
    if not np.can_cast(self.dtype, dtype, casting):  # type: ignore[arg-type]  # a kind of cast
        raise TypeError(
            f"cannot cast from {self.dtype} to {np.dtype(dtype)} according to the rule {casting!r}"
        )
    return to(self, dtype)


def _compress(self: Tracer, condition: Any, axis: int | None = None) -> Any:
    return selecting.compress(condition, self, axis)


def _round(self: Tracer, ndigits: int | None = None) -> Any:
    return elements.round_(self, ndigits or 0)


def _attach() -> None:
    for name, ufunc in _BINARY.items():
        setattr(Tracer, f"__{name}__", _binary(ufunc, reflected=False))
        setattr(Tracer, f"__r{name}__", _binary(ufunc, reflected=True))
    for name, ufunc in _COMPARISONS.items():
        setattr(Tracer, f"__{name}__", _comparison(ufunc))
    for name, ufunc in _UNARY.items():
        setattr(Tracer, f"__{name}__", _unary(ufunc))
    for name, method in METHODS.items():
        setattr(Tracer, name, _method(name, method))
    others: dict[str, Any] = {
        "__pow__": _power, "__getitem__": index, "__iter__": _iterate, "__round__": _round,
        "__array_ufunc__": array_ufunc, "__array_function__": array_function, "reshape": _reshape,
        "transpose": _transpose, "astype": _astype,
        "flatten": METHODS["ravel"], "real": property(statistics.real), "imag": property(statistics.imag),
        "compress": _compress, "conj": _unary(np.conjugate), "conjugate": _unary(np.conjugate),
        "T": property(shaping.transpose), "mT": property(shaping.matrix_transpose),
    }  # fmt: skip
    for name, value in others.items():
        setattr(Tracer, name, value)


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Tracer, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"Tracer.{name}"
    return method


_attach()
