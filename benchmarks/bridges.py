"""What ops cost in PyTorch, beside torch's own: `python -m benchmarks.bridges`, microseconds, one thread.

Ours and torch's take turns, in blocks; the least of all blocks counts.  The limits are what the bridge is held to.
"""

from __future__ import annotations

import argparse
import sys
import timeit
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

import opgen_runtime.bridges.torch as T

SCRIPTED = 1000  # calls inside one call of TorchScript


@dataclass(frozen=True)
class Row:
    """A measurement: what it is, ours and torch's, and the limit on ours: microseconds, or the ratio to torch's.

    `beyond`: the limit is on what ours takes more than torch's.  `per`: calls in each.
    """

    name: str
    ours: Callable[[], Any]
    torchs: Callable[[], Any]
    microseconds: float | None = None
    ratio: float | None = None
    beyond: bool = False
    per: int = 1
    inference: bool = False


def rows() -> Iterator[Row]:
    x, y = torch.randn(1000), torch.randn(1000)
    raw = torch.ops.opgen.relu.default
    yield Row("relu 1000, inference mode", lambda: raw(x), lambda: torch.relu(x), 3.0, inference=True)
    yield Row("relu 1000, nobody wants gradients", lambda: T.relu(x), lambda: torch.relu(x), 4.5)
    yield Row(
        "relu 1000, inside TorchScript", _scripted("torch.ops.opgen.relu(x)"), _scripted("torch.relu(x)"),
        1.3, per=SCRIPTED, inference=True,
    )  # fmt: skip
    leaf = torch.randn(1000, requires_grad=True)
    yield Row(
        "relu 1000, forward and backward", lambda: T.relu(leaf).backward(y), lambda: torch.relu(leaf).backward(y),
        25.0, beyond=True,
    )  # fmt: skip
    s = torch.randn(512, 512)
    yield Row(
        "softmax 512 x 512",
        lambda: T.softmax(s, axis=1),
        lambda: torch.softmax(s, 1),
        ratio=1.0,
        inference=True,
    )
    a, gamma, beta = torch.randn(4096, 1024), torch.randn(1024), torch.randn(1024)
    yield Row(
        "layer_norm 4096 x 1024",
        lambda: T.layer_norm(a, gamma, beta),
        lambda: torch.nn.functional.layer_norm(a, (1024,), gamma, beta),
        ratio=1.0,
        inference=True,
    )


def _scripted(call: str) -> Callable[[], Any]:
    unit = torch.jit.CompilationUnit(
        f"def run(x: Tensor, n: int) -> Tensor:\n  for i in range(n):\n    x = {call}\n  return x\n"
    )
    x = torch.randn(1000)
    return lambda: unit.run(x, SCRIPTED)


def measured(row: Row, blocks: int, seconds: float) -> tuple[float, float]:
    """Microseconds of ours and of torch's."""
    with torch.inference_mode(row.inference):
        timers = [timeit.Timer(each) for each in (row.ours, row.torchs)]
        for timer in timers:
            timer.timeit(3)
        once = max(timer.timeit(3) / 3 for timer in timers)
        count = max(1, int(seconds / once))
        found = [[timer.timeit(count) / count for timer in timers] for _ in range(blocks)]
    ours, torchs = (min(column) * 1e6 / row.per for column in zip(*found, strict=True))
    return ours, torchs


def verdict(row: Row, ours: float, torchs: float) -> str:
    if row.ratio is not None:
        return f"ratio {ours / torchs:.2f}, at most {row.ratio:.2f}: {_held(ours <= row.ratio * torchs)}"
    value = ours - torchs if row.beyond else ours
    what = "beyond torch's" if row.beyond else "in all"
    assert row.microseconds is not None
    return f"{value:.1f} {what}, at most {row.microseconds}: {_held(value <= row.microseconds)}"


def _held(is_held: bool) -> str:
    return "held" if is_held else "NOT HELD"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=0.002, help="of a block")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    print(f"{'':36}{'ours':>9}{'torch':>9}")
    failed = 0
    for row in rows():
        ours, torchs = measured(row, options.blocks, options.seconds)
        text = verdict(row, ours, torchs)
        failed += "NOT HELD" in text
        print(f"{row.name:36}{ours:9.2f}{torchs:9.2f}  {text}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
