"""Nothing is checked twice, what has changed is checked, and what comes out hangs on the declarations alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader

import opgen.analyse.declarations as analysis
import opgen_runtime
from opgen.emit import apply
from opgen.generation import generate as generation
from opgen.generation import work
from opgen.generation.generator import RUNTIME, generator_digest
from opgen.generation.pending import find_pending
from opgen.generation.records import Records
from opgen.generation.work import forget_templates
from opgen.project import Project
from opgen_runtime.codegen.objects.cache import why_not_trusted

ALL = {"unary_base", "twice", "thrice", "clamped", "by_hand"}


def generated(project: Project, processes: int = 1) -> dict[str, bytes]:
    """The files after `opgen generate`."""
    made = generation.generate(project, processes)
    assert made.found == ()
    apply(made.plan())
    folders = (project.output, project.tests)
    return {p.name: p.read_bytes() for folder in folders for p in sorted(folder.iterdir()) if p.is_file()}


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the documents that were checked since it was last cleared."""
    names: set[str] = set()
    check = analysis.define

    def noted(declaration, ancestry, diagnostics):  # type: ignore[no-untyped-def]  # as the function that it stands for
        found = check(declaration, ancestry, diagnostics)
        names.add(found.name)
        return found

    monkeypatch.setattr(analysis, "define", noted)
    return names


def edit(project: Project, name: str, old: str, new: str) -> None:
    path = project.root / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_nothing_is_checked_twice(project: Project, checked: set[str]) -> None:
    first = generated(project)
    assert checked == ALL
    checked.clear()
    assert generated(project) == first
    assert checked == set()


def test_what_is_known_needs_neither_yaml_nor_the_analysis(project: Project) -> None:
    generated(project)
    text = (
        "import sys\nfrom pathlib import Path\nfrom opgen.project import find_project\n"
        "from opgen.generation.generate import generate\n"
        "made = generate(find_project(Path(sys.argv[1])))\n"
        "assert not made.plan().steps and made.plan().unchanged == 16, made.plan()\n"
        "heavy = {'yaml', 'pydantic', 'jinja2', 'numpy', 'opgen.analyse', 'opgen.views', 'opgen_runtime'}\n"
        "heavy |= {'concurrent.futures', 'email', 'importlib.metadata', 'multiprocessing', 'tempfile'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", text, str(project.root)], check=True, env=dict(os.environ))


