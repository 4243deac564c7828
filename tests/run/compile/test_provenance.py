"""The key of a kernel changes with everything that a user's function depends on."""

from __future__ import annotations

import importlib
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from opgen_runtime.run.compile.kernel.provenance import digest_of

FILES = {
    "__init__.py": "",
    "schedules.py": """
import os
from .steps import step, unused
from . import places as where
from opgen_runtime.lower.schedule import create_schedule

def mine(outputs, target, width=4):
    from .late import LATE
    return step(create_schedule(outputs), width, where.PLACE, LATE)

def unknown(outputs, target):
    return CAPTURED

CAPTURED = {"a": 1}
""",
    "steps.py": "from .deep.constants import FACTOR\ndef step(made, *parts):\n    return made\nunused = 1\n",
    "places.py": "PLACE = 1\n",
    "late.py": "LATE = 1\n",
    "beside.py": "BESIDE = 1\n",
    "deep/__init__.py": "",
    "deep/constants.py": "FACTOR = 1\n",
}
_numbers = itertools.count()


class Project:
    """A package of a user's, written and imported anew under the same name, as by a new process."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder / name, name
        for path, text in FILES.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text)

    def load(self) -> ModuleType:
        self.forget()
        importlib.invalidate_caches()
        return importlib.import_module(f"{self.name}.schedules")

    def forget(self) -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] == self.name]:
            del sys.modules[name]

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self.folder / path).read_text()
        assert old in text
        (self.folder / path).write_text(text.replace(old, new))
        later = (self.folder / path).stat().st_mtime_ns + 10**9  # file systems with coarse clocks
        os.utime(self.folder / path, ns=(later, later))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.syspath_prepend(str(tmp_path))
    made = Project(tmp_path, f"lab_provenance{next(_numbers)}")
    yield made
    made.forget()


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("schedules.py", "width=4", "width=8"),
        ("steps.py", "return made", "return  made"),
        ("places.py", "1", "2"),
        ("late.py", "1", "2"),  # imported when the function runs
        ("deep/constants.py", "1", "2"),  # a plain value, two imports away
    ],
)
def test_an_edited_file_changes_the_digest(project: Project, path: str, old: str, new: str) -> None:
    before = digest_of(project.load().mine)
    assert before is not None
    assert digest_of(project.load().mine) == before
    project.edit(path, old, new)
    assert digest_of(project.load().mine) not in (before, None)


def test_files_that_are_not_imported_do_not_matter(project: Project) -> None:
    before = digest_of(project.load().mine)
    project.edit("beside.py", "1", "2")
    assert digest_of(project.load().mine) == before


def closing_over(value: object) -> Callable[..., object]:
    return lambda outputs, target: value


def test_captured_values_count() -> None:
    digests = [digest_of(closing_over(value)) for value in (1, 1.0, True, "1", (1, 2), (1, (2,)), len, None)]
    assert None not in digests
    assert len(set(digests)) == len(digests)
    assert digest_of(closing_over((1, 2))) == digest_of(closing_over((1, 2)))
    inner = [digest_of(closing_over(closing_over(value))) for value in (1, 2)]
    assert inner[0] != inner[1]
    assert digest_of(closing_over(partial(max, 1))) != digest_of(closing_over(partial(max, 2)))


def test_what_cannot_be_digested_has_no_key(project: Project) -> None:
    module = project.load()
    assert digest_of(module.unknown) is None
    for value in ([1], {}, np.zeros(2), object(), closing_over([1])):
        assert digest_of(closing_over(value)) is None
    assert digest_of(partial(module.mine, width=8)) is None
    space: dict[str, object] = {"__name__": module.__name__}
    exec("def made_up(outputs, target): pass", space)
    assert digest_of(space["made_up"]) is None


SCRIPT = """
import numpy as np
from opgen_runtime import ir
from opgen_runtime.run.compile import pipeline
from opgen_runtime.declaration import OpDeclaration, StrategyEntry, register
from opgen_runtime.declaration.statement import call
from opgen_runtime.run.compile.kernel import steps
from opgen_runtime.operator.types import Input, Output, Signature, TensorType
from opgen_runtime.base.vocabulary import OpPattern
import lab_compute

compiled = []
segment_of = steps.segment_of
steps.segment_of = lambda *args: compiled.append(1) or segment_of(*args)
signature = Signature(
    inputs=(Input("data", shape=("N",)),), outputs=(Output("out", shape="data.shape", dtype="data.dtype"),)
)
entry = StrategyEntry(name="mine", schedule="lab_compute.schedules:plain", plevel=15)
made = register(OpDeclaration(
    name="lab_double", doc="", support_level=10, arity=1, attrs=None, signature=signature, digest="lab_double",
    compute=lab_compute.double, extern=None, pattern=OpPattern.ELEMWISE, strategy=(entry,),
), lab_compute.__file__)
x = ir.var("x", TensorType((3,), "float32"))
kernel = pipeline.compile_segment(ir.Function((x,), call(made, (x,))))
print(kernel.run([np.ones(3, "float32")])[0].tolist(), len(compiled))
"""


def test_a_kernel_is_compiled_anew_where_an_imported_helper_changed(tmp_path: Path) -> None:
    package = tmp_path / "lab_compute"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from .helpers import scaled\ndef double(data, out):\n    out.define(lambda i: scaled(data[i]))\n"
    )
    (package / "helpers.py").write_text(
        "from .constants import FACTOR\ndef scaled(value):\n    return value * FACTOR\n"
    )
    (package / "constants.py").write_text("FACTOR = 2.0\n")
    (package / "schedules.py").write_text(
        "from opgen_runtime.lower.schedule import create_schedule\n"
        "def plain(outputs, target):\n    return create_schedule(outputs)\n"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "OPGEN_CACHE_DIR": str(tmp_path / "cache")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"

    def run() -> str:
        command = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert run() == "[2.0, 2.0, 2.0] 1"
    assert run() == "[2.0, 2.0, 2.0] 0"  # from the disk
    (package / "constants.py").write_text("FACTOR = 30.0\n")
    assert run() == "[30.0, 30.0, 30.0] 1"
