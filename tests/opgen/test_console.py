"""What commands print, and what they import for it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from opgen.commands import main
from opgen.commands.console import Printer

TEXTS = [
    "",
    "  changed  docs/a.md",
    "x" * 200,
    "ends in blanks   ",
    "two\nlines\n",
    "a\ttab\n\tand another",
    "[bold]no markup[/bold]",
    "an :op: is no emoji :smile:",
    "1 2.5 'text' None /a/path",
    "bell\a, back\b, feed\f, return\r",
    "Grüße, 漢字, ─",
]
# Nothing that one op is read, checked, printed and shown with.
UNUSED = {"llvmlite", "multiprocessing", "concurrent.futures", "rich", "pygments", "opgen_runtime.run"}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("style", ["", "bold magenta"])
def test_plain_texts_are_what_rich_prints(text: str, style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that is no terminal gets the same, whoever writes it."""
    printed = []
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for value in (None, "0"):
        if value is not None:
            monkeypatch.setenv("TTY_COMPATIBLE", value)  # rich is asked, and told that it is no terminal
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stdout", stream)
        Printer(stderr=False).print(text, style)
        printed.append(stream.getvalue())
    assert printed[0] == printed[1]


def _imported(arguments: list[str], folder: Path) -> set[str]:
    program = (
        "import sys\nfrom opgen.commands import main\n"
        "try:\n    main(sys.argv[1:], standalone_mode=False)\n"
        "finally:\n    print('\\n'.join(sys.modules), file=sys.stderr)\n"
    )
    environment = {
        name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE")
    }
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout
    return set(done.stderr.splitlines())


def test_one_op_is_shown_and_generated_without_the_compiler_or_rich(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "lab_of_console"
    for folder, *arguments in ((tmp_path, "init", project.name), (project, "add-op", "own_abs")):
        monkeypatch.chdir(folder)
        assert CliRunner().invoke(main, arguments).exit_code == 0
    (declaration,) = project.glob("opdefs/**/*.yaml")
    declaration.write_text(declaration.read_text().replace("doc: ", "doc: Also ", 1))
    commands = (["generate"], ["show", declaration.stem], ["show", "softmax"])
    for arguments in commands:
        found = _imported(arguments, project)
        assert "opgen.analyse" in found
        assert not UNUSED & found, arguments


def test_a_command_does_not_look_for_garbage_among_what_it_needs() -> None:
    program = (
        "import atexit, gc\n"
        "searches = []\n"
        "gc.callbacks.append(lambda phase, about: searches.append(about['generation']))\n"
        "atexit.register(lambda: print(len(searches), gc.get_freeze_count(), gc.get_threshold()[0]))\n"
        "before = gc.get_threshold()[0]\n"
        "from opgen.commands import main\n"
        "searches.clear()\n"
        "main(['show', 'softmax'], standalone_mode=False)\n"
        "print(before)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    before, last = done.stdout.splitlines()[-2:]
    searches, frozen, after = map(int, last.split())
    assert searches < 100  # hundreds at Python's own thresholds
    assert frozen > 10_000
    assert after == int(before)


@pytest.mark.parametrize("stderr", [False, True])
def test_a_closed_stream_is_written_to_no_more(stderr: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr" if stderr else "stdout", None)
        printer = Printer(stderr)
        printer.print("lost")
        assert not printer.is_terminal
        assert printer.encoding == "utf-8"
    assert capsys.readouterr() == ("", "")
