"""The mappings of ONNX operators to declared ops, by family; importing this package registers them."""

from . import (
    attention,
    control,
    elementwise,
    image,
    index,
    linalg,
    nn,
    quantize,
    random,
    recurrent,
    reduce,
    resize,
    shape,
    signal,
    window,
)

__all__ = [
    "attention",
    "control",
    "elementwise",
    "image",
    "index",
    "linalg",
    "nn",
    "quantize",
    "random",
    "recurrent",
    "reduce",
    "resize",
    "shape",
    "signal",
    "window",
]
