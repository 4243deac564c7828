"""`opgen run MODEL.onnx`: an ONNX model through the declared ops."""

from __future__ import annotations

import time
from pathlib import Path

import click
import numpy as np

from opgen_runtime.errors import OpgenError

from .console import note, table
from .failure import Failure, Findings
from .onnx_models import existing, frontend, given_arrays


@click.command(short_help="Run an ONNX model.")
@click.argument("model", metavar="MODEL.onnx")
@click.option("--input", "inputs", multiple=True, metavar="NAME=FILE.npy", help="An input; once for each.")
@click.option(
    "--random", "seed", type=int, metavar="SEED", help="Seeded random values for inputs that are not given."
)
@click.option(
    "--dim",
    "dims",
    multiple=True,
    metavar="NAME=N",
    help="The extent of a dynamic dim of random inputs; else 1.",
)
@click.option("--output", metavar="FOLDER", help="Write each output there, as NAME.npy.")
def command(
    model: str, inputs: tuple[str, ...], seed: int | None, dims: tuple[str, ...], output: str | None
) -> None:
    """Run a model and print what its outputs are.

    \b
      opgen run model.onnx --input image=cat.npy --output results
      opgen run model.onnx --random 0 --dim batch=4
    """
    onnx = frontend()
    arrays = given_arrays(inputs)
    try:
        program = onnx.prepare(str(existing(model)))
        if seed is not None:
            arrays = {**onnx.random_inputs(program.signature, seed, _extents(dims)), **arrays}
        started = time.perf_counter()
        results = program(arrays)
    except OpgenError as error:
        raise Findings(str(error)) from None
    note(f"{time.perf_counter() - started:.2f} s, compilation included")
    rows = [("output", "dtype", "shape", "least", "mean", "greatest")]
    for name, array in zip(program.signature.outputs, results, strict=True):
        rows.append((name, *_figures(array)))
    table(rows)
    if output is not None:
        _write(Path(output), dict(zip(program.signature.outputs, results, strict=True)))


def _extents(written: tuple[str, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in written:
        name, _, extent = text.partition("=")
        if not name or not extent.isdecimal():
            raise Failure(f"--dim {text!r} must be NAME=N")
        found[name] = int(extent)
    return found


def _figures(array: object) -> tuple[str, str, str, str, str]:
    if not isinstance(array, np.ndarray):
        return "sequence", str(len(array)) if isinstance(array, list) else "none", "", "", ""
    shape = ", ".join(map(str, array.shape))
    if not array.size:
        return str(array.dtype), f"[{shape}]", "", "", ""
    numbers = array.astype(np.float64)
    return (
        str(array.dtype),
        f"[{shape}]",
        f"{numbers.min():.6g}",
        f"{numbers.mean():.6g}",
        f"{numbers.max():.6g}",
    )


def _write(folder: Path, arrays: dict[str, object]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise Failure(f"output {name!r} is a sequence, which has no .npy file")
        path = folder / f"{name.replace('/', '_').replace(':', '_')}.npy"
        np.save(path, array)
        note(f"wrote {path}")
