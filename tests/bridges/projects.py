"""Small projects, as they are generated, for tests of bridges: packages with an op `scaled` each."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

INDEX = """
from opgen_runtime.declaration.index import lazy_index as _lazy_index
_OPS: dict[str, str] = {"scaled": "_scaled"}
__all__ = list(_OPS)
__getattr__, __dir__ = _lazy_index(__name__, _OPS, {}, namespace="NAME")
"""
FACE = """
from opgen_runtime.bridges.FRAMEWORK import namespace as _namespace
from . import __all__ as _ops
__getattr__, __dir__ = _namespace(__name__, _ops, "NAME.")
"""
OP = '''
from opgen_runtime.declaration import lang as _l, statement as _d

def scaled(data: _d.ExprLike) -> _d.Call:
    """Scaled."""
    return _d.call(OP, (data,))

def compute(data: _d.Any, out: _d.Any) -> None:
    out.define(lambda *i: data[*i] * FACTOR)

OP = _d.declare(
    scaled,
    _d.Input("data", dtype="float"),
    _d.Output("out", shape="data.shape", dtype="data.dtype"),
    attrs=None, compute=compute, pattern=_d.OpPattern.ELEMWISE, namespace="NAME",
)
'''


def written(folder: Path, framework: str) -> Path:
    """The folder, with packages `left` and `right` whose op `scaled` is by 2 and by 3."""
    for name, factor in (("left", "2.0"), ("right", "3.0")):
        package = folder / name
        package.mkdir()
        for file, text in (("__init__", INDEX), (framework, FACE), ("_scaled", OP)):
            filled = text.replace("NAME", name).replace("FACTOR", factor).replace("FRAMEWORK", framework)
            (package / f"{file}.py").write_text(filled, encoding="utf-8")
    return folder


def run(folder: Path, text: str) -> str:
    """What a program prints that has the folder's packages.  Fails where the program does."""
    program = f"import sys; sys.path[:0] = {[str(folder), *sys.path]!r}\n{textwrap.dedent(text)}"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
