"""Models with open dims: one program for all sizes where their operators allow it, else one for each shape."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import numpy_helper, parser  # noqa: E402

from opgen_runtime.base.errors import ExecutorError  # noqa: E402
from opgen_runtime.frontend.onnx import Limits, ModelError, prepare  # noqa: E402
from opgen_runtime.run.compile.kernel.symbolic import SymbolicKernel  # noqa: E402
from opgen_runtime.run.compile.program import planning  # noqa: E402

RANDOM = np.random.default_rng(5)


def f32(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def model(text: str, **initializers: np.ndarray) -> Any:
    made = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    for name, array in initializers.items():
        made.graph.initializer.append(numpy_helper.from_array(array, name))
    return made


MODELS = {
    "attention": model(
        "g (float[batch, sequence, 16] x) => (float[a, b, 16] y) { q = MatMul (x, w) "
        "k = Transpose <perm = [0, 2, 1]> (x)  s = MatMul (q, k)  p = Softmax (s)  o = MatMul (p, x) "
        "y = LayerNormalization (o, g, h) }",
        w=f32(16, 16) / 8,
        g=f32(16),
        h=f32(16),
    ),
    "dropout": model(
        "g (float[batch, sequence, 16] x) => (float[a, b, 16] y) { d, m = Dropout (x)  s = Where (m, d, zero) "
        "y = Relu (s) }",
        zero=np.array(0, np.float32),
    ),
    "heads": model(
        "g (float[batch, sequence, 16] x) => (float[a, 4, b, 4] y) { r = Reshape (x, to) "
        "y = Transpose <perm = [0, 2, 1, 3]> (r) }",
        to=np.array([0, 0, 4, 4]),
    ),
    "sizes": model(
        "g (float[batch, sequence, 16] x) => (float[a, b, 16] y) { s = Shape (x)  n = Gather (s, zero) "
        "m = Gather (s, one)  b = Unsqueeze (n, zeros)  c = Unsqueeze (m, zeros)  to = Concat <axis = 0> (b, c, four) "
        "i = Cast <to = 6> (to)  t = Cast <to = 7> (i)  r = Reshape (x, t)  u = Transpose <perm = [0, 2, 1, 3]> (r) "
        "e = Exp (u)  v = Transpose <perm = [0, 2, 1, 3]> (e)  back = Slice (s, zeros, three) "
        "w = Reshape (v, back)  y = Expand (w, s) }",
        zero=np.array(0),
        one=np.array(1),
        zeros=np.array([0]),
        three=np.array([3]),
        four=np.array([4, 4]),
    ),
    "taken apart and put together": model(
        "g (float[batch, sequence, 120] x) => (float[a, b, 120] y) { p = Reshape (x, apart)  q = Reshape (p, whole) "
        "r = Add (q, x)  s = Reshape (r, apart)  t = Reshape (s, whole)  y = Add (t, q) }",
        apart=np.array([0, -1, 3, 8, 5]),
        whole=np.array([0, -1, 120]),
    ),
    "convolution": model(
        "g (float[batch, 3, 8, 8] x) => (float[batch, 5] y) { c = Conv <pads = [1, 1, 1, 1]> (x, w, b)  r = Relu (c) "
        "p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r)  m = GlobalAveragePool (p)  f = Flatten (m) "
        "y = Gemm <transB = 1> (f, v) }",
        w=f32(4, 3, 3, 3),
        b=f32(4),
        v=f32(5, 4),
    ),
    "image": model(
        "g (float[2, 2, batch, sequence] x) => (float[2, 4, i, j] y) { c = Conv <pads = [1, 1, 1, 1]> (x, w, b) "
        "m = MaxPool <kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1]> (c) "
        "a = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (m)  s = Slice (a, none, three, last) "
        "u = Resize (s, , twice)  p = Pad (u, pads)  y = Relu (p) }",
        w=f32(4, 2, 3, 3),
        b=f32(4),
        none=np.array([0]),
        three=np.array([3]),
        last=np.array([3]),
        twice=np.array([1, 1, 2, 2], np.float32),
        pads=np.array([0, 0, 1, 0, 0, 0, 0, 2]),
    ),
}


def given(made: Any, batch: int, sequence: int) -> np.ndarray:
    dims = made.graph.input[0].type.tensor_type.shape.dim
    sizes = {"batch": batch, "sequence": sequence}
    return f32(*[sizes[d.dim_param] if d.dim_param else d.dim_value for d in dims])


@pytest.mark.parametrize("name", MODELS)
def test_shapes_after_the_first_have_one_program(name: str) -> None:
    program, other = (prepare(MODELS[name], "llvm -num-threads=1") for _ in range(2))
    sizes = ((2, 5), (9, 11), (1, 1), (3, 7))
    arrays = [given(MODELS[name], *each) for each in sizes]
    found = [program([x])[0] for x in arrays]
    made = [program._compiled.get(key) for key in program._compiled]
    first, other_sizes = [known[0] for known in made if known]
    assert [other_sizes] == list(program._open) != [first]
    assert "shapes after the first have one program, for all sizes:" in program.explain()
    # what was compiled for all sizes there is compiled for its shapes here, and the other way
    for k in (1, 0, 2):
        np.testing.assert_allclose(other([arrays[k]])[0], found[k], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(program([arrays[0]])[0], found[0])


DEFECTS = (RecursionError, AttributeError, ZeroDivisionError, KeyError, RuntimeError, NotImplementedError)


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_of_the_program_for_all_sizes_leaves_those_of_each_shape(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, defect: type[Exception]
) -> None:
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))  # where the reason is kept, too
    monkeypatch.setenv("OPGEN_DEFECTS", "")
    monkeypatch.delenv("OPGEN_VERIFY", raising=False)
    attempts = 0

    def fails(self: object, *given: object) -> None:
        nonlocal attempts
        attempts += 1
        raise defect("a mistake")

    expected = prepare(MODELS["attention"], "llvm -num-threads=1")
    program = prepare(MODELS["attention"], "llvm -num-threads=1")
    arrays = [given(MODELS["attention"], *sizes) for sizes in ((2, 5), (3, 4), (1, 7))]
    with monkeypatch.context() as patch:
        patch.setattr(SymbolicKernel, "__init__", fails)
        found = [program([x])[0] for x in arrays]
    assert attempts == 1  # it is not made again
    assert f"for each combination of shapes: internal error: {defect.__name__}: " in program.explain()
    for x, y in zip(arrays, found, strict=True):
        np.testing.assert_allclose(y, expected([x])[0], rtol=1e-4, atol=1e-5)


def test_in_tests_a_defect_ends_the_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))
    assert os.environ["OPGEN_DEFECTS"] == "raise"

    def fails(self: object, *given: object) -> None:
        raise LookupError("a mistake")

    monkeypatch.setattr(SymbolicKernel, "__init__", fails)
    for name, value in (("OPGEN_DEFECTS", "raise"), ("OPGEN_VERIFY", "1")):
        program = prepare(MODELS["attention"], "llvm -num-threads=1")
        program([given(MODELS["attention"], 2, 5)])
        with monkeypatch.context() as patch:
            patch.delenv("OPGEN_DEFECTS", raising=False)
            patch.setenv(name, value)
            with pytest.raises(LookupError, match="a mistake"):
                program([given(MODELS["attention"], 3, 4)])


def test_in_tests_a_broken_rule_ends_the_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One of the program for all sizes, too, which else is a reason why there is none."""
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPGEN_VERIFY", "1")
    program = prepare(MODELS["attention"], "llvm -num-threads=1")
    program([given(MODELS["attention"], 2, 5)])
    monkeypatch.setattr(planning._Body, "_fill", lambda *_: None)
    with pytest.raises(ExecutorError, match=r"@main, after plan: .*rule: results are filled"):
        program([given(MODELS["attention"], 3, 4)])


