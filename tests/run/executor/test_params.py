"""Params of executables: initialised once, replaced without a compile, in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.errors import ExecutorError, TypeInferenceError
from opgen_runtime.codegen.objects import compile as compiler

KEY, COUNTER = np.array([1, 2], np.uint32), np.zeros(2, np.uint32)


def image_network() -> rt.Function:
    """A convolution, a normalisation that is folded into it, a product."""
    image = rt.var("image", shape=(1, 4, 8, 8))
    filters = rt.var("filters", shape=(16, 4, 3, 3))
    gamma, beta, mean, variance = (
        rt.var(name, shape=(16,)) for name in ("gamma", "beta", "mean", "variance")
    )
    weight = rt.var("weight", shape=(5, 1024))
    y = ops.conv2d(image, filters, channels=16, kernel_size=(3, 3), padding=(1, 1, 1, 1))
    y = ops.relu(ops.batch_norm(y, gamma, beta, mean, variance)[0])
    y = ops.softmax(ops.dense(ops.reshape(y, newshape=(1, 1024)), weight))
    return rt.Function((image, filters, gamma, beta, mean, variance, weight), y)


NETWORK = image_network()


def values(seed: int) -> dict[str, np.ndarray]:
    """Of all its parameters."""
    draw = np.random.default_rng(seed)
    return {
        param.name_hint: draw.uniform(0.5, 1.5, param.checked_type.concrete_shape).astype(np.float32)  # type: ignore[attr-defined]
        for param in NETWORK.params
    }


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Refuses all LLVM text once it is called `on`."""

    def refuse(*_: object) -> None:
        raise AssertionError("compiled again")

    def on() -> None:
        monkeypatch.setattr(compiler, "_parse", refuse)

    monkeypatch.on = on  # type: ignore[attr-defined]
    return monkeypatch


@pytest.mark.parametrize("level", [0, 2, 3, 4])
def test_other_params_are_prepared_by_the_kernels_that_there_are(level: int, no_compiler: Any) -> None:
    first, second = values(1), values(2)
    image = {"image": first.pop("image")}
    del second["image"]
    executable = rt.build(NETWORK, first, opt_level=level)
    wanted = rt.build(NETWORK, second, opt_level=level).run(image)
    before = executable.run(image)
    no_compiler.on()
    executable.set_params(second)
    np.testing.assert_array_equal(executable.run(image), wanted)
    assert not np.array_equal(before, wanted)
    executable.set_params(first)
    np.testing.assert_array_equal(executable.run(image), before)


def test_some_are_replaced_and_the_others_stay() -> None:
    given = values(1)
    image = {"image": given.pop("image")}
    executable = rt.build(NETWORK, given)
    executable.set_params({"weight": np.zeros((5, 1024), np.float32)})
    np.testing.assert_array_equal(executable.run(image), np.full((1, 5), 0.2, np.float32))
    assert sorted(executable.params) == sorted(given)
    np.testing.assert_array_equal(executable.params["gamma"], given["gamma"])
    with pytest.raises(ValueError, match="read-only"):
        executable.params["gamma"][0] = 1


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "wieght",
            0.0,
            r"the program has no param 'wieght'; did you mean 'weight'\? \(it has filters, gamma",
        ),
        (
            "weight",
            np.zeros((5, 3), np.float32),
            r"param 'weight' must be float32\[5, 1024\], found float32\[5, 3\]",
        ),
        ("beta", np.zeros(16), r"param 'beta' must be float32\[16\], found float64\[16\]"),
        ("beta", "text", "param 'beta' must be an array"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, value: object, message: str) -> None:
    given = values(1)
    del given["image"]
    executable = rt.build(NETWORK, given)
    with pytest.raises(ExecutorError, match=message):
        executable.set_params({name: value})


def test_a_program_that_was_loaded_has_none(tmp_path: Path) -> None:
    given = values(1)
    del given["image"]
    rt.build(NETWORK, given).save(tmp_path / "program")
    loaded = rt.load(tmp_path / "program")
    assert dict(loaded.params) == {}
    with pytest.raises(ExecutorError, match="the program has no params: it was built without, or was loaded"):
        loaded.set_params({"beta": given["beta"]})


# ------------------------------------------------------------------ initialisers


