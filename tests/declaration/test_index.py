"""The index of a generated package: lazy functions, ops by name, clashes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from opgen_runtime import ir
from opgen_runtime.base.errors import CallError, RegistryError
from opgen_runtime.declaration.index import announced_ops, lazy_index, load_op
from opgen_runtime.operator.registry import Op, get_global_func, list_ops, remove_global_func, remove_op
from opgen_runtime.operator.types import TensorType

INDEX = """
from opgen_runtime.declaration.index import lazy_index as _lazy_index
_OPS: dict[str, str] = {"half": "_half", "broken": "_broken"}
_OPERATORS: dict[str, str] = {"@": "half"}
__all__ = list(_OPS)
__getattr__, __dir__ = _lazy_index(__name__, _OPS, _OPERATORS, namespace="test_project")
"""
HALF = '''
from opgen_runtime.declaration import lang as _l, statement as _d

def half(data: _d.ExprLike, other: _d.ExprLike | None = None, times: int = 1) -> _d.Call:
    """Half."""
    return _d.call(OP, (data, other), times=times)

class HalfAttrs(_d.Attrs):
    type_key = "attrs.test_project.half"
    times: int = _d.attr("int", default=1, bounds="0 <= times", check=lambda times, attrs: times >= 0)

def compute(data: _d.Any, times: _d.Any, out: _d.Any) -> None:
    out.define(lambda *i: data[*i] * 0.5**times)

OP = _d.declare(
    half,
    _d.Input("data", dtype="float"),
    _d.Input("other", dtype="float", optional=True),
    _d.Output("out", shape="data.shape", dtype="data.dtype"),
    attrs=HalfAttrs, compute=compute, pattern=_d.OpPattern.ELEMWISE, namespace="test_project",
)
'''


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    package = tmp_path / "test_project_ops"
    package.mkdir()
    (package / "__init__.py").write_text(INDEX)
    (package / "_half.py").write_text(HALF)
    (package / "_broken.py").write_text("import test_project_nothing\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import_module("opgen_runtime.ops")  # binds the built-in operators
    monkeypatch.setitem(ir.OPERATORS, "@", None)  # whatever built-in op declares it
    yield "test_project_ops"
    lazy_index("test_project_ops", {}, {})
    for name in [name for name in sys.modules if name.startswith("test_project_ops")]:
        del sys.modules[name]
    if "test_project.half" in [op for op in list_ops() if op.startswith("test_project")]:
        remove_op("test_project.half")
        remove_global_func("op._make.test_project.half")


def test_functions_and_ops_are_imported_on_first_use(project: str) -> None:
    package = importlib.import_module(project)
    assert dir(package) == ["broken", "half"]
    assert f"{project}._half" not in sys.modules
    assert "test_project.half" in announced_ops()
    assert "test_project.half" in list_ops()
    op = Op.get("test_project.half")
    assert op.description == "Half."
    assert [argument.name for argument in op.arguments] == ["data", "other"]
    assert package.half is package.__dict__["half"]
    x = ir.var("x", TensorType((2,), "float32"))
    assert str(package.half(x, times=2)).endswith("test_project.half(%x, (), times=2)")
    assert ir.structural_equal(ir.parse_expr(str(package.half(x))), package.half(x), map_free_vars=True)


def test_the_call_maker_takes_operands_then_attrs(project: str) -> None:
    package = importlib.import_module(project)
    make = get_global_func("op._make.test_project.half")
    x = ir.var("x", TensorType((2,), "float32"))
    for made in (make(x, None, 2), make(x, None, times=2)):
        assert ir.structural_equal(made, package.half(x, times=2))
    with pytest.raises(ValueError, match=r"half: attr 'times' is -1, outside its bounds: 0 <= times"):
        make(x, None, -1)
    with pytest.raises(CallError, match="argument 'data'"):
        make(None)
    span = package.half(x).span
    assert span is not None
    assert span.file == __file__


def test_names_that_do_not_exist(project: str) -> None:
    package = importlib.import_module(project)
    with pytest.raises(
        AttributeError, match=r"package 'test_project_ops' has no op 'haf'; did you mean 'half'\?"
    ):
        _ = package.haf
    with pytest.raises(
        RegistryError, match=r"no op is named 'test_project.haf'; did you mean 'test_project.half'"
    ):
        Op.get("test_project.haf")
    assert not load_op("test_project.haf")
    with pytest.raises(ModuleNotFoundError, match="test_project_nothing"):
        Op.get("test_project.broken")


def test_two_packages_cannot_announce_one_op(project: str) -> None:
    importlib.import_module(project)
    with pytest.raises(
        RegistryError, match=r"'test_project\.half' of package 'elsewhere' is already announced by"
    ):
        lazy_index("elsewhere", {"half": "_half"}, namespace="test_project")
    with pytest.raises(
        RegistryError, match=r"op 'test_other.plus' declares operator '\+', which is bound to op 'add'"
    ):
        lazy_index("elsewhere", {"plus": "_plus"}, {"+": "plus"}, namespace="test_other")
    lazy_index("elsewhere", {})


def test_reloading_the_same_file_replaces_and_another_file_raises(project: str, tmp_path: Path) -> None:
    package = importlib.import_module(project)
    module = importlib.import_module(f"{project}._half")
    first = module.OP.get_attr("declaration")
    importlib.reload(module)
    importlib.reload(package)
    assert module.OP is Op.get("test_project.half")
    assert module.OP.get_attr("declaration") is not first
    other = tmp_path / "other.py"
    other.write_text(HALF)
    with pytest.raises(RegistryError, match=r"other.py cannot register it again"):
        exec(compile(HALF, str(other), "exec"), {"__file__": str(other), "__name__": "other"})


def test_operators_of_a_project(project: str) -> None:
    importlib.import_module(project)
    x = ir.var("x", TensorType((2,), "float32"))
    assert str(x @ x).endswith("test_project.half(%x, %x)")
