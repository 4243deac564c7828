"""Emitting: headers, plans, orphans, files in the way, hand edits."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from opgen.emit import (
    Change,
    PlanError,
    apply,
    make_plan,
    read_header,
    with_header,
)
from opgen.emit import outputs as printed
from opgen.emit.outputs import Output, render_project
from opgen.model import CheckedOp
from opgen.project import Project
from opgen.render import Renderer


def outputs(project: Project, *ops: CheckedOp) -> list[tuple[Path, str]]:
    found = render_project(project, Renderer(project.templates), ops)
    return [(output.path, output.text) for output in found]


def plan(project: Project, *ops: CheckedOp):  # type: ignore[no-untyped-def]  # the test's shorthand
    return make_plan(outputs(project, *ops), (project.output, project.tests))


def names(project: Project, steps) -> list[tuple[str, Change]]:  # type: ignore[no-untyped-def]  # as above
    return [(project.relative(step.path), step.change) for step in steps]


def test_header_tells_of_edits(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text(with_header("x = 1\n", "opdefs/x.yaml", "ab" * 8))
    header = read_header(file)
    assert header is not None
    assert (header.source, header.key, header.intact) == ("opdefs/x.yaml", "ab" * 8, True)
    file.write_text(file.read_text() + "y = 2\n")
    edited = read_header(file)
    assert edited is not None
    assert not edited.intact
    file.write_text("x = 1\n")
    assert read_header(file) is None


def test_header_source_stays_in_its_line() -> None:
    assert len(with_header("", "a\nimport os", "00" * 8).splitlines()) == 2


def test_first_run_writes_everything_and_second_nothing(project: Project, axis_abs: CheckedOp) -> None:
    first = plan(project, axis_abs)
    assert names(project, first.steps) == [
        ("myops/__init__.py", Change.MISSING),
        ("myops/__init__.pyi", Change.MISSING),
        ("myops/_axis_abs.py", Change.MISSING),
        ("myops/eager.py", Change.MISSING),
        ("myops/eager.pyi", Change.MISSING),
        ("myops/jax.py", Change.MISSING),
        ("myops/jax.pyi", Change.MISSING),
        ("myops/torch.py", Change.MISSING),
        ("myops/torch.pyi", Change.MISSING),
        ("tests/generated/test_axis_abs.py", Change.MISSING),
    ]
    apply(first)
    second = plan(project, axis_abs)
    assert second.steps == ()
    assert second.unchanged == 10


def test_change_of_one_op_touches_its_files_only(project: Project, axis_abs: CheckedOp) -> None:
    other = replace(axis_abs, name="other_abs", digest="1" * 64)
    apply(plan(project, axis_abs, other))
    changed = replace(other, attrs=(replace(other.attrs[0], default=1), other.attrs[1]), digest="2" * 64)
    assert names(project, plan(project, axis_abs, changed).steps) == [
        ("myops/_other_abs.py", Change.STALE),
        ("tests/generated/test_other_abs.py", Change.STALE),
    ]


def test_removed_declaration_removes_its_files(project: Project, axis_abs: CheckedOp) -> None:
    other = replace(axis_abs, name="other_abs")
    apply(plan(project, axis_abs, other))
    own = project.output / "_mine.py"
    own.write_text("x = 1\n")
    steps = plan(project, axis_abs)
    assert names(project, steps.steps) == [
        ("myops/__init__.py", Change.STALE),
        ("myops/__init__.pyi", Change.STALE),
        ("myops/_other_abs.py", Change.ORPHANED),
        ("myops/eager.py", Change.STALE),
        ("myops/eager.pyi", Change.STALE),
        ("myops/jax.py", Change.STALE),
        ("myops/jax.pyi", Change.STALE),
        ("myops/torch.py", Change.STALE),
        ("myops/torch.pyi", Change.STALE),
        ("tests/generated/test_other_abs.py", Change.ORPHANED),
    ]
    apply(steps)
    assert own.exists()
    assert not (project.output / "_other_abs.py").exists()


def test_hand_edit_is_seen(project: Project, axis_abs: CheckedOp) -> None:
    apply(plan(project, axis_abs))
    module = project.output / "_axis_abs.py"
    module.write_text(module.read_text().replace("axis: int = 0", "axis: int = 1"))
    (step,) = plan(project, axis_abs).steps
    assert step.change is Change.EDITED
    assert "-def axis_abs(data: _d.ExprLike, axis: int = 1, indice: int = 0) -> _d.Call:" in step.diff("m")
    assert "+def axis_abs(data: _d.ExprLike, axis: int = 0, indice: int = 0) -> _d.Call:" in step.diff("m")


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_is_not_ours_is_never_overwritten(project: Project, axis_abs: CheckedOp, kind: str) -> None:
    target = project.output / "_axis_abs.py"
    target.parent.mkdir()
    if kind == "file":
        target.write_text("x = 1\n")
    elif kind == "folder":
        target.mkdir()
    else:
        target.symlink_to("elsewhere.py")
    with pytest.raises(PlanError, match=r"in the way of generated files(.|\n)*_axis_abs\.py"):
        plan(project, axis_abs)


def test_failed_write_leaves_the_old_file(
    project: Project, axis_abs: CheckedOp, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(plan(project, axis_abs))
    before = (project.output / "_axis_abs.py").read_text()

    def refuse(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(OSError, match="no room"):
        apply(plan(project, replace(axis_abs, doc="Another.", digest="3" * 64)))
    assert (project.output / "_axis_abs.py").read_text() == before
    assert not list(project.output.glob("*.part"))


def test_nothing_is_replaced_before_all_is_on_the_disk(
    project: Project, axis_abs: CheckedOp, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [replace(axis_abs, name=f"op{number}") for number in range(20)]
    apply(plan(project, *others))
    before = {path: path.read_bytes() for path in project.root.rglob("*.py*")}
    left, sync = list(range(17)), os.fsync

    def full(handle: int) -> None:
        if not left:
            raise OSError("no room")
        left.pop()
        sync(handle)

    changed = plan(project, *[replace(op, doc="Another.", digest="3" * 64) for op in others])
    assert len(changed.steps) == 40
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no room"):
        apply(changed)
    assert {path: path.read_bytes() for path in project.root.rglob("*.py*")} == before
    assert not list(project.root.rglob("*.part"))


def test_output_is_deterministic(project: Project, axis_abs: CheckedOp) -> None:
    assert outputs(project, axis_abs) == outputs(project, axis_abs)
    assert isinstance(Output(Path("x"), "y").text, str)


def test_an_emitter_is_a_row_and_a_template(
    axis_abs: CheckedOp, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.root / "templates").mkdir()
    (project.root / "templates" / "names.py.j2").write_text('NAME = "{{ name }}"\n')
    names = printed.Emitter(
        lambda project, name: project.output / "names" / f"{name}.py",
        "names.py.j2",
        lambda project, op: {"name": op.name},
    )
    monkeypatch.setattr(printed, "EMITTERS", [*printed.EMITTERS, names])
    module, _, extra = printed.render_op(project, Renderer(project.root / "templates"), axis_abs)
    assert (module.path, extra.path) == (
        project.output / "_axis_abs.py",
        project.output / "names" / "axis_abs.py",
    )
    assert extra.text.endswith('\nNAME = "axis_abs"\n')