def initialised() -> rt.Function:
    x = rt.var("x", shape=(2, 4))
    weight = rt.var("weight", init=ops.random_normal(KEY, COUNTER, shape=(3, 4)))
    bias = rt.var("bias", init=lambda type_: ops.full(rt.const(0.5, type_.dtype), shape=type_.shape))
    return rt.Function((x, weight, bias), ops.bias_add(ops.dense(x, weight), bias, axis=-1))


def test_initialisers_run_once_into_params() -> None:
    executable = rt.build(initialised())
    assert executable.inputs == ("x",)
    drawn = rt.eager.random_normal(KEY, COUNTER, shape=(3, 4))
    np.testing.assert_array_equal(executable.params["weight"], drawn)
    np.testing.assert_array_equal(executable.params["bias"], np.full(3, 0.5, np.float32))
    assert all(kernel == "opgen_dense_bias_add" for kernel in executable.kernels)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_allclose(executable.run([x]), x @ drawn.T + 0.5, rtol=1e-5, atol=1e-5)
    executable.set_params({"weight": np.zeros((3, 4), np.float32)})  # which stays what it is
    np.testing.assert_array_equal(executable.run([x]), np.full((2, 3), 0.5, np.float32))
    np.testing.assert_array_equal(executable.params["bias"], np.full(3, 0.5, np.float32))


def test_a_value_that_is_given_goes_before() -> None:
    executable = rt.build(initialised(), {"weight": np.ones((3, 4), np.float32)})
    np.testing.assert_array_equal(executable.params["weight"], np.ones((3, 4), np.float32))
    assert sorted(executable.params) == ["bias", "weight"]


def test_types_by_name_reach_initialisers_and_free_variables() -> None:
    x, scale = (
        rt.var("x"),
        rt.var("scale", init=lambda type_: ops.full(rt.const(2, type_.dtype), shape=type_.shape)),
    )
    executable = rt.build(rt.Function((x,), ops.prelu(x, scale)), shape={"x": (1, 3)}, dtype="float64")
    np.testing.assert_array_equal(executable.params["scale"], np.full(3, 2.0))
    np.testing.assert_array_equal(executable.run([np.array([[-1.0, 1, -3]])]), [[-2, 1, -6]])


def test_initialisers_that_cannot_be() -> None:
    x = rt.var("x", shape=(2,))
    with pytest.raises(TypeInferenceError, match="the initialiser of 'y' reads x, which nothing binds"):
        rt.var("y", init=ops.exp(x))
    with pytest.raises(
        TypeInferenceError, match=r"variable 'y' is Tensor\[\(3,\), float32\], and its initialiser"
    ):
        rt.var("y", shape=(3,), init=rt.const(1.0))
    wrong = rt.var("y", shape=(3,), init=lambda type_: rt.const(1.0))
    with pytest.raises(
        ExecutorError, match=r"the initialiser of 'y' must give Tensor\[\(3,\), float32\], found"
    ):
        rt.build(rt.Function((wrong,), ops.exp(wrong)))


# ------------------------------------------------------------------ files


def test_params_in_files(tmp_path: Path) -> None:
    given = values(1)
    image = {"image": given.pop("image")}
    executable = rt.build(NETWORK, given)
    wanted = executable.run(image)
    executable.save_params(tmp_path / "params.safetensors")
    executable.set_params({"beta": np.zeros(16, np.float32)})
    rt.GraphRuntime(executable).load_params(tmp_path / "params.safetensors")
    np.testing.assert_array_equal(executable.run(image), wanted)


def test_the_form_whole(tmp_path: Path) -> None:
    rt.save_params({"a": np.array([[1, 2]], ">i2"), "b": np.array(True)}, tmp_path / "params")
    header = (
        b'{"a":{"dtype":"I16","shape":[1,2],"data_offsets":[0,4]},'
        b'"b":{"dtype":"BOOL","shape":[],"data_offsets":[4,5]}}'
    )
    header += b" " * (-len(header) % 8)
    expected = len(header).to_bytes(8, "little") + header + b"\1\0\2\0\1"
    assert (tmp_path / "params").read_bytes() == expected


