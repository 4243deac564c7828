"""Running the suite of a mutant in a process of its own, forked so that nothing is imported anew."""

from __future__ import annotations

import importlib
import io
import multiprocessing
import os
import sys
import tempfile
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Final

import pytest

from opgen_runtime.testing import check_bound, suite_of  # what every suite imports, once for all of them

from .subjects import Mutant

FORK: Final = multiprocessing.get_context("fork")
_SECONDS: Final = 120  # a suite that takes longer hangs, which is a failure too
_FAILED: Final = (
    1  # pytest's exit codes: some tests failed; the run was interrupted, by an error of collection too
)
_INTERRUPTED: Final = 2


def is_killed(mutant: Mutant) -> bool:
    """Whether the suite fails, for a mutant of bounds: its probes.  Raises RuntimeError where it could not be run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mutated").mkdir()
        (folder / "mutated" / "__init__.py").write_text("")
        (folder / "mutated" / f"_{mutant.op}.py").write_text(mutant.module)
        suite = folder / f"test_{mutant.op}.py"
        suite.write_text(mutant.suite)
        run = _run_probes if mutant.part == "bounds" else _run_suite
        process = FORK.Process(target=run, args=(suite,))
        process.start()
        process.join(_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
            return True
        if process.exitcode not in (0, _FAILED, _INTERRUPTED):
            log = folder / "log"
            text = log.read_text() if log.exists() else ""
            raise RuntimeError(f"{mutant}: pytest ended with {process.exitcode}\n{text}")
        return process.exitcode != 0


def _run_suite(suite: Path) -> None:
    """Ends the process with pytest's exit code; the output goes to the file `log` beside the suite."""
    folder = suite.parent
    os.chdir(folder)
    os.environ |= {"OPGEN_CACHE_DIR": str(folder / "cache"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(suite)])
    (folder / "log").write_text(output.getvalue())
    os._exit(int(code))


def _run_probes(suite: Path) -> None:
    """Likewise with the suite's probes of bounds alone, without pytest: there are many mutants of bounds."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(suite.parent))
    try:
        found = importlib.import_module(suite.stem)
        probed = suite_of(found)
        for probe in probed.probes:
            check_bound(probed.op, probe)
    except Exception:  # whatever the mutant raises
        (suite.parent / "log").write_text(traceback.format_exc())
        os._exit(_FAILED)
    os._exit(0)
