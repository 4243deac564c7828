"""Programs that are saved here and loaded by another machine's Python, which an emulator runs.

    OPGEN_EMULATED_PYTHON=FOLDER/python python -m tests.machines aarch64 --only artifacts

The Python is what scripts/emulated_python has made.  It compiles nothing of a program, and packs no constants.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

import opgen_runtime as rt
from opgen_runtime import ops
from tests.campaign import Tally

from .emulated import Emulated
from .reference import HERE, flat

VARIABLE: Final = "OPGEN_EMULATED_PYTHON"
_RANDOM: Final = np.random.default_rng(0)
_WEIGHTS: Final = {
    "w": _RANDOM.normal(size=(12, 8, 3, 3)).astype(np.float32),
    "m": _RANDOM.normal(size=(33, 12 * 19 * 21)).astype(np.float32) / 50,
}

# Run there: each program twice, as the second call may take another way.
_THERE: Final = """
import sys
from pathlib import Path
import numpy as np
import opgen_runtime as rt

for path in sorted(Path(sys.argv[1]).glob("*.opgen")):
    program = rt.load(path)
    given = np.load(path.with_suffix(".npz"))
    arrays = [given[f"arr_{k}"] for k in range(len(program.inputs))]
    for _ in range(2):
        found = program.run(arrays)
    np.savez(path.with_suffix(".found.npz"), *(found if isinstance(found, tuple) else (found,)))
    print(path.stem, type(program).__name__, len(program.precompute_kernels), flush=True)
"""


def _var(name: str, *shape: object, dtype: str = "float32") -> rt.Var:
    return rt.var(name, rt.TensorType(shape, dtype))


def _packed_weights() -> rt.Function:
    im, w, m = _var("im", 2, 8, 19, 21), _var("w", 12, 8, 3, 3), _var("m", 33, 12 * 19 * 21)
    features = ops.relu(ops.conv2d(ops.sin(im), w, padding=(1, 1)))
    return rt.Function((im, w, m), ops.softmax(ops.dense(ops.reshape(features, newshape=(2, -1)), m), axis=1))


def _open_dims() -> rt.Function:
    x = _var("x", rt.dim("n"), 48)
    return rt.Function((x,), ops.softmax(ops.matmul(x, ops.transpose(ops.exp(x))), axis=1))


def _sizes_of_data() -> rt.Function:
    x = _var("x", 64, 48)
    return rt.Function((x,), ops.exp(ops.masked_select(x, ops.greater(x, ops.zeros_like(x)))) + 1.0)


_PROGRAMS: Final[dict[str, tuple[Callable[[], rt.Function], tuple[int, ...]]]] = {
    "packed_weights": (_packed_weights, (2, 8, 19, 21)),
    "open_dims": (_open_dims, (37, 48)),
    "sizes_of_data": (_sizes_of_data, (64, 48)),
}


def checked(machine: Emulated) -> tuple[Tally, int]:
    """What went wrong with the programs, and how many there were; none without an emulated Python."""
    python = os.environ.get(VARIABLE)
    if python is None:
        print(f"artifacts: not run, {VARIABLE} names no Python (scripts/emulated_python)")
        return Tally(), 0
    tally = Tally()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = {title: _saved(machine, folder / title, *row) for title, row in _PROGRAMS.items()}
        (folder / "load_all.py").write_text(_THERE)
        environment = {**os.environ, "OPGEN_CACHE_DIR": str(folder / "cache")}
        done = subprocess.run(
            [python, folder / "load_all.py", folder],
            capture_output=True, text=True, timeout=500, env=environment, check=False,
        )  # fmt: skip
        for title, expected in wanted.items():
            tally.tried += 1
            path = folder / f"{title}.found.npz"
            if not path.exists():
                tally.failures.append(f"{title}: {done.stderr.strip()[-300:]}")
                continue
            given = np.load(path)
            for k, array in enumerate(expected):
                if not np.allclose(given[f"arr_{k}"], array, rtol=1e-5, atol=1e-7):
                    tally.failures.append(f"{title}: result {k} differs")
    return tally, len(wanted)


def _saved(
    machine: Emulated, path: Path, made: Callable[[], rt.Function], shape: tuple[int, ...]
) -> tuple[np.ndarray, ...]:
    """A program and its input in files; gives what this machine computes."""
    function = made()
    params = {param.name_hint: _WEIGHTS[param.name_hint] for param in function.params[1:]}
    data = _RANDOM.normal(size=shape).astype(np.float32)
    rt.build(function, params, machine.target).save(path.with_suffix(".opgen"))
    np.savez(path.with_suffix(".npz"), data)
    return flat(rt.build(function, params, HERE).run([data]))
