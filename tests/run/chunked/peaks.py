"""What tasks have in memory beside what `explain()` says: `python -m tests.run.chunked.peaks [PROGRAM ...]`.

The largest block of each stage runs in a process of its own, with random chunks of a few dozen MiB; its kernel was
compiled before by another.  What is measured is the growth of the process's memory over what the chunks take.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from opgen_runtime import ops
from opgen_runtime.base import Target
from opgen_runtime.run.chunked import Partition, partition, stream, traced
from opgen_runtime.run.chunked.blocks import Block
from opgen_runtime.run.chunked.chunks import region_of
from opgen_runtime.run.chunked.memory import given_of, transfer_of, workspace_of
from opgen_runtime.run.chunked.partition import Stage
from opgen_runtime.run.chunked.tasks import Task, stage_tasks

_TARGET: Final = "llvm -mcpu=native -num-threads=1"
_WEIGHT: Final = np.random.default_rng(1).standard_normal((1, 1, 3, 3)).astype("float32")


def smooth(x: Any) -> Any:
    image = ops.reshape(x, newshape=(1, 1, *x.shape))
    for _ in range(3):
        image = ops.tanh(ops.conv2d(image, _WEIGHT, padding=(1, 1)))
    return ops.reshape(image, newshape=x.shape)


PROGRAMS: Final[dict[str, Callable[..., Any]]] = {
    "chain": lambda x: ops.tanh(x * 2.0 + 1.0) * ops.sigmoid(x),
    "softmax": lambda x: ops.softmax(x, axis=1),
    "layer_norm": lambda x: ops.layer_norm(x, np.ones(8192, "float32"), np.zeros(8192, "float32")),
    "conv2d": smooth,
    "sum": ops.sum,
    "argmax": lambda x: ops.argmax(x, axis=(1,)),
    "cumsum": lambda x: ops.cumsum(x, axis=0),
    "product": lambda x: x @ ops.transpose(x),
}


def parted(name: str) -> Partition:
    x = np.broadcast_to(np.zeros((), "float32"), (8192, 8192))
    program, _, _ = traced(PROGRAMS[name], (x,), {}, lambda value: True)
    return partition(program, [((2048,) * 4, (4096, 4096))])


def largest(made: Partition, stage: Stage) -> tuple[Task, Block, int, int]:
    """The block that has the most; the bytes of what it takes, and those that it adds, as they are predicted."""
    found: list[tuple[int, int, Task, Block]] = []
    for task in stage_tasks(made, stage):
        if isinstance(task.work, Block):
            owners = [each.position for each in task.work.operands]
            grids = {owner: made.grid_of(made.program.tensor(owner)) for owner in owners}
            held, copied = transfer_of(task.work, grids)
            found.append((held, copied + given_of(task.work, made.program), task, task.work))
    held, added, task, block = max(found, key=lambda each: each[0] + each[1])
    return task, block, held, added + workspace_of(block, made.program, Target.parse(_TARGET))


def memory(key: str) -> int:
    """A row of the process's status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024


def run(name: str, number: int) -> dict[str, Any]:
    """The block of a stage, run here."""
    made = parted(name)
    stage = made.stages[number]
    task, block, held, added = largest(made, stage)
    arrays = []
    for owner, *place in task.takes:
        tensor = made.program.tensor(int(owner))
        region = region_of(made.grid_of(tensor), tuple([int(k) for k in place]))
        shape = [behind - first for first, behind in region]
        arrays.append(np.full(shape, 0.5, tensor.dtype.numpy))
    stream(lambda x: ops.erf(x), np.ones(8, "float32"))  # what the first kernel of a process loads
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    found = block.run(made.program, Target.parse(_TARGET), *arrays)
    measured = memory("VmHWM") - before
    assert found is not None
    return {"stage": made.label(stage), "held": held, "said": added, "measured": measured}


def measured(name: str, number: int, cache: str) -> dict[str, Any]:
    """Likewise in a process of its own, with the kernel from the cache."""
    command = [sys.executable, "-m", "tests.run.chunked.peaks", name, "--stage", str(number)]
    environment = {**os.environ, "OPGEN_CACHE_DIR": cache, "OPENBLAS_NUM_THREADS": "1"}
    for _ in range(2):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.run.chunked.peaks", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--stage", type=int, help="run this one here")
    options = parser.parse_args()
    if options.stage is not None:
        print(json.dumps(run(options.programs[0], options.stage)))
        return 0
    is_far = False
    with tempfile.TemporaryDirectory() as cache:
        for name in options.programs:
            for number in range(len(parted(name).stages)):
                found = measured(name, number, cache)
                said, real = found["held"] + found["said"], found["held"] + found["measured"]
                is_far |= said > 1 << 20 and not 0.8 <= said / real <= 1.2
                print(
                    f"{found['stage']:20} {real >> 20:5} MiB, said {said >> 20:5}: {said / real:.2f}  "
                    f"(held {found['held'] >> 20})",
                    flush=True,
                )
    return int(is_far)


if __name__ == "__main__":
    sys.exit(main())
