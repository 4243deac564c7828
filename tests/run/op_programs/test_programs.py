"""A declared op and its derivatives as programs: their operands, their attrs, what they compute and what they read."""

from __future__ import annotations

import numpy as np
import pytest
from opgen_runtime.errors import AttrError, RegistryError

import opgen_runtime as rt
from opgen_runtime import eager
from opgen_runtime.run.op_programs.programs import Operand, Program, found, program_of

F = rt.TensorType((2, 3), "float64")
X = np.array([[-1.0, 0.5, 2.0], [0.25, -3.0, 1.0]])
G = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def run(program: Program, types, arrays, **attrs):
    function = program.function(types, program.normalised(attrs))
    value = rt.build(function).run(arrays)
    return list(value) if isinstance(value, tuple) else [value]


def test_of_an_op_the_operands_attrs_and_outputs_are_the_declared_ones():
    program = program_of("layer_norm")
    assert program.operands == (
        Operand("data", "one"),
        Operand("gamma", "one"),
        Operand("beta", "one"),
    )
    assert [field.name for field in program.fields] == ["axis", "epsilon", "center", "scale"]
    assert program.outputs == (Operand("out", "one"),)
    assert (program.namespace, program.name, program.path) == ("", "layer_norm", ("layer_norm",))
    assert program_of("layer_norm") is program
    assert [each.kind for each in program_of("concatenate").operands] == ["several"]


def test_derivatives_have_names_of_their_own_and_are_found_again_by_path():
    program = program_of("tanh").vjp.vjp
    assert program.path == ("tanh", "vjp", "vjp")
    assert program.name == "tanh_vjp_vjp"
    assert [f"{each.name} {each.kind}" for each in program.operands] == [
        "data one", "out optional", "grad_out optional", "adjoint several", "grad_adjoint several",
    ]  # fmt: skip
    assert [field.name for field in program.fields] == ["wrt", "wrt2"]
    assert found(program.path) is program
    with pytest.raises(RegistryError, match="'half' is neither vjp nor jvp"):
        found(("tanh", "half"))


def test_an_adjoint_takes_results_that_are_given_and_computes_others():
    vjp = program_of("exp").vjp
    y = np.exp(X)
    (with_result,) = run(vjp, [F, F, F], [X, y, G], wrt=(0,))
    (without,) = run(vjp, [F, None, F], [X, G], wrt=(0,))
    np.testing.assert_allclose(with_result, G * y, rtol=1e-14)
    np.testing.assert_allclose(without, G * y, rtol=1e-12)
    (zero,) = run(vjp, [F, F, None], [X, y], wrt=(0,))
    assert not zero.any()


def test_results_that_no_adjoint_reads_are_told():
    assert program_of("exp").vjp.reads([F], {"wrt": (0,)}) == (True,)
    assert program_of("sin").vjp.reads([F], {"wrt": (0,)}) == (False,)


def test_adjoints_of_one_of_several_tensors_and_of_none_that_is_read():
    vjp = program_of("concatenate").vjp
    whole = rt.TensorType((4, 3), "float64")
    both = np.arange(12.0).reshape(4, 3)
    (adjoint,) = run(vjp, [(F, F), None, whole], [X, X, both], axis=0, wrt=(1,))
    np.testing.assert_array_equal(adjoint, both[2:])
    assert vjp.infer([(F, F), None, whole], {"axis": 0, "wrt": (1, 0)}) == [F, F]


def test_several_results_are_given_together_or_not_at_all():
    vjp = program_of("split").vjp
    half = rt.TensorType((2, 1), "float64")
    attrs = vjp.normalised({"indices_or_sections": 3, "axis": 1, "wrt": (0,)})
    with pytest.raises(AttrError, match="split_vjp: 2 tensors for 3 results"):
        vjp.function([F, (), (half, half)], attrs)
    parts = [np.full((2, 1), k, np.float64) for k in range(3)]
    (adjoint,) = run(vjp, [F, (), (half,) * 3], [X, *parts], **attrs)
    np.testing.assert_array_equal(adjoint, np.hstack(parts))


@pytest.mark.parametrize("name", ["tanh", "sin", "softmax"])
def test_the_change_along_tangents_is_the_transpose_of_the_adjoint(name):
    program = program_of(name)
    (change,) = run(program.jvp, [F, (F,)], [X, G], wrt=(0,))
    (adjoint,) = run(program.vjp, [F, None, F], [X, np.cos(G)], wrt=(0,))
    np.testing.assert_allclose(np.vdot(np.cos(G), change), np.vdot(adjoint, G), rtol=1e-12)


def test_an_adjoint_has_an_adjoint():
    program = program_of("exp").vjp.vjp
    y, c = np.exp(X), np.cos(X)
    of_y, of_g = run(program, [F, F, F, (), (F,)], [X, y, G, c], wrt=(0,), wrt2=(1, 2))
    np.testing.assert_allclose(of_y, G * c, rtol=1e-12)
    np.testing.assert_allclose(of_g, y * c, rtol=1e-12)


def test_types_are_inferred_of_symbolic_dims():
    n = rt.dim("n")
    rows = rt.TensorType((n, 3), "float32")
    program = program_of("batch_flatten")
    assert program.infer([rt.TensorType((n, 3, 4), "float32")], {}) == [rt.TensorType((n, 12), "float32")]
    assert program.vjp.infer([rows, None, rows], {"wrt": (0,)}) == [rows]
    assert (
        program_of("argmax").jvp.infer([rows, (rows,)], program_of("argmax").jvp.normalised({"wrt": (0,)}))
        == []
    )


def test_attrs_are_checked_by_their_fields():
    program = program_of("softmax").vjp
    assert program.normalised({"wrt": 0}) == {"axis": -1, "wrt": (0,)}
    with pytest.raises(AttrError, match="softmax_vjp: missing attr 'wrt' \\(ints, required\\)"):
        program.normalised({})
    with pytest.raises(AttrError, match="softmax_vjp: attr 'axis' is 'x', expected an int"):
        program.normalised({"axis": "x", "wrt": 0})
    with pytest.raises(AttrError, match="softmax_vjp: unknown attr 'axes'; its attrs are: axis, wrt"):
        program.normalised({"axes": 1})
    with pytest.raises(AttrError, match="softmax_vjp: 1 is no number of an operand's tensor; there are 1"):
        program.infer([F, None, F], {"axis": -1, "wrt": (1,)})


def test_several_results_of_one_call_are_the_call():
    program = program_of("dft_chirp")
    attrs = {"size": 5, "padded": 9, "inverse": False}
    made = program.function([], attrs)
    assert isinstance(made.body, rt.ir.Call)
    for result, wanted in zip(rt.build(made).run([]), eager.dft_chirp(**attrs), strict=True):
        assert result.tobytes() == wanted.tobytes()
