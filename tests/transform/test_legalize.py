"""Legalize: what ops give for their calls, and what they may not give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from opgen_runtime import ir, ops
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.operator.registry import Op
from opgen_runtime.operator.types import Type
from opgen_runtime.transform import Legalize
from tests.transform.whole import arrays_for, function, gives, run

PROGRAM = "fn (%x: [2, 3]) { softmax(relu(softmax(%x, axis=1)), axis=0) }"


def by_hand(attrs: Any, args: Sequence[ir.Expr], types: Sequence[Type]) -> ir.Expr | None:
    """Along the last axis the exponential of log_softmax."""
    assert [str(t) for t in types] == ["Tensor[(2, 3), float32]"] * 2
    return ops.exp(ops.log_softmax(args[0], axis=1)) if attrs.axis == 1 else None


@pytest.fixture
def softmax() -> Iterator[Op]:
    op = Op.get("softmax")
    op.set_attr("FTVMLegalize", by_hand)
    yield op
    for name in ("FTVMLegalize", "other"):
        if op.get_attr(name, None) is not None:
            op.reset_attr(name)


def test_whole(softmax: Op) -> None:
    gives(Legalize(), PROGRAM, "fn (%x: [2, 3]) { softmax(relu(exp(log_softmax(%x, axis=1))), axis=0) }")
    program = function(PROGRAM)
    arrays = arrays_for(program)
    for one, other in zip(run(program, arrays), run(Legalize()(program), arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_what_stays(softmax: Op) -> None:
    gives(Legalize(), "fn (%x: [2, 3]) { softmax(relu(%x), axis=0) }")
    gives(Legalize(attr="other"), PROGRAM)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            lambda attrs, args, types: 3,
            "softmax: its attribute other gives 3, expected an expression or None",
        ),
        (lambda attrs, args, types: 1 // 0, "softmax: its attribute other raised ZeroDivisionError"),
        (
            lambda attrs, args, types: ops.sum(args[0]),
            r"a call of softmax and what its other gives differ in (shape|type)",
        ),
    ],
)
def test_wrong_legalisations(softmax: Op, given: Any, message: str) -> None:
    softmax.set_attr("other", given)
    with pytest.raises(OpgenError, match=message):
        Legalize(attr="other")(function(PROGRAM))
