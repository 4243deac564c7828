"""Threads that meet new sizes at once: `python -m tests.bridges.torch_threads [--threads 8] [--sizes 1000]`.

Each thread calls three ops, forward and backward, on sizes that no other call has, and compares with torch's own.
Prints what was wrong, and by how much memory grew over the second half of the sizes.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import torch

import opgen_runtime.bridges.torch as T
from opgen_runtime.bridges.torch.handler import MOST

Function = Callable[[torch.Tensor], torch.Tensor]
PAIRS: dict[str, tuple[Function, Function]] = {
    "sigmoid": (T.sigmoid, torch.sigmoid),
    "softmax": (lambda x: T.softmax(x, axis=1), lambda x: torch.softmax(x, 1)),
    "matmul": (lambda x: T.matmul(x, x.T), lambda x: x @ x.T),
}
MOST_GROWTH = 64 << 20


def resident() -> int:
    """Bytes of memory that the process has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--sizes", type=int, default=1000, help="of a thread")
    options = parser.parse_args()
    torch.set_num_threads(1)
    sys.setswitchinterval(1e-4)  # threads that wait for each other take turns more often
    wrong: list[str] = []
    memory: list[int] = []
    half_way, end = (
        threading.Barrier(options.threads, action=lambda: memory.append(resident())) for _ in range(2)
    )

    def work(number: int) -> None:
        for k in range(options.sizes):
            if k == options.sizes // 2:
                half_way.wait()
            rows, columns = 1 + number + options.threads * (k % 40), 1 + k // 40
            for name, (ours, torchs) in PAIRS.items():
                x, y = (torch.full((rows, columns), 0.5).requires_grad_() for _ in range(2))
                try:
                    found, wanted = ours(x), torchs(y)
                    found.square().sum().backward()
                    wanted.square().sum().backward()
                    torch.testing.assert_close((found, x.grad), (wanted, y.grad), rtol=1e-4, atol=1e-5)
                except (RuntimeError, AssertionError) as error:
                    wrong.append(f"{name} of {(rows, columns)}: {error}")
        end.wait()

    begin = time.perf_counter()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(options.threads)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    kept = {name: len(T.operator(name).handler.kept) for name in PAIRS}
    growth = memory[1] - memory[0]
    print(*wrong[:10], sep="\n")
    print(
        f"{options.threads} threads, {options.sizes} sizes each: {len(wrong)} wrong, entries {kept} of at most {MOST}, "
        f"{growth >> 20} MiB more in the second half, {time.perf_counter() - begin:.0f} s"
    )
    return 1 if wrong or growth > MOST_GROWTH or max(kept.values()) > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
