"""A hand-made CheckedOp of axis_abs, and a project to print it into."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from opgen.diagnostics import Place
from opgen.model import (
    BoundProbe,
    BoundRule,
    CheckedAttr,
    CheckedBound,
    CheckedCase,
    CheckedInput,
    CheckedOp,
    CheckedOutput,
    CheckedSignature,
)
from opgen.project import Project, find_project
from opgen_runtime.base.vocabulary import OpPattern

PLACE = Place("opdefs/elementwise/axis_abs.yaml", 1, 1, 1, 5)
FORMULA = "out[*i] = abs(data[*i]) if i[axis] == indice else data[*i]\n"
COMPUTE = """
def compute(data: _d.Any, axis: _d.Any, indice: _d.Any, out: _d.Any) -> None:
    out.define(lambda *i: _l.select(_l.equal(i[axis], indice), lambda: _l.abs(data[*i]), lambda: data[*i]))
"""
REFERENCE = """
def reference(data, axis, indice):
    out = data.copy()
    s = (slice(None),) * axis + (indice,)
    out[s] = np.abs(out[s])
    return out
"""


def expression(text: str) -> ast.Lambda:
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Lambda)
    return node


def function(text: str) -> ast.FunctionDef:
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def attr(
    name: str, bound: str, check: str, check_text: str, rest: str, rest_text: str, doc: str
) -> CheckedAttr:
    checked = CheckedBound(bound, expression(check), check_text, expression(rest), rest_text)
    return CheckedAttr(name, "int", False, 0, False, checked, None, doc, PLACE)


@pytest.fixture
def axis_abs() -> CheckedOp:
    axis = attr(
        "axis",
        "0 <= axis < data.ndim",
        "lambda axis, attrs: 0 <= axis",
        "0 <= axis",
        "lambda axis, data: axis < data.ndim",
        "axis < data.ndim",
        "The axis to slice.",
    )
    indice = attr(
        "indice",
        "0 <= indice < data.shape[axis]",
        "lambda indice, attrs: 0 <= indice",
        "0 <= indice",
        "lambda indice, data, axis: indice < data.shape[axis]",
        "indice < data.shape[axis]",
        "The slice on that axis.",
    )
    rules = tuple(
        BoundRule(each.name, each.bound.function, each.bound.function_text)
        for each in (axis, indice)
        if each.bound is not None and each.bound.function is not None and each.bound.function_text is not None
    )
    data = CheckedInput("data", None, None, "number", "The input tensor.", False, False, None, PLACE)
    out = CheckedOutput(
        "out", "data.shape", "data.shape", "data.dtype", "data.dtype", "", None, None, None, PLACE
    )
    return CheckedOp(
        name="axis_abs",
        doc="Take the absolute value of one slice of `data`; every other element passes through.",
        support_level=3,
        since=None,
        deprecated=None,
        arity=1,
        attrs=(axis, indice),
        signature=CheckedSignature((data,), rules, (out,), {}, {}, None, None),
        compute=function(COMPUTE),
        extern=None,
        expression=None,
        formula=FORMULA,
        let_text="",
        reference=function(REFERENCE),
        tests=tuple(
            CheckedCase({"data": f"int32[{shape}]"}, {"axis": axis_, "indice": 1}, PLACE)
            for shape, axis_ in (("4, 4, 1", 1), ("4, 4, 1", 0), ("3, 3, 3", 1))
        ),
        probes=(BoundProbe(0, "axis", 2, 3), BoundProbe(0, "axis", 0, -1)),
        traits={},
        strategy=(),
        gradients=(),
        gradient_kinds={},
        pattern=OpPattern.ELEMWISE,
        pattern_reason="every read of data is at the output's indices",
        family="elementwise",
        source="opdefs/elementwise/axis_abs.yaml",
        document=0,
        line=1,
        extends=(),
        digest="0" * 64,
    )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "pyproject.toml").write_text('[tool.opgen]\npackage = "myops"\n')
    (tmp_path / "opdefs").mkdir()
    return find_project(tmp_path)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Scratch projects leave nothing in the user's cache directory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPGEN_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
