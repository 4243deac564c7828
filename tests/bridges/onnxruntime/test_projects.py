"""A project's own ops in onnxruntime, by the command line, in processes of Python and of C that have no opgen."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

onnx = pytest.importorskip("onnx", reason="needs the extra `conformance`")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra `conformance`")

from onnx import TensorProto, helper  # noqa: E402

from opgen.commands import main  # noqa: E402

CC = shutil.which("cc")
C_PROGRAM = Path(__file__).parents[1] / "ort_main.c"
PACKAGE = "ortops"
OPS = """
op: soft_sign
doc: x over alpha plus its magnitude.
dtypes: {T: float}
inputs: {x: {shape: "*S", dtype: T, doc: What is squashed.}}
attrs: {alpha: {type: float, default: 1.0, bounds: alpha > 0, doc: Where half of the limit is.}}
outputs: {out: {shape: "*S", dtype: T}}
compute: |
  out[*i] = x[*i] / (alpha + abs(x[*i]))
reference: |
  out = x / (alpha + abs(x))
tests:
  - {x: "float32[2, 3]", alpha: 0.5}
---
op: scores
doc: Products of all rows of x with all rows of y.
dtypes: {T: float}
inputs:
  x: {shape: "M, K", dtype: T, doc: Rows.}
  y: {shape: "N, K", dtype: T, doc: Rows.}
outputs: {out: {shape: "M, N", dtype: T}}
compute: |
  out[i, j] = sum(x[i, k] * y[j, k] for k in range(K))
reference: |
  out = x @ y.T
tests:
  - {x: "float32[2, 3]", y: "float32[4, 3]"}
---
op: shifted
doc: Rows moved up by some places, the first ones to the end.
dtypes: {T: any}
inputs: {x: {shape: "M, K", dtype: T, doc: Rows.}}
attrs: {places: {type: int, bounds: places >= 0, doc: How far.}}
outputs: {out: {shape: "M, K", dtype: T}}
compute: |
  out[i, k] = x[(i + places) % M, k]
reference: |
  out = np.roll(x, -places, 0)
tests:
  - {x: "float32[3, 2]", places: 1}
"""
RUN = """
import importlib.util, sys
from pathlib import Path
sys.path[:] = [each for each in sys.path if not list(Path(each).glob("opgen*/__init__.py"))]
sys.meta_path[:] = [each for each in sys.meta_path if "editable" not in repr(each)]
assert importlib.util.find_spec("opgen_runtime") is None and importlib.util.find_spec("opgen") is None
import numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.register_custom_ops_library(sys.argv[1])
session = onnxruntime.InferenceSession(sys.argv[2], options, providers=["CPUExecutionProvider"])
for rows in (1, 2, 3):
    x = numpy.arange(4 * rows, dtype=numpy.float32).reshape(rows, 4)
    print(*[f"{value:.9g}" for value in session.run(None, {"x": x})[0].ravel().tolist()])
