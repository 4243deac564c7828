"""Libraries in onnxruntime: values, shapes, attrs, and what is refused; files that are written whole or not at all."""

from __future__ import annotations

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="needs the extra `conformance`")
pytest.importorskip("onnxruntime", reason="needs the extra `conformance`")

from onnx import TensorProto, helper  # noqa: E402

from opgen_runtime import eager  # noqa: E402
from opgen_runtime.base.arith import dim  # noqa: E402
from opgen_runtime.base.errors import ExecutorError  # noqa: E402
from opgen_runtime.bridges.onnxruntime import export, open_type, request  # noqa: E402
from opgen_runtime.operator import TensorType  # noqa: E402
from tests.bridges.ort_models import model_of, run_request, session  # noqa: E402


def values(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def node(op: str, *operands: str, gives: str = "y", **attributes: Any) -> Any:
    return helper.make_node(op, operands, [gives], domain="opgen", **attributes)


MATRIX = open_type("x", 2, "float32")
MODEL = [
    node("matmul", "x", "w", gives="product"),
    node("softmax", "product", gives="rows", axis=1),
    node("add", "rows", "b"),
]


def test_a_model_of_any_size(library: Path) -> None:
    made = session(model_of(MODEL, dict.fromkeys("xwb", MATRIX), {"y": None}), library)
    for n, k, m, rows in ((3, 4, 5, 3), (1, 1, 1, 1), (7, 2, 20, 1), (0, 4, 3, 1), (2, 0, 3, 2)):
        x, w, b = values(n, k), values(k, m), values(rows, m)
        (found,) = made.run(None, {"x": x, "w": w, "b": b})
        expected = eager.add(eager.softmax(eager.matmul(x, w), axis=1), b)
        assert found.shape == (n, m)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_sessions_run_at_once(library: Path) -> None:
    model = model_of(MODEL, dict.fromkeys("xwb", MATRIX), {"y": None})
    sessions = [session(model, library) for _ in range(2)]

    def run(number: int) -> bytes:
        n, m = 1 + number % 7, 1 + number % 5
        x, w, b = values(n, 4), values(4, m), values(1, m)
        found: bytes = sessions[number % 2].run(None, {"x": x, "w": w, "b": b})[0].tobytes()
        return found

    one_by_one = [run(number) for number in range(200)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(200))) == one_by_one


def test_attrs_of_every_kind(tmp_path: Path) -> None:
    x = values(2, 3)
    asked = [
        ("transpose", {"axes": [1, 0]}),
        ("leaky_relu", {"alpha": 1 / 3}),
        ("clip", {"a_min": -0.5, "a_max": 1}),
        ("cast", {"dtype": "int32"}),
        ("sum", {"axis": [0], "keepdims": True}),
        ("expand_dims", {"axis": 1, "num_newaxis": 2}),
    ]
    requests = [request(name, [MATRIX], attrs) for name, attrs in asked]
    path = tmp_path / "ops.so"
    export(path, requests)
    for (name, attrs), each in zip(asked, requests, strict=True):
        (found,) = run_request(each, path, [x])
        expected = eager.op(name)(x, **attrs)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_optional_and_variadic_operands(tmp_path: Path) -> None:
    path = tmp_path / "ops.so"
    three = request("concatenate", [tuple([open_type(f"x{k}", 1, "int64") for k in range(3)])], {"axis": 0})
    parts = request("split", [open_type("x", 1, "int64")], {"indices_or_sections": [2], "as_positions": True})
    export(path, [three, parts])
    arrays = [np.arange(k, dtype=np.int64) for k in (3, 0, 2)]
    np.testing.assert_array_equal(run_request(three, path, arrays)[0], [0, 1, 2, 0, 1])
    first, second = run_request(parts, path, [np.arange(5)])
    assert (first.tolist(), second.tolist()) == ([0, 1], [2, 3, 4])


def test_sizes_that_follow_from_others(tmp_path: Path) -> None:
    n = dim("n")
    path = tmp_path / "ops.so"
    both = request(
        "concatenate", [(TensorType((n,), "float32"), TensorType((n + 1,), "float32"))], {"axis": 0}
    )
    export(path, [both])
    assert run_request(both, path, [values(2), values(3)])[0].shape == (5,)
    message = r"axis 0 of data1 must be n \+ 1; found the shapes \[2\], \[4\]"
    with pytest.raises(Exception, match=message):
        run_request(both, path, [values(2), values(4)])


def test_entries_of_sizes_are_tried_in_order(tmp_path: Path) -> None:
    path = tmp_path / "ops.so"
    types = [TensorType((2, 3), "float32"), TensorType((4, open_type("x", 1, "float32").shape[0]), "float32")]
    export(path, [request("exp", [type_], {}) for type_ in types])
    made = session(model_of([node("exp", "x")], {"x": MATRIX}, {"y": None}), path)
    for shape in ((2, 3), (4, 7)):
        np.testing.assert_array_equal(made.run(None, {"x": values(*shape)})[0], eager.exp(values(*shape)))
    with pytest.raises(Exception, match=r"opgen::exp: axis 0 of .* must be 4; found the shapes \[5, 3\]"):
        made.run(None, {"x": values(5, 3)})


ANY = {"x": None}
REFUSED = [
    (node("softmax", "x", axis=0), r"opgen::softmax: the library has no entry for these attrs: axis=0; "
     r"the library has: softmax\(data: float32\[\?, \?\]\) axis=1"),
    (node("softmax", "x"), r"no entry for these attrs: axis=-1"),
    (node("softmax", "x", axis=1.0), "attr axis is of another type than the declared one: int"),
    (node("softmax", "x", axis=[1]), "attr axis is of another type than the declared one: int"),
    (node("softmax", "x", axis="1"), "attr axis is of another type than the declared one: int"),
    (node("softmaxx", "x", axis=1), "softmaxx"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "message"), REFUSED)
