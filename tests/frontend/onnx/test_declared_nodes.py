"""Nodes of the domains of projects: calls of declared ops, by the names of their attrs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import helper, parser  # noqa: E402

from opgen_runtime.frontend import onnx as frontend  # noqa: E402
from opgen_runtime.frontend.onnx import declared_nodes  # noqa: E402
from opgen_runtime.frontend.onnx.errors import ModelError, UnsupportedOperatorError  # noqa: E402
from opgen_runtime.operator import Input, Op  # noqa: E402
from opgen_runtime.operator.registry import remove_op  # noqa: E402

INDEX = """
from opgen_runtime.declaration.index import lazy_index as _lazy_index
_OPS: dict[str, str] = {"scaled": "_scaled"}
__all__ = list(_OPS)
__getattr__, __dir__ = _lazy_index(__name__, _OPS, {}, namespace="nodesofmine")
"""
SCALED = '''
from opgen_runtime.declaration import lang as _l, statement as _d

def scaled(data: _d.ExprLike, factor: float = 1e-5) -> _d.Call:
    """Scaled."""
    return _d.call(OP, (data,), factor=factor)

class ScaledAttrs(_d.Attrs):
    type_key = "attrs.nodesofmine.scaled"
    factor: float = _d.attr("float", default=1e-5)

def compute(data: _d.Any, factor: _d.Any, out: _d.Any) -> None:
    out.define(lambda *i: data[*i] * factor)

OP = _d.declare(
    scaled,
    _d.Input("data", dtype="float"),
    _d.Output("out", shape="data.shape", dtype="data.dtype"),
    attrs=ScaledAttrs, compute=compute, pattern=_d.OpPattern.ELEMWISE, namespace="nodesofmine",
)
'''


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A package `nodesofmine` with the op `scaled`, which is imported."""
    folder = tmp_path_factory.mktemp("project")
    package = folder / "nodesofmine"
    package.mkdir()
    (package / "__init__.py").write_text(INDEX, encoding="utf-8")
    (package / "_scaled.py").write_text(SCALED, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        __import__("nodesofmine._scaled")
        yield
    remove_op("nodesofmine.scaled")
    for name in ("nodesofmine", "nodesofmine._scaled"):
        sys.modules.pop(name, None)


def model(
    body: str, domain: str = "opgen", before: str = "float[2, 3] x", after: str = "float[2, 3] y"
) -> onnx.ModelProto:
    return parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 18, "{domain}" : 1]> g ({before}) => ({after}) {{ {body} }}'
    )


def program(made: onnx.ModelProto) -> str:
    return str(frontend.load(made)[0]).splitlines()[1].strip()


@pytest.mark.parametrize(
    ("body", "call"),
    [
        ("y = opgen.axis_abs <axis = 1, indice = 2> (x)", "axis_abs(%x, axis=1, indice=2)"),
        ("y = opgen.axis_abs (x)", "axis_abs(%x)"),
        ("y = opgen.clip <a_min = 0, a_max = 1.5> (x)", "clip(%x, a_min=0, a_max=1.5)"),
        ("y = opgen.leaky_relu <alpha = 0.1> (x)", "leaky_relu(%x, alpha=0.1)"),
        ("y = opgen.leaky_relu <alpha = double {0.1}> (x)", "leaky_relu(%x, alpha=0.1)"),
        ("y = opgen.sum <axis = [0, 1], keepdims = 1> (x)", "sum(%x, axis=[0, 1], keepdims=True)"),
        ("y = opgen.cast <dtype = 11> (x)", 'cast(%x, dtype="float64")'),
        ("y = opgen.stack (x, x, x)", "stack((%x, %x, %x))"),
        ('y = opgen.quantize <out_dtype = 2> (x, s)', 'quantize(%x, %s, (), out_dtype="uint8")'),
        ('y = opgen.quantize <out_dtype = 2> (x, s, "")', 'quantize(%x, %s, (), out_dtype="uint8")'),
    ],
)  # fmt: skip
def test_calls(body: str, call: str) -> None:
    """Attributes by their declared names, the others as declared; floats as their shortest decimals."""
    before = "float[2, 3] x, float s" if "s)" in body or "s," in body else "float[2, 3] x"
    assert program(model(body, before=before)) == call


