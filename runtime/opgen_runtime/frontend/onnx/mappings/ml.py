"""The domain ai.onnx.ml, as far as its operators are small programs of tensors."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

from ....ir import Expr
from ..emit import op
from ..rules import converts
from ._tools import dtype, ndim, reshape, shape

_DOMAIN: Final = "ai.onnx.ml"
_classic = partial(converts, since=1, domain=_DOMAIN)


@_classic("ArrayFeatureExtractor")
def array_feature_extractor(x: Expr, positions: Expr) -> Expr:
    """The elements of the last axis at positions; of one axis, as one row."""
    found = op.take(x, reshape(positions, (math.prod(shape(positions)),)), axis=ndim(x) - 1)
    return reshape(found, (1, *shape(found))) if ndim(x) == 1 else found


@_classic("Binarizer")
def binarizer(x: Expr, *, threshold: float = 0.0) -> Expr:
    return op.cast(op.greater(x, threshold), dtype=dtype(x))
