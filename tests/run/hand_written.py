"""A hand-written function as an op, for tests of what such ops are: the elements in order along the last axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from opgen_runtime import ir
from opgen_runtime.base.vocabulary import OpPattern
from opgen_runtime.declaration import OpDeclaration, register
from opgen_runtime.declaration.statement import call
from opgen_runtime.operator.registry import remove_op
from opgen_runtime.operator.types import Input, Output, Signature

_NAME = "ordered_by_hand"


def order(data: np.ndarray) -> np.ndarray:
    """What the op computes; tests may replace it."""
    return np.sort(data, axis=-1)


def by_hand(data: np.ndarray) -> np.ndarray:
    """The function that the op names."""
    return order(data)


@contextmanager
def ordered() -> Iterator[Callable[[ir.Expr], ir.Call]]:
    """The op, as a function that makes calls, while it is registered."""
    outputs = (Output("out", shape="data.shape", dtype="data.dtype"),)
    declaration = OpDeclaration(
        name=_NAME,
        doc=_NAME,
        support_level=10,
        arity=1,
        attrs=None,
        signature=Signature(inputs=(Input("data"),), outputs=outputs),
        digest=_NAME,
        compute=None,
        extern=f"{__name__}:by_hand",
        pattern=OpPattern.OPAQUE,
    )
    made = register(declaration, __file__)
    try:
        yield lambda x: call(made, (x,))
    finally:
        remove_op(_NAME)
