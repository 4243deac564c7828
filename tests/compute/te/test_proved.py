"""The memory of proved accesses: equal forms are one access, and whatever a proof may turn on makes another form."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from opgen_runtime import arith
from opgen_runtime.base.arith.expr import Dim, Expr, Var
from opgen_runtime.base.vocabulary import INDEX, INT32, UINT8, DType
from opgen_runtime.compute.te.proved import Form, Proved
from opgen_runtime.compute.te.tensor import Placeholder, Read, Tensor


def _form(
    extents: Sequence[Dim] = (4, 5),
    extent: Dim = 9,
    offset: int = 1,
    swap: bool = False,
    limit: int | None = 3,
    dtype: DType = INT32,
    same_tensor: bool = True,
    same_dim: bool = True,
    size: bool = True,
    least: int = 0,
    most: int | None = None,
) -> Form | None:
    """The form of `t[i] + u[j] + n + m + offset` in `extent` while i < limit; each call makes its own vars."""
    i, j = Var(INDEX, "i"), Var(INDEX, "j")
    first = Tensor("t", (8,), dtype, Placeholder())
    second = first if same_tensor else Tensor("u", (8,), dtype, Placeholder())
    n = Var(INDEX, "n", size, None, least, most)
    m = n if same_dim else Var(INDEX, "m", size)
    index: Expr = (
        arith.cast(Read(dtype, first, (i,)), INDEX) + arith.cast(Read(dtype, second, (j,)), INDEX) + n + m
    )
    facts = () if limit is None else (arith.lt(i, limit),)
    domains = dict(zip((j, i) if swap else (i, j), extents, strict=True))
    return Proved().form(index + offset, extent, domains, facts)


def test_two_builds_of_one_access_have_one_verdict() -> None:
    proved = Proved()
    forms = _form(), _form(), _form(offset=2)
    assert [form is not None and proved.verdict(form) for form in forms] == [None, None, None]
    assert forms[0] is not None
    assert forms[2] is not None
    proved.add(forms[0], True)
    proved.add(forms[2], False)
    assert [form is not None and proved.verdict(form) for form in forms] == [True, True, False]


@pytest.mark.parametrize(
    "change",
    [
        {"extents": (4, 6)}, {"extents": (5, 4)}, {"extent": 8}, {"extent": Var(INDEX, "d", True)}, {"offset": 2},
        {"swap": True}, {"limit": 4}, {"limit": None}, {"dtype": UINT8}, {"same_tensor": False},
        {"same_dim": False}, {"size": False}, {"least": 1}, {"most": 9},
    ],
    ids=str,
)  # fmt: skip
def test_what_a_proof_turns_on_stands_in_the_form(change: dict[str, object]) -> None:
    assert _form(**change) != _form()  # type: ignore[arg-type]  # of the parameters' types


def test_a_dim_that_may_be_anything_has_no_form() -> None:
    assert _form(extent=arith.AnyDim(INDEX)) is None
