"""Arrays of several times the workers' memory, from files into files: `python -m tests.frontend.dask.cluster`.

Two worker processes of --memory MiB each, arrays of --mebibytes in zarr files.  Prints for each program its time, the
most memory that a worker had beside what it has when it does nothing, what `explain()` said of one task, and whether
values drawn from the result are right.  The last program loses a worker on its way.  Needs the extra `dask`,
`distributed` and `zarr`.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import opgen_runtime.dask as D
from distributed import Client, LocalCluster

import opgen_runtime as rt
from opgen_runtime import ops

WEIGHT = np.random.default_rng(1).standard_normal((1, 1, 3, 3)).astype("float32") / 4


def chain(x: Any) -> Any:
    return ops.tanh(x * 2.0 + 1.0) * ops.sigmoid(x) + ops.exp(x * -0.5)


def smooth(x: Any) -> Any:
    image = ops.reshape(x, newshape=(1, 1, *x.shape))
    for _ in range(3):
        image = ops.tanh(ops.conv2d(image, WEIGHT, padding=(1, 1)))
    return ops.reshape(image, newshape=x.shape)


PROGRAMS: dict[str, Callable[..., Any]] = {
    "chain": chain,
    "softmax": lambda x: ops.softmax(x, axis=1),
    "layer_norm": lambda x: ops.layer_norm(x, np.ones(4096, "float32"), np.zeros(4096, "float32")),
    "three conv2d": smooth,
    "sum": ops.sum,
    "sums so far": lambda x: ops.cumsum(x, axis=1),
}


def peak_of() -> int:
    """The most memory that this process ever had, in bytes; and from now on anew."""
    status = Path("/proc/self/status").read_text()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    Path("/proc/self/clear_refs").write_text("5")
    return peak * 1024


def run(name: str, client: Client, source: Path, folder: Path, kill: bool = False) -> bool:
    """Whether the program gave what it must."""
    x = da.from_zarr(str(source))
    if name == "sums so far":
        x = x.rechunk({1: -1})
    function = D.chunked(PROGRAMS[name])
    report = function.explain(x)
    y = function(x)
    idle = max(client.run(peak_of).values())
    begun = time.perf_counter()
    if kill:
        victim = next(iter(client.run(os.getpid).values()))
        threading.Timer(3.0, os.kill, (victim, signal.SIGKILL)).start()
    target = folder / name.replace(" ", "_")
    if y.ndim:
        y.to_zarr(str(target), overwrite=True, compressors=None)
        found = da.from_zarr(str(target))
    else:
        found = y.compute()
    seconds = time.perf_counter() - begun
    peak = max(client.run(peak_of).values())
    rows = slice(1000, 1256)
    if y.ndim:
        part = np.asarray(x[900:1400])
        wanted = np.asarray(rt.jit(PROGRAMS[name])(part))[100:356]
        is_right = bool(np.allclose(np.asarray(found[rows]), wanted, rtol=1e-4, atol=1e-5))
    else:
        is_right = bool(np.allclose(found, x.sum().compute(), rtol=1e-4))
    print(
        f"{name:14} {seconds:6.1f} s  {peak >> 20:5} MiB, {idle >> 20} before  one task {report.peak >> 20:4} MiB  "
        f"{report.tasks:5} tasks  {'right' if is_right else 'WRONG'}{', a worker was killed' if kill else ''}",
        flush=True,
    )
    return is_right


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.frontend.dask.cluster")
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--memory", type=int, default=400)
    parser.add_argument("--mebibytes", type=int, default=2048)
    options = parser.parse_args()
    dask.config.set({"distributed.scheduler.allowed-failures": 10})
    count = options.mebibytes * 2**18 // 4096
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "x"
        x = da.random.default_rng(0).standard_normal((count, 4096), chunks=(512, 2048), dtype="float32")
        x.to_zarr(str(source), compressors=None)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, memory_limit=f"{options.memory}MiB", dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            right = [run(each, client, source, folder) for each in options.programs]
            right.append(run("softmax", client, source, folder, kill=True))
    return int(not all(right))


if __name__ == "__main__":
    sys.exit(main())
