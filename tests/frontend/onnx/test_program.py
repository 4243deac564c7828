"""Programs: specialised on types and on values that decide, kept, and refused with all reasons at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, parser  # noqa: E402

import opgen_runtime as rt  # noqa: E402
from opgen_runtime.frontend.onnx import (  # noqa: E402
    Backend,
    ModelError,
    UnsupportedOperatorError,
    inspect_model,
    load,
    prepare,
    run,
)
from tests.frontend.onnx.text import model  # noqa: E402

RANDOM = np.random.default_rng(3)


def f32(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


DENSE = model(
    "g (float[batch, 4] x) => (float[batch, 3] y) { z = MatMul (x, w)  y = Relu (z) }",
    ("w", np.arange(12, dtype=np.float32).reshape(4, 3) - 5),
)


def expected_dense(x: np.ndarray) -> np.ndarray:
    return np.maximum(x @ (np.arange(12, dtype=np.float32).reshape(4, 3) - 5), 0)


def test_one_compilation_a_signature() -> None:
    program = prepare(DENSE)
    for batch in (2, 5, 2):
        x = f32(batch, 4)
        np.testing.assert_allclose(program([x])[0], expected_dense(x), rtol=1e-5, atol=1e-5)
    assert [len(known or ()) for known in map(program._compiled.get, program._compiled)] == [1, 1]


def outcome(program: Any, inputs: Any) -> Any:
    """The outputs, or the error's text."""
    try:
        return program(inputs)
    except ModelError as error:
        return str(error)


def test_inputs_of_a_known_call_are_looked_at_again() -> None:
    """What a program kept for an input changes nothing for others: each is taken, or refused, as by a new program."""
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    others: list[Any] = [
        [x], {"x": x}, (x,), [x.T], [np.asfortranarray(x)], [np.repeat(x, 2, 1)[:, ::2]], [x.tolist()],
        [x.astype(">f4")], [x.astype(np.float64)], [x.view(np.int32)], [np.ma.array(x, mask=x > 3)], [x[:2]],
        [x[:0]], [x.reshape(2, 8)], [np.asarray(x).view(np.matrix)], [], [x, x], {"y": x}, {"x": x, "y": x},
        {"x": None}, [None], x, np.stack([x]), [memoryview(x)], [x.astype(np.float16)],
    ]  # fmt: skip
    known = prepare(DENSE)
    for inputs in others:
        known([x])
        np.testing.assert_equal(outcome(known, inputs), outcome(prepare(DENSE), inputs))
    assert known._entry is not None


@pytest.mark.parametrize("graph", [
    "(float[n] a, float[n] b) => (float[n] y) { y = Sub (b, a) }",
    "(float[n] a, float[n] b) => (float[n] y) { y = Neg (b) }",
    "(float[n] a, float[n] b) => (float[n] y, float[n] z) { y = Sub (b, a)  z = Exp (a) }",
    "(float[n] a, float[n] b) => (float[n] y, float[n] a) { y = Sub (b, a) }",
    "(float[n] a, float[n] b) => (float[n] y, float[n] y2) { y = Sub (b, a)  y2 = Identity (y) }",
    "(float[n] a, float[n] b) => (float[n] a, float[1] c) { c = Constant <value = float[1] {2}> () }",
])  # fmt: skip
def test_later_calls_give_what_the_first_gave(graph: str) -> None:
    """Outputs are new arrays each time, in the graph's order."""
    program = prepare(model(f"g {graph}"))
    a, b = f32(5), f32(5)
    first = program([a, b])
    kept = [array.copy() for array in first]
    for inputs in ([a, b], {"b": b, "a": a}, [a, b]):
        again = program(inputs)
        np.testing.assert_equal(again, kept)
        assert not any(np.shares_memory(one, other) for one in again for other in (*first, a, b))


def test_inputs_by_name_bytes_and_files(tmp_path: Any) -> None:
    x = f32(1, 4)
    path = tmp_path / "dense.onnx"
    onnx.save(DENSE, path)
    for each in (DENSE, DENSE.SerializeToString(), path, str(path)):
        np.testing.assert_allclose(run(each, {"x": x})[0], expected_dense(x), rtol=1e-5)


def test_shape_like_inputs_are_specialised_on() -> None:
    program = prepare(model("g (float[n, 6] x, int64[2] s) => (float[a, b] y) { y = Reshape (x, s) }"))
    x = f32(2, 6)
    for shape in ((3, 4), (-1, 2), (3, 4)):
        np.testing.assert_array_equal(program([x, np.array(shape)])[0], x.reshape(shape))
    assert [len(known or ()) for known in map(program._compiled.get, program._compiled)] == [2]


