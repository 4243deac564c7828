"""A new element function is a row and a formula, two files: the language, te, gradients and kernels know it then."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
ROW: Final = (
    "base/arith/intrinsics.py",
    "INTRINSICS: Final[dict[str, Intrinsic]] = {\n",
    '    "squareplus": Intrinsic(\n'
    "        lambda a: (a + math.sqrt(a * a + 4.0)) / 2.0,\n"
    '        adjoints=lambda m, g, y, x: m.div(m.mul(g, y), m.call("sqrt", m.add(m.mul(x, x), 4.0))),\n'
    "    ),\n",
)
FORMULA: Final = (
    "codegen/llvm/math/exponential.py",
    "FORMULAS: Final[dict[str, Formula]] = {\n",
    '    "squareplus": lambda b, x: (x + b.sqrt(x * x + 4.0)) * 0.5,\n',
)
DECLARATION: Final = """\
op: squareplus
doc: "(x + sqrt(x^2 + 4)) / 2 of each element, a smooth relu."
inputs: {data: {shape: "*S", dtype: float}}
outputs: {out: {shape: "*S", dtype: data.dtype}}
compute: out[*i] = squareplus(data[*i])
reference: out = ((data + np.sqrt(data.astype(np.float64) ** 2 + 4)) / 2).astype(data.dtype)
"""
USED: Final = """
import numpy as np
import opgen_runtime as rt
from opgen_runtime import te
import squared
from squared import eager

x = np.linspace(-3, 3, 37, dtype=np.float32)
wanted = (x + np.sqrt(x * x + 4)) / 2
np.testing.assert_allclose(eager.squareplus(x), wanted, rtol=1e-5)
a = te.placeholder((37,), name="a")
out = te.compute((37,), lambda i: te.squareplus(a[i]), name="out")
np.testing.assert_allclose(te.evaluate([out], {a: x})[0], wanted, rtol=1e-5)
gradient = rt.grad(lambda x: squared.squareplus(x).sum())(x)
np.testing.assert_allclose(gradient, wanted / np.sqrt(x * x + 4), rtol=1e-5)
print("fits")
"""


def test_two_files_are_all(tmp_path: Path) -> None:
    runtime = tmp_path / "runtime" / "opgen_runtime"
    shutil.copytree(ROOT / "runtime" / "opgen_runtime", runtime, ignore=shutil.ignore_patterns("__pycache__"))
    for file, table, row in (ROW, FORMULA):
        path = runtime / file
        text = path.read_text()
        assert text.count(table) == 1
        path.write_text(text.replace(table, table + row))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(runtime.parent), str(ROOT)]),
        "OPGEN_CACHE_DIR": str(tmp_path / "cache"),
    }

    def run(*command: str, cwd: Path = tmp_path) -> str:
        done = subprocess.run(
            [sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("-m", "opgen", "init", "squared")
    project = tmp_path / "squared"
    (project / "opdefs" / "squareplus.yaml").write_text(DECLARATION)
    run("-m", "opgen", "generate", cwd=project)
    run("-m", "opgen", "test", "squareplus", cwd=project)
    assert run("-c", USED, cwd=project) == "fits\n"
