"""Evaluation of tensor expressions by numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....base.forks import importing
from ..tensor import Tensor


def evaluate(
    outputs: Sequence[Tensor], feeds: Mapping[Tensor, np.ndarray[Any, Any]]
) -> list[np.ndarray[Any, Any]]:
    """The values of `outputs`, given those of all placeholders that they need.

    Every operation has exactly the run-time semantics; float sums are more accurate than a kernel's.  Temporaries
    stay bounded.  Raises ExecutorError for a feed that is missing or does not fit its placeholder, AccessError for
    an access out of range.
    """
    with importing:  # what is compiled is never evaluated
        from .run import evaluated

    return evaluated(outputs, feeds)


__all__ = ["evaluate"]