def test_nodes_that_no_entry_serves(wrong: Any, message: str, library: Path) -> None:
    with pytest.raises(Exception, match=message):
        session(model_of([wrong], ANY, {"y": None}), library)


def test_another_element_type(library: Path) -> None:
    whole = open_type("x", 2, "int32")
    with pytest.raises(Exception, match="int32"):
        session(model_of([node("softmax", "x", axis=1)], {"x": whole}, {"y": whole}), library)


def test_shapes_that_no_entry_serves(library: Path) -> None:
    made = session(model_of([node("softmax", "x", axis=1)], ANY, {"y": None}), library)
    message = (
        r"opgen::softmax: the library has no entry for operands of these ranks, found the shapes \[2, 1, 3\]"
    )
    with pytest.raises(Exception, match=message):
        made.run(None, {"x": values(2, 1, 3)})
    made = session(model_of([node("matmul", "x", "w")], dict.fromkeys("xw"), {"y": None}), library)
    message = (
        r"opgen::matmul: a\.shape\[1\] == b\.shape\[0\] must hold .* found the shapes \[2, 3\], \[4, 5\]"
    )
    with pytest.raises(Exception, match=message):
        made.run(None, {"x": values(2, 3), "w": values(4, 5)})


def test_a_required_attr_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "ops.so"
    export(path, [request("broadcast_to", [TensorType((1, 3), "float32")], {"shape": [2, 3]})])
    with pytest.raises(Exception, match="opgen::broadcast_to: attr shape is missing, and has no default"):
        session(model_of([node("broadcast_to", "x")], {"x": MATRIX}, {"y": MATRIX}), path)


def test_results_of_different_types_from_the_same_operands(tmp_path: Path) -> None:
    requests = [request("cast", [MATRIX], {"dtype": dtype}) for dtype in ("int32", "float64")]
    with pytest.raises(
        ExecutorError, match=r'dtype="float64" and .* dtype="int32" have results of different element types'
    ):
        export(tmp_path / "ops.so", requests)
    assert os.listdir(tmp_path) == []


def test_floats_that_are_tensors(tmp_path: Path) -> None:
    path = tmp_path / "ops.so"
    export(path, [request("leaky_relu", [MATRIX], {"alpha": 1 / 3})])
    third = helper.make_tensor("third", TensorProto.DOUBLE, [], [1 / 3])
    made = session(model_of([node("leaky_relu", "x", alpha=third)], {"x": MATRIX}, {"y": MATRIX}), path)
    x = values(3, 4)
    np.testing.assert_array_equal(made.run(None, {"x": x})[0], eager.leaky_relu(x, alpha=1 / 3))
    for wrong in (
        helper.make_tensor("half", TensorProto.DOUBLE, [], [0.5]),
        helper.make_tensor("whole", TensorProto.INT64, [], [1]),
    ):
        with pytest.raises(Exception, match="opgen::leaky_relu"):
            session(model_of([node("leaky_relu", "x", alpha=wrong)], {"x": MATRIX}, {"y": MATRIX}), path)


def test_an_older_onnxruntime_is_told(library: Path) -> None:
    """A base of the API that has version 1 alone."""
    said: list[bytes] = []

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p)
    def create_status(code: int, text: bytes) -> int:
        said.append(text)
        return 1

    functions = (ctypes.c_void_p * 1)(ctypes.cast(create_status, ctypes.c_void_p).value)

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
    def get_api(version: int) -> int | None:
        return ctypes.addressof(functions) if version == 1 else None

    version = ctypes.c_char_p(b"1.12.1")
    get_version = ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: ctypes.cast(version, ctypes.c_void_p).value)
    base = (ctypes.c_void_p * 2)(
        *[ctypes.cast(each, ctypes.c_void_p).value for each in (get_api, get_version)]
    )
    register = ctypes.CDLL(str(library)).RegisterCustomOps
    register.restype = ctypes.c_void_p
    assert register(None, base) == 1
    assert said == [
        b"opgen: these ops need onnxruntime 1.16 or later (version 16 of its C API), found onnxruntime 1.12.1"
    ]


def test_a_library_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [request("exp", [MATRIX], {})]
    old = tmp_path / "ops.so"
    old.write_bytes(b"old")
    failing = tmp_path / "ld"
    failing.write_text("#!/bin/sh\necho no room on the device >&2\nexit 3\n")
    failing.chmod(0o755)
    with pytest.raises(ExecutorError, match=r"ld gave up with status 3: no room on the device"):
        export(old, asked, linker=str(failing))
    with pytest.raises(ExecutorError, match=r"the linker 'ld\.absent' is not there; install binutils"):
        export(old, asked, linker="ld.absent")
    with pytest.raises(IsADirectoryError, match="is a folder; expected the name of a file"):
        export(tmp_path, asked)
    with pytest.raises(FileNotFoundError, match=r"nowhere/ops\.so"):
        export(tmp_path / "nowhere" / "ops.so", asked)
    assert old.read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["ld", "ops.so"]


def test_a_library_exports_one_function_and_needs_the_c_library_alone(library: Path) -> None:
    content = library.read_bytes()
    assert b"opgen_runtime" not in content
    for name in (b"libm.so.6", b"libc.so.6", b"RegisterCustomOps"):
        assert name in content
    loaded = ctypes.CDLL(str(library))
    assert not hasattr(loaded, "opgen_entry0_driver")
