"""Networks that learn scikit-learn's digits: python examples/training/digits.py [mlp | cnn | transformer] [--epochs N]

Each step of the training, gradients and update, is one call of a compiled program; the seed is fixed.  The loss of each
epoch is drawn into digits_<network>.svg beside this file.  `--time`: what a step takes, beside the same step of torch
and of jax where they are installed (peers.py).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import peers
from curve import picture

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


def transformer_parameters() -> Parameters:
    random = np.random.default_rng(1)

    def square(inputs: int, outputs: int) -> np.ndarray:
        return random.normal(0.0, np.sqrt(1.0 / inputs), (inputs, outputs)).astype("float32")

    def norm() -> Parameters:
        return {"scale": np.ones(32, "float32"), "shift": np.zeros(32, "float32")}

    return {
        "rows": dense(random, 8, 32), "place": 0.1 * square(8, 32), "norm": [norm(), norm()],
        "q": square(32, 32), "k": square(32, 32), "v": square(32, 32), "o": square(32, 32),
        "wide": dense(random, 32, 64), "narrow": dense(random, 64, 32), "out": dense(random, 32, 10),
    }  # fmt: skip


def transformer(p: Parameters, images: Any) -> Any:
    """Scores of the ten digits: the eight rows of a picture attend to each other, in four heads."""
    count = images.shape[0]

    def heads(y: Any) -> Any:
        return np.swapaxes(y.reshape(count, 8, 4, 8), 1, 2)

    x = images @ p["rows"]["w"] + p["rows"]["b"] + p["place"]
    y = ops.layer_norm(x, p["norm"][0]["scale"], p["norm"][0]["shift"])
    seen = ops.attention(heads(y @ p["q"]), heads(y @ p["k"]), heads(y @ p["v"]))
    x = x + np.swapaxes(seen, 1, 2).reshape(count, 8, 32) @ p["o"]
    y = ops.layer_norm(x, p["norm"][1]["scale"], p["norm"][1]["shift"])
    x = x + ops.gelu(y @ p["wide"]["w"] + p["wide"]["b"]) @ p["narrow"]["w"] + p["narrow"]["b"]
    return x.mean(axis=1) @ p["out"]["w"] + p["out"]["b"]


def updated(p: Any, velocity: Any, gradient: Any) -> tuple[Any, Any]:
    """A step down the gradient with momentum."""
    if isinstance(p, dict):
        both = {name: updated(p[name], velocity[name], gradient[name]) for name in p}
        return {name: each[0] for name, each in both.items()}, {name: each[1] for name, each in both.items()}
    if isinstance(p, list):
        pairs = [updated(*each) for each in zip(p, velocity, gradient, strict=True)]
        return [each[0] for each in pairs], [each[1] for each in pairs]
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


NETWORKS: Final = {
    "mlp": (mlp, mlp_parameters),
    "cnn": (cnn, cnn_parameters),
    "transformer": (transformer, transformer_parameters),
}


def zeros(p: Any) -> Any:
    if isinstance(p, list):
        return [zeros(each) for each in p]
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
    parser.add_argument("--time", action="store_true", help="a step's time, beside torch and jax")
    options = parser.parse_args()
    if options.time:
        peers.print_times(options.network)
        return
    losses, share = train(options.network, options.epochs)
    print("loss of each epoch:", " ".join(f"{loss:.3f}" for loss in losses))
    file = Path(__file__).with_name(f"digits_{options.network}.svg")
    file.write_text(picture(losses, f"{options.network}: the digits of scikit-learn", "epoch", "loss"))
    print(f"{options.network}: {100 * share:.1f}% of the test pictures")


if __name__ == "__main__":
    main()
