"""Ops of projects in torch: two of one name, one whose module is gone, one that is declared anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bridges.projects import run, written

pytest.importorskip("torch", reason="needs the extra `torch`: scripts/test --bridges")


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    return written(tmp_path, "torch")


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
