"""Networks that learn scikit-learn's digits: python examples/training/digits.py [mlp | cnn] [--epochs N]

Each step of the training, gradients and update, is one call of a compiled program; the seed is fixed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import opgen_runtime as rt
from opgen_runtime import ops

BATCH: Final = 32
Parameters = dict[str, Any]


def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pictures of 8 by 8 and their digits, to learn from (1,500) and to test with (297)."""
    from sklearn.datasets import load_digits  # needed here alone: pip install scikit-learn

    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.images))
    images = (data.images[order] / 16.0).astype("float32")
    return images[:1500], data.target[order][:1500], images[1500:], data.target[order][1500:]


def dense(random: np.random.Generator, inputs: int, outputs: int) -> Parameters:
    weight = random.normal(0.0, np.sqrt(2.0 / inputs), (inputs, outputs)).astype("float32")
    return {"w": weight, "b": np.zeros(outputs, "float32")}


def mlp_parameters() -> Parameters:
    random = np.random.default_rng(1)
    return {"hidden": dense(random, 64, 64), "out": dense(random, 64, 10)}


def mlp(p: Parameters, images: Any) -> Any:
    """Scores of the ten digits."""
    x = images.reshape(images.shape[0], 64)
    x = ops.relu(x @ p["hidden"]["w"] + p["hidden"]["b"])
    return x @ p["out"]["w"] + p["out"]["b"]


def cnn_parameters() -> Parameters:
    random = np.random.default_rng(1)

    def kernel(outputs: int, inputs: int) -> np.ndarray:
        return random.normal(0.0, np.sqrt(2.0 / (9 * inputs)), (outputs, inputs, 3, 3)).astype("float32")

    return {"first": kernel(16, 1), "second": kernel(32, 16), "out": dense(random, 128, 10)}


def cnn(p: Parameters, images: Any) -> Any:
    """Scores of the ten digits."""
    x = images.reshape(images.shape[0], 1, 8, 8)
    for name in ("first", "second"):
        x = ops.relu(ops.conv2d(x, p[name], padding=(1, 1)))
        x = ops.max_pool2d(x, pool_size=(2, 2), strides=(2, 2))
    x = x.reshape(images.shape[0], 128)
    return x @ p["out"]["w"] + p["out"]["b"]


def updated(p: Any, velocity: Any, gradient: Any) -> tuple[Any, Any]:
    """A step down the gradient with momentum."""
    if isinstance(p, dict):
        both = {name: updated(p[name], velocity[name], gradient[name]) for name in p}
        return {name: each[0] for name, each in both.items()}, {name: each[1] for name, each in both.items()}
    velocity = velocity * 0.9 + gradient
    return p - velocity * 0.05, velocity


def training(network: Callable[[Parameters, Any], Any]) -> Any:
    """The compiled step: parameters and velocity before -> after, and the loss."""

    def loss(p: Parameters, images: Any, wanted: Any) -> Any:
        return -ops.mean(ops.sum(ops.log_softmax(network(p, images)) * wanted, axis=1))

    def step(p: Parameters, velocity: Parameters, images: Any, wanted: Any) -> tuple[Any, Any, Any]:
        value, gradient = rt.value_and_grad(loss)(p, images, wanted)
        return (*updated(p, velocity, gradient), value)

    return rt.jit(step)


NETWORKS: Final = {"mlp": (mlp, mlp_parameters), "cnn": (cnn, cnn_parameters)}


def zeros(p: Any) -> Any:
    return {name: zeros(each) for name, each in p.items()} if isinstance(p, dict) else np.zeros_like(p)


def train(name: str, epochs: int) -> tuple[list[float], float]:
    """The mean loss of each epoch, and the share of test pictures that are told right in the end."""
    network, parameters = NETWORKS[name]
    images, targets, test_images, test_targets = digits()
    step, p = training(network), parameters()
    velocity = zeros(p)
    random = np.random.default_rng(2)
    wanted = np.eye(10, dtype="float32")[targets]
    losses: list[float] = []
    for _ in range(epochs):
        total = 0.0
        order = random.permutation(len(images))
        starts = range(0, len(images) - BATCH + 1, BATCH)
        for start in starts:
            batch = order[start : start + BATCH]
            p, velocity, value = step(p, velocity, images[batch], wanted[batch])
            total += float(value)
        losses.append(total / len(starts))
    scores = rt.jit(network)(p, test_images)
    return losses, float((scores.argmax(1) == test_targets).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", nargs="?", choices=NETWORKS, default="mlp")
    parser.add_argument("--epochs", type=int, default=20)
    options = parser.parse_args()
    losses, share = train(options.network, options.epochs)
    print("loss of each epoch:", " ".join(f"{loss:.3f}" for loss in losses))
    print(f"{options.network}: {100 * share:.1f}% of the test pictures")


if __name__ == "__main__":
    main()
