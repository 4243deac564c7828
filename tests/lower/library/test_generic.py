"""Generic functions."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from opgen_runtime.base.errors import StrategyError
from opgen_runtime.lower.library.strategy.generic import GenericFunction, generic_function


@dataclass
class FakeTarget:
    keys: tuple[str, ...]


def make() -> GenericFunction:
    @generic_function("schedule_test")
    def schedule(x: int) -> str:
        """The default."""
        return f"default {x}"

    schedule.register(lambda x: f"cpu {x}", keys="cpu")
    schedule.register(lambda x: f"avx512 {x}", keys=["avx512", "amx"])
    return schedule


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("cpu",), "cpu 1"),
        (("avx512", "cpu"), "avx512 1"),
        (("cpu", "avx512"), "cpu 1"),
        (("amx", "cpu"), "avx512 1"),
        (("gpu", "cpu"), "cpu 1"),
        (("gpu",), "default 1"),
        ((), "default 1"),
    ],
)
def test_the_first_key_that_is_registered_decides(keys: tuple[str, ...], expected: str) -> None:
    assert make()(FakeTarget(keys), 1) == expected


def test_errors() -> None:
    schedule = make()
    assert schedule.__doc__ == "The default."
    with pytest.raises(StrategyError, match="schedule_test: key 'cpu' already has an implementation"):
        schedule.register(lambda x: "other", keys=("gpu", "cpu"))
    assert schedule.keys() == ("amx", "avx512", "cpu")  # nothing of a refused registration is kept
    schedule.register(lambda x: "other", keys="cpu", override=True)
    assert schedule(FakeTarget(("cpu",)), 1) == "other"
    with pytest.raises(StrategyError, match="already has a default"):
        schedule.set_default(lambda x: "other")
    bare = GenericFunction("bare")
    bare.register(lambda: 1, keys="cpu")
    with pytest.raises(
        StrategyError,
        match=r"bare: no implementation for a target with keys gpu, and no default; registered keys: cpu",
    ):
        bare(FakeTarget(("gpu",)))
