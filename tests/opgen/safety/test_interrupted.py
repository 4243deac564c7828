"""An interrupted or failing write leaves the old file or the new one, never a part."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
OLD, NEW = "old = 1\n" * 60_000, "new = 2\n" * 60_000

WRITER = """
import sys
from pathlib import Path
from opgen.emit.write import write_atomically
path, texts = Path(sys.argv[1]), ("old = 1\\n" * 60_000, "new = 2\\n" * 60_000)
print("ready", flush=True)
for number in range(100_000):
    write_atomically(path, texts[number % 2])
"""
ONCE = """
import sys
from pathlib import Path
from opgen.emit.write import write_atomically
write_atomically(Path(sys.argv[1]), "new = 2\\n" * 60_000)
"""


def start(code: str, path: Path, limit: int | None = None) -> subprocess.Popen[bytes]:
    def limited() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ignored where tests run in the background of a script
        if limit is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'runtime'}"}
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=limited,  # nothing else runs in this process
    )


@pytest.mark.parametrize("milliseconds", [3, 11, 24, 47, 80])
def test_killed_while_writing(tmp_path: Path, milliseconds: int) -> None:
    target = tmp_path / "_op.py"
    target.write_text(OLD)
    with start(WRITER, target) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(milliseconds / 1000)
        process.send_signal(signal.SIGKILL)
    assert target.read_text() in (OLD, NEW)


@pytest.mark.parametrize("limit", [0, 1000, 4096, 300_000])
def test_no_room(tmp_path: Path, limit: int) -> None:
    """A file-size limit ends the write in the middle, as a full disk does."""
    target = tmp_path / "_op.py"
    target.write_text(OLD)
    with start(ONCE, target, limit) as process:
        _, errors = process.communicate()
    assert process.returncode != 0
    assert b"OSError" in errors
    assert target.read_text() == OLD
    assert os.listdir(tmp_path) == ["_op.py"]


def test_generate_without_room(tmp_path: Path) -> None:
    """`opgen generate` says so in one line; files are old, new or missing, and the next run mends them."""
    (tmp_path / "pyproject.toml").write_text('[tool.opgen]\npackage = "myops"\n')
    folder = tmp_path / "opdefs" / "elementwise"
    folder.mkdir(parents=True)
    declaration = (
        "op: twice\ninputs: {data: {dtype: float}}\noutputs: {out: {shape: data.shape, dtype: data.dtype}}\n"
    )
    (folder / "twice.yaml").write_text(
        declaration
        + 'compute: out[*i] = data[*i] * 2\nreference: out = data * 2\ntests: [{data: "float32[2]"}]\n'
    )

    def generate(limit: int | None) -> subprocess.CompletedProcess[bytes]:
        code = (
            "import os, sys; os.chdir(sys.argv.pop()); sys.argv.append('generate'); "
            "from opgen.commands import main; main()"
        )
        with start(code, tmp_path, limit) as process:
            output, errors = process.communicate()
        return subprocess.CompletedProcess([], process.returncode, output, errors)

    failed = generate(1000)
    assert failed.returncode == 2
    assert b"Traceback" not in failed.stderr
    assert not list(tmp_path.rglob("*.part"))
    for path in (tmp_path / "myops").glob("*.py"):
        compile(path.read_text(), str(path), "exec")
    assert generate(None).returncode == 0
    assert generate(None).stderr.strip().endswith(b"10 up to date")


def project_of(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.opgen]\npackage = "myops"\n')
    folder = tmp_path / "opdefs"
    folder.mkdir()
    for number in range(6):
        (folder / f"op{number}.yaml").write_text(
            f"op: op{number}\ninputs: {{data: {{dtype: float}}}}\n"
            "outputs: {out: {shape: data.shape, dtype: data.dtype}}\ncompute: out[*i] = data[*i] * 2\n"
        )
    return tmp_path


GENERATE = """
import os, signal, sys
import opgen.emit.write as write
os.chdir(sys.argv.pop())
number, count, real = int(os.environ["AT"]), 0, os.replace
def replace(*paths):
    global count
    mine = os.path.abspath(paths[1]).startswith(os.getcwd())  # records of what was checked lie elsewhere
    count += mine
    if mine and count == number:
        os.kill(os.getpid(), getattr(signal, os.environ["SIGNAL"]))
    real(*paths)
write.os.replace = replace
sys.argv.append("generate")
from opgen.commands import main
main()
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL", "SIGTERM"])
def test_generate_ended_while_it_writes(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C and worse: each file is there as a whole or not at all, and the next run does the rest."""
    project = project_of(tmp_path)
    monkeypatch.setenv("SIGNAL", name)
    monkeypatch.setenv("AT", "5")
    with start(GENERATE, project) as process:
        _, errors = process.communicate()
    assert process.returncode == (1 if name == "SIGINT" else -getattr(signal, name))
    assert b"Traceback" not in errors
    written = sorted(project.rglob("*.py"))
    assert len(written) == 4 - len(list(project.rglob("*.pyi")))
    for path in written:
        compile(path.read_text(), str(path), "exec")
    assert len(list(project.rglob("*.part"))) == (0 if name == "SIGINT" else 20 - 4)  # all were there before
    mine = [project / "myops" / ".notes.py.abcdefgh.part", project / "myops" / ".x.part"]
    for path in mine:
        path.write_text("mine")
    monkeypatch.setenv("AT", "0")
    with start(GENERATE, project) as process:
        process.communicate()
    assert process.returncode == 0
    assert len(list(project.rglob("*.py"))) == 16
    assert sorted(project.rglob("*.part")) == mine
