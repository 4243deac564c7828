"""How ops are written in ONNX's operators, by family; importing this package registers them."""

from . import (
    activation,
    arithmetic,
    elementwise,
    image,
    index,
    linalg,
    losses,
    nn,
    quantize,
    recurrent,
    reduce,
    shape,
    slicing,
    window,
)

__all__ = [
    "activation",
    "arithmetic",
    "elementwise",
    "image",
    "index",
    "linalg",
    "losses",
    "nn",
    "quantize",
    "recurrent",
    "reduce",
    "shape",
    "slicing",
    "window",
]
