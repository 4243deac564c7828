"""Arrays of several times the workers' memory, from files into files: `python -m tests.frontend.dask.cluster`.

Two worker processes of --memory MiB each, arrays of --mebibytes in zarr files.  Prints for each program its time, the
most memory that a worker had beside what it has when it does nothing, what `explain()` said of one task, and whether
values drawn from the result are right.  The last program loses a worker on its way.  Needs the extra `dask`,
`distributed` and `zarr`.
"""

from __future__ import annotations

import argparse
import importlib
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


def histogram(x: Any) -> Any:
    """How many elements are in each of 16 bins from -4 to 4."""
    bins = ops.cast(ops.floor((ops.clip(x, a_min=-3.99, a_max=3.99) + 4.0) * 2.0), dtype="int32")
    is_in = ops.equal(ops.expand_dims(bins, axis=2), np.arange(16, dtype="int32"))
    return ops.sum(ops.cast(is_in, dtype="int64"), axis=(0, 1))


def resized(x: Any) -> Any:
    image = ops.resize2d(ops.reshape(x, newshape=(1, 1, *x.shape)), size=(x.shape[0] // 2, x.shape[1] // 2))
    return ops.reshape(image, newshape=image.shape[2:])


def segmented(x: Any) -> Any:
    """A network of convolutions that goes down and up again, and gives each element the number of a class."""
    drawn = np.random.default_rng(2)
    first, second = [drawn.standard_normal(s).astype("float32") / 4 for s in ((6, 1, 3, 3), (6, 6, 3, 3))]
    last = drawn.standard_normal((6, 4, 2, 2)).astype("float32")
    y = ops.relu(ops.conv2d(ops.reshape(x, newshape=(1, 1, *x.shape)), first, padding=(1, 1)))
    y = ops.max_pool2d(y, pool_size=(2, 2), strides=(2, 2))
    y = ops.conv2d_transpose(ops.relu(ops.conv2d(y, second, padding=(1, 1))), last, strides=(2, 2))
    return ops.reshape(ops.argmax(y, axis=(1,)), newshape=x.shape)


def as_model(function: Callable[..., Any], x: Any) -> Any:
    """The function exported as an ONNX model, and loaded again."""
    frontend = importlib.import_module("opgen_runtime.frontend.onnx")
    stand_in = np.broadcast_to(np.zeros((), x.dtype), x.shape)
    module, params = frontend.load(frontend.export(rt.jit(function).trace(stand_in)))
    return D.compute_graph(module, params=params)


PROGRAMS: dict[str, Callable[..., Any]] = {
    "chain": chain,
    "softmax": lambda x: ops.softmax(x, axis=1),
    "layer_norm": lambda x: ops.layer_norm(x, np.ones(4096, "float32"), np.zeros(4096, "float32")),
    "three conv2d": smooth,
    "sum": ops.sum,
    "sums so far": lambda x: ops.cumsum(x, axis=1),
    "histogram": histogram,
    "resize": resized,
    "segmentation": segmented,
    "product": lambda x: x @ ops.transpose(x),
}
MODELS = ("segmentation",)
"""Those that are ONNX models."""
CHUNKS: dict[str, Any] = {"sums so far": {1: -1}, "resize": (2048, 2048)}
"""Where they are not those of the file."""


def peak_of() -> int:
    """The most memory that this process ever had, in bytes; and from now on anew."""
    status = Path("/proc/self/status").read_text()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    Path("/proc/self/clear_refs").write_text("5")
    return peak * 1024


def run(name: str, client: Client, source: Path, folder: Path, kill: bool = False) -> bool:
    """Whether the program gave what it must."""
    x = da.from_zarr(str(source))
    if name == "product":
        x = x[: 2 * x.shape[1]].rechunk((1024, 1024))
    elif name in CHUNKS:
        x = x.rechunk(CHUNKS[name])
    function = as_model(PROGRAMS[name], x) if name in MODELS else D.chunked(PROGRAMS[name])
    report = function.explain(x)
    y = function(x)
    idle = max(client.run(peak_of).values())
    begun = time.perf_counter()
    if kill:
        victim = next(iter(client.run(os.getpid).values()))
        threading.Timer(3.0, os.kill, (victim, signal.SIGKILL)).start()
    target = folder / name.replace(" ", "_")
    if y.ndim > 1:
        y.to_zarr(str(target), overwrite=True, compressors=None)
        found = da.from_zarr(str(target))
    else:
        found = y.compute()
    seconds = time.perf_counter() - begun
    peak = max(client.run(peak_of).values())
    is_right = _is_right(name, x, found)
    print(
        f"{name:14} {seconds:6.1f} s  {peak >> 20:5} MiB, {idle >> 20} before  one task {report.peak >> 20:4} MiB  "
        f"{report.tasks:5} tasks  {'right' if is_right else 'WRONG'}{', a worker was killed' if kill else ''}",
        flush=True,
    )
    return is_right


def _is_right(name: str, x: da.Array, found: Any) -> bool:
    """Whether some values are what the program gives of a part of the array, or numpy of all of it."""
    if name == "sum":
        return bool(np.allclose(found, x.sum().compute(), rtol=1e-4))
    if name == "histogram":
        counts, _ = da.histogram(x.clip(-3.99, 3.99), bins=16, range=(-4, 4))
        return bool(
            np.allclose(found, counts.compute(), atol=16)
        )  # of elements that are a bin's end, rounded
    if name == "product":
        wanted = np.asarray(x[1000:1032]) @ np.asarray(x).T
        return bool(np.allclose(np.asarray(found[1000:1032]), wanted, rtol=1e-3, atol=1e-2))
    part = np.asarray(rt.jit(PROGRAMS[name])(np.asarray(x[900:1400])))
    scale = len(x) // len(found)
    wanted, own = part[100 // scale : 356 // scale], np.asarray(found[1000 // scale : 1256 // scale])
    if name in MODELS:  # classes of nearly equal scores may be others
        return bool((own == wanted).mean() > 0.999)
    return bool(np.allclose(own, wanted, rtol=1e-4, atol=1e-5))


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
