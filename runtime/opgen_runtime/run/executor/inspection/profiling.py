"""What the kernels of a program cost: measured by the driver itself while the program runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from ....base.vocabulary import dataclass
from ...compile import Kernel


@dataclass(frozen=True, slots=True)
class KernelCost:
    """A kernel's calls in all runs.

    `seconds`: of all calls; `nbytes`: of the operands of one call, each counted
    once, for the hints of symbolic dims; `operations`: arithmetic
    operations on floats of one call, None where they are not known.  `share`: of the time of all kernels.
    """

    kernel: str
    calls: int
    seconds: float
    nbytes: int
    operations: int | None
    share: float

    @property
    def gigabytes_per_second(self) -> float:
        return self.calls * self.nbytes / self.seconds / 1e9 if self.seconds else 0.0

    @property
    def gigaflops(self) -> float | None:
        """10^9 operations a second."""
        if self.operations is None:
            return None
        return self.calls * self.operations / self.seconds / 1e9 if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Profile:
    """What `runs` runs of a program cost: `str` is a table.

    `kernels`: the greatest time first.  `events`: (kernel, begin, end in nanoseconds) of each call, in order.
    """

    runs: int
    kernels: tuple[KernelCost, ...]
    events: tuple[tuple[str, int, int], ...]

    def __str__(self) -> str:
        head = ("kernel", "calls", "ms a run", "MB", "GB/s", "GFLOP/s", "share")
        rows = [head]
        for each in self.kernels:
            flops = each.gigaflops
            rows.append(
                (
                    each.kernel,
                    str(each.calls),
                    f"{1e3 * each.seconds / self.runs:.4f}",
                    f"{each.nbytes / 1e6:.3f}",
                    f"{each.gigabytes_per_second:.2f}",
                    "" if flops is None else f"{flops:.2f}",
                    f"{each.share:.1%}",
                )
            )
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(
                [row[0].ljust(widths[0]), *[v.rjust(w) for v, w in zip(row[1:], widths[1:], strict=True)]]
            )
            for row in rows
        )

    def json(self) -> str:
        """Runs and kernels, with all that the table shows, in seconds and bytes."""
        kernels = [
            {
                **asdict(each),
                "gigabytes_per_second": each.gigabytes_per_second,
                "gigaflops": each.gigaflops,
            }
            for each in self.kernels
        ]
        return json.dumps({"runs": self.runs, "kernels": kernels}, indent=2)

    def chrome_trace(self) -> str:
        """The calls in the Trace Event Format, for chrome://tracing and Perfetto; its times are microseconds."""
        first = self.events[0][1] if self.events else 0
        rows = [
            {
                "name": name,
                "ph": "X",
                "pid": 0,
                "tid": 0,
                "ts": (begin - first) / 1e3,
                "dur": (end - begin) / 1e3,
            }
            for name, begin, end in self.events
        ]
        return json.dumps({"traceEvents": rows, "displayTimeUnit": "ms"})


def profile_of(
    runs: int,
    kernels: Sequence[Kernel],
    numbers: Sequence[int],
    events: np.ndarray,
) -> Profile:
    """`events`: rows (step, begin, end); `numbers`: the kernel of each step."""
    seconds: dict[int, float] = {}
    calls: dict[int, int] = {}
    rows: list[tuple[str, int, int]] = []
    for step, begin, end in events.tolist():
        number = numbers[step]
        seconds[number] = seconds.get(number, 0.0) + (end - begin) / 1e9
        calls[number] = calls.get(number, 0) + 1
        rows.append((kernels[number].name, begin, end))
    total = sum(seconds.values()) or 1.0
    costs = [
        KernelCost(
            kernels[number].name,
            calls[number],
            spent,
            _bytes(kernels[number]),
            kernels[number].operations,
            spent / total,
        )
        for number, spent in sorted(seconds.items(), key=lambda item: -item[1])
    ]
    return Profile(runs, tuple(costs), tuple(rows))


def _bytes(kernel: Kernel) -> int:
    slots = (*kernel.inputs, *kernel.outputs)
    own = sum([constant.nbytes for constant in kernel.constants])
    return own + sum([slot.nbytes for slot in slots])
