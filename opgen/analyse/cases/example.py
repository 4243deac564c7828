"""Which of an op's tests its documentation shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from opgen_runtime.base.vocabulary import DType

from ...model import CheckedCase
from ..signatures.values import parse_operand

_FEW: Final = (64, 512)  # numbers of all its operands


def example_case(cases: Sequence[CheckedCase]) -> int:
    """The first one of floats whose arrays numpy has and which are small, as far as there is one; 0 of no cases."""
    return min(range(len(cases)), key=lambda number: _rank(cases[number]), default=0)


def _rank(case: CheckedCase) -> tuple[bool, bool, int]:
    """What speaks against a case, the worst first."""
    texts = [
        text for given in case.inputs.values() for text in (given if isinstance(given, tuple) else [given])
    ]
    operands = [parse_operand(text) for text in texts if text is not None]
    dtypes = [DType(dtype) for dtype, _ in operands]
    elements = sum(math.prod(shape) for _, shape in operands)
    size = len(_FEW) if any(0 in shape for _, shape in operands) else sum(elements > few for few in _FEW)
    return any(d.is_extension for d in dtypes), not any(d.is_float for d in dtypes), size