DTYPES = ("bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64")


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(0, 3), max_size=3)), max_size=4))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[tuple[str, list[int]]]
) -> None:
    path = tmp_path_factory.mktemp("params") / "file"
    draw = np.random.default_rng(0)
    arrays = {f"p{k}": draw.integers(0, 2, shape).astype(dtype) for k, (dtype, shape) in enumerate(kinds)}
    rt.save_params(arrays, path)
    found = rt.load_params(path)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda whole: whole[:5], "holds no params: its header would have"),
        (lambda whole: b"\xff" * 8 + whole[8:], "holds no params: its header would have"),
        (lambda whole: whole[:-3], r"is damaged: p lies from 0 to 8, float32\[2\]"),
        (lambda whole: whole.replace(b"[2]", b"[3]"), r"is damaged: p lies from 0 to 8, float32\[3\]"),
        (lambda whole: whole.replace(b"[2]", b"[-]"), "is damaged: its header cannot be read"),
        (lambda whole: whole.replace(b"F32", b"F33"), "is damaged: its header cannot be read: 'F33'"),
        (
            lambda whole: whole.replace(b'"shape"', b'"shade"'),
            "is damaged: its header cannot be read: 'shape'",
        ),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, damage: Any, message: str) -> None:
    path = tmp_path / "file"
    rt.save_params({"p": np.zeros(2, np.float32)}, path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ExecutorError, match=message):
        rt.load_params(path)


# ------------------------------------------------------------------ the graph


def test_the_graph_whole() -> None:
    x, weight = rt.var("x", shape=(2, 4)), rt.var("weight", shape=(3, 4))
    function = rt.Function((x, weight), ops.softmax(ops.relu(ops.dense(x, weight)), axis=1))
    executable = rt.build(function, {"weight": np.ones((3, 4), np.float32)}, target="llvm -num-threads=1")
    assert json.loads(executable.graph) == {
        "nodes": [
            {"op": "null", "name": "x", "inputs": []},
            {"op": "null", "name": "weight", "inputs": []},
            {
                "op": "kernel", "name": "opgen_dense_relu_2", "inputs": [[0, 0, 0], [1, 0, 0]],
                "attrs": {"num_inputs": 2, "num_outputs": 1, "func_name": "opgen_dense_relu"},
            },
            {
                "op": "kernel", "name": "opgen_softmax_3", "inputs": [[2, 0, 0]],
                "attrs": {"num_inputs": 1, "num_outputs": 1, "func_name": "opgen_softmax"},
            },
        ],
        "arg_nodes": [0, 1],
        "heads": [[3, 0, 0]],
        "node_row_ptr": [0, 1, 2, 3, 4],
        "attrs": {
            "shape": [[2, 4], [3, 4], [2, 3], [2, 3]],
            "dtype": ["float32"] * 4,
            "offset": [-1, -1, 0, -1],
        },
    }  # fmt: skip


def test_graphs_of_one_kernel_of_open_dims_and_of_loops() -> None:
    x = rt.var("x", shape=(rt.dim("n"), 4))
    one = json.loads(rt.build(rt.Function((x,), ops.softmax(x))).graph)
    assert [node["name"] for node in one["nodes"]] == ["x", "opgen_softmax_1"]
    assert one["attrs"]["shape"] == [["n", 4], ["n", 4]]
    loop = rt.build(
        rt.parse_module(
            "def @main(%n: Tensor[(), int64], %x: Tensor[(3,), float32]) -> Tensor[(3,), float32] {\n"
            "  if (greater(%n, 0i64)) { @main(subtract(%n, 1i64), softmax(%x)) } else { %x }\n}"
        )
    )
    found = json.loads(loop.graph)
    kinds = [
        "null",
        "null",
        "loop",
        "kernel",
        "if",
        "kernel",
        "kernel",
        "again",
        "else",
        "copy",
        "leave",
        "end",
        "end",
    ]
    assert [node["op"] for node in found["nodes"]] == kinds
    assert found["nodes"][9]["inputs"] == [[2, 1, 0]]  # what the loop carries
    assert found["heads"] == [[12, 0, 0]]


def test_a_program_without_a_plan_has_no_graph() -> None:
    program = rt.parse_module(
        "def @main(%n: Tensor[(), int64]) -> Tensor[(), int64] {\n"
        "  if (greater(%n, 0i64)) { add(@main(subtract(%n, 1i64)), 1i64) } else { %n }\n}"
    )
    with pytest.raises(
        ExecutorError, match="the program has no graph: @main calls itself elsewhere than at its end"
    ):
        _ = rt.build(program).graph
