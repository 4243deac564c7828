"""Random programs give under `jit` what numpy gives on arrays; `tests/fuzz/tracer.py` tries many more."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.run.calls.tracing.programs import check


@settings(max_examples=40, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_programs_give_what_numpy_gives(data: st.DataObject) -> None:
    check(lambda items: data.draw(st.sampled_from(list(items))), data.draw(st.integers(0, 1000)))
