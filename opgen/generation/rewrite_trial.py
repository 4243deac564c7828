"""Rules tried in a process of its own: the modules of ops that it imports are those that will be written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

from opgen_runtime.declaration.rewrites import RewriteDef, Tried, tried_from

from ..project import Project

_SECONDS: Final = 600


class TrialError(Exception):
    """The process failed, above all where the project's package cannot be imported, or took too long."""


def try_apart(
    project: Project, rewrites: Sequence[RewriteDef], unwritten: Mapping[str, str]
) -> tuple[list[Tried], tuple[str, ...]]:
    """What came of each pass, and the files of the modules of ops that took part.

    `unwritten`: path -> text of generated modules that differ from what is there.

    Raises TrialError.
    """
    modules = {}
    for path, text in unwritten.items():
        if not path.endswith(".py") or os.path.dirname(path) != str(project.output):
            continue
        stem = os.path.basename(path).removesuffix(".py")
        name = project.package if stem == "__init__" else f"{project.package}.{stem}"
        modules[name] = {"path": path, "text": text}
    job = {
        "root": str(project.import_root),
        "package": project.package,
        "modules": modules,
        "rewrites": [asdict(each) for each in rewrites],
    }
    command = [sys.executable, "-P", "-m", f"{__package__}.rewrite_worker"]
    try:
        done = subprocess.run(
            command, input=json.dumps(job), capture_output=True, text=True, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise TrialError(f"the rewrites cannot be tried in {_SECONDS} seconds") from None
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["it gave no reason"]
        raise TrialError(f"the rewrites cannot be tried: {last[0]}")
    found = json.loads(done.stdout)
    return [tried_from(each) for each in found["tried"]], tuple(found["uses"])
