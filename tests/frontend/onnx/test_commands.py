"""`opgen run` and `opgen inspect`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

onnx = pytest.importorskip("onnx")

from onnx import parser  # noqa: E402

from opgen.commands import main  # noqa: E402
from opgen_runtime.declaration import StrategyEntry  # noqa: E402
from opgen_runtime.operator import Op  # noqa: E402


@pytest.fixture
def double(tmp_path: Path) -> Path:
    text = '<ir_version: 8, opset_import: ["" : 18]> g (float[n, 2] x) => (float[n, 2] y) { y = Add (x, x) }'
    path = tmp_path / "double.onnx"
    onnx.save(parser.parse_model(text), path)
    return path


def test_run_with_arrays_of_files(double: Path, tmp_path: Path) -> None:
    x = np.array([[1, 2], [3, 4.5]], np.float32)
    np.save(tmp_path / "x.npy", x)
    arguments = [
        "run",
        str(double),
        "--input",
        f"x={tmp_path / 'x.npy'}",
        "--output",
        str(tmp_path / "results"),
    ]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "output  dtype    shape   least  mean  greatest",
        "y       float32  [2, 2]  2      5.25  9",
        "",
        "y =",
        "[[2. 4.]",
        " [6. 9.]]",
    ]
    np.testing.assert_array_equal(np.load(tmp_path / "results" / "y.npy"), x + x)


def test_run_with_random_inputs(double: Path) -> None:
    result = CliRunner().invoke(main, ["run", str(double), "--random", "0", "--dim", "n=3"])
    assert result.exit_code == 0, result.output
    assert "[3, 2]" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 1, "opgen: input 'x' is not given; the model's inputs are x"),
        (["--input", "x"], 2, "opgen: --input 'x' must be NAME=FILE.npy"),
        (["--random", "0", "--dim", "n"], 2, "opgen: --dim 'n' must be NAME=N"),
    ],
)
def test_what_run_refuses(double: Path, arguments: list[str], code: int, message: str) -> None:
    result = CliRunner().invoke(main, ["run", str(double), *arguments])
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (code, message)


def test_inspect(double: Path) -> None:
    result = CliRunner().invoke(main, ["inspect", str(double)])
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "input   x: float32 [n, 2]",
        "output  y: float32 [n, 2]",
        "opset   ai.onnx 18; 0 elements of weights",
        "",
        "operator  nodes  mapped to",
        "Add       1      add",
    ]


def test_inspect_lists_what_is_not_supported(tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["" : 18]> g (float[2] x) => (float[2] y) { y = NoSuch (x) }'
    onnx.save(parser.parse_model(text), tmp_path / "bad.onnx")
    result = CliRunner().invoke(main, ["inspect", str(tmp_path / "bad.onnx")])
    assert result.exit_code == 1
    assert result.stderr.splitlines() == ["not supported: (node of y): NoSuch: no such operator at opset 18"]


@pytest.mark.parametrize(
    "command", [["run", "--random", "0"], ["run"], ["inspect"], ["inspect", "--format", "json"]]
)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "opgen: the model has no graph; the file is empty or no ONNX model"),
        (b"\x08\x0a\x12garbage", "opgen: '"),
        (b"\xff" * 1000, "opgen: '"),
    ],
)
def test_corrupt_files_are_one_line(tmp_path: Path, command: list[str], content: bytes, message: str) -> None:
    path = tmp_path / "corrupt.onnx"
    path.write_bytes(content)
    result = CliRunner().invoke(main, [*command, str(path)])
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith(message)


def test_names_with_control_characters(tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["" : 18]> g (float[2] x) => (float[2] y) { y = Abs (x) }'
    model = parser.parse_model(text)
    for names in (model.graph.node[0].output, [model.graph.output[0]]):
        if isinstance(names, list):
            names[0].name = "../\x1b[31m\ny"
        else:
            names[0] = "../\x1b[31m\ny"
    onnx.save(model, tmp_path / "m.onnx")
    for command in (["inspect"], ["run", "--random", "0", "--output", str(tmp_path / "out")]):
        result = CliRunner().invoke(main, [*command, str(tmp_path / "m.onnx")])
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.output
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["..__x1b_31m_ny.npy"]


def test_a_model_is_built_and_run(double: Path, tmp_path: Path) -> None:
    x = np.array([[1, 2], [3, 4.5]], np.float32)
    np.save(tmp_path / "x.npy", x)
    file = str(tmp_path / "double.opgen")
    built = CliRunner().invoke(
        main, ["build", str(double), "-o", file, "--dim", "n=2", "--c", str(tmp_path / "c")]
    )
    assert built.exit_code == 0, built.output
    assert "1 kernels" in built.stdout
    assert (tmp_path / "c" / "model.h").exists()
    arguments = ["run", file, "--input", f"x={tmp_path / 'x.npy'}", "--output", str(tmp_path / "results")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(np.load(tmp_path / "results" / "output0.npy"), x + x)
    on_random = [CliRunner().invoke(main, ["run", file, *more]).stdout for more in ([], ["--random", "0"])]
    assert on_random[0] == on_random[1] != ""
    absent = CliRunner().invoke(main, ["run", str(tmp_path / "absent.opgen")])
    assert absent.output.startswith("opgen: no file "), absent.output
    (tmp_path / "text").write_text("text")
    neither = CliRunner().invoke(main, ["run", str(tmp_path / "text")])
    assert "no file of `opgen build`, and as a model: " in neither.output
    refused = CliRunner().invoke(main, ["run", file, "--random", "0", "--dim", "n=3"])
    assert "the shapes of a file are those that it was built for" in refused.output


def test_a_model_before_and_after_a_pass(double: Path) -> None:
    result = CliRunner().invoke(main, ["explain", str(double), "--pass", "FuseOps"])
    assert result.exit_code == 0, result.output
    before, after = result.stdout.split("after FuseOps")
    assert "Primitive" not in before
    assert "Primitive=1" in after
    wrong = CliRunner().invoke(main, ["explain", str(double), "--pass", "FuseOp"])
    assert "did you mean 'FuseOps'?" in wrong.output
    early = CliRunner().invoke(main, ["explain", str(double), "--pass", "FoldScaleAxis"])
    assert "FoldScaleAxis runs from level 3 on; this is level 2" in early.output
    result = CliRunner().invoke(main, ["explain", str(double), "--pass", "FoldScaleAxis", "--level", "3"])
    assert "after FoldScaleAxis" in result.output


def test_the_plan_of_a_model(tmp_path: Path) -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 18]> g (float[4, 8] x) => (float[4, 4] y) '
        "{ s = Softmax (x) t = Transpose <perm = [1, 0]> (s) y = MatMul (s, t) }"
    )
    onnx.save(parser.parse_model(text), tmp_path / "m.onnx")
    result = CliRunner().invoke(main, ["explain", str(tmp_path / "m.onnx"), "--stage", "plan"])
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[1] == "%0 is input x"
    assert any("= opgen_softmax" in line for line in lines)
    assert "bytes of memory between kernels" in lines[-1]
    wrong = CliRunner().invoke(main, ["explain", str(tmp_path / "m.onnx"), "--stage", "lower"])
    assert "no such stage; the stages are: plan, driver" in wrong.output


def test_the_program_of_a_model_has_its_weights(tmp_path: Path) -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 18]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> '
        "{ a = Add (w, w) b = Mul (x, a) y = Abs (b) }"
    )
    onnx.save(parser.parse_model(text), tmp_path / "m.onnx")
    result = CliRunner().invoke(main, ["explain", str(tmp_path / "m.onnx"), "--pass", "FuseOps"])
    assert "%w" not in result.output
    assert "multiply(%x, const([2.0, 4.0], float32))" in result.output, result.output


def test_a_model_is_drawn(double: Path, tmp_path: Path) -> None:
    dot, svg = tmp_path / "m.dot", tmp_path / "m.svg"
    result = CliRunner().invoke(main, ["explain", str(double), "--dot", str(dot), "--svg", str(svg)])
    assert result.exit_code == 0, result.output
    assert 'label="kernel 0"' in dot.read_text()
    assert 'class="group"' in svg.read_text()
    early = ["explain", str(double), "--pass", "InferType", "--dot", str(dot)]
    assert CliRunner().invoke(main, early).exit_code == 0
    assert "kernel" not in dot.read_text()
    nowhere = CliRunner().invoke(main, ["explain", str(double), "--svg", str(tmp_path / "no" / "m.svg")])
    assert "No such file or directory" in nowhere.output
    refused = CliRunner().invoke(main, ["explain", "add", "--svg", str(svg)])
    assert "are of a model" in refused.output


def test_passes_are_listed() -> None:
    result = CliRunner().invoke(main, ["inspect", "--passes", "--format", "json"])
    assert [row["name"] for row in json.loads(result.stdout)][-1] == "FuseOps"
    table = CliRunner().invoke(main, ["inspect", "--passes"]).stdout.splitlines()
    assert table[0].split() == ["pass", "level", "what", "it", "does", "values"]
    assert "name a model, or say --passes" in CliRunner().invoke(main, ["inspect"]).output


def test_what_passes_made_of_a_model(tmp_path: Path) -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 18]> g (float[1, 2, 5, 5] x, float[3, 2, 3, 3] w)'
        " => (float[1, 3, 3, 3] y) { c = Conv (x, w) z = Relu (c) y = Relu (z) }"
    )
    path = tmp_path / "model.onnx"
    onnx.save(parser.parse_model(text), path)
    asking = StrategyEntry("rows", schedule="generic", layouts={"data_layout": "NHWC"})
    op = Op.get("conv2d")
    op.set_attr("strategy", (asking,), plevel=20)
    try:
        result = CliRunner().invoke(
            main, ["inspect", str(path), "--passes", "--level", "3", "--format", "json"]
        )
        assert result.exit_code == 0, result.output
        table = (
            CliRunner().invoke(main, ["inspect", str(path), "--passes", "--level", "3"]).stdout.splitlines()
        )
    finally:
        op.reset_attr("strategy", plevel=20)
    changed = {row["name"]: row["changed"] for row in json.loads(result.stdout)}
    assert changed["AlterOpLayout"] == {"conv2d NCHW OIHW": -1, "conv2d NHWC HWIO": 1, "layout_transform": 3}
    assert changed["InferType"] == {}
    (line,) = [line for line in table if line.startswith("AlterOpLayout")]
    assert line.split(maxsplit=2)[2] == "-1 conv2d NCHW OIHW, +1 conv2d NHWC HWIO, +3 layout_transform"
