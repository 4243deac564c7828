"""The time of a training step beside torch and jax: the same networks, written for them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def print_times(name: str) -> None:
    """Medians of 21 rounds, one library after the other in each, of the time of the processor for a step."""
    import digits

    network, parameters = digits.NETWORKS[name]
    images, targets, _, _ = digits.digits()
    batch, wanted = images[: digits.BATCH], np.eye(10, dtype="float32")[targets[: digits.BATCH]]
    step, p = digits.training(network), parameters()
    velocity = digits.zeros(p)
    runs: dict[str, Callable[[], object]] = {"opgen": lambda: step(p, velocity, batch, wanted)}
    for made in (_torch, _jax):
        try:
            library, run = made(name, p, batch, wanted)
        except ImportError:
            continue
        runs[library] = run
    found: dict[str, list[float]] = {library: [] for library in runs}
    for run in runs.values():
        run()
    for _ in range(21):
        for library, run in runs.items():
            begin = time.process_time()
            for _ in range(10):
                run()
            found[library].append((time.process_time() - begin) / 10)
    for library, times in found.items():
        print(
            f"{name}, a step of {digits.BATCH} pictures by {library}: {1e6 * statistics.median(times):.0f} us"
        )


def _leaves(p: Any) -> Iterator[Any]:
    if isinstance(p, dict):
        for each in p.values():
            yield from _leaves(each)
    elif isinstance(p, list):
        for each in p:
            yield from _leaves(each)
    else:
        yield p


def _mapped(p: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(p, dict):
        return {name: _mapped(each, function) for name, each in p.items()}
    return [_mapped(each, function) for each in p] if isinstance(p, list) else function(p)


def _torch(name: str, parameters: Any, batch: Any, wanted: Any) -> tuple[str, Callable[[], object]]:
    import torch

    f = torch.nn.functional
    torch.set_num_threads(1)
    p = _mapped(parameters, lambda a: torch.from_numpy(np.array(a)).requires_grad_())
    x, y = torch.from_numpy(batch), torch.from_numpy(wanted)

    def mlp() -> Any:
        z = f.relu(x.reshape(-1, 64) @ p["hidden"]["w"] + p["hidden"]["b"])
        return z @ p["out"]["w"] + p["out"]["b"]

    def cnn() -> Any:
        z = x[:, None]
        for layer in ("first", "second"):
            z = f.max_pool2d(f.relu(f.conv2d(z, p[layer], padding=1)), 2)
        return z.reshape(-1, 128) @ p["out"]["w"] + p["out"]["b"]

    def transformer() -> Any:
        heads = lambda z: z.reshape(-1, 8, 4, 8).swapaxes(1, 2)  # noqa: E731
        norm = lambda z, k: f.layer_norm(z, (32,), p["norm"][k]["scale"], p["norm"][k]["shift"])  # noqa: E731
        z = x @ p["rows"]["w"] + p["rows"]["b"] + p["place"]
        u = norm(z, 0)
        seen = f.scaled_dot_product_attention(heads(u @ p["q"]), heads(u @ p["k"]), heads(u @ p["v"]))
        z = z + seen.swapaxes(1, 2).reshape(-1, 8, 32) @ p["o"]
        u = norm(z, 1)
        z = z + f.gelu(u @ p["wide"]["w"] + p["wide"]["b"]) @ p["narrow"]["w"] + p["narrow"]["b"]
        return z.mean(1) @ p["out"]["w"] + p["out"]["b"]

    network = {"mlp": mlp, "cnn": cnn, "transformer": transformer}[name]
    optimizer = torch.optim.SGD(list(_leaves(p)), lr=0.05, momentum=0.9)

    def step() -> object:
        optimizer.zero_grad()
        loss = -(network().log_softmax(1) * y).sum(1).mean()
        loss.backward()
        optimizer.step()
        return loss

    return f"torch {torch.__version__}", step


def _jax(name: str, parameters: Any, batch: Any, wanted: Any) -> tuple[str, Callable[[], object]]:
    import jax
    from jax import nn

    def norm(z: Any, own: Any) -> Any:
        off = z - z.mean(-1, keepdims=True)
        return off * jax.lax.rsqrt((off * off).mean(-1, keepdims=True) + 1e-5) * own["scale"] + own["shift"]

    def mlp(p: Any, x: Any) -> Any:
        return (
            nn.relu(x.reshape(-1, 64) @ p["hidden"]["w"] + p["hidden"]["b"]) @ p["out"]["w"] + p["out"]["b"]
        )

    def cnn(p: Any, x: Any) -> Any:
        z = x[:, None]
        for layer in ("first", "second"):
            z = nn.relu(jax.lax.conv(z, p[layer], (1, 1), "SAME"))
            z = z.reshape(*z.shape[:2], z.shape[2] // 2, 2, z.shape[3] // 2, 2).max((3, 5))
        return z.reshape(-1, 128) @ p["out"]["w"] + p["out"]["b"]

    def transformer(p: Any, x: Any) -> Any:
        heads = lambda z: z.reshape(-1, 8, 4, 8).swapaxes(1, 2)  # noqa: E731
        z = x @ p["rows"]["w"] + p["rows"]["b"] + p["place"]
        u = norm(z, p["norm"][0])
        q, k, v = heads(u @ p["q"]), heads(u @ p["k"]), heads(u @ p["v"])
        seen = nn.softmax(q @ k.swapaxes(-1, -2) * 8**-0.5) @ v
        z = z + seen.swapaxes(1, 2).reshape(-1, 8, 32) @ p["o"]
        wide = norm(z, p["norm"][1]) @ p["wide"]["w"] + p["wide"]["b"]
        z = z + nn.gelu(wide, approximate=False) @ p["narrow"]["w"] + p["narrow"]["b"]
        return z.mean(1) @ p["out"]["w"] + p["out"]["b"]

    network = {"mlp": mlp, "cnn": cnn, "transformer": transformer}[name]

    def loss(p: Any, x: Any, y: Any) -> Any:
        return -(nn.log_softmax(network(p, x)) * y).sum(1).mean()

    @jax.jit
    def update(p: Any, velocity: Any, x: Any, y: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(p, x, y)
        velocity = jax.tree.map(lambda v, g: v * 0.9 + g, velocity, gradient)
        return jax.tree.map(lambda a, v: a - v * 0.05, p, velocity), velocity, value

    p = _mapped(parameters, jax.numpy.asarray)
    velocity = _mapped(parameters, lambda a: jax.numpy.zeros_like(a))

    def step() -> object:
        return jax.block_until_ready(update(p, velocity, batch, wanted))

    return f"jax {jax.__version__}", step
