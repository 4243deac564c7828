"""Random schedules of random programs equal te's evaluation, and stay in bounds: `python -m tests.fuzz schedules`.

Every legal primitive, those that repack operands included: the laws of tests/lower/schedule under other seeds.  The
interpreter of loop IR checks each access.
"""

from __future__ import annotations

from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.lower.schedule import test_primitives_preserve_results as laws
from tests.lower.tir.programs import programs

COUNT: Final = 500

_EACH: Final = 4  # schedules of each law a case, the first of which is the smallest
_LAWS: Final[tuple[tuple[Any, Any], ...]] = (
    (laws.test_random_loops, programs()),
    (laws.test_random_attachment, programs()),
    (laws.test_caches_and_partial_reductions, programs()),
    (laws.test_repacked_stages, st.one_of(programs(), laws.congruent())),
    (laws.test_separated_windows, laws.windows()),
    (laws.test_scattered_products, laws.scatterable()),
)


def case(number: int) -> None:
    """A few schedules under one law."""
    law, program = _LAWS[number % len(_LAWS)]
    quiet = settings(
        max_examples=_EACH,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    seed(number)(quiet(given(st.data(), program)(law.hypothesis.inner_test)))()
