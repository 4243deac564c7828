"""Finding the project and reading its table."""

from __future__ import annotations

from pathlib import Path

import pytest

from opgen.project import ProjectError, find_project, resources


def write(folder: Path, table: str) -> None:
    (folder / "pyproject.toml").write_text(table)


def test_found_upward_past_other_projects(tmp_path: Path) -> None:
    write(tmp_path, '[tool.opgen]\npackage = "a.ops"\noutput = "src/a/ops"\n')
    inner = tmp_path / "x" / "y"
    inner.mkdir(parents=True)
    write(tmp_path / "x", "[project]\nname = 'x'\n")
    project = find_project(inner)
    assert project.root == tmp_path
    assert project.output == tmp_path / "src" / "a" / "ops"
    assert project.import_root == tmp_path / "src"
    assert project.namespace == "a"
    assert project.qualified("f") == "a.f"


def test_outside_a_project(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match=r"not inside an opgen project.*opgen init NAME"):
        find_project(tmp_path)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[tool.opgen]\n", "needs the key 'package'"),
        ('[tool.opgen]\npackage = "a"\nouput = "b"\n', "unknown key 'ouput'; did you mean `output`"),
        ('[tool.opgen]\npackage = "a b"\n', "not an import name"),
        ('[tool.opgen]\npackage = "a"\noutput = "../a"\n', "not below"),
        ('[tool.opgen]\npackage = "a"\noutput = "b"\n', "does not end in the folders of package"),
        ('[tool.opgen]\npackage = "a"\ntests = 3\n', "tests must be a text"),
        ('[tool.opgen]\npackage = "a"\nnamespace = "x-y"\n', "not an identifier"),
        ('[tool.opgen]\npackage = "a"\nnamespace = "part"\n', "is that of derived ops"),
        ("[tool]\nopgen = 3\n", "must be a table"),
        ("[tool.opgen\n", "pyproject.toml"),
    ],
)
def test_bad_tables(tmp_path: Path, table: str, message: str) -> None:
    write(tmp_path, table)
    with pytest.raises(ProjectError, match=message):
        find_project(tmp_path)


def test_resources_of_a_checkout() -> None:
    assert (resources("templates") / "op.py.j2").is_file()
    assert (resources("opdefs") / "elementwise" / "axis_abs.yaml").is_file()
