"""What ONNX cannot hold, and files that cannot be written: said clearly, and nothing half-written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

import opgen_runtime as rt  # noqa: E402
from opgen_runtime import ir, ops  # noqa: E402
from opgen_runtime.frontend import onnx as frontend  # noqa: E402
from opgen_runtime.frontend.onnx.errors import ExportError  # noqa: E402
from opgen_runtime.frontend.onnx.exporter import files  # noqa: E402
from opgen_runtime.operator import Op  # noqa: E402
from opgen_runtime.operator.registry import register_op, remove_op  # noqa: E402

X = ir.Var("x", rt.TensorType((2, 3), "float32"))


def refusal(program: object, **options: object) -> str:
    with pytest.raises(ExportError) as error:
        frontend.export(program, **options)  # type: ignore[arg-type]
    return str(error.value).partition("test_refusals.py")[2].partition(": ")[2] or str(error.value)


def test_attrs() -> None:
    n = rt.dim("n")
    open_var = ir.Var("x", rt.TensorType((n, 3), "float32"))
    wide = ops.axis_abs(ir.Var("x", rt.TensorType((2**65, 3), "float32")), indice=2**64)
    assert refusal(ir.Function((open_var,), ops.broadcast_to(open_var, shape=(2, n, 3))), standard=False) == (
        "attr 'shape' of op 'broadcast_to' is n, a size that is known when the program runs alone; no attribute of "
        "ONNX holds it"
    )
    assert refusal(wide) == (
        f"attr 'indice' of op 'axis_abs' is {2**64}, where attributes of ONNX hold 64 bits"
    )


def test_a_size_that_no_input_has() -> None:
    """The op is no operator then, and its own node would need the size."""
    made = ops.zeros(shape=(rt.dim("n"), 2))
    assert refusal(ir.Function((X,), made)) == (
        "attr 'shape' of op 'zeros' is n, a size that is known when the program runs alone; no attribute of ONNX "
        "holds it"
    )


def test_an_op_without_a_declaration() -> None:
    op = register_op("undeclared_here").set_num_inputs(1).add_argument("data")
    op.add_type_rel("Same", lambda types, count, attrs, reporter: reporter.assign(types[1], types[0]) or True)
    try:
        call = ir.Call(Op.get(op.name), (X,))
        assert refusal(ir.Function((X,), call)) == (
            "op 'undeclared_here' has no declaration, by which readers of a model would know it"
        )
    finally:
        remove_op("undeclared_here")


def test_programs() -> None:
    pair = ir.Var("p", rt.types.TupleType((X.checked_type, X.checked_type)))
    assert refusal(ir.Function((pair,), pair[0])) == (
        "variable 'p' is a (Tensor[(2, 3), float32], Tensor[(2, 3), float32]); expected a tensor"
    )
    module = ir.parse_module("def @other(%x: Tensor[(2,), float32]) { relu(%x) }")
    assert refusal(module) == "the module has no function @main"
    inner = ir.parse_module(
        """
        def @main(%x: Tensor[(), float32]) { @f(%x) }
        def @f(%x: Tensor[(), float32]) -> Tensor[(), float32] {
          if (less(%x, const(1, float32))) { negative(@f(multiply(%x, const(2, float32)))) } else { %x }
        }
        """
    )
    assert refusal(inner) == "function @f calls itself elsewhere than at its end, which is no loop of ONNX"
    in_turn = ir.parse_module(
        """
        def @main(%x: Tensor[(), float32]) { @f(%x) }
        def @f(%x: Tensor[(), float32]) -> Tensor[(), float32] {
          if (less(%x, const(1, float32))) { @g(multiply(%x, const(2, float32))) } else { %x }
        }
        def @g(%x: Tensor[(), float32]) -> Tensor[(), float32] { @f(negative(%x)) }
        """
    )
    assert refusal(in_turn) == "function @f calls itself by way of @g, which is no loop of ONNX"


def test_options() -> None:
    function = ir.Function((X,), ops.relu(X))
    newest = onnx.defs.onnx_opset_version()
    assert refusal(function, opset=17) == f"opset 17; expected 18 to {newest}"
    zeros = np.zeros((2, 3), np.float32)
    assert refusal(function, params={"y": zeros}) == "param 'y' is no variable of the program; it has x"
    assert refusal(function, params={"x": zeros.T}) == (
        "param 'x' is a Tensor[(3, 2), float32], expected Tensor[(2, 3), float32]"
    )
    assert refusal(function, params={"x": zeros.astype(np.float64)}) == (
        "param 'x' is a Tensor[(2, 3), float64], expected Tensor[(2, 3), float32]"
    )


def test_files(tmp_path: Path) -> None:
    """A file is written whole or not at all, and what was there stays where it cannot be."""
    function = ir.Function((X,), ops.relu(X))
    assert refusal(function, path=tmp_path / "none" / "m.onnx") == (
        f"{tmp_path / 'none' / 'm.onnx'}: No such file or directory"
    )
    (tmp_path / "folder").mkdir()
    assert refusal(function, path=tmp_path / "folder") == f"{tmp_path / 'folder'}: Is a directory"
    path = tmp_path / "m.onnx"
    path.write_bytes(b"before")
    refusal(ir.Function((X,), ops.axis_abs(X, indice=1)), path=path, opset=3)
    assert path.read_bytes() == b"before"
    model = frontend.export(function, path)
    assert path.read_bytes() == model.SerializeToString()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folder", "m.onnx"]


def test_too_large(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(files, "MOST", 23)
    function = ir.Function((X,), ops.relu(X))
    message = refusal(function, params={"x": np.zeros((2, 3), np.float32)}, path=tmp_path / "m.onnx")
    assert message == "the weights have 24 bytes, where a file of ONNX holds 23"
    assert list(tmp_path.iterdir()) == []