assert not [name for name in sys.modules if name.startswith("opgen")]
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def model(weights: np.ndarray) -> Any:
    """y = soft_sign(scores(shifted(x), weights)), of any number of rows."""
    nodes = [
        helper.make_node("shifted", ["x"], ["moved"], domain=PACKAGE, places=1),
        helper.make_node("scores", ["moved", "weights"], ["products"], domain=PACKAGE),
        helper.make_node("Neg", ["products"], ["negative"]),
        helper.make_node("soft_sign", ["negative"], ["y"], domain=PACKAGE, alpha=0.1),
    ]
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 4])],
        [onnx.numpy_helper.from_array(weights, "weights")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(PACKAGE, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


WEIGHTS = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project with three ops and a model of them, which is the current folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("projects"))
        assert run("init", PACKAGE).exit_code == 0
        patch.chdir(PACKAGE)
        Path("opdefs/ops.yaml").write_text(OPS)
        generated = run("generate")
        assert generated.exit_code == 0, generated.output
        onnx.save(model(WEIGHTS), "model.onnx")
        patch.syspath_prepend(str(Path.cwd()))
        yield Path.cwd()
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            del sys.modules[name]


@pytest.fixture(scope="module")
def library(project: Path) -> Path:
    made = run("export-ort", "-o", "ops.so", "--model", "model.onnx")
    assert made.exit_code == 0, made.output
    names = "ortops::shifted, ortops::scores, ortops::soft_sign"
    assert made.output.endswith(f" bytes, 3 entries of {names}\n")
    return project / "ops.so"


def check(shown: str) -> None:
    for rows, line in enumerate(shown.splitlines(), 1):
        x = np.arange(4 * rows, dtype=np.float32).reshape(rows, 4)
        products = -(np.roll(x, -1, 0).astype(np.float64) @ WEIGHTS.T.astype(np.float64))
        expected = products / (0.1 + abs(products))
        np.testing.assert_allclose(np.array(line.split(), float).reshape(rows, 4), expected, rtol=1e-5)
    assert len(shown.splitlines()) == 3


def test_a_python_process_without_opgen(project: Path, library: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(library), str(project / "model.onnx")],
        capture_output=True, text=True, timeout=60, check=False, cwd="/",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    check(done.stdout)


@pytest.mark.skipif(CC is None, reason="there is no C compiler")
def test_a_c_process(project: Path, library: Path, tmp_path: Path) -> None:
    shared = sorted((Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*"))
    if not shared:
        pytest.skip("this wheel of onnxruntime has no library for C")
    assert CC is not None
    program = tmp_path / "main"
    subprocess.run([CC, "-Wall", "-Werror", "-o", program, C_PROGRAM, "-ldl"], check=True, timeout=60)
    done = subprocess.run(
        [program, shared[0], library, project / "model.onnx"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    check(done.stdout)


def test_ops_by_name(project: Path) -> None:
    made = run(
        "export-ort",
        "-o",
        "two.so",
        "soft_sign:alpha=0.5",
        "shifted(int8[n, 2]):places=3",
        "--dtype",
        "float32",
    )
    assert made.exit_code == 0, made.output
    assert made.output.endswith(" bytes, 2 entries of ortops::soft_sign, ortops::shifted\n")
    both = run("export-ort", "-o", "both.so", "ortops.scores", "opgen_relu(float32[?])")
    assert both.exit_code == 2
    every = run("export-ort", "-o", "both.so", "ortops.scores", "relu(float32[?])", "--rank", "2")
    assert every.output.endswith(" 6 entries of ortops::scores, opgen::relu\n"), every.output


REFUSED = [
    (["soft_sin"], 2, "no op 'soft_sin'"),
    (["soft_sign:beta=1"], 2, "soft_sign: 'beta=1' is no NAME=VALUE of an attr; its attrs are: alpha"),
    (["soft_sign:alpha=-1.0"], 1, "alpha"),
    (["soft_sign:alpha=x"], 2, "'x' is not a value of kind float"),
    (["soft_sign(int32[?])"], 1, "int32"),
    (["soft_sign(float12[?])"], 2, "'float12[?]' is no type such as float32[n, 64]"),
    (["soft_sign(float32[-1])"], 2, "a dim is a size, a name, or ? for any size; found '-1'"),
    (["scores(float32[n, 3])"], 2, "scores needs the operand 'y', which has no type in (float32[n, 3])"),
    (["scores(float32[2], float32[2])"], 1, "scores"),
    (["shifted"], 1, "shifted: missing attr 'places' (int, required, places >= 0)"),
    (
        ["soft_sign", "--rank", "7"],
        2,
        "no test of soft_sign has a first operand of rank 7, but 2; spell the types",
    ),
    (["unique"], 1, "unique cannot be an op of onnxruntime: the size of a result depends on data"),
    (
        ["non_max_suppression"],
        1,
        "opgen_non_max_suppression calls a hand-written function, which needs Python",
    ),
    ([], 2, "name ops, or a model with --model"),
    (["--model", "absent.onnx"], 2, "absent.onnx"),
    (["--model", "pyproject.toml"], 2, "'pyproject.toml' cannot be read as an ONNX model"),
    (["soft_sign", "--ld", "no-linker"], 1, "the linker 'no-linker' is not there"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), REFUSED)
def test_what_is_refused(arguments: list[str], code: int, message: str, project: Path) -> None:
    before = sorted(project.iterdir())
    made = run("export-ort", "-o", "refused.so", *arguments)
    assert (made.exit_code, message in made.output) == (code, True), made.output
    assert sorted(project.iterdir()) == before


def test_a_folder_that_is_not_there(project: Path) -> None:
    made = run("export-ort", "-o", "nowhere/ops.so", "soft_sign")
    assert made.exit_code == 2
    assert "nowhere" in made.output


def saved(nodes: list[Any], name: str = "other.onnx") -> str:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, None)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(PACKAGE, 1), helper.make_opsetid("opgen", 1)]
    graph = helper.make_graph(nodes, "main", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), name)
    return name


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([helper.make_node("Neg", ["x"], ["y"])], "has no node of the domain 'opgen' or 'ortops'"),
        ([helper.make_node("soft_sign", ["x"], ["y"], domain=PACKAGE, name="first")],
         "node 'first' ortops::soft_sign: the type of 'x', its operand 'x', is not known; state it in the model's"),
        ([helper.make_node("soft_sine", ["x"], ["y"], domain=PACKAGE)], "no op 'ortops.soft_sine'"),
        ([helper.make_node("softmaxx", ["x"], ["y"], domain="opgen")], "softmaxx"),
    ],
)  # fmt: skip
def test_models_that_are_refused(nodes: list[Any], message: str, project: Path, tmp_path: Path) -> None:
    path = saved(nodes, str(tmp_path / "other.onnx"))
    made = run("export-ort", "-o", str(tmp_path / "ops.so"), "--model", path)
    assert made.exit_code in (1, 2)
    assert message in " ".join(made.output.split()), made.output
    assert not (tmp_path / "ops.so").exists()
