"""The guides: their files are written, their commands run and their Python executed, in the order of the page."""

from __future__ import annotations

import itertools
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opgen.analyse import check_project
from opgen.diagnostics import to_text

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    "add-an-op.md",
    "when-the-language-cannot-say-it.md",
    "tensor-expressions.md",
    "coming-from-tvm.md",
    "write-a-schedule.md",
    "write-a-kernel.md",
    "write-a-pass.md",
    "declare-a-rewrite.md",
    "other-compilers.md",
    "write-an-emitter.md",
    "jit.md",
    "build-and-save.md",
    "tuning.md",
    "machines.md",
    "gradients.md",
    "bridges.md",
    "chunked.md",
    "bridges-jax.md",
    "chunked-files.md",
    "bridges-onnxruntime.md",
    "onnx.md",
)
NEEDED = {
    "bridges.md": ("torch",),
    "bridges-jax.md": ("jax",),
    "bridges-onnxruntime.md": ("onnx", "onnxruntime"),
    "chunked.md": ("dask",),
    "chunked-files.md": ("dask", "xarray", "zarr"),
    "onnx.md": ("onnx",),
}  # what a page needs to be installed
_QUIET = "import contextlib as _c, io as _io\nwith _c.redirect_stdout(_io.StringIO()):\n"


class Reader:
    """Does what a page says, in the current folder; `shown` is what the last block printed."""

    def __init__(self, command: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.command = command
        self.monkeypatch = monkeypatch
        self.shown = ""
        self.before = ""  # the Python blocks so far

    def block(self, block: Any) -> None:
        if block.note == "not run":
            return
        if block.note.startswith("file: "):
            path = Path(block.note.removeprefix("file: "))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.note.startswith("added to: "):
            with Path(block.note.removeprefix("added to: ")).open("a", encoding="utf-8") as file:
                file.write(block.text)
        elif block.note.startswith("refused: "):
            self.refused(Path(block.note.removeprefix("refused: ")), block)
        elif block.note == "prints":
            assert self.shown.strip() == block.text.strip(), f"{block}: it prints\n{self.shown}"
        elif block.note == "prints, among others":
            for line in filter(str.strip, block.text.splitlines()):
                assert line.strip() in self.shown, f"{block}: not printed: {line}\n{self.shown}"
        elif block.language == "sh":
            self.shown = "".join(self.run(line, block) for line in block.text.splitlines() if line.strip())
        elif block.language == "python":
            self.python(block)
        else:
            raise AssertionError(f"{block}: what is it for?")

    def run(self, line: str, block: Any) -> str:
        words = shlex.split(line, comments=True)
        if words[0] == "cd":
            self.monkeypatch.chdir(words[1])
            return ""
        assert words[0] == "opgen", f"{block}: {line}"
        emits = words[1] in ("generate", "check") and "emitters" in Path("pyproject.toml").read_text()
        if emits or words[1] in ("test", "explain", "export-ort"):  # these import modules of the project
            return self.subprocess("-m", "opgen", *words[1:])
        return self.command(*words[1:])

    def python(self, block: Any) -> None:
        """Run after the page's earlier Python, whose output is not looked at again."""
        quiet = _QUIET + "".join(f"    {line}\n" for line in self.before.splitlines()) + "    pass\n"
        self.shown = self.subprocess("-c", quiet + block.text)
        self.before += block.text

    def refused(self, path: Path, block: Any) -> None:
        """A file with mistakes, which `opgen generate` tells; then it goes."""
        path.write_text(block.text, encoding="utf-8")
        command = [sys.executable, "-m", "opgen", "generate"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1, f"{block}: {done.stdout}{done.stderr}"
        self.shown = done.stderr
        path.unlink()

    def subprocess(self, *arguments: str) -> str:
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{arguments[:3]}: {done.stdout}{done.stderr}"
        return done.stdout


@pytest.mark.parametrize("name", PAGES)
def test_page(
    name: str, read_page: Any, opgen_command: Any, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in NEEDED.get(name, ()):
        pytest.importorskip(module, reason=f"needs the extra `{module}`")
    reader = Reader(opgen_command, monkeypatch)
    skip = False
    for block in read_page(name):
        if skip:
            skip = False
        elif block.note == "error":
            skip = True  # the text after it is checked below
        else:
            reader.block(block)


@pytest.mark.parametrize("name", PAGES)
def test_errors(name: str, read_page: Any) -> None:
    blocks = read_page(name)
    for block, after in itertools.pairwise(blocks):
        if block.note == "error":
            op = re.search(r"^op: (\w+)", block.text, re.M)
            assert op is not None, str(block)
            found = check_project({f"{op[1]}.yaml": block.text}, {"myops": Path("myops")})[1]
            assert to_text(found) + "\n" == after.text, str(block)


def test_links() -> None:
    """Every relative link of the documentation and of README.md leads to a file, and to a heading of it."""
    root = DOCS.parent
    for page in [root / "README.md", *DOCS.rglob("*.md")]:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"\w+:", target):
                continue
            file, _, anchor = target.partition("#")
            path = (page.parent / file).resolve() if file else page
            assert path.exists(), f"{page.name}: {target}"
            if anchor:
                headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.M)
                slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
                assert anchor in slugs, f"{page.name}: {target}"
