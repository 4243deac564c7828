"""Attrs that are expressions of symbolic dims: programs of them are compiled once, and checked when they run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.arith import Expr as DimExpr
from opgen_runtime.base.arith import const, minimum
from opgen_runtime.base.errors import AttrError, ExecutorError
from opgen_runtime.operator import DimVar, TensorType, dim
from opgen_runtime.run.compile.kernel.multiversioning import specialised
from opgen_runtime.transform.gradient import pull

N, M = dim("n"), dim("m")
X = ir.Var("x", TensorType((N, M), "float32"))
TWO = ir.const(np.float32(2))

Reference = Callable[[np.ndarray, int, int], np.ndarray]
PROGRAMS: dict[str, tuple[ir.Expr, Reference]] = {
    "arange": (ops.arange(stop=N, dtype="int64"), lambda x, n, m: np.arange(n)),
    "arange of both": (ops.arange(N, stop=N + M, step=2, dtype="int32"), lambda x, n, m: np.arange(n, n + m, 2)),
    "arange of floats": (ops.arange(stop=N * M), lambda x, n, m: np.arange(n * m)),
    "strided_slice": (ops.strided_slice(X, begin=0, end=M // 2, axes=1), lambda x, n, m: x[:, : m // 2]),
    "from the end": (ops.strided_slice(X, begin=0, end=M - 2, axes=1), lambda x, n, m: x[:, : m - 2]),
    "to the end": (ops.strided_slice(X, begin=M - 2, end=M, axes=1), lambda x, n, m: x[:, m - 2 :]),
    "inbound": (
        ops.strided_slice(X, begin=M // 2, end=M, axes=1, assume_inbound=True), lambda x, n, m: x[:, m // 2 :]
    ),
    "full": (ops.full(TWO, shape=(N * M, 3)), lambda x, n, m: np.full((n * m, 3), 2)),
    "tile": (ops.tile(X, reps=(N, 2)), lambda x, n, m: np.tile(x, (n, 2))),
    "repeat": (ops.repeat(X, repeats=N, axis=0), lambda x, n, m: np.repeat(x, n, 0)),
    "pad": (ops.pad(X, pad_width=(0, N, M, 1)), lambda x, n, m: np.pad(x, ((0, n), (m, 1)))),
    "trilu": (ops.trilu(X, k=N - 2), lambda x, n, m: np.triu(x, n - 2)),
    "broadcast_to": (ops.broadcast_to(X, shape=(N + 1, N, M)), lambda x, n, m: np.broadcast_to(x, (n + 1, n, m))),
    "sizes": (ops.shape_to_tensor(shape=(N, M * 2, N - M, 7)), lambda x, n, m: np.array([n, 2 * m, n - m, 7])),
    "a size beside elements": (
        ops.multiply(X, ops.cast(ops.shape_to_tensor(shape=N * M), dtype="float32")), lambda x, n, m: x * (n * m)
    ),
    "positions": (
        ops.add(X, ops.cast(ops.arange(stop=M, dtype="int64"), dtype="float32")), lambda x, n, m: x + np.arange(m)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_those_of_numpy_for_all_sizes(name: str) -> None:
    body, reference = PROGRAMS[name]
    program = rt.build(ir.Function((X,), body))
    for n, m in ((3, 4), (1, 1), (2, 7), (5, 2), (1, 3)):
        x = np.arange(n * m, dtype=np.float32).reshape(n, m)
        found = program.run([x])
        assert isinstance(found, np.ndarray)
        np.testing.assert_array_equal(found, reference(x, n, m), err_msg=f"{name} for {n}, {m}")


def test_what_is_no_constant_is_not_folded() -> None:
    """Calls without operands whose attrs name dims."""
    sizes = ops.shape_to_tensor(shape=(N, M))
    program = rt.build(ir.Function((X,), ops.add(sizes, ops.shape_to_tensor(shape=(1, N)))))
    for shape in ((3, 4), (5, 6)):
        found = program.run([np.zeros(shape, np.float32)])
        np.testing.assert_array_equal(found, [shape[0] + 1, shape[1] + shape[0]])  # type: ignore[arg-type]


def test_bounds_that_values_decide_are_checked_when_the_program_runs() -> None:
    program = rt.build(ir.Function((X,), ops.zeros(shape=(N - 2, M))))
    np.testing.assert_array_equal(program.run([np.ones((5, 2), np.float32)]), np.zeros((3, 2)))  # type: ignore[arg-type]
    with pytest.raises(ExecutorError, match=r"zeros requires .*n - 2.*\(shape >= 0\), but n is 1"):
        program.run([np.ones((1, 2), np.float32)])
    with pytest.raises(AttrError, match="outside its bounds: shape >= 0"):
        ops.zeros(shape=(N - N - 2, M))


def test_positions_that_are_assumed_to_be_inside_are_checked() -> None:
    cut = ops.strided_slice(X, begin=0, end=N, axes=1, assume_inbound=True)
    assert str(cut.checked_type) == "Tensor[(n, n), float32]"
    program = rt.build(ir.Function((X,), cut))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(program.run([x]), x[:, :2])  # type: ignore[arg-type]
    with pytest.raises(ExecutorError, match="a position that is assumed to be inside is not"):
        program.run([x.reshape(3, 2)])


def test_what_a_program_assumes_of_sizes_is_checked() -> None:
    program = rt.build(ir.Function((X,), ops.assume_sizes(ops.exp(X), sizes=(M - N, N - 1))))
    np.testing.assert_array_equal(program.run([np.zeros((2, 3), np.float32)]), np.ones((2, 3)))  # type: ignore[arg-type]
    with pytest.raises(ExecutorError, match="assume_sizes requires"):
        program.run([np.zeros((3, 2), np.float32)])


def test_attrs_of_equal_expressions_are_equal() -> None:
    one, same, other = (ops.arange(stop=stop).attrs for stop in (N * 2 + 1, N * 2 + 1, M * 2 + 1))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_written_and_read(name: str, tmp_path: Path) -> None:
    """As text, and as artifacts."""
    function = ir.Function((X,), PROGRAMS[name][0])
    again = ir.parse_expr(str(function))
    assert ir.structural_equal(function, again, map_free_vars=True), str(again)
    rt.build(function).save(tmp_path / "saved")
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    found = rt.load(tmp_path / "saved").run([x])
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, PROGRAMS[name][1](x, 3, 4))


def test_dims_of_one_name_are_told_apart_in_text() -> None:
    one, other = dim("n"), dim("n")
    x = ir.Var("x", TensorType((one, other), "float32"))
    cut = ops.strided_slice(x, begin=[0, 0], end=[other // 2, one // 2], axes=[0, 1], assume_inbound=True)
    function = ir.Function((x,), cut)
    assert "begin=[0, 0], end=[(n_1 // 2), (n // 2)]" in str(function)
    assert ir.structural_equal(function, ir.parse_expr(str(function)), map_free_vars=True)


def test_attrs_as_json_know_dims_by_name() -> None:
    made = ops.strided_slice(X, begin=[0, N // 2], end=[_end(), M], assume_inbound=True).attrs
    assert made is not None
    data = json.loads(json.dumps(made.to_json()))
    assert data["end"] == [{"min": [{"add": [{"dim": "n"}, 1]}, {"dim": "m"}]}, {"dim": "m"}]
    assert type(made).from_json(data, {"n": N, "m": M}) == made
    dims: dict[str, DimVar] = {}
    read = type(made).from_json(data, dims)
    assert list(dims) == ["n", "m"]
    assert read.begin[1].a is dims["n"]
    with pytest.raises(AttrError, match="two dims have the name 'n'"):
        ops.tile(X, reps=(N, dim("n"))).attrs.to_json()
    for wrong, why in (({"pow": [2, 3]}, "no operation has the name 'pow'"), ({"add": [1]}, "add")):
        with pytest.raises(AttrError, match=why):
            type(made).from_json({**data, "end": [wrong, 1]})


def _end() -> DimExpr:
    return minimum(N + 1, M)


GRADIENTS = ["strided_slice", "from the end", "to the end", "inbound", "tile", "repeat", "pad", "trilu", "broadcast_to",
             "a size beside elements", "positions"]  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_static_programs(name: str) -> None:
    body, _ = PROGRAMS[name]
    total = ops.sum(ops.multiply(body, body))
    (adjoint,) = pull([total], [ir.const(np.float32(1))], [X])
    assert adjoint is not None
    open_program = rt.build(ir.Function((X,), adjoint))
    for n, m in ((3, 4), (2, 7), (1, 2)):
        x = np.linspace(-1, 1, n * m, dtype=np.float32).reshape(n, m)
        whole = specialised(ir.Function((X,), total), {N: const(n, "index"), M: const(m, "index")})
        (static,) = pull([whole.body], [ir.const(np.float32(1))], whole.params)
        wanted = np.zeros_like(x) if static is None else rt.build(ir.Function(whole.params, static)).run([x])
        np.testing.assert_allclose(open_program.run([x]), wanted, rtol=1e-5)  # type: ignore[arg-type]
