"""Bodies are simplified once while a schedule is made, however many rules ask."""

from __future__ import annotations

import pytest

from opgen_runtime import ir, ops
from opgen_runtime.base import Target
from opgen_runtime.base.arith import floordiv, lt
from opgen_runtime.compute import te
from opgen_runtime.lower.library import schedules
from opgen_runtime.lower.library.schedules.common import products
from opgen_runtime.lower.library.segment import segment_of
from opgen_runtime.lower.schedule import simplified_once, simplified_over
from opgen_runtime.lower.schedule.rewriting import residues, simplifying
from tests.lower.library.test_contractions import var

Asked = list[tuple[tuple[int, ...], tuple[int, ...]]]


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The axes and expressions that were simplified indeed, by their ids."""
    found: Asked = []
    work = simplifying._simplified

    def counted(axes, exprs):
        found.append((tuple(map(id, axes)), tuple(map(id, exprs))))
        return work(axes, exprs)

    monkeypatch.setattr(simplifying, "_simplified", counted)
    return found


def test_what_was_found_is_remembered_inside_alone(worked):
    i, j = te.reduce_axis(8, "i"), te.reduce_axis(8, "j")
    condition, quotient = lt(i.var, 8), floordiv(i.var * 16 + j.var, 16)

    def ask():
        return [str(e) for e in simplified_over((i, j), condition, quotient)]

    assert ask() == ask() == ["True", "i"]
    assert len(worked) == 2
    with simplified_once():
        assert ask() == ["True", "i"]
        with simplified_once():
            assert ask() == ["True", "i"]
        assert ask() == ["True", "i"]
        assert len(worked) == 3
        assert [str(e) for e in simplified_over((i,), quotient)] == ["i + j // 16"]
        assert len(worked) == 4
    assert ask() == ["True", "i"]
    assert len(worked) == 5


def test_the_rules_of_a_padded_filter_share_its_body(worked, monkeypatch):
    asked = []
    for module in (products, residues):
        monkeypatch.setattr(module, "simplified_over", lambda *a: asked.append(a) or simplified_over(*a))
    data, weight = var("data", 1, 4, 32, 32), var("weight", 4, 1, 3, 3)
    conv = ops.conv2d(data, weight, padding=(1, 1), groups=4)
    segment = segment_of(ir.Function((data, weight), conv), Target.host())
    schedules.generic(tuple(te.normalize(segment.outputs)), Target.host())
    assert len(worked) == len(set(worked))
    assert len(asked) > len(worked)
