"""Templates: errors name the template's line and the declaration; a project's own template replaces ours."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import replace
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opgen.model import CheckedAttr, CheckedBound, CheckedOp
from opgen.render import Renderer, RenderError
from opgen.views import op_view, suite_view
from opgen.views.wrapper import wrapper_view
from opgen_runtime.declaration.documentation import plain
from opgen_runtime.operator.registry import remove_global_func, remove_op
from opgen_runtime.testing.lines import parse_cases

DECLARATION = "opdefs/x.yaml:1"


def module(op: CheckedOp) -> str:
    return Renderer().python("op.py.j2", {"op": op_view(op)}, DECLARATION)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("a\n{{ op.nothing }}\n", r"op.py.j2:2: error\[template\]: .*nothing"),
        ("a\n\n{% if %}\n", r"op.py.j2:3: error\[template\]: Expected an expression"),
        ("{{ op.__class__.__mro__ }}\n", r"op.py.j2:1: error\[template\]: .*unsafe"),
        ("{{ 1 / 0 }}\n", r"op.py.j2:1: error\[template\]: division by zero"),
        ("def\n", r"op.py.j2: error\[template\]: prints what is not Python"),
        ("{% include 'gone.j2' %}\n", r"error\[template\]: .*gone.j2"),
    ],
)
def test_errors_are_located(tmp_path: Path, axis_abs: CheckedOp, template: str, message: str) -> None:
    (tmp_path / "op.py.j2").write_text(template)
    with pytest.raises(RenderError, match=message) as caught:
        Renderer(tmp_path).python("op.py.j2", {"op": op_view(axis_abs)}, DECLARATION)
    assert DECLARATION in str(caught.value)


def test_own_template_replaces_the_built_in_one(tmp_path: Path, axis_abs: CheckedOp) -> None:
    (tmp_path / "op.py.j2").write_text("NAME = '{{ op.name }}'\n")
    renderer = Renderer(tmp_path)
    assert renderer.python("op.py.j2", {"op": op_view(axis_abs)}, DECLARATION) == "NAME = 'axis_abs'\n"
    assert "cases = " in renderer.python("suite.py.j2", {"suite": suite_view(axis_abs, "p")}, DECLARATION)


def test_infinity_and_nan_in_defaults_and_tests(axis_abs: CheckedOp) -> None:
    scale = replace(axis_abs.attrs[0], name="scale", kind="floats", default=(inf, -inf, 0.5), bound=None)
    case = replace(axis_abs.tests[0], attrs={"scale": (nan, -inf)})
    op = replace(axis_abs, attrs=(scale,), tests=(case,), probes=(), sampled=(case,))
    assert "default=(_l.inf, -_l.inf, 0.5)" in module(op)
    assert "scale : floats, default=(inf, -inf, 0.5)" in module(op)
    suite = Renderer().python("suite.py.j2", {"suite": suite_view(op, "p")}, DECLARATION)
    tables = suite[suite.index("    cases = ") : suite.index("    @staticmethod")]
    names: dict[str, Any] = {}
    exec(textwrap.dedent(tables), names)
    for table in ("cases", "sampled"):
        (read,) = parse_cases(table, names[table], ["data"])
        first, last = read.attrs["scale"]
        assert (last, isnan(first)) == (-inf, True)


def test_parameters_are_in_the_order_of_the_declaration(axis_abs: CheckedOp) -> None:
    x = axis_abs.inputs[0]
    k = replace(axis_abs.attrs[0], name="k", required=True)
    op = replace(
        axis_abs,
        attrs=(k, replace(axis_abs.attrs[1], name="scale", kind="float", default=1.0)),
        signature=replace(
            axis_abs.signature, inputs=(replace(x, name="x"), replace(x, name="bias", optional=True))
        ),
    )
    expected = "x: _d.ExprLike, bias: _d.ExprLike | None = None, *, k: int, scale: float = 1.0"
    assert wrapper_view(op).parameters == expected


@given(
    st.lists(st.text(st.sampled_from("ab \n:-DeprctdPamsRun"), max_size=60), min_size=4, max_size=4),
    st.sampled_from(["", "Parameters\n----------\n", "  x\n", "Deprecated: y\n", "Returns\n-------\n"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
def test_what_is_documented_reaches_the_op(axis_abs: CheckedOp, docs: list[str], first: str) -> None:
    """By the docstring, or where it cannot give a text back, by the statement."""
    doc, operand, attr, result = (first + text.strip() for text in docs)
    op = replace(
        axis_abs,
        doc=doc,
        attrs=(replace(axis_abs.attrs[0], doc=attr), axis_abs.attrs[1]),
        signature=replace(
            axis_abs.signature,
            inputs=(replace(axis_abs.inputs[0], doc=operand),),
            outputs=(replace(axis_abs.outputs[0], doc=result),),
        ),
    )
    names: dict[str, Any] = {"__file__": __file__, "__name__": __name__}
    try:
        exec(compile(module(replace(op, name="test_documented")), __file__, "exec"), names)
        declaration = names["OP"].get_attr("declaration")
        fields = declaration.attrs.list_field_info()
        outputs = declaration.signature.outputs
        found = (names["OP"].description, names["OP"].arguments[0].description, fields[0][2], outputs[0].doc)
        assert tuple(map(plain, found)) == tuple(map(plain, (doc, operand, attr, result)))
        assert fields[1][2] == axis_abs.attrs[1].doc
    finally:
        remove_op("test_documented")
        remove_global_func("op._make.test_documented")


def test_no_line_is_too_long(axis_abs: CheckedOp) -> None:
    text = module(replace(axis_abs, doc="a long sentence that goes on " * 20))
    assert max(len(line) for line in text.splitlines()) <= 110


def shape(text: str) -> str:
    """The syntax tree without docstrings, what texts say, and whether a doc is given."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [each for each in body if not isinstance(each, ast.Expr)]  # type: ignore[attr-defined]
        if isinstance(node, ast.Call):
            node.keywords = [each for each in node.keywords if each.arg != "doc"]
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.text(alphabet=st.one_of(st.sampled_from("\"'\\\n\r{}%#\x00\u202e"), st.characters()), max_size=40))
def test_hostile_text_changes_no_structure(axis_abs: CheckedOp, text: str) -> None:
    def hostile(attr: CheckedAttr) -> CheckedAttr:
        bound = attr.bound
        assert isinstance(bound, CheckedBound)
        return replace(attr, doc=text, bound=replace(bound, text=text))

    op = replace(
        axis_abs,
        doc=text,
        formula=text,
        let_text=text,
        deprecated=text,
        source=text,
        attrs=tuple(hostile(attr) for attr in axis_abs.attrs),
        signature=replace(axis_abs.signature, inputs=(replace(axis_abs.inputs[0], doc=text),)),
    )
    plain = replace(op, doc="x", formula="x", let_text="x", deprecated="x", source="x")
    plain = replace(
        plain,
        attrs=tuple(replace(attr, doc="x") for attr in axis_abs.attrs),
        signature=replace(axis_abs.signature, inputs=(replace(axis_abs.inputs[0], doc="x"),)),
    )
    assert shape(module(op)) == shape(module(plain))
