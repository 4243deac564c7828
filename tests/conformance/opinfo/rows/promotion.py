"""Where PyTorch promotes and this project does not: casts, and nothing else, round adapters of other rows.

Promotion is explicit here: an op of floats refuses integers, which PyTorch takes as floats of its default dtype.  Where
PyTorch has one operator of halves, which it computes in float32, and an adapter several, these are of float32, too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

from ..adapter import ADAPTERS

np: Any = numpy

FLOATS = """
    cumulative_trapezoid digamma erf erfc erfinv i0 lgamma logit logsumexp mvlgamma rsqrt sigmoid xlogy
    special.bessel_j0 special.bessel_j1 special.bessel_y0 special.bessel_y1 special.entr special.i0e special.i1
    special.i1e special.log_ndtr special.modified_bessel_i0 special.modified_bessel_i1 special.modified_bessel_k0
    special.modified_bessel_k1 special.ndtr special.ndtri special.scaled_modified_bessel_k0
    special.scaled_modified_bessel_k1 special.spherical_bessel_j0 special.xlog1py nn.functional.cosine_embedding_loss
    nn.functional.margin_ranking_loss nn.functional.poisson_nll_loss nn.functional.softsign nn.functional.tanhshrink
    nn.functional.triplet_margin_loss nn.functional.triplet_margin_with_distance_loss
"""
"""Operators whose results are floats, too."""

INTEGERS = """
    nn.functional.avg_pool1d nn.functional.avg_pool2d nn.functional.avg_pool3d nn.functional.hardtanh
    nn.functional.relu6 nn.functional.threshold
"""
"""Operators whose results are integers again, what is behind the point cut off."""


HALVES = """
    addbmm addcdiv addcmul addmm addmv addr baddbmm dist lerp linalg.vector_norm nn.functional.conv1d
    nn.functional.conv2d nn.functional.conv3d nn.functional.conv_transpose1d nn.functional.conv_transpose2d
    nn.functional.conv_transpose3d nn.functional.linear
"""
"""Operators whose results are halves again."""


def _promoted(
    function: Callable[..., Any], chosen: Callable[[Any], bool], dtype: str, back: bool
) -> Callable[..., Any]:
    """The function of tensors in `dtype` where the first is a chosen one; if `back`, its result in that one's dtype."""

    @functools.wraps(function)
    def promoted(a: Any, *args: Any, **named: Any) -> Any:
        if not chosen(a):
            return function(a, *args, **named)
        cast = [np.astype(each, np.dtype(dtype)) if chosen(each) else each for each in (a, *args)]
        found = function(*cast, **named)
        return np.astype(found, np.dtype(a.dtype)) if back else found

    return promoted


def _is_integer(value: Any) -> bool:
    """Whether it is a tensor of integers or of truth values."""
    return hasattr(value, "shape") and np.dtype(value.dtype).kind in "iub"


def _is_half(value: Any) -> bool:
    """Whether it is a tensor of halves."""
    return hasattr(value, "shape") and np.dtype(value.dtype).name in ("float16", "bfloat16")


def promote() -> None:
    """Put the casts round the adapters that are registered."""
    for names, chosen, dtype, back in (
        (FLOATS, _is_integer, "float32", False),
        (INTEGERS, _is_integer, "float64", True),
        (HALVES, _is_half, "float32", True),
    ):
        ADAPTERS.update({name: _promoted(ADAPTERS[name], chosen, dtype, back) for name in names.split()})