def test_explain_says_why_there_is_no_such_program() -> None:
    nonzero = model("g (float[n] x) => (int64[1, m] y) { y = NonZero (x) }")
    rank = model("g (float[] x) => (float[] y) { y = Abs (x) }")
    rank.graph.input[0].type.tensor_type.ClearField("shape")
    dropped = model("g (float[n] x) => (float[m] y) { s = Squeeze (x)  y = Abs (s) }")
    known = model("g (float[3] x) => (float[3] y) { y = Abs (x) }")
    for made, why in (
        (nonzero, "are known when it runs"),
        (rank, "input 'x' has no rank"),
        (dropped, "the shape (n,) is not known"),
        (known, "all dims of its inputs are known"),
    ):
        program = prepare(made)
        for size in (3, 3) if made is known else (3, 4):
            x = f32(size)
            wanted = np.stack(np.nonzero(x)) if made is nonzero else np.abs(x)
            np.testing.assert_array_equal(program([x])[0], wanted)
        assert "compiled for each combination of shapes: " in program.explain()
        assert why in program.explain()


def test_a_program_for_all_sizes_keeps_to_the_limits() -> None:
    made = model("g (float[n, 1] x, float[1, n] z) => (float[n, n] y) { y = Add (x, z) }")
    program = prepare(made, limits=Limits(memory=1 << 16))
    for n in (2, 3, 100):
        np.testing.assert_array_equal(
            program([np.ones((n, 1), np.float32), np.ones((1, n), np.float32)])[0], np.full((n, n), 2)
        )
    assert "for all sizes:" in program.explain()
    with pytest.raises(ModelError, match=r"Limits\.memory"):
        program([np.ones((200, 1), np.float32), np.ones((1, 200), np.float32)])