def test_several_results() -> None:
    made = model(
        "y, z = opgen.split <indices_or_sections = [1], as_positions = 1, axis = 1> (x)",
        after="float[2, 1] y, float[2, 2] z",
    )
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = frontend.run(made, [x])
    assert [each.tolist() for each in found] == [x[:, :1].tolist(), x[:, 1:].tolist()]


def test_an_op_of_a_project(project: None) -> None:
    made = model("y = nodesofmine.scaled <factor = 2.0> (x)", "nodesofmine")
    assert program(made) == "nodesofmine.scaled(%x, factor=2.0)"
    assert frontend.run(made, [np.ones((2, 3), np.float32)])[0].tolist() == [[2.0] * 3] * 2
    again = frontend.export(frontend.load(made)[0])
    assert [(node.domain, node.op_type) for node in again.graph.node] == [("nodesofmine", "scaled")]


def test_only_the_last_operand_takes_several(project: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of a node's inputs would be its tensors?"""
    declaration = Op.get("nodesofmine.scaled").get_attr("declaration")
    first, last = Input("many", dtype="float", variadic=True), Input("one", dtype="float")
    signature = replace(declaration.signature, inputs=(first, last))
    other = replace(declaration, signature=signature)
    monkeypatch.setattr(declared_nodes, "declared", lambda op: other)
    with pytest.raises(UnsupportedOperatorError) as error:
        frontend.load(model("y = nodesofmine.scaled (x, x)", "nodesofmine"))
    assert str(error.value).splitlines()[1].strip() == (
        "(node of y): nodesofmine.scaled: operand 'many' of op 'nodesofmine.scaled' takes several tensors, which only "
        "the last one can"
    )


def test_functions_of_the_model_win() -> None:
    made = model("y = opgen.axis_abs (x)")
    function = helper.make_function(
        "opgen",
        "axis_abs",
        ["a"],
        ["b"],
        [helper.make_node("Neg", ["a"], ["b"])],
        [helper.make_opsetid("", 18)],
    )
    made.functions.append(function)
    assert program(made) == "negative(%x)"


@pytest.mark.parametrize(
    ("body", "domain", "message"),
    [
        (
            "y = opgen.axis_bas (x)", "opgen",
            "(node of y): opgen.axis_bas: no op 'axis_bas' is declared in the domain 'opgen'; did you mean 'axis_abs'?",
        ),
        (
            "y = nowhere.relu (x)", "nowhere",
            "(node of y): nowhere.relu: no project that is installed or imported declares ops of the domain 'nowhere'",
        ),
        ("y = opgen.relu <slope = 1.0> (x)", "opgen", "(node of y): opgen.relu: attribute 'slope'"),
        ("y = opgen.relu (x, x)", "opgen", "(node of y): opgen.relu: 2 inputs, where the mapping knows 1"),
    ],
)  # fmt: skip
def test_what_is_not_declared(body: str, domain: str, message: str) -> None:
    with pytest.raises(UnsupportedOperatorError) as error:
        frontend.load(model(body, domain))
    assert str(error.value).splitlines()[1].strip() == message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y = opgen.cast (x)", "(node of y): opgen.cast: attribute 'dtype' is missing"),
        (
            "y = opgen.axis_abs <axis = 0.5> (x)",
            "(node of y): opgen.axis_abs: axis_abs: attr 'axis' must be an int, found 0.5 of type float",
        ),
        (
            "y = opgen.axis_abs <axis = 2> (x)",
            "(node of y): opgen.axis_abs: axis_abs: attr 'axis' is 2, outside its bounds: 0 <= axis < data.ndim with "
            "data: Tensor[(2, 3), float32]",
        ),
        (
            "y = opgen.leaky_relu <alpha = float {0.5}> (x)",
            "(node of y): opgen.leaky_relu: attribute 'alpha' is a tensor of float32; expected one or several of "
            "float64",
        ),
        (
            'y = opgen.sum <keepdims = 2> (x)',
            "(node of y): opgen.sum: sum: attr 'keepdims' must be a bool (True or False), found 2 of type int",
        ),
    ],
)  # fmt: skip
def test_wrong_attributes(body: str, message: str) -> None:
    with pytest.raises(ModelError) as error:
        frontend.load(model(body))
    assert str(error.value).partition("; attrs of ")[0] == message
