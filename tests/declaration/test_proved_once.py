"""Passes and segments ask for what a call computes: its accesses are proved once a process, and refused once."""

from __future__ import annotations

import pytest

import opgen_runtime as rt
from opgen_runtime import arith, ops
from opgen_runtime.base.arith.expr import Var
from opgen_runtime.base.errors import AccessError
from opgen_runtime.base.vocabulary import INDEX
from opgen_runtime.compute.lang import scope
from opgen_runtime.compute.te.access import is_inside
from opgen_runtime.compute.te.proved import Proved
from opgen_runtime.declaration import call_tensors, compute
from opgen_runtime.ir import var
from opgen_runtime.operator import TensorType

Searched = list[str]


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> Searched:
    """The indices for which proofs were sought, where nothing was before."""
    found: Searched = []
    monkeypatch.setattr(
        scope, "is_inside", lambda index, *at: found.append(str(index)) or is_inside(index, *at)
    )
    monkeypatch.setattr(compute, "_PROVED", Proved())
    return found


def quarters_and_doubled_eighths() -> str:
    """What an addition computes that is broadcast only where one of its extents is 1, for a dim of its own."""
    n = rt.dim("n")
    types = TensorType(((n + 3) // 4,), "float32"), TensorType(((n + 7) // 8 * 2,), "float32")
    added = ops.add(*[var(name, type_) for name, type_ in zip("ab", types, strict=True)])
    (made,) = call_tensors(added.op, added.attrs, types).outputs
    return str(made.op.body)


def test_equal_calls_of_other_dims_share_their_proofs(searched: Searched) -> None:
    first = quarters_and_doubled_eighths()
    assert searched == ["0 if (n + 3) // 4 == 1 else i0", "i0"]
    assert quarters_and_doubled_eighths() == first
    assert len(searched) == 2


def test_what_was_refused_is_refused_with_the_same_words(searched: Searched) -> None:
    proved = Proved()
    for name in ("x", "y"):
        i = Var(INDEX, "i")
        place = scope.Scope({i: 9}, proved=proved)
        with pytest.raises(AccessError) as refused:
            place.prove_access(name, 0, i + 1, 9)
        expected = (
            f"cannot prove that index 0 of {name} is in bounds: i + 1 ranges over 1..9, the dim is 9 (0..8)"
        )
        assert str(refused.value) == expected
    assert searched == ["i + 1"]
    with pytest.raises(AccessError):
        scope.Scope({i: 9}, [arith.lt(i, 9)], proved=proved).prove_access("x", 0, i + 1, 9)
    assert searched == ["i + 1"] * 2
