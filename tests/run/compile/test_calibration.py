"""Costs of a machine that are measured: what follows of times, and that they are of this machine."""

from __future__ import annotations

import pytest

from opgen_runtime.base import Target
from opgen_runtime.run.compile.tuning import calibration
from opgen_runtime.run.compile.tuning.calibration import MEASURED, calibrate, costs

TOOK = {
    "multiply_add": 1.0, "add": 0.9, "divide": 4.5, "exp": 9.0, "dependent": 8.0, "every_other": 2.1234,
    "apart": 15.0, "stored": 5.0, "parallel loop": 4000.0, "loop": 700.0,
}  # fmt: skip


def test_costs_follow_of_what_vectors_take() -> None:
    expected = {
        "operation": 0.9, "division": 3.6, "function": 8.1, "latency": 8.0, "every_other": 2.12, "element": 15.0,
        "store_and_load": 4.0, "share_loop": 33000.0,
    }  # fmt: skip
    assert costs(TOOK, threads=2) == expected
    assert tuple(expected) == MEASURED
    del expected["share_loop"]
    assert costs(TOOK, threads=1) == expected


def test_what_is_hidden_behind_other_work_costs_something() -> None:
    assert costs({**TOOK, "divide": 0.8}, 1)["division"] == 0.1


def test_costs_are_of_this_machine() -> None:
    """Sums that wait for each other take longer than those that do not, whatever the machine."""
    found = calibrate(Target.parse("llvm -num-threads=1"), 0.1)
    assert tuple(found) == MEASURED[:-1]
    assert found["latency"] > 1.3 * found["operation"]
    assert found["element"] > found["every_other"]


def test_a_kernel_that_takes_longer_costs_more(monkeypatch: pytest.MonkeyPatch) -> None:
    longer = [
        calibration.Probe("exp", "{s} + exp(exp(exp({x})))") if each.name == "exp" else each
        for each in calibration._PROBES
    ]
    target = Target.parse("llvm -num-threads=1")
    before = calibrate(target, 0.1)["function"]
    monkeypatch.setattr(calibration, "_PROBES", longer)
    assert calibrate(target, 0.1)["function"] > 1.3 * before
