"""Inference: a signature run both ways.

relation.py    relate, the type relation of a declared op
backward.py    unknown inputs, from the other inputs, the attrs and the result: each rank is tried
trial.py       one trial: extents as symbols, bound like a call
equations.py   what is assumed of the symbols, solved
unknown.py     what follows for unknown operands of one call
"""

from .relation import relate
from .unknown import infer_unknown, is_absent

__all__ = ["infer_unknown", "is_absent", "relate"]
