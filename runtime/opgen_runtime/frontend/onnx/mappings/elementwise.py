"""Elementwise and broadcasting operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from ....base.vocabulary import DType
from ....ir import Expr, const
from ..element_types import dtype_of, kind_of
from ..emit import op
from ..errors import NotSupported
from ..narrow import Narrow, NarrowType
from ..rules import Flag, Rename, Tensor, converts, renames
from ..texts import Texts
from ._narrow_cast import narrow_cast
from ._tools import axis_of, broadcast_shape, dtype, full, ndim, ones_of, reshape, shape

if TYPE_CHECKING:
    from ..convert import NodeView

UNARY: Final = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan",
    "Atanh": "atanh", "BitwiseNot": "bitwise_not", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf",
    "Exp": "exp", "Floor": "floor", "IsNaN": "isnan", "Log": "log", "Mish": "mish", "Neg": "negative",
    "Not": "logical_not", "Relu": "relu", "Round": "round", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin",
    "Sinh": "sinh", "Softplus": "softplus", "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh", "HardSwish": "hard_swish",
}  # fmt: skip
BINARY: Final = {
    "Add": "add", "And": "logical_and", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor", "Div": "divide", "Equal": "equal", "Greater": "greater",
    "GreaterOrEqual": "greater_equal", "Less": "less", "LessOrEqual": "less_equal", "Mul": "multiply",
    "Or": "logical_or", "Sub": "subtract", "Xor": "logical_xor",
}  # fmt: skip
CHAINED: Final = {"Max": "maximum", "Min": "minimum", "Sum": "add"}

renames([Rename(onnx, ours) for onnx, ours in UNARY.items()])
renames([Rename(onnx, ours, since=7, arity=2) for onnx, ours in BINARY.items()])
renames([Rename(onnx, ours, chain=True) for onnx, ours in CHAINED.items()])
renames(
    [
        Rename("LeakyRelu", "leaky_relu", attributes={"alpha": "alpha"}, defaults={"alpha": 0.01}),
        Rename("Where", "where", arity=3),
    ]
)


def _before_opset_7(name: str) -> Callable[..., Any]:
    """The operands meet where the attributes say: `axis` is the place in `a` of the first axis of `b`."""

    def convert(a: Expr, b: Expr, *, broadcast: int = 0, axis: int | None = None) -> Expr:
        if broadcast and axis is not None:
            after = ndim(a) - axis_of(axis, ndim(a)) - ndim(b)
            b = reshape(b, (*shape(b), *[1] * after))
        made: Expr = getattr(op, name)(a, b)
        return made

    return convert


for _onnx, _ours in {**BINARY, "Pow": "power"}.items():
    converts(_onnx)(_before_opset_7(_ours))


@converts("Mean")
def mean(*data: Expr) -> Expr:
    total = data[0]
    for each in data[1:]:
        total = op.add(total, each)
    return op.divide(total, float(len(data)))


@converts("Reciprocal")
def reciprocal(x: Expr) -> Expr:
    return op.divide(const(1.0, dtype(x)), x)


@converts("Clip")
def clip_6(x: Expr, *, min: float | None = None, max: float | None = None) -> Expr:
    low = None if min is None else const(np.array(min, dtype(x).numpy))
    high = None if max is None else const(np.array(max, dtype(x).numpy))
    return clip(x, low, high)


@converts("Clip", since=11)
def clip(x: Expr, low: Expr | None = None, high: Expr | None = None) -> Expr:
    if low is not None:
        x = op.maximum(x, low)
    return op.minimum(x, high) if high is not None else x if low is not None else op.copy(x)


@converts("Pow", since=7)
def pow(base: Expr, exponent: Expr) -> Expr:
    """The result has the dtype of the base; where the dtypes differ the exponent is converted to a float."""
    kind, other = dtype(base), dtype(exponent)
    if kind.is_float:
        return op.power(base, exponent if other is kind else op.cast(exponent, dtype=kind))
    if other.is_float:
        wide = "float64" if other == "float64" or kind.bits > 16 else "float32"
        return op.cast(op.power(op.cast(base, dtype=wide), op.cast(exponent, dtype=wide)), dtype=kind)
    return op.cast(op.power(op.cast(base, dtype="float64"), op.cast(exponent, dtype="float64")), dtype=kind)


@converts("Mod")
def mod(x: Expr, y: Expr, *, fmod: Flag = 0) -> Expr:
    return op.trunc_mod(x, y) if fmod else op.floor_mod(x, y)


@converts("BitShift")
def bit_shift(x: Expr, by: Expr, *, direction: Literal["LEFT", "RIGHT"]) -> Expr:
    return op.left_shift(x, by) if direction == "LEFT" else op.right_shift(x, by)


@converts("BitCast")
def bit_cast(x: Expr, *, to: int) -> Expr:
    kind = dtype_of(to)
    if dtype(x).is_bool:  # a bool is a byte that is 0 or 1
        x = op.cast(x, dtype="uint8")
    if kind.is_bool:
        return op.not_equal(op.reinterpret(x, dtype="uint8"), 0)
    return x if dtype(x) is kind else op.reinterpret(x, dtype=kind)


@converts("Identity")
def identity(x: object) -> object:
    return x


@converts("IsInf")
def is_inf(x: Expr, *, detect_negative: Flag = 1, detect_positive: Flag = 1) -> Expr:
    if detect_negative and detect_positive:
        return op.isinf(x)
    if not detect_negative and not detect_positive:
        return full(shape(x), False, "bool")
    return op.equal(x, const(np.array(-np.inf if detect_negative else np.inf, dtype(x).numpy)))


@converts("Cast")
def cast(
    x: Tensor, *, to: int, saturate: Flag = 1, round_mode: Literal["up", "down", "nearest"] = "up"
) -> Expr | Narrow:
    return cast_to(x, kind_of(to), saturate, round_mode)


def cast_to(x: Tensor, kind: DType | NarrowType, saturate: Flag, round_mode: str = "up") -> Expr | Narrow:
    """Of floats without infinities ONNX says what is beyond them: the greatest, else NaN; NaN stays."""
    if isinstance(x, Texts):
        raise NotSupported("a cast of strings")
    if isinstance(x, Narrow):
        if x.kind is kind:
            return x
        x = x.expr
    if isinstance(kind, NarrowType):
        return narrow_cast(x, kind, bool(saturate), round_mode)
    form = kind.float_format
    if saturate and form is not None and not form.has_infinities:
        wide = x if dtype(x) == "float64" else op.cast(x, dtype="float32")
        x = op.minimum(op.maximum(wide, -form.highest), form.highest)
    return op.cast(x, dtype=kind)


@converts("CastLike", since=15)
def cast_like(
    x: Tensor, like: Tensor, *, saturate: Flag = 1, round_mode: Literal["up", "down", "nearest"] = "up"
) -> Expr | Narrow:
    if isinstance(like, Texts):
        raise NotSupported("a cast to strings")
    return cast_to(x, like.kind if isinstance(like, Narrow) else dtype(like), saturate, round_mode)


@converts("Equal", since=19)
def equal(x: Tensor, y: Tensor) -> Expr:
    """Of tensors of one element type; strings are compared here."""
    if isinstance(x, Texts) and isinstance(y, Texts):
        broadcast_shape(x.array.shape, y.array.shape)
        return const(np.asarray(x.array == y.array, np.bool_))
    if isinstance(x, Expr) and isinstance(y, Expr):
        return op.equal(x, y)
    raise NotSupported("a comparison of such element types")


@converts("PRelu")
def prelu_1(x: Expr, slope: Expr) -> Expr:
    """One slope, or one a channel."""
    if ndim(slope) == 1 and ndim(x) > 2:
        slope = reshape(slope, (*shape(slope), *[1] * (ndim(x) - 2)))
    return prelu(x, slope)


@converts("PRelu", since=7)
def prelu(x: Expr, slope: Expr) -> Expr:
    return op.where(op.less(x, const(0, dtype(x))), op.multiply(x, slope), x)


@converts("Elu")
def elu(x: Expr, *, alpha: float = 1.0) -> Expr:
    zero = const(0.0, dtype(x))
    below = op.multiply(op.subtract(op.exp(op.minimum(x, zero)), 1.0), alpha)
    return op.where(op.less(x, zero), below, x)


@converts("Celu")
def celu(x: Expr, *, alpha: float = 1.0) -> Expr:
    zero = const(0.0, dtype(x))
    below = op.multiply(op.subtract(op.exp(op.divide(op.minimum(x, zero), alpha)), 1.0), alpha)
    return op.add(op.maximum(x, zero), op.minimum(below, zero))


@converts("Selu")
def selu(
    x: Expr, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875
) -> Expr:
    return op.multiply(elu(x, alpha=alpha), gamma)


@converts("HardSigmoid")
def hard_sigmoid(x: Expr, *, alpha: float = 0.2, beta: float = 0.5) -> Expr:
    return op.maximum(op.minimum(op.add(op.multiply(x, alpha), beta), 1.0), 0.0)


@converts("Softsign")
def softsign(x: Expr) -> Expr:
    return op.divide(x, op.add(op.abs(x), 1.0))


@converts("ThresholdedRelu")
def thresholded_relu(x: Expr, *, alpha: float = 1.0) -> Expr:
    return op.where(op.greater(x, alpha), x, const(0.0, dtype(x)))


@converts("Shrink")
def shrink(x: Expr, *, bias: float = 0.0, lambd: float = 0.5) -> Expr:
    """Computed in the dtype of the input, for integers in float32."""
    kind = dtype(x)
    wide = x if kind.is_float else op.cast(x, dtype="float32")
    above = op.where(op.greater(wide, lambd), op.subtract(wide, bias), const(0.0, dtype(wide)))
    result = op.where(op.less(wide, -lambd), op.add(wide, bias), above)
    return result if kind.is_float else op.cast(result, dtype=kind)


@converts("Gelu")
def gelu(x: Expr, *, approximate: Literal["none", "tanh"] = "none") -> Expr:
    half = op.multiply(x, 0.5)
    if approximate == "tanh":
        cube = op.multiply(op.multiply(x, x), op.multiply(x, 0.044715))
        return op.multiply(
            half, op.add(op.tanh(op.multiply(op.add(x, cube), float(np.sqrt(2 / np.pi)))), 1.0)
        )
    return op.multiply(half, op.add(op.erf(op.multiply(x, float(np.sqrt(0.5)))), 1.0))


@converts("Swish")
def swish(x: Expr, *, alpha: float = 1.0) -> Expr:
    return op.multiply(x, op.sigmoid(x if alpha == 1.0 else op.multiply(x, alpha)))


@converts("Dropout")
def dropout_7(x: Expr, *, ratio: float = 0.5, node: NodeView) -> object:
    if node.num_outputs < 2:
        return x
    return x, ones_of(x, "bool" if node.version >= 10 else dtype(x))
