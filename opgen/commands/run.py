"""`opgen run MODEL.onnx|FILE|OP`: an ONNX model through the declared ops, a file of `opgen build`, or one op."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Final

import click
import numpy as np

from opgen_runtime import GraphRuntime, create_executor, load
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.base.vocabulary import DType
from opgen_runtime.ir import Var
from opgen_runtime.operator.types import TensorType
from opgen_runtime.run.compile.store.pieces import is_artifact
from opgen_runtime.run.executor import array_type
from opgen_runtime.testing import Spec, ordinary

from .completion import OpName
from .console import note, out, table
from .example import example_function
from .failure import Failure, Findings
from .lookup import find_op
from .onnx_models import existing, extents, frontend, given_arrays, printable
from .options import of_a_call

_SHOWN: Final = 64  # elements; an output of no more is printed


@click.command()
@click.argument("what", metavar="MODEL.onnx|FILE|OP", type=OpName())
@click.option("--input", "inputs", multiple=True, metavar="NAME=FILE.npy", help="An input; once for each.")
@click.option(
    "--random", "seed", type=int, metavar="SEED", help="Seeded random values for inputs that are not given."
)
@click.option(
    "--dim", "dims", multiple=True, metavar="NAME=N", help="A model's dynamic dim, for random inputs; else 1."
)
@of_a_call("what", shapes="Of each operand of OP, for random inputs.")
@click.option("--output", metavar="FOLDER", help="Write each output there, as NAME.npy.")
def command(
    what: str,
    inputs: tuple[str, ...],
    seed: int | None,
    dims: tuple[str, ...],
    shapes: tuple[str, ...],
    dtypes: tuple[str, ...],
    attrs: tuple[str, ...],
    output: str | None,
) -> None:
    """Run a model, what `opgen build` made of one, or one op of the project or built in; print what its outputs are.

    Without --input, a file of `opgen build` runs on random values, and so does an op: of --shape, else of the first
    test of its declaration.

    \b
      opgen run model.onnx --input image=cat.npy --output results
      opgen run model.onnx --random 0 --dim batch=4
      opgen run model.opgen --random 0
      opgen run axis_abs --input data=x.npy --attr axis=1
      opgen run softmax --shape 4,1000
    """
    arrays = given_arrays(inputs)
    if what.endswith(".onnx") or Path(what).is_file():
        if shapes or dtypes or attrs:
            raise Failure("--shape, --dtype and --attr are of an op; a model has --input, --random and --dim")
        if is_artifact(what):
            if dims:
                raise Failure("--dim is of a model; the shapes of a file are those that it was built for")
            results = _run_file(what, arrays, 0 if seed is None and not arrays else seed)
        else:
            results = _run_model(what, arrays, seed, dims)
    else:
        if dims:
            raise Failure("--dim is of a model; the extents of an op's operands are given by --shape")
        if what.endswith(".opgen") or "/" in what:
            raise Failure(f"no file {what!r}")
        results = _run_op(what, arrays, seed or 0, shapes, dtypes, attrs)
    rows = [("output", "dtype", "shape", "least", "mean", "greatest")]
    table([*rows, *[(name, *_figures(array)) for name, array in results.items()]])
    for name, array in results.items():
        if isinstance(array, np.ndarray) and 0 < array.size <= _SHOWN:
            out.print(f"\n{name} =\n{array}")
    if output is not None:
        _write(Path(output), results)


def _run_model(
    path: str, arrays: dict[str, np.ndarray], seed: int | None, dims: tuple[str, ...]
) -> dict[str, object]:
    onnx = frontend()
    try:
        program = onnx.prepare(str(existing(path)))
        if seed is not None:
            arrays = {**onnx.random_inputs(program.signature, seed, extents(dims)), **arrays}
        started = time.perf_counter()
        results = program(arrays)
    except OpgenError as error:
        unknown = "" if path.endswith(".onnx") else "no file of `opgen build`, and as a model: "
        raise Findings(f"{unknown}{error}") from None
    note(f"{time.perf_counter() - started:.2f} s, compilation included")
    return {printable(name): result for name, result in zip(program.signature.outputs, results, strict=True)}


def _run_file(path: str, arrays: dict[str, np.ndarray], seed: int | None) -> dict[str, object]:
    try:
        runtime = GraphRuntime(load(existing(path)))
        for name, slot in zip(runtime.executable.inputs, runtime.executable.takes, strict=True):
            if name not in arrays and seed is not None:
                if -1 in slot.shape:
                    raise Findings(f"input {name} is {slot}; its dims are not known, so give it an array")
                arrays = {
                    **arrays,
                    name: ordinary(Spec(DType(slot.dtype.name), slot.shape), f"{seed} {name}"),
                }
        for name, array in arrays.items():
            runtime.set_input(name, array)
        runtime.run()
        started = time.perf_counter()
        runtime.run()
    except OpgenError as error:
        raise Findings(str(error)) from None
    note(f"{1e3 * (time.perf_counter() - started):.3g} ms")
    return {f"output{k}": runtime.get_output(k).numpy() for k in range(runtime.get_num_outputs())}


def _run_op(
    name: str,
    arrays: dict[str, np.ndarray],
    seed: int,
    shapes: tuple[str, ...],
    dtypes: tuple[str, ...],
    attrs: tuple[str, ...],
) -> dict[str, object]:
    """The outputs by name of one call."""
    if arrays and (shapes or dtypes):
        raise Failure("--shape and --dtype are for random values; the operands have those of --input")
    found = find_op(name)
    try:
        given = {each: array_type(array) for each, array in arrays.items()}
        function = example_function(found.project, found.op, shapes, dtypes, attrs, given)
        operands = {param: _operand(param, arrays, seed) for param in function.params}
        value = create_executor("graph").evaluate(function.body, operands)
    except OpgenError as error:
        raise Findings(f"{type(error).__name__}: {error}") from None
    if isinstance(value, tuple) and len(found.op.outputs) == 1:  # it is variadic
        return {f"{found.op.outputs[0].name}{k}": np.asarray(each) for k, each in enumerate(value)}
    results = value if isinstance(value, tuple) else (value,)
    return {each.name: np.asarray(result) for each, result in zip(found.op.outputs, results, strict=True)}


def _operand(param: Var, arrays: dict[str, np.ndarray], seed: int) -> np.ndarray:
    """The array given for a parameter, else seeded random values."""
    if param.name_hint in arrays:
        return arrays[param.name_hint]
    kind = param.checked_type
    assert isinstance(kind, TensorType)
    shape = tuple([int(str(dim)) for dim in kind.shape])
    return ordinary(Spec(kind.dtype, shape), f"{seed} {param.name_hint}")


def _figures(array: object) -> tuple[str, str, str, str, str]:
    if not isinstance(array, np.ndarray):
        return "sequence", str(len(array)) if isinstance(array, list) else "none", "", "", ""
    shape = ", ".join(map(str, array.shape))
    if not array.size:
        return str(array.dtype), f"[{shape}]", "", "", ""
    numbers = array.astype(np.float64)
    with np.errstate(all="ignore"):  # of infinities and NaN
        least, mean, greatest = numbers.min(), numbers.mean(), numbers.max()
    return str(array.dtype), f"[{shape}]", f"{least:.6g}", f"{mean:.6g}", f"{greatest:.6g}"


def _write(folder: Path, arrays: dict[str, object]) -> None:
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise Failure(f"output {name!r} is a sequence, which has no .npy file")
        path = folder / (re.sub(r"[^\w.-]", "_", name) + ".npy")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            np.save(path, array)
        except OSError as error:
            raise Failure(f"{path} cannot be written: {error.strerror}") from None
        note(f"wrote {path}")
