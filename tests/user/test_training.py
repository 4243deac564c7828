"""The networks of the example learn: on pictures that are told apart by where they are bright."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from opgen_runtime.run.executor.executable import Native

FILE = Path(__file__).parents[2] / "examples" / "training" / "digits.py"
SPEC = importlib.util.spec_from_file_location("digits", FILE)
assert SPEC is not None
assert SPEC.loader is not None
digits = importlib.util.module_from_spec(SPEC)
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(str(FILE.parent))  # where a script finds what lies beside it
    SPEC.loader.exec_module(digits)


@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_a_network_learns(name: str) -> None:
    random = np.random.default_rng(0)
    targets = random.integers(0, 10, 32)
    images = random.uniform(0.0, 0.2, (32, 8, 8)).astype("float32")
    for image, target in zip(images, targets, strict=True):
        image[target % 8, 4 * (target // 8) :] += 0.8
    network, parameters = digits.NETWORKS[name]
    step, p = digits.training(network), parameters()
    velocity, wanted = digits.zeros(p), np.eye(10, dtype="float32")[targets]
    losses = []
    for _ in range(25):
        p, velocity, loss = step(p, velocity, images, wanted)
        losses.append(float(loss))
    assert losses[-1] < 0.1 * losses[0]


@pytest.mark.parametrize("name", list(digits.NETWORKS))
def test_a_step_is_one_native_call(name: str) -> None:
    """Gradients and update are one program, without a kernel that Python calls."""
    network, parameters = digits.NETWORKS[name]
    step, p = digits.training(network), parameters()
    images, wanted = np.zeros((4, 8, 8), "float32"), np.eye(10, dtype="float32")[:4]
    executable = step._made((p, digits.zeros(p), images, wanted), {})[0].executable
    assert type(executable) is Native
    assert executable.why_interpreted is None
    assert len(executable.plan.runs) > 5