CHANGES: dict[str, tuple[Callable[[Project], None], set[str]]] = {
    "a declaration": (lambda p: edit(p, "opdefs/ends/clamped.yaml", "< 100", "< 90"), {"clamped"}),
    "one of a family": (lambda p: edit(p, "opdefs/family.yaml", "Twice the", "Two times the"), {"twice"}),
    "a parent": (
        lambda p: edit(p, "opdefs/base.yaml", "float32[3, 4]", "float32[3, 5]"),
        {"unary_base", "twice", "thrice"},
    ),
    "a hand-written function": (lambda p: edit(p, "myops/hand.py", "x + x", "2 * x"), {"by_hand"}),
    "a quotation that changes the meaning": (
        lambda p: edit(p, "opdefs/ends/clamped.yaml", "No less than a bound.", '"null"'),
        {"clamped"},
    ),
    "a comment": (lambda p: edit(p, "opdefs/ends/clamped.yaml", "op: clamped", "op: clamped  # new"), set()),
    "a file that is edited": (lambda p: edit(p, "myops/_twice.py", "Twice", "Never"), {"twice"}),
    "a file that is gone": (lambda p: (p.tests / "test_thrice.py").unlink(), {"thrice"}),
    "an index that is edited": (lambda p: edit(p, "myops/__init__.py", "import", "import  "), set()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_is_checked_and_no_more(project: Project, checked: set[str], change: str) -> None:
    generated(project)
    checked.clear()
    make, names = CHANGES[change]
    make(project)
    incremental = generated(project)
    assert checked == names
    (project.root.parent / "cache").rename(project.root.parent / "other")
    assert generated(project) == incremental  # as from nothing


def test_an_op_that_a_gradient_calls_comes_and_goes(project: Project, checked: set[str]) -> None:
    generated(project)
    path = project.opdefs / "family.yaml"
    text = path.read_text()
    path.write_text(text.replace("op: twice", "op: double"))
    found = generation.generate(project, 1).found
    assert [each.code for each in found] == ["unknown-name", "unknown-name"]
    path.write_text(text)
    checked.clear()
    generated(project)
    assert checked == set()


@pytest.mark.parametrize("option", ["package", "namespace", "output", "tests"])
def test_where_files_end_up_counts(project: Project, checked: set[str], option: str) -> None:
    generated(project)
    checked.clear()
    root = project.root
    other: dict[str, dict[str, object]] = {
        "package": {"package": "others.myops", "output": root / "others/myops"},
        "namespace": {"namespace": "mine"},
        "output": {"output": root / "lib/myops"},
        "tests": {"tests": root / "suites"},
    }
    (root / "lib").mkdir()
    (root / "lib/myops").symlink_to(root / "myops") if option != "output" else None
    generated_again = generation.generate(replace(project, **other[option]), 1)  # type: ignore[arg-type]
    assert generated_again.outputs


def test_the_generator_counts(project: Project, checked: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    generated(project)
    checked.clear()
    monkeypatch.setattr(generation, "generator_digest", lambda templates: "another")
    generated(project)
    assert checked == ALL


def test_own_templates_count(project: Project, tmp_path: Path) -> None:
    before = generator_digest(tmp_path)
    (tmp_path / "op.py.j2").write_text("x")
    assert generator_digest(tmp_path) != before


def test_a_template_is_read_once_a_run_and_again_in_the_next(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    source = FileSystemLoader.get_source

    def noted(self: FileSystemLoader, environment: Environment, template: str) -> object:
        read.append(template)
        return source(self, environment, template)

    monkeypatch.setattr(FileSystemLoader, "get_source", noted)
    own = project.root / "own"
    own.mkdir()
    project = replace(project, templates=own)
    pending = find_pending(project, "", Records(project.root, "", None))
    units = [unit for unit in pending.units if not unit.facts.is_abstract]

    def printed() -> str:
        forget_templates()
        done = [work.do(work.part(project, pending, [unit])) for unit in units]
        return "".join(output.text for each in done for made in each.made for output in made.outputs)

    assert "TURNED" not in printed()
    counts = {name: read.count(name) for name in read}
    assert max(counts.values()) <= 2, "each is looked for in both folders, once a run"
    (own / "op.py.j2").write_text("TURNED = 1\n")
    assert printed().count("TURNED") == len(units)


def test_the_digest_covers_what_the_analysis_runs(project: Project) -> None:
    job = work.whole(project, find_pending(project, "", Records(project.root, "", None)))
    assert len(work.do(job).made) == 4
    ran: set[str] = set()
    sys.setprofile(lambda frame, event, _: ran.add(frame.f_code.co_filename) if event == "call" else None)
    try:
        work.do(job)
    finally:
        sys.setprofile(None)
    runtime = f"{Path(opgen_runtime.__file__).parent}{os.sep}"
    files = {path.removeprefix(runtime) for path in ran if path.startswith(runtime)}
    assert {file.split(os.sep)[0] for file in files} >= {"base", "operator", "compute", "declaration"}
    assert {file for file in files if not file.startswith(tuple(RUNTIME))} == set()


@pytest.mark.parametrize("harm", ["", "{", "[]", '{"a": 1}', "gone"])
def test_records_may_be_damaged_or_deleted(project: Project, harm: str) -> None:
    first = generated(project)
    (record,) = (project.root.parent / "cache/generate").iterdir()
    record.unlink() if harm == "gone" else record.write_text(harm)
    assert generated(project) == first


def test_the_folder_of_caches_is_the_users_alone(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "new" / "cache"))
    generated(project)
    for folder in (tmp_path / "new" / "cache", tmp_path / "new" / "cache" / "generate"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert why_not_trusted(tmp_path / "new" / "cache") is None


def test_errors_are_told_each_time_and_the_rest_is_remembered(project: Project, checked: set[str]) -> None:
    generated(project)
    edit(project, "opdefs/ends/clamped.yaml", "max(x[*i], low)", "max(y[*i], low)")
    told = [generation.generate(project, 1).found for _ in range(2)]
    assert [each.code for each in told[0]] == ["unknown-name"]
    assert told[0] == told[1]
    edit(project, "opdefs/ends/clamped.yaml", "y[*i]", "x[*i]")
    checked.clear()
    generated(project)
    assert checked == set()


@pytest.mark.parametrize(
    "broken",
    ["op: [\n", "doc: no name\n", "op: twice\nextends: unary_base\n", "op: lost\nextends: nowhere\n"],
    ids=["not yaml", "no name", "twice the same", "no parent"],
)
def test_declarations_that_cannot_be_told_apart_are_told(project: Project, broken: str) -> None:
    generated(project)
    (project.opdefs / "z.yaml").write_text(broken)
    made = generation.generate(project)
    whole = generation.generate(replace(project, namespace="mine"))  # nothing is known of that
    assert made.found
    assert made.found == whole.found


def test_one_process_or_several_make_the_same(project: Project) -> None:
    made = []
    for processes in (1, 3):
        for name in ("cache", "myops/_twice.py"):
            path = project.root.parent / name
            if path.is_dir():
                path.rename(path.with_name(f"cache of {processes}"))
        made.append(generated(project, processes))
    assert made[0] == made[1]
    assert work.do.__module__ == "opgen.generation.work"  # what the processes import


def test_a_list_reads_what_is_known(project: Project, checked: set[str]) -> None:
    generated(project)
    first = generation.generate(project, 1).listings
    assert [each.op for each in first] == ["by_hand", "clamped", "thrice", "twice"]
    assert (first[1].family, first[1].attrs, first[1].pattern) == ("ends", ("low",), "elemwise")
    checked.clear()
    path = project.opdefs / "ends/clamped.yaml"
    path.write_text("# a line more\n" + path.read_text())
    again = generation.generate(project, 1).listings
    assert checked == set()
    assert again == (first[0], replace(first[1], line=first[1].line + 1), *first[2:])
