"""What checking one declaration builds: nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import pytest

from opgen.analyse import check_project
from opgen.analyse.proofs.samples import Sample
from opgen.analyse.proofs.trials import BoundSample, Trials
from opgen_runtime.compute import te

FIXED = """\
op: scaled
doc: Rows, scaled.
dtypes: {T: float}
inputs: {x: {shape: "N, M", dtype: T}, w: {shape: M, dtype: T}}
attrs: {by: {type: int, default: 2, bounds: 0 < by < 9}}
outputs: {out: {shape: "N, M", dtype: T}}
compute: out[i, j] = x[i, j] * w[j] * by
tests:
  - {x: "float32[3, 4]", w: "float32[4]"}
  - {x: "float32[6, 5]", w: "float32[5]"}
  - {x: "float32[2, 2]", w: "float32[2]"}
"""
FREE = """\
op: twice
doc: Twice the value.
inputs: {x: {shape: "*S", dtype: float}}
outputs: {out: {shape: "*S", dtype: x.dtype}}
compute: out[*i] = x[*i] + x[*i]
tests: [{x: "float32[3, 4]"}, {x: "float32[5]"}, {x: "float32[7]"}]
"""


def test_attrs_of_one_value_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Counter[str] = Counter()
    make = Trials._made

    def counted(self: Trials, sample: Sample) -> object:
        known = sample.attrs_text in self._attrs
        found = make(self, sample)
        made[sample.attrs_text] += not known
        assert found is make(self, sample)
        return found

    monkeypatch.setattr(Trials, "_made", counted)
    assert check_project({"one.yaml": FIXED})[1] == []
    assert len(made) > 1
    assert set(made.values()) == {1}


@pytest.mark.parametrize(("text", "symbolic"), [(FIXED, 2), (FREE, 2)], ids=["fixed ranks", "any rank"])
def test_each_signature_is_built_once(text: str, symbolic: int, monkeypatch: pytest.MonkeyPatch) -> None:
    built: Counter[tuple[bool, Hashable]] = Counter()
    build = Trials._outputs

    def counted(self: Trials, bound: BoundSample, trusted: bool) -> Sequence[te.Tensor] | Exception:
        built[trusted, bound.sample.key] += 1
        return build(self, bound, trusted)

    monkeypatch.setattr(Trials, "_outputs", counted)
    ops, found = check_project({"one.yaml": text})
    assert found == []
    assert len(ops) == 1
    assert {key: count for key, count in built.items() if count > 1} == {}
    assert sum(trusted for trusted, _ in built) == symbolic, (
        "one for each form of the tests, whatever the sizes"
    )