def test_values_computed_from_inputs_decide() -> None:
    text = """g (float[n] x, int64[1] k) => (float[m] y) {
        two = Constant <value_ints = [2]> ()  end = Mul (k, two)  zero = Constant <value_ints = [0]> ()
        y = Slice (x, zero, end) }"""
    program = prepare(model(text))
    x = f32(9)
    for k in (1, 3, 1):
        np.testing.assert_array_equal(program([x, np.array([k])])[0], x[: 2 * k])


def test_shapes_that_depend_on_data() -> None:
    text = "g (float[n] x) => (float[m] y) { i = NonZero (x)  t = Transpose (i)  z = GatherND (x, t)  y = Exp (z) }"
    program = prepare(model(text))
    for x in (np.array([0, 2, 0, 3]), np.array([1, 0, 5, 4]), np.array([0, 0, 0, 0]), np.array([5, 0, 0, 6])):
        x = x.astype(np.float32)
        np.testing.assert_allclose(program([x])[0], np.exp(x[x != 0]), rtol=1e-5)
    assert [len(known or ()) for known in map(program._compiled.get, program._compiled)] == [3]


def test_branches_and_loops() -> None:
    text = """g (float[3] x, bool c, int64 n) => (float[3] y, float[m, 3] all) {
        start = If (c) <then_branch = t () => (float[3] a) { a = Neg (x) },
                        else_branch = e () => (float[3] b) { b = Identity (x) }>
        y, all = Loop (n, , start) <body = l (int64 i, bool go, float[3] s) => (bool more, float[3] d, float[3] row)
            { more = Identity (go)  d = Add (s, x)  row = Mul (d, x) }> }"""
    program = prepare(model(text))
    x = f32(3)
    for flag, steps in ((True, 2), (False, 3), (True, 0)):
        state, rows = (-x if flag else x), []
        for _ in range(steps):
            state = state + x
            rows.append(state * x)
        y, stacked = program([x, np.array(flag), np.array(steps)])
        np.testing.assert_allclose(y, state, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(stacked, np.reshape(rows, (steps, 3)), rtol=1e-5, atol=1e-6)


def test_what_inputs_do_not_decide_is_constant() -> None:
    text = """g (float[2, n] x) => (int64[2] s, float[k] y) {
        s = Shape (x)  p = ReduceProd <keepdims = 0> (s)  q = Unsqueeze (p, zero)  y = Reshape (x, q) }"""
    program = prepare(model(text, ("zero", np.array([0]))))
    x = f32(2, 5)
    s, y = program([x])
    np.testing.assert_array_equal(s, [2, 5])
    np.testing.assert_array_equal(y, x.reshape(-1))
    (signature,) = program._compiled
    (specialisation,) = program._compiled.get(signature) or ()
    assert not specialisation.checks


def test_random_numbers_differ_between_calls_and_not_for_a_seed() -> None:
    free = prepare(model("g () => (float[100] y) { y = RandomNormal <shape = [100]> () }"))
    assert not np.array_equal(free([])[0], free([])[0])
    seeded = model("g () => (float[100] y) { y = RandomUniform <shape = [100], seed = 3.0> () }")
    first = run(seeded, [])[0]
    np.testing.assert_array_equal(first, run(seeded, [])[0])
    assert 0 <= first.min() < 0.2 < 0.8 < first.max() < 1


def test_functions_of_a_model() -> None:
    text = """<ir_version: 8, opset_import: ["" : 18, "own" : 1]>
        g (float[3] x) => (float[3] y) { y = own.scaled <by = 3.0> (x) }
        <domain: "own", opset_import: ["" : 18]> scaled <by> (a) => (b)
        { f = Constant <value_float: float = @by> ()  b = Mul (a, f) }"""
    x = f32(3)
    np.testing.assert_allclose(run(parser.parse_model(text), [x])[0], x * 3, rtol=1e-6)


def test_all_unsupported_operators_at_once() -> None:
    made = model("g (float[3] x) => (float[3] y) { a = Relu (x)  b = StringSplit (a)  y = NoSuch (b) }")
    with pytest.raises(UnsupportedOperatorError) as caught:
        prepare(made)
    assert [node.operator for node in caught.value.nodes] == ["StringSplit", "NoSuch"]
    assert str(caught.value).splitlines()[0] == "unsupported: NoSuch, StringSplit"
    assert not Backend.is_compatible(made)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "the model has 1 inputs (x), found 0"),
        ({"a": 1}, "no input 'a'; the model's inputs are x"),
        ([np.zeros((2, 4))], "input 'x' must be float32, found float64"),
        ([np.zeros((2, 5), np.float32)], "input x: float32 [batch, 4] is given an array of shape (2, 5)"),
    ],
)
def test_inputs_that_do_not_fit(inputs: Any, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        prepare(DENSE)(inputs)
    assert str(caught.value) == message


def test_errors_name_the_node() -> None:
    made = model("g (float[2, 3] x, float[4] b) => (float[2, 4] y) { [adder] y = Add (x, b) }")
    with pytest.raises(ModelError, match=r"^adder: Add: add: shapes \(2, 3\) and \(4,\) do not broadcast"):
        run(made, [f32(2, 3), f32(4)])


def test_num_outputs_of_split_is_that_of_the_node() -> None:
    text = "g (float[5] x) => (float[k] a, float[n] b) {{ a, b = Split <num_outputs = {}> (x) }}"
    x = f32(5)
    for found, wanted in zip(run(model(text.format(2)), [x]), (x[:3], x[3:]), strict=True):
        np.testing.assert_array_equal(found, wanted)
    for wrong in (1, 3, 0, -1, 1 << 40):
        with pytest.raises(ModelError, match=f"Split: .*num_outputs.*{wrong}"):
            run(model(text.format(wrong)), [x])


def test_load_gives_a_module_and_its_weights() -> None:
    module, params = load(DENSE, shapes={"x": (2, 4)})
    assert list(params) == ["w"]
    assert str(module["main"].checked_type).startswith("fn(Tensor[(2, 4), float32], Tensor[(4, 3), float32])")
    x = f32(2, 4)
    value = rt.create_executor("debug", module).evaluate()(x, params["w"])
    np.testing.assert_allclose(value.numpy(), expected_dense(x), rtol=1e-5, atol=1e-5)
    assert rt.structural_equal(rt.parse_module(str(module))["main"], module["main"])


def test_the_backend_runs_nodes() -> None:
    x = f32(3)
    (found,) = Backend.run_node(helper.make_node("Abs", ["x"], ["y"]), [x])
    np.testing.assert_array_equal(found, np.abs(x))
    assert Backend.supports_device("CPU")
    assert not Backend.supports_device("CUDA:0")


def test_inspection() -> None:
    found = inspect_model(DENSE)
    assert found.inputs == ("x: float32 [batch, 4]",)
    assert found.outputs == ("y: float32 [batch, 3]",)
    assert found.parameters == 12
    assert [(use.operator, use.count, use.mapped) for use in found.operators] == [
        ("MatMul", 1, "composed"),
        ("Relu", 1, "relu"),
    ]
    assert found.unsupported == ()


def test_weights_that_are_sparse() -> None:
    made = model("g (float[2, 3] x) => (float[2, 3] y) { y = Add (x, s) }")
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("s", TensorProto.FLOAT, [2], [1.5, 2.5]),
        helper.make_tensor("", TensorProto.INT64, [2], [1, 5]),
        [2, 3],
    )
    made.graph.sparse_initializer.append(sparse)
    np.testing.assert_array_equal(run(made, [np.zeros((2, 3), np.float32)])[0], [[0, 1.5, 0], [0, 0, 2.5]])


