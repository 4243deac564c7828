"""Emitters of a project's own: their files are planned, checked, kept and removed like all others."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from opgen.emit import own, read_header, with_header
from opgen.project import COMMENTS, OwnEmitter, ProjectError, find_project
from opgen.views.page import prose

PAGES = Path(__file__).parents[2] / "docs/ops"
VIEW = "def card(project, op):\n    return {'name': op.name, 'said': 'first'}\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    run("init", "card_lab")
    root = tmp_path / "card_lab"
    monkeypatch.chdir(root)
    run("add-op", "one")
    run("add-op", "two")
    (root / "cards.py").write_text(VIEW)
    (root / "card.md.j2").write_text("# {{ name }}: {{ said }}\n")
    stated(root, '[tool.opgen.emitters.card]\npath = "cards/{op}.md"\nview = "cards:card"\n')
    return root


def stated(root: Path, text: str) -> None:
    with (root / "pyproject.toml").open("a") as file:
        file.write(f"\n{text}")


def run(*arguments: str, code: int = 0) -> str:
    """What a command prints, in a process of its own: views are imported."""
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-m", "opgen", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def cards(root: Path) -> dict[str, str]:
    """The files without their headers."""
    return {path.name: path.read_text().split("\n", 2)[2] for path in sorted((root / "cards").glob("*"))}


def test_from_the_first_file_to_the_last(project: Path) -> None:
    run("generate")
    assert cards(project) == {"one.md": "# one: first\n", "two.md": "# two: first\n"}
    assert "up to date" in run("check")
    (project / "cards.py").write_text(VIEW.replace("first", "second"))
    assert "cards/one.md: stale" in run("check", code=1)
    (project / "card.md.j2").write_text("{{ said }} {{ name }}\n")
    run("generate")
    assert cards(project) == {"one.md": "second one\n", "two.md": "second two\n"}
    (project / "cards/own.md").write_text("# mine\n")
    (project / "cards/one.md").write_text((project / "cards/one.md").read_text() + "edited\n")
    next((project / "opdefs").rglob("two.yaml")).unlink()
    told = run("generate")
    assert "restored cards/one.md" in told
    assert "removed  cards/two.md" in told
    assert {path.name for path in (project / "cards").iterdir()} == {"one.md", "own.md"}
    assert (project / "cards/own.md").read_text() == "# mine\n"


def test_mistakes_of_views_and_templates_are_placed(project: Path) -> None:
    (project / "card.md.j2").write_text("fine\n{{ nome }}\n")
    told = run("generate", code=1)
    assert re.search(r"card\.md\.j2:2: error\[template\]: 'nome' is undefined", told)
    assert re.search(r"while printing opdefs/.*one\.yaml:\d+", told)
    (project / "cards.py").write_text("")
    assert "has no attribute 'card'" in run("generate", code=2)
    (project / "card.md.j2").write_text("# {{ name }}\n")
    (project / "cards.py").write_text("def card(project, op):\n    return {'name': op.nom}\n")
    shown = run("generate", code=1)
    assert "cards.py:2: error[view]: AttributeError: 'CheckedOp' object has no attribute 'nom'" in shown
    assert "while printing opdefs/elementwise/one.yaml:" in shown
    assert "Traceback" not in shown
    (project / "cards.py").write_text("def card(project, op):\n    pass\n")
    assert "the view gave NoneType, not a mapping" in run("generate", code=1)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('path = "cards/{op}.json"', "in a comment"),
        ('path = "cards/op.md"', "holds `{op}`"),
        ('path = "{op}/card.md"', "holds `{op}`"),
        ('path = "../{op}.md"', "not below"),
        ('view = "cards:card"', "needs a text `path`"),
        ('path = "cards/{op}.md"\npth = ""', "did you mean `path`?"),
    ],
)
def test_wrong_tables_are_refused(tmp_path: Path, text: str, why: str) -> None:
    table = f'[tool.opgen]\npackage = "lab"\n[tool.opgen.emitters.card]\n{text}\n'
    (tmp_path / "pyproject.toml").write_text(table)
    with pytest.raises(ProjectError, match=re.escape(why)):
        find_project(tmp_path)


def test_installed_emitters_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = '[tool.opgen]\npackage = "lab"\n[tool.opgen.emitters.card]\npath = "{op}.md"\n'
    (tmp_path / "pyproject.toml").write_text(table)
    project = find_project(tmp_path)
    with pytest.raises(ProjectError, match="built in or installed; there are: markdown"):
        own.view_of(project, project.emitters[0])
    found = EntryPoint("card", "json.tool:main", own.GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [found])
    assert own.view_of(project, project.emitters[0]) == "json.tool:main"
    assert own.view_file(project, project.emitters[0]).name == "tool.py"
    assert project.emitters == (OwnEmitter("card", "{op}.md", None, "card.md.j2"),)


@pytest.mark.parametrize("suffix", COMMENTS)
def test_the_header_of_every_kind_of_file_is_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"file{suffix}"
    path.write_text(with_header("body\n", "opdefs/a.yaml", "0" * 16, suffix))
    header = read_header(path)
    assert header is not None
    assert (header.source, header.key, header.intact) == ("opdefs/a.yaml", "0" * 16, True)


# ------------------------------------------------------------------ the reference pages


def test_text_of_a_declaration_is_data() -> None:
    hostile = "a | b <script>x</script>\n# heading `c | d` *e* [f](g)"
    assert prose(hostile) == r"a \| b &lt;script&gt;x&lt;/script&gt; \# heading `c \| d` \*e\* \[f\](g)"


def test_examples_of_the_pages_run() -> None:
    """One in sixteen, all in one process; the documentation site runs all of them."""
    pages = sorted(PAGES.glob("*.md"))[::16]
    codes = [re.findall(r"```python\n(import .*?)```", page.read_text(), re.S) for page in pages]
    programs = [code for (code,) in codes]
    assert len(programs) > 10
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(programs)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= len(programs)


def test_views_are_found_without_an_import() -> None:
    """What is up to date needs neither the generator nor numpy, whatever emitters a project states."""
    text = (
        "import sys\nfrom pathlib import Path\nfrom opgen.emit.own import BUILT_IN, view_file\n"
        "from opgen.project import OwnEmitter, find_project\n"
        "project = find_project(Path(sys.argv[1]))\n"
        "for name in BUILT_IN:\n    assert view_file(project, OwnEmitter(name, 'x/{op}', None, '')).is_file()\n"
        "assert not {'numpy', 'pydantic', 'opgen.views'} & set(sys.modules), 'imported'\n"
    )
    subprocess.run([sys.executable, "-c", text, str(PAGES.parent)], check=True, env=dict(os.environ))