def test_dims_without_a_name_have_nothing_to_do_with_each_other() -> None:
    """Some exporters call each dim that they do not know `?`."""
    made = model("g (float[n, m] x) => (float[n, m] y) { y = Abs (x) }")
    for each in made.graph.input[0].type.tensor_type.shape.dim:
        each.dim_param = "?"
    program = prepare(made)
    for shape in ((2, 3), (4, 5), (1, 7)):
        x = f32(*shape)
        np.testing.assert_array_equal(program([x])[0], np.abs(x))
    assert "for all sizes:" in program.explain()


def test_several_open_dims_are_reshaped_at_once() -> None:
    """Blocks of open planes; planes that cannot be divided into blocks are refused."""
    there = "SpaceToDepth <blocksize = 2> (x)  y = DepthToSpace <blocksize = 2> (d)"
    made = model(f"g (float[n, 3, h, w] x) => (float[n, 3, h, w] y) {{ d = {there} }}")
    program = prepare(made)
    for shape in ((1, 3, 2, 4), (2, 3, 6, 4), (1, 3, 8, 2)):
        x = f32(*shape)
        np.testing.assert_array_equal(program([x])[0], x)
    assert "for all sizes:" in program.explain()
    with pytest.raises(ModelError, match="cannot be divided into blocks"):
        program([f32(2, 3, 5, 4)])


def test_a_slice_that_no_tensor_reaches_takes_an_axis_whole() -> None:
    """1e9 is how some exporters say that; the dims stay those of what is cut."""
    made = model(
        "g (float[n, 64] x) => (float[n, 64] y) { s = Slice (x, none, far, none)  y = Add (s, x) }",
        none=np.array([0]),
        far=np.array([10**9]),
    )
    program = prepare(made)
    for n in (2, 3, 1):
        x = f32(n, 64)
        np.testing.assert_array_equal(program([x])[0], x + x)
    assert "for all sizes:" in program.explain()
    assert "n" in program.explain()


def test_dims_of_one_name_that_differ_are_served_as_they_were() -> None:
    """Names of dims are what exporters say; a call whose sizes differ has a program of its own."""
    made = model("g (float[n] x, float[n] z) => (float[m] y) { y = Concat <axis = 0> (x, z) }")
    program = prepare(made)
    for a, b in ((2, 2), (3, 3), (2, 3)):
        x, z = f32(a), f32(b)
        np.testing.assert_array_equal(program([x, z])[0], np.concatenate([x, z]))
    with pytest.raises(ModelError):
        prepare(model("g (float[n] x, float[m] z) => (float[k] y) { y = Add (x, z) }"))([f32(2), f32(3)])


def test_an_axis_that_is_dropped_has_one_element_when_it_runs() -> None:
    """Text recognition: lines of a height that pools bring down to 1."""
    made = model(
        "g (float[batch, 4, height, width] x) => (float[a, b, 4] y) { "
        "p = MaxPool <kernel_shape = [3, 1], strides = [3, 1]> (x)  s = Squeeze (p, two) "
        "t = Transpose <perm = [0, 2, 1]> (s)  y = Softmax (t) }",
        two=np.array([2]),
    )
    program = prepare(made)
    for shape in ((1, 4, 3, 5), (2, 4, 4, 7), (3, 4, 5, 1)):
        x = f32(*shape)
        pooled = np.exp(x[:, :, :3].max(axis=2).transpose(0, 2, 1))
        np.testing.assert_allclose(program([x])[0], pooled / pooled.sum(-1, keepdims=True), rtol=1e-5)
    assert "for all sizes:" in program.explain()
    with pytest.raises(ModelError, match="cannot be dropped"):
        program([f32(2, 4, 6, 5)])


def test_sizes_that_come_again_are_called_without_python() -> None:
    """By an entry of machine code for the sizes that came twice running; others take the way of before."""
    program = prepare(MODELS["attention"], "llvm -num-threads=1")
    arrays = {sizes: given(MODELS["attention"], *sizes) for sizes in ((2, 5), (9, 11), (1, 1))}
    wanted = {}
    for sizes, x in arrays.items():
        wanted[sizes] = program([x])[0]
        assert program._entry is None or sizes == (2, 5)
    for sizes in ((9, 11), (9, 11), (1, 1), (9, 11), (1, 1), (1, 1), (1, 1), (2, 5)):
        np.testing.assert_array_equal(program([arrays[sizes]])[0], wanted[sizes])
    program([arrays[1, 1]]), program([arrays[1, 1]])
    entry = program._entry
    assert entry is not None
    np.testing.assert_array_equal(entry.new(arrays[1, 1]), wanted[1, 1])
    assert entry.new(arrays[9, 11]) is NotImplemented
