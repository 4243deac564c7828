"""A transformer block trained in PyTorch: its attention, norm and activation are declared here, or torch's own.

    python train.py [--steps 200]

Prints the loss of both at the end, how far apart they ever were, and the time of a step.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any

import block.torch as ours
import torch
import torch.nn.functional as F

Ops = Mapping[str, Callable[..., Any]]
OURS: Ops = {
    "attend": lambda q, k, v: ours.mix(ours.weights(ours.scores(q, k)), v),
    "norm": ours.norm,
    "gated": ours.gated,
}
TORCHS: Ops = {
    "attend": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    "norm": lambda x, gamma: F.rms_norm(x, (x.shape[-1],), gamma, 1e-6),
    "gated": lambda gate, x: F.silu(gate) * x,
}


class Block(torch.nn.Module):
    """Predicts the next of a sequence of tokens."""

    def __init__(self, ops: Ops, tokens: int = 64, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.ops, self.heads = ops, heads
        self.embedding = torch.nn.Embedding(tokens, width)
        self.gammas = torch.nn.ParameterList([torch.ones(width) for _ in range(3)])
        self.qkv = torch.nn.Linear(width, 3 * width, bias=False)
        self.mixed = torch.nn.Linear(width, width, bias=False)
        self.up = torch.nn.Linear(width, 8 * width, bias=False)
        self.down = torch.nn.Linear(4 * width, width, bias=False)
        self.head = torch.nn.Linear(width, tokens, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        n, length, width = x.shape
        parts = self.qkv(self.ops["norm"](x, self.gammas[0])).chunk(3, -1)
        q, k, v = [part.view(n, length, self.heads, -1).transpose(1, 2) for part in parts]
        x = x + self.mixed(self.ops["attend"](q, k, v).transpose(1, 2).reshape(n, length, width))
        gate, value = self.up(self.ops["norm"](x, self.gammas[1])).chunk(2, -1)
        x = x + self.down(self.ops["gated"](gate, value))
        return self.head(self.ops["norm"](x, self.gammas[2]))


class Training:
    """Steps of one block, from the same seed for all."""

    def __init__(self, ops: Ops) -> None:
        torch.manual_seed(0)
        self.model = Block(ops)
        self.optimiser = torch.optim.AdamW(self.model.parameters(), 3e-3)
        self.losses: list[float] = []
        self.seconds: list[float] = []

    def step(self, tokens: torch.Tensor) -> None:
        begin = time.perf_counter()
        found = self.model(tokens[:, :-1])
        loss = F.cross_entropy(found.flatten(0, 1), tokens[:, 1:].flatten())
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        self.seconds.append(time.perf_counter() - begin)
        self.losses.append(float(loss.detach()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    torch.set_num_threads(1)
    both = [Training(OURS), Training(TORCHS)]
    random = torch.Generator().manual_seed(1)
    for _ in range(options.steps):
        start = torch.randint(0, 64, (16, 1), generator=random)
        pace = torch.randint(1, 5, (16, 1), generator=random)
        tokens = (start + pace * torch.arange(65)) % 64  # each sequence goes on at its own pace
        for each in both:
            each.step(tokens)
    apart = max(abs(a - b) for a, b in zip(both[0].losses, both[1].losses, strict=True))
    mine, theirs = (min(each.seconds) * 1e3 for each in both)
    print(
        f"loss {both[0].losses[-1]:.4f}, with torch's own ops {both[1].losses[-1]:.4f}; at most {apart:.1e} apart"
    )
    print(f"a step {mine:.2f} ms, with torch's own ops {theirs:.2f} ms: {mine / theirs:.2f} of the time")


if __name__ == "__main__":
    main()
