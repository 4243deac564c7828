"""Ops of projects in torch: two of one name, one whose module is gone, one that is declared anew."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra `torch`: scripts/test --bridges")

INDEX = """
from opgen_runtime.declaration.index import lazy_index as _lazy_index
_OPS: dict[str, str] = {"scaled": "_scaled"}
__all__ = list(_OPS)
__getattr__, __dir__ = _lazy_index(__name__, _OPS, {}, namespace="NAME")
"""
FACE = """
from opgen_runtime.bridges.torch import namespace as _namespace
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


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    """Packages `left` and `right` with an op `scaled` each: by 2 and by 3."""
    for name, factor in (("left", "2.0"), ("right", "3.0")):
        package = tmp_path / name
        package.mkdir()
        for file, text in (("__init__", INDEX), ("torch", FACE), ("_scaled", OP)):
            filled = text.replace("NAME", name).replace("FACTOR", factor)
            (package / f"{file}.py").write_text(filled, encoding="utf-8")
    return tmp_path


def run(folder: Path, text: str) -> str:
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


def test_two_projects_with_an_op_of_one_name(projects):
    shown = run(
        projects,
        """
        import torch, left.torch, right.torch
        x = torch.ones(2, requires_grad=True)
        (left.torch.scaled(x) + right.torch.scaled(x)).sum().backward()
        print(torch.ops.left.scaled(x).tolist(), torch.ops.right.scaled(x).tolist(), x.grad.tolist())
        """,
    )
    assert shown == "[2.0, 2.0] [3.0, 3.0] [5.0, 5.0]\n"


def test_an_op_goes_on_when_its_module_is_gone(projects):
    shown = run(
        projects,
        """
        import shutil, torch, left, left.torch
        scaled = left.torch.scaled
        scaled(torch.ones(2))
        for name in [name for name in sys.modules if name.partition(".")[0] == "left"]:
            del sys.modules[name]
        shutil.rmtree(left.__path__[0])
        print(scaled(torch.ones(3, 2)).sum().item(), torch.ops.left.scaled(torch.ones(5)).sum().item())
        """,
    )
    assert shown == "12.0 10.0\n"


def test_an_op_that_is_declared_anew_is_refused(projects):
    shown = run(
        projects,
        """
        import importlib, torch, left.torch, left._scaled
        left.torch.scaled
        importlib.reload(left._scaled)
        del left.torch.scaled
        try:
            left.torch.scaled
        except RuntimeError as error:
            print(error)
        """,
    )
    assert (
        "left::scaled was registered with torch before it was declared anew; start another process" in shown
    )
