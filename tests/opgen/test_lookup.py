"""Ops by name in a user's project: its own, the built-in ones, and names that there are not; running one op."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from opgen.commands import main


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one op, `own_abs`, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    assert run("init", "lab_of_lookup").exit_code == 0
    monkeypatch.chdir(tmp_path / "lab_of_lookup")
    assert run("add-op", "own_abs").exit_code == 0
    return tmp_path / "lab_of_lookup"


def test_built_in_ops_are_known_in_every_project(project: Path) -> None:
    assert run("show", "tanh").stdout.startswith("── built in  opdefs/elementwise/float_functions.yaml")
    stages = run("explain", "tanh", "--shape", "4", "--stages").stdout.splitlines()
    assert stages[0].startswith("declaration (opdefs/elementwise/float_functions.yaml")
    assert stages[-2:] == ["assembly", "plan"]
    assert "[4]" in run("run", "tanh", "--shape", "4").stdout


def test_own_ops_are_found_with_and_without_the_namespace(project: Path) -> None:
    own = run("show", "own_abs")
    assert own.stdout.startswith("── declaration  opdefs/elementwise/own_abs.yaml")
    assert run("show", "lab_of_lookup.own_abs").stdout == own.stdout


@pytest.mark.parametrize("command", ["show", "explain", "run", "test"])
def test_names_that_there_are_not(project: Path, command: str) -> None:
    near = run(command, "own_ab")
    assert (near.exit_code, near.output) == (
        2,
        f"opgen: no op 'own_ab' in {project}/opdefs or built in; did you mean `own_abs`?\n",
    )
    far = run(command, "zzzz")
    assert far.exit_code == 2
    assert "`opgen list` shows the only op of this project, `opgen list --builtin` the built-in" in far.output


def test_abstract_and_built_in_suites(project: Path) -> None:
    assert "'float_function' is abstract" in run("show", "float_function").output
    assert "'tanh' is built in; its suite is in opgen's own repository" in run("test", "tanh").output


def test_outside_a_project_there_are_the_built_in_ops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("show", "tanh").exit_code == 0
    result = run("show", "tanhh")
    assert result.exit_code == 2
    assert result.output.startswith("opgen: no op 'tanhh' is built in; did you mean `tanh`?; ")


def test_an_op_runs_on_files(project: Path) -> None:
    data = np.arange(-4, 4, dtype="float32").reshape(2, 4)
    np.save("x.npy", data)
    result = run("run", "own_abs", "--input", "data=x.npy", "--output", "made")
    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "output  dtype    shape   least  mean  greatest\n"
        "out     float32  [2, 4]  0      2     4\n"
        "\n"
        "out =\n"
        "[[4. 3. 2. 1.]\n"
        " [0. 1. 2. 3.]]\n"
    )
    np.testing.assert_array_equal(np.load("made/out.npy"), np.abs(data))


def test_variadic_operands_and_results(project: Path) -> None:
    np.save("a.npy", np.arange(4, dtype="int32"))
    np.save("b.npy", np.arange(2, dtype="int32"))
    joined = run("run", "concatenate", "--input", "data0=a.npy", "--input", "data1=b.npy")
    assert "[0 1 2 3 0 1]" in joined.stdout
    parts = run("run", "split", "--shape", "6", "--attr", "indices_or_sections=2").stdout
    assert "out0 =" in parts
    assert "out1 =" in parts


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("add", "--input", "lhs=x.npy"), "add needs the operand 'rhs': --input rhs=FILE.npy"),
        (
            ("tanh", "--input", "data=x.npy", "--input", "y=x.npy"),
            "tanh has no operand 'y'; its operands are: data",
        ),
        (
            ("tanh", "--input", "data=x.npy", "--shape", "2"),
            "--shape and --dtype are for random values; the operands have those of --input",
        ),
        (("tanh", "--dim", "n=2"), "--dim is of a model"),
        (("m.onnx", "--shape", "2"), "--shape, --dtype and --attr are of an op"),
        (("softmax", "--shape", "2,3", "--attr", "axis=9"), "attr 'axis' is 9"),
    ],
)
def test_run_refuses(project: Path, arguments: tuple[str, ...], message: str) -> None:
    np.save("x.npy", np.zeros(2, "float32"))
    result = run("run", *arguments)
    assert result.exit_code in (1, 2)
    assert isinstance(result.exception, SystemExit)
    assert message in result.output


def test_a_package_has_its_ops_on_arrays(project: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _ON_ARRAYS], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "[3 2 1 0]",
        "['own_abs']",
        "module 'lab_of_lookup.eager' has no op 'own_ab'; did you mean 'own_abs'?",
        "module 'lab_of_lookup.eager' has no op 'tanh'; write opgen_runtime.eager.tanh",
        "module 'opgen_runtime.eager' has no op 'own_abs'; write opgen_runtime.eager.op('lab_of_lookup.own_abs')",
    ], done.stderr


_ON_ARRAYS = """
import numpy, lab_of_lookup
from opgen_runtime import eager
print(lab_of_lookup.eager.own_abs(numpy.arange(-3, 1)))
print(dir(lab_of_lookup.eager))
for module, name in (lab_of_lookup.eager, "own_ab"), (lab_of_lookup.eager, "tanh"), (eager, "own_abs"):
    try:
        getattr(module, name)
    except AttributeError as error:
        print(error)
"""


def test_watching_ends_without_a_word_of_abortion(project: Path) -> None:
    watching = subprocess.Popen(
        [sys.executable, "-m", "opgen", "generate", "--watch"],
        stderr=subprocess.PIPE,
        text=True,
        # Tests may run where the signal is ignored (in the background of a script), which children inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert watching.stderr is not None
        lines = [watching.stderr.readline() for _ in range(2)]
        assert "Ctrl-C ends" in lines[0]
        time.sleep(0.5)
        os.kill(watching.pid, signal.SIGINT)
        assert watching.communicate(timeout=30)[1] == "no longer watching\n"
        assert watching.returncode == 0
    finally:
        watching.kill()
        watching.communicate()


def test_no_colour_is_of_one_background_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """White, yellow and bright colours vanish on light terminals; black and blue on dark ones."""
    shown = subprocess.run(
        [sys.executable, "-c", _COLOURED],
        env={**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    used = {part for code in re.findall(r"\x1b\[([\d;]*)m", shown) for part in code.split(";")}
    assert used
    assert used <= {"0", "1", "2", "31", "32", "35", "36"}


_COLOURED = """
from opgen.commands import coloured, console
console.heading("title")
coloured.code("op: x\\ndoc: 'text' # why\\nbounds: 3\\n", "yaml")
coloured.code("def f(x):  # why\\n    return 'a' + str(1.5) if x else None\\n", "python")
coloured.code("define i32 @f(ptr %a) { ret i32 0 }", "llvm")
console.diff("--- a\\n+++ b\\n@@ 1 @@\\n-x\\n+y\\n z")
console.table([("a", "b"), ("1", "2")])
console.note("careful", console.WARNING)
console.out.print("careful", console.WARNING)
"""