def test_values_that_mutants_of_models_found() -> None:
    """NaN is neither above nor below in Shrink; an empty list of axes is all of them; a bool is 0 or 1."""
    head = '<ir_version: 8, opset_import: ["" : 17]>'
    x = np.array([-2.0, 0.25, np.nan, 3.0], np.float32)
    shrink = parser.parse_model(
        f"{head} g (float[4] x) => (float[4] y) {{ y = Shrink <lambd = 1.0, bias = 0.5> (x) }}"
    )
    np.testing.assert_array_equal(run(shrink, [x])[0], np.array([-1.5, 0.0, 0.0, 2.5], np.float32))
    reduce = parser.parse_model(
        f"{head} g (float[2, 3] x) => (y) {{ y = ReduceMax <axes : ints = [], keepdims = 0> (x) }}"
    )
    np.testing.assert_array_equal(
        run(reduce, [np.arange(6, dtype=np.float32).reshape(2, 3)])[0], np.float32(5)
    )
    truth = parser.parse_model(f"{head} g () => (y) {{ y = Identity (b) }}")
    truth.graph.initializer.add(name="b", data_type=TensorProto.BOOL, dims=[3], raw_data=b"\x00\x02\xff")
    np.testing.assert_array_equal(run(truth, [])[0], np.array([False, True, True]))
