"""`opgen test [OP...]`: run the generated suites."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import click

from ..emit.outputs import op_paths
from ..project import Project, find_project
from .completion import OpName
from .failure import Failure
from .fresh import require_fresh
from .lookup import unknown_suite
from .scheduler_option import on_a_cluster
from .suites_elsewhere import PLUGIN, REQUEST


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("ops", nargs=-1, metavar="[OP]...", type=OpName(builtin=False))
@on_a_cluster
@click.option(
    "--pytest", "extra", multiple=True, metavar="ARG", help="An argument for pytest; may be repeated."
)
def command(ops: tuple[str, ...], extra: tuple[str, ...], scheduler: str | None) -> None:
    """Run the suites of the named ops, or all of them, with pytest; the exit code is 1 if any test fails.

    Nothing is run, and the exit code is 1 too, if their files were not generated from the declarations as they stand.

    With --scheduler each suite runs on a worker, which sees the project in the same folder; what is told is the same.

    Options come before the names: opgen test --pytest=-x --pytest=-v axis_abs
    """
    project = find_project()
    require_fresh(project, [_bare(project, name) for name in ops])
    targets = [_suite(project, name) for name in ops] or [str(project.tests)]
    if not ops and not any(project.tests.glob("test_*.py")):
        raise Failure(f"no suites in {project.relative(project.tests)}; run: opgen generate")
    environment = dict(os.environ)
    paths = [str(project.import_root), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    options = ["--import-mode=importlib", f"--rootdir={project.root}"]
    if scheduler is not None:
        environment[REQUEST] = json.dumps([scheduler, str(project.import_root), [*options, *extra]])
        options += ["-p", PLUGIN]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *extra, *targets],
        cwd=project.root,
        env=environment,
        check=False,
    )
    sys.exit(min(done.returncode, 1))


def _suite(project: Project, name: str) -> str:
    _, suite, *_ = op_paths(project, _bare(project, name))
    if not suite.is_file():
        raise Failure(unknown_suite(project, name))
    return str(suite)


def _bare(project: Project, name: str) -> str:
    """The op's name without the namespace."""
    return name.removeprefix(f"{project.namespace}.") if project.namespace else name
