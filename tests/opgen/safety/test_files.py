"""Strange things where files are expected: an error that names them, at once; nothing is read without end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opgen.analyse import check_project, read_sources
from opgen.commands import main
from opgen.diagnostics import to_json, to_text

from .harness import watched

GOOD = """\
op: twice
inputs: {data: {dtype: float}}
outputs: {out: {shape: data.shape, dtype: data.dtype}}
compute: out[*i] = data[*i] * 2
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.opgen]\npackage = "myops"\n')
    (tmp_path / "opdefs").mkdir()
    (tmp_path / "opdefs" / "twice.yaml").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def opgen(*arguments: str) -> Result:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(20 << 30)


STRANGE: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "dangling link": lambda path: path.symlink_to("nowhere"),
    "link to itself": lambda path: path.symlink_to(path),
    "20 GiB": sparse,
    "not UTF-8": lambda path: path.write_bytes(b"op: h\xff\n"),
    "UTF-16": lambda path: path.write_bytes("op: h\n".encode("utf-16")),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_declaration(kind: str, project: Path) -> None:
    STRANGE[kind](project / "opdefs" / "strange.yaml")
    with watched():
        ops, found = check_project(read_sources(project / "opdefs", project))
    assert [op.name for op in ops] == ["twice"]
    (finding,) = found
    assert finding.code == "encoding"
    assert str(finding.place) == "opdefs/strange.yaml:1:1"
    assert opgen("generate").exit_code == 1
    assert opgen("add-op", "other", "--no-generate").exit_code == 0


@pytest.mark.parametrize(
    "name", [b"a\nimport os.yaml", b"\xff.yaml", b"\x1b[31m.yaml", "\u202eb.yaml".encode()]
)
def test_file_names_that_cannot_be_shown(name: bytes, project: Path) -> None:
    """They would stand in headers and messages."""
    Path(os.fsdecode(os.fsencode(project / "opdefs") + b"/" + name)).write_text(
        GOOD.replace("twice", "thrice")
    )
    _, found = check_project(read_sources(project / "opdefs", project))
    (finding,) = found
    assert finding.message == "the file cannot be read: its name holds characters that cannot be shown"
    assert finding.place.path.isprintable()
    for text in (to_text(found).splitlines()[0], to_json(found).replace("\n", "")):
        assert text.isprintable()
        assert text.encode()
    assert opgen("generate").exit_code == 1


@pytest.mark.parametrize("name", ["other.yml", "other.YAML", "Other.Yml"])
def test_a_file_that_is_passed_over_is_named(name: str, project: Path) -> None:
    (project / "opdefs" / name).write_text(GOOD.replace("twice", "other"))
    result = opgen("generate")
    assert result.exit_code == 0
    assert f"opdefs/{name} is not read: the file of a declaration is called *.yaml" in result.stderr
    assert not list(project.rglob("_other.py"))


def test_folders_that_lead_back(project: Path) -> None:
    (project / "opdefs" / "up").symlink_to("..")
    assert opgen("generate").exit_code == 0


IN_THE_WAY: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a folder for a module": ("myops/_twice.py", Path.mkdir),
    "a folder for a suite": ("tests/generated/test_twice.py", Path.mkdir),
    "a link for a module": ("myops/_twice.py", lambda path: path.symlink_to("elsewhere.py")),
    "a pipe for a module": ("myops/_twice.py", os.mkfifo),
    "another's file": ("myops/__init__.py", lambda path: path.write_text("mine = 1\n")),
    "a file for a folder": ("myops", lambda path: path.write_text("mine = 1\n")),
    "a file for tests": ("tests", lambda path: path.write_text("mine = 1\n")),
}


@pytest.mark.parametrize("kind", IN_THE_WAY)
def test_what_stands_in_the_way(kind: str, project: Path) -> None:
    place, make = IN_THE_WAY[kind]
    path = project / place
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    before = path.lstat()
    result = opgen("generate")
    assert result.exit_code == 2
    assert str(path) in result.stderr
    assert path.lstat().st_ino == before.st_ino
    assert not list(project.rglob("*.part"))


TABLES = {
    'package = "class"': "'class' is not an import name",
    'package = ""': "'' is not an import name",
    'package = "../x"': "is not an import name",
    'package = "q"\nnamespace = "if"': "'if' is not an identifier",
    'package = "q"\npackages = ["../.."]': "packages must be a list of import names",
    'package = "q"\npackages = "q"': "packages must be a list of import names",
    'package = "q"\nopdefs = "a\\u0000b"': "embedded null",
    'package = "q"\nopdefs = "../.."': "which is not below",
    'package = "q"\nopdefs = "."': "which is not below",
    'package = "q"\nopdefs = "/etc"': "which is not below",
    'package = "q"\nopdefs = 3': "opdefs must be a text",
    'package = "q"\nopdefs = "pyproject.toml"': "there is no folder",
    'package = "q"\ntemplates = "nowhere"': "there is no folder",
    'package = "q"\nopdefz = "x"': "did you mean `opdefs`?",
    'package = "q"\noutput = "elsewhere"': "does not end in the folders of package",
}


@pytest.mark.parametrize("table", TABLES)
def test_projects_that_cannot_be(table: str, project: Path) -> None:
    (project / "pyproject.toml").write_text(f"[tool.opgen]\n{table}\n")
    for arguments in (["generate"], ["list"], ["check"], ["show", "x"], ["explain", "x"]):
        result = opgen(*arguments)
        assert result.exit_code == 2
        assert TABLES[table] in result.stderr
    assert sorted(path.name for path in project.iterdir()) == ["opdefs", "pyproject.toml"]


def test_opdefs_as_a_file(project: Path) -> None:
    (project / "opdefs" / "twice.yaml").unlink()
    (project / "opdefs").rmdir()
    (project / "opdefs").write_text("op: x\n")
    for arguments in (["generate"], ["list"], ["explain", "x"], ["add-op", "x"]):
        assert opgen(*arguments).exit_code == 2


def run(
    project: Path, *arguments: str, shell: str = "", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    root = Path(__file__).resolve().parents[3]
    path = os.pathsep.join([str(root), str(root / "runtime")])
    command = f'"$0" -m opgen "$@" {shell}'
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}", sys.executable, *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        check=False,
    )


def test_outputs_that_cannot_be_written(project: Path) -> None:
    """A full disk, a reader that has left, no output at all."""
    full = run(project, "list", shell="> /dev/full")
    assert full.returncode == 2
    assert full.stderr.decode().splitlines()[-1] == "opgen: [Errno 28] No space left on device"
    for shell in ("| true", ">&-", "2>&-", "> /dev/full 2> /dev/full", "| head -c 1"):
        assert b"Traceback" not in run(project, "show", "twice", shell=shell).stderr


@pytest.mark.parametrize("columns", ["0", "1", "-3", "x"])
def test_width_of_the_terminal(columns: str, project: Path) -> None:
    assert b"twice  10" in run(project, "list", COLUMNS=columns).stdout


def test_characters_that_the_terminal_has_not(project: Path) -> None:
    (project / "opdefs" / "twice.yaml").write_text(GOOD + "doc: Zweimal größer als 数.\n")
    shown = run(project, "show", "twice", PYTHONIOENCODING="ascii")
    assert shown.returncode == 0
    assert rb"gr\xf6\xdfer als \u6570" in shown.stdout
