"""Libraries of two projects, or of one domain; what is imported first; projects that are gone; forks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bridges.projects import run, written

pytest.importorskip("onnx", reason="needs the extra `conformance`")
pytest.importorskip("onnxruntime", reason="needs the extra `conformance`")

SESSION = """
import numpy as np, onnxruntime
from onnx import TensorProto, helper

def session(nodes, *libraries):
    x, y = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None]) for name in "xy"]
    domains = dict.fromkeys(["", *[node.domain for node in nodes]])
    opsets = [helper.make_opsetid(domain, 1 if domain else 17) for domain in domains]
    model = helper.make_model(helper.make_graph(nodes, "main", [x], [y]), opset_imports=opsets, ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    for each in libraries:
        options.register_custom_ops_library(each)
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )

def node(domain, name, given, gives):
    return helper.make_node(name, [given], [gives], domain=domain)
"""
EXPORT = """
from opgen_runtime.bridges.onnxruntime import export, open_type, request

def library(path, *names):
    export(path, [request(name, [open_type("x", 1, "float32")], {}) for name in names])
    return path
"""


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return written(tmp_path, "torch")


def test_two_projects_with_an_op_of_one_name(projects):
    shown = run(
        projects,
        f"""{SESSION}{EXPORT}
import left, right
both = [node("left", "scaled", "x", "twice"), node("right", "scaled", "twice", "y")]
apart = session(both, library("./left.so", "left.scaled"), library("./right.so", "right.scaled"))
one = session(both, library("./both.so", "left.scaled", "right.scaled"))
print([each.run(None, {{"x": np.ones(2, "float32")}})[0].tolist() for each in (apart, one)])
""",
    )
    assert shown == "[[6.0, 6.0], [6.0, 6.0]]\n"


def test_two_libraries_of_one_domain_in_a_session(projects):
    """onnxruntime takes one for a domain; a process may have both, in sessions of their own."""
    shown = run(
        projects,
        f"""{SESSION}{EXPORT}
libraries = library("./abs.so", "abs"), library("./relu.so", "relu")
nodes = [node("opgen", "abs", "x", "y")], [node("opgen", "relu", "x", "y")]
x = -np.ones(1, "float32")
print([session(n, l).run(None, {{"x": x}})[0].tolist() for n, l in zip(nodes, libraries)])
try:
    session(nodes[0], *libraries)
except Exception as error:
    print(type(error).__module__.partition(".")[0], error)
""",
    )
    assert shown == (
        "[[1.0], [0.0]]\nonnxruntime [ONNXRuntimeError] : 1 : FAIL : Domain already set in registry\n"
    )


def test_a_library_goes_on_when_its_project_is_gone(projects):
    shown = run(
        projects,
        f"""{SESSION}{EXPORT}
import shutil, left
from opgen_runtime.base.errors import OpgenError
made = library("./left.so", "left.scaled")
for name in [name for name in sys.modules if name.partition(".")[0] == "left"]:
    del sys.modules[name]
shutil.rmtree(left.__path__[0])
print(session([node("left", "scaled", "x", "y")], made).run(None, {{"x": np.ones(2, "float32")}})[0].tolist())
try:
    library("./gone.so", "left.other")
except OpgenError as error:
    print(error)
""",
    )
    first, second = shown.splitlines()
    assert first == "[2.0, 2.0]"
    assert "no op is named 'left.other'" in second


@pytest.mark.parametrize("first", ["import onnxruntime", "import opgen_runtime.eager"])
def test_whatever_is_imported_first(projects, first):
    shown = run(
        projects,
        f"""{first}
import numpy as np, opgen_runtime as rt
rt.eager.tanh(np.ones(3, "float32"))
{SESSION}{EXPORT}
made = session([node("opgen", "tanh", "x", "y")], library("./tanh.so", "tanh"))
print(made.run(None, {{"x": np.zeros(2, "float32")}})[0].tolist(), rt.eager.tanh(np.zeros(1)).tolist())
""",
    )
    assert shown == "[0.0, 0.0] [0.0]\n"


def test_a_session_goes_on_in_a_fork(projects):
    """As onnxruntime itself does on one thread."""
    shown = run(
        projects,
        f"""{SESSION}{EXPORT}
import os
made = session([node("opgen", "tanh", "x", "y")], library("./tanh.so", "tanh"))
feeds = {{"x": np.zeros(2, "float32")}}
made.run(None, feeds)
child = os.fork()
if child == 0:
    right = made.run(None, feeds)[0].tolist() == [0.0, 0.0]
    anew = session([node("opgen", "tanh", "x", "y")], "./tanh.so").run(None, feeds)[0].tolist() == [0.0, 0.0]
    try:
        made.run(None, {{"x": np.zeros((2, 2), "float32")}})
    except Exception as error:
        os._exit(7 if right and anew and "Invalid rank" in str(error) else 8)
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
    )
    assert shown == "7\n"
