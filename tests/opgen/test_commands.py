"""The command line, in scratch projects."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opgen.commands import main
from opgen_runtime.base import Target
from opgen_runtime.run.compile.tuning.search import Outcome

AXIS_ABS_FILES = ["myops/_axis_abs.py", "tests/generated/test_axis_abs.py"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project made by `opgen init`, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    assert run("init", "myops").exit_code == 0
    monkeypatch.chdir(tmp_path / "myops")
    return tmp_path / "myops"


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def times(folder: Path) -> dict[str, int]:
    return {name: (folder / name).stat().st_mtime_ns for name in files(folder)}


def test_init_makes_a_whole_project(fresh: Path) -> None:
    assert list(files(fresh)) == [
        ".gitattributes",
        ".gitignore",
        "README.md",
        "myops/__init__.py",
        "myops/__init__.pyi",
        "myops/eager.py",
        "myops/eager.pyi",
        "myops/jax.py",
        "myops/jax.pyi",
        "myops/py.typed",
        "myops/torch.py",
        "myops/torch.pyi",
        "opdefs/opdef.schema.json",
        "pyproject.toml",
    ]
    assert (fresh / "opdefs").is_dir()
    assert run("check").exit_code == 0


@pytest.mark.parametrize("name", ["json", "1ops", "class", "My-Ops", "opgen"])
def test_init_refuses_a_bad_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("init", name).exit_code == 2
    assert not list(tmp_path.iterdir())


def test_init_refuses_a_folder_that_is_not_empty(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(fresh)
    monkeypatch.chdir(fresh.parent)
    result = run("init", "myops")
    assert result.exit_code == 2
    assert "not an empty folder" in result.output
    assert files(fresh) == before


def test_add_op_writes_a_declaration_and_generates(fresh: Path) -> None:
    result = run("add-op", "axis_abs")
    assert result.exit_code == 0, result.output
    assert len((fresh / "opdefs/elementwise/axis_abs.yaml").read_text().splitlines()) <= 20
    for name in AXIS_ABS_FILES:
        assert (fresh / name).is_file()
    assert 'namespace="myops"' in (fresh / "myops/_axis_abs.py").read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ("my_op",),
        ("my_op", "--inputs", "x,y"),
        ("my_op", "--inputs", "x,y,z", "--attr", "alpha:float=0.5", "--attr", "flag:bool=true"),
        ("my_op", "--attr", "axis:int=0", "--attr", "mode:str=fast", "--attr", "order:ints=[0, 1]"),
        ("my_op", "--attr", "flag:bool"),
        ("my_op", "--like", "sum"),
        ("my_op", "--like", "add", "--family", "mine"),
        ("my_op", "--like", "transpose"),
    ],
)
def test_every_scaffold_generates(fresh: Path, arguments: tuple[str, ...]) -> None:
    result = run("add-op", *arguments)
    assert result.exit_code == 0, result.output
    assert run("check").exit_code == 0


def test_add_rewrite_writes_a_rule_and_generates(fresh: Path) -> None:
    result = run("add-rewrite", "FewerNegations")
    assert result.exit_code == 0, result.output
    assert (fresh / "rewrites/fewer_negations.yaml").read_text() == (
        "rewrite: FewerNegations\ndoc: One call becomes another.\ndecreases: nodes\nrules:\n"
        '  - match: "negative(negative(?x))"\n    replace: "?x"\n'
    )
    assert (fresh / "myops/rewrites/fewer_negations.py").is_file()
    assert run("check").exit_code == 0
    before = files(fresh)
    result = run(
        "add-rewrite", "NoZeros", "--match", "?x + ?c: known", "--when", "is_all(c, 0)", "--replace", "?x"
    )
    assert (
        "the rule changes values: it makes `fn (%x: Tensor[(2,), float32]) { add(%x, 0.0f) }`"
        in result.output
    )
    assert result.exit_code == 1
    assert files(fresh) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fewer_negations",), "is not the name of a pass; use words like DivToMul"),
        (("SimplifyExpr",), "SimplifyExpr is a pass that is built in"),
        (("Halve", "--match", "?x / ?c: constant"), "--match and --replace are given together"),
    ],
)
def test_add_rewrite_refuses(fresh: Path, arguments: tuple[str, ...], message: str) -> None:
    before = files(fresh)
    result = run("add-rewrite", *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert files(fresh) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("MyOp",), "is not an op name"),
        (("lambda",), "is not an op name"),
        (("my_op", "--like", "no_such_op"), "no op 'no_such_op'"),
        (("my_op", "--like", "add", "--inputs", "x"), "does not go with"),
        (("my_op", "--inputs", "x,x"), "given twice"),
        (("my_op", "--inputs", "a-b"), "is not a name"),
        (("my_op", "--attr", "alpha:double"), "no kind 'double'"),
        (("my_op", "--family", "../.."), "not a folder below"),
        (("my_op", "--inputs", "float32"), "float32"),
    ],
)
def test_add_op_refuses(fresh: Path, arguments: tuple[str, ...], message: str) -> None:
    before = files(fresh)
    result = run("add-op", *arguments)
    assert result.exit_code in (1, 2)
    assert message in result.output
    assert files(fresh) == before


def test_add_op_on_an_existing_name_writes_nothing(fresh: Path) -> None:
    run("add-op", "axis_abs")
    before = files(fresh)
    result = run("add-op", "axis_abs", "--family", "other")
    assert result.exit_code == 2
    assert "declared already, in opdefs/elementwise/axis_abs.yaml" in result.output
    assert files(fresh) == before


def test_commands_outside_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (["generate"], ["check"], ["list"], ["add-op", "x"], ["test"], ["show", "x"]):
        result = run(*command)
        assert result.exit_code == 2
        assert "not inside an opgen project" in result.output
    assert not list(tmp_path.iterdir())


def test_change_of_one_default_rewrites_that_op_only(fresh: Path) -> None:
    run("add-op", "axis_abs")
    run("add-op", "other")
    before = times(fresh)
    declaration = fresh / "opdefs/elementwise/axis_abs.yaml"
    declaration.write_text(
        declaration.read_text().replace("default: 0, bounds: 0 <=", "default: 1, bounds: 0 <=")
    )
    assert run("generate").exit_code == 0
    changed = [name for name, time in times(fresh).items() if before[name] != time]
    assert changed == [*AXIS_ABS_FILES[:1], "opdefs/elementwise/axis_abs.yaml", *AXIS_ABS_FILES[1:]]
    again = times(fresh)
    assert run("generate").exit_code == 0
    assert times(fresh) == again


def test_removed_declaration_removes_its_files(fresh: Path) -> None:
    empty = files(fresh)
    run("add-op", "axis_abs")
    (fresh / "opdefs/elementwise/axis_abs.yaml").unlink()
    assert run("generate").exit_code == 0
    assert files(fresh) == empty


def test_hand_edit_is_reported_as_a_diff_and_restored(fresh: Path) -> None:
    run("add-op", "axis_abs")
    module = fresh / AXIS_ABS_FILES[0]
    text = module.read_text()
    module.write_text(text.replace("axis: int = 0", "axis: int = 1"))
    result = run("check")
    assert result.exit_code == 1
    assert "edited by hand" in result.output
    assert "-def axis_abs(data: _d.ExprLike, axis: int = 1" in result.output
    assert "opgen generate" in result.output
    assert run("generate").exit_code == 0
    assert module.read_text() == text


def test_suites_are_run_only_as_generated(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    def record(arguments: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        ran.append(arguments)
        return subprocess.CompletedProcess(arguments, 0)

    for name in ("axis_abs", "abs"):
        assert run("add-op", name).exit_code == 0
    monkeypatch.setattr(subprocess, "run", record)
    declaration = fresh / "opdefs/elementwise/axis_abs.yaml"
    text = declaration.read_text()
    for arguments in ((), ("axis_abs", "myops.abs")):
        assert run("test", *arguments).exit_code == 0
    assert len(ran) == 2

    def refused(*names: str) -> str:
        before = len(ran)
        result = run("test", *names)
        assert (result.exit_code, len(ran)) == (1, before)
        return result.output

    declaration.write_text(text.replace("default: 0", "default: 1", 1))
    for names in ((), ("axis_abs",), ("abs", "myops.axis_abs")):
        shown = refused(*names)
        assert "run: opgen generate\n  myops/_axis_abs.py: stale\n" in shown
        assert "_abs.py: stale" not in shown.replace("axis_abs", "")
    assert run("test", "abs").exit_code == 0
    declaration.write_text(text + "op: [\n")
    assert "axis_abs.yaml:" in refused("abs")
    declaration.write_text("# only a comment is new\n" + text)
    assert run("test").exit_code == 0
    module = fresh / AXIS_ABS_FILES[0]
    module.write_text(module.read_text() + "# mine\n")
    assert "myops/_axis_abs.py: edited by hand" in refused()
    module.unlink()
    assert "myops/_axis_abs.py: missing" in refused("axis_abs")
    declaration.unlink()
    assert "tests/generated/test_axis_abs.py: orphaned" in refused()


def test_file_in_the_way(fresh: Path) -> None:
    (fresh / "myops/_axis_abs.py").write_text("mine = 1\n")
    before = files(fresh)
    result = run("add-op", "axis_abs")
    assert result.exit_code == 2
    assert "never overwritten" in result.output
    assert files(fresh) == before


def test_errors_are_located_and_nothing_is_written(fresh: Path) -> None:
    run("add-op", "axis_abs")
    declaration = fresh / "opdefs/elementwise/axis_abs.yaml"
    declaration.write_text(declaration.read_text().replace("default:", "defualt:", 1))
    before = files(fresh)
    result = run("generate")
    assert result.exit_code == 1
    assert "opdefs/elementwise/axis_abs.yaml:8:23: error[unknown-key]" in result.output
    assert "did you mean `default`?" in result.output
    assert files(fresh) == before
    found = json.loads(CliRunner().invoke(main, ["check", "--format", "json"]).stdout)
    assert [each["code"] for each in found] == ["unknown-key"]


def test_extending_a_built_in_declaration(fresh: Path) -> None:
    (fresh / "opdefs/mine.yaml").write_text(
        "op: double\nextends: number_function\ndoc: Twice each element.\n"
        "compute: out[*i] = data[*i] + data[*i]\nreference: out = data + data\n"
    )
    assert run("generate").exit_code == 0
    assert (fresh / "myops/_double.py").is_file()


def test_list_and_show(fresh: Path) -> None:
    run("add-op", "axis_abs")
    (entry,) = json.loads(run("list", "--format", "json").stdout)
    assert (entry["op"], entry["pattern"], entry["family"]) == ("axis_abs", "elemwise", "elementwise")
    assert "axis_abs" in run("list").output
    assert "0 externs in 1 ops" in run("list", "--externs").output
    shown = run("show", "axis_abs").output
    assert "op: axis_abs" in shown
    assert "axis : int, default=0, 0 <= axis < data.ndim" in shown
    missing = run("show", "axis_ab")
    assert missing.exit_code == 2
    assert "did you mean `axis_abs`?" in missing.output


def test_the_built_in_library_from_another_project(fresh: Path) -> None:
    listed = {each["op"]: each for each in json.loads(run("list", "--builtin", "--format", "json").stdout)}
    assert {
        name: listed["axis_abs"][name] for name in ("family", "pattern", "inputs", "attrs", "outputs")
    } == {
        "family": "elementwise",
        "pattern": "elemwise",
        "inputs": ["data"],
        "attrs": ["axis", "indice"],
        "outputs": ["out"],
    }
    assert listed["matmul"]["dtypes"] == ["arithmetic"]
    assert listed["non_max_suppression"]["externs"]
    assert "axis_abs" in run("list", "--builtin").output
    shown = run("show", "axis_abs").output
    assert "built in  opdefs/elementwise/axis_abs.yaml:" in shown
    assert "op: axis_abs" in shown
    assert "opgen_runtime/ops/_axis_abs.py" in shown
    assert "test_axis_abs" not in shown
    run("add-op", "axis_abs")
    assert "declaration  opdefs/elementwise/axis_abs.yaml:" in run("show", "axis_abs").output
    missing = run("show", "no_such_op")
    assert missing.exit_code == 2
    assert "opgen list --builtin" in missing.output


def test_schema_is_json(tmp_path: Path) -> None:
    schema = json.loads(run("schema").stdout)
    assert schema["title"] == "opgen op declaration"
    assert run("schema", "-o", str(tmp_path / "schema.json")).exit_code == 0
    assert json.loads((tmp_path / "schema.json").read_text()) == schema


def test_unknown_command_is_told_the_nearest() -> None:
    result = run("genrate")
    assert result.exit_code == 2
    assert "did you mean 'generate'?" in result.output


@pytest.mark.parametrize(
    "command", ["init", "add-op", "generate", "check", "test", "list", "show", "explain", "schema"]
)
def test_every_command_has_help(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert len(result.output.splitlines()) > 4


def test_tune_takes_an_op_of_a_project_that_is_not_installed(fresh: Path) -> None:
    run("add-op", "axis_abs")
    result = run("tune", "axis_abs", "--shape", "64,64,8", "--seconds", "20", "--records", "records.json")
    assert result.exit_code == 0, result.output
    assert re.search(r"  [1-9]\d* schedules tried", result.output), result.output


def test_tune_fails_where_a_kernel_cannot_be_timed(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("add-op", "axis_abs")
    monkeypatch.setattr(
        "opgen.commands.tune.tune", lambda *_: Outcome(None, 0, (), "the process ended with status 1")
    )
    result = run("tune", "axis_abs", "--records", "records.json")
    assert result.exit_code == 1
    assert "it cannot be timed: the process ended with status 1" in result.output
    assert "opgen: 1 of 1 kernels could not be timed" in result.output
    assert "tried" not in result.output
    assert not Path("records.json").exists()


def test_tune_writes_a_row_of_measured_costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "machines.json"
    monkeypatch.setenv("OPGEN_MACHINES", str(file))
    monkeypatch.setattr(
        "opgen.commands.calibrated.calibrate",
        lambda target, seconds: {"latency": 4.25, "share_loop": seconds},
    )
    target = "llvm -mcpu=native -machine=zen4"
    result = run("tune", "--calibrate", "mine", "--target", target)
    like = Target.host().machine
    assert result.exit_code == 0, result.output
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["cost", like.name, "mine"],
        ["latency", f"{like.cycles['latency']:g}", "4.25"],
        ["share_loop", f"{like.cycles['share_loop']:g}", "5"],
        [f"{file}:", "-machine=mine"],
    ]
    assert Target.parse("llvm -machine=mine").machine.cycles["latency"] == 4.25
    result = run("tune", "--calibrate", "zen4")
    assert result.exit_code == 1
    assert "machine zen4: expected a name of letters" in result.output
    result = run("tune", "softmax", "--calibrate", "mine")
    assert result.exit_code == 2
    assert "--calibrate is of the machine" in result.output


def test_explain_prints_every_stage(fresh: Path) -> None:
    run("add-op", "axis_abs")
    names = run("explain", "axis_abs", "--stages").stdout.splitlines()
    assert names[0] == "declaration (opdefs/elementwise/axis_abs.yaml:2)"
    for name in (
        "checked op",
        "InferType",
        "FuseOps",
        "tensor expressions",
        "schedule",
        "vectorize_loop",
        "llvm",
    ):
        assert name in names
    assert names[-2:] == ["assembly", "plan"]
    plan = run("explain", "axis_abs", "--shape", "4,4,1", "--attr", "axis=1", "--stage", "plan")
    assert plan.stdout.splitlines()[1] == "one kernel: opgen_myops_axis_abs"
    one = run(
        "explain", "axis_abs", "--shape", "4,4,1", "--dtype", "int32", "--attr", "axis=1", "--stage", "tensor"
    )
    assert one.exit_code == 0
    assert "out[i0, i1, i2]: int32[4, 4, 1] = abs(data[i0, i1, i2]) if i1 == 0" in one.stdout
    counts = run("explain", "axis_abs", "--shape", "64,64", "--counts")
    assert "0  calls of scalar math functions" in counts.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--shape", "x"), "write the extents with commas"),
        (("--shape", "2,2", "--shape", "2,2"), "takes 1 operands"),
        (("--shape", "2,2", "--dtype", "float33"), "the dtypes are"),
        (("--shape", "2,2", "--attr", "axes=1"), "the attrs of axis_abs are: axis, indice"),
        (("--shape", "2,2", "--attr", "axis=x"), "not a value of kind int"),
        (("--shape", "2,2", "--stage", "nothing"), "no such stage"),
    ],
)
def test_explain_refuses(fresh: Path, arguments: tuple[str, ...], message: str) -> None:
    run("add-op", "axis_abs")
    result = run("explain", "axis_abs", *arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_explain_shows_errors_of_the_call(fresh: Path) -> None:
    run("add-op", "axis_abs")
    result = run("explain", "axis_abs", "--shape", "2,2", "--attr", "axis=7")
    assert result.exit_code == 1
    assert "axis" in result.output
