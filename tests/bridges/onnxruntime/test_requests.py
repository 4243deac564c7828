"""What a library is asked to have: attributes as nodes have them, requests that take several entries."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from opgen_runtime.base.arith import dim
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.bridges.onnxruntime import as_open, export, open_type, request
from opgen_runtime.bridges.onnxruntime.api import API, CUSTOM_OP, FLOOR
from opgen_runtime.bridges.onnxruntime.requests import Attribute, Kind, attribute
from opgen_runtime.bridges.onnxruntime.splitting import parts_of
from opgen_runtime.operator import AttrField, TensorType
from opgen_runtime.run.op_programs.programs import program_of


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("int", -3, Attribute(Kind.INT, struct.pack("<q", -3))),
        ("bool", True, Attribute(Kind.INT, struct.pack("<q", 1))),
        ("float", 0.1, Attribute(Kind.FLOAT, struct.pack("<f", 0.1))),
        ("float", 1e300, Attribute(Kind.FLOAT, struct.pack("<f", float("inf")))),
        ("number", 2, Attribute(Kind.INT, struct.pack("<q", 2))),
        ("number", 2.0, Attribute(Kind.FLOAT, struct.pack("<f", 2.0))),
        ("str", "é", Attribute(Kind.STRING, "é".encode())),
        ("layout", "NCHW", Attribute(Kind.STRING, b"NCHW")),
        ("dtype", "float16", Attribute(Kind.INT, struct.pack("<q", 10))),
        ("ints", (1, -1), Attribute(Kind.INTS, struct.pack("<2q", 1, -1))),
        ("floats", (0.5,), Attribute(Kind.FLOATS, struct.pack("<f", 0.5))),
        ("shape", (), Attribute(Kind.EMPTY, b"")),
        ("ints", None, Attribute(Kind.ABSENT, b"")),
    ],
)
def test_attributes(kind: str, value: Any, expected: Attribute) -> None:
    field = AttrField("value", kind, optional=True)
    assert attribute(field, field.normalise(value)) == expected


def test_what_no_attribute_can_be() -> None:
    with pytest.raises(
        OpgenError, match=r"attr 'many' is 9223372036854775808, which no attribute of ONNX can be"
    ):
        attribute(AttrField("many", "int"), 2**63)
    with pytest.raises(OpgenError, match=r"attr 'many' is \[-9223372036854775809\], which no attribute"):
        attribute(AttrField("many", "ints"), (-(2**63) - 1,))


def test_a_request_as_text() -> None:
    types = [TensorType((dim("n"), 3), "float32"), open_type("b", 2, "float32")]
    assert str(request("matmul", types, {})) == "matmul(a: float32[n, 3], b: float32[?, ?])"
    assert (
        str(request("softmax", [open_type("data", 1, "float16")], {})) == "softmax(data: float16[?]) axis=-1"
    )


@pytest.mark.parametrize(
    ("name", "types", "attrs", "message"),
    [
        ("softmax", [open_type("x", 2, "int32")], {}, "data"),
        ("softmax", [open_type("x", 2, "float32")], {"axis": 2}, "axis"),
        ("softmax", [open_type("x", 2, "float32")], {"axes": 2}, "unknown attr 'axes'; its attrs are: axis"),
        ("cast", [open_type("x", 2, "int32")], {}, "missing attr 'dtype'"),
        ("softmaxx", [open_type("x", 2, "float32")], {}, "softmax"),
        ("prelu", [open_type("x", 2, "float32"), open_type("a", 1, "float32")], {"axis": None},
         "attr 'axis' is None, which no node can say: where the attribute is left out it is 1"),
        ("adv_index", [open_type("x", 2, "int8"), (open_type("i", 1, "int64"), open_type("j", 1, "int32"))], {},
         "operand 'indices' has tensors of several element types"),
        ("unique", [open_type("x", 1, "float32")], {}, "unique cannot be an op of onnxruntime: the size of a result"),
        ("real", [open_type("x", 1, "complex64")], {}, "real: onnxruntime has no tensors of complex64"),
        ("gru", [], {}, "gru cannot be an op of onnxruntime: attr 'activations' is a list of strings"),
    ],
)  # fmt: skip
def test_what_is_refused(name: str, types: list[Any], attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(OpgenError, match=message):
        request(name, types, attrs)


def test_an_op_of_python_has_no_entry(tmp_path: Path) -> None:
    name = "non_max_suppression"
    types = [TensorType((1, 3, 6), "float32"), TensorType((1,), "int32"), TensorType((1, 3), "int32")]
    asked = request(name, types, {})
    with pytest.raises(
        OpgenError, match=f"opgen_{name} calls the hand-written function .*, which needs Python"
    ):
        export(tmp_path / "ops.so", [asked])
    refused: list[Any] = []
    with pytest.raises(OpgenError, match=f"opgen::{name} cannot be compiled; no library is written"):
        export(tmp_path / "ops.so", [asked], refused=refused.append)
    assert [each.request for each in refused] == [asked]
    assert list(tmp_path.iterdir()) == []


def test_dims_that_meet_in_broadcasts_take_several_entries() -> None:
    def parts(ndim: int) -> list[str]:
        types = [open_type(name, ndim, "float32") for name in "ab"]
        return [str(each) for each in parts_of(request("add", types, {}))]

    assert parts(1) == ["add(lhs: float32[?], rhs: float32[?])"]
    assert parts(2) == [
        "add(lhs: float32[?, ?], rhs: float32[?, ?])",
        "add(lhs: float32[1, ?], rhs: float32[?, ?])",
        "add(lhs: float32[?, ?], rhs: float32[1, ?])",
    ]
    assert len(parts(4)) == 27
    with pytest.raises(OpgenError, match="more than 27 entries, for so many open dims meet in broadcasts"):
        parts(5)


def test_open_types_have_the_ranks_and_operands_of_others() -> None:
    program = program_of("concatenate")
    types = as_open(program, [(TensorType((2, 3), "int8"), TensorType((1, 3), "int8"))])
    text = str(request("concatenate", types, {"axis": 0}))
    assert text == "concatenate(data: (int8[?, ?], int8[?, ?])) axis=0"


def test_the_floor_is_the_first_version_that_has_all_that_is_used() -> None:
    assert FLOOR == 16
    for table in (API, CUSTOM_OP):
        positions = [slot.position for slot in table]
        assert positions == sorted(set(positions))
