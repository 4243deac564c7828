"""Programs on dims that are known only while they run: of results that depend on data, and symbolic ones."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.arith import dim
from opgen_runtime.base.errors import ExecutorError
from opgen_runtime.run.compile.store import artifact
from opgen_runtime.run.executor import create_executor
from opgen_runtime.run.executor.executable import Chain, executable_of

A = np.array([3, 1, 3, 0, 2, 1], np.float32)
Program = Callable[[Any], Any]

PROGRAMS: dict[str, tuple[Program, Callable[[np.ndarray], Any]]] = {
    "elements": (lambda a: ops.tanh(ops.unique(a)[0]), lambda a: np.tanh(np.unique(a))),
    "a chain": (lambda a: ops.abs(-ops.argwhere(a)), lambda a: np.argwhere(a)),
    "itself twice": (lambda a: (lambda w: w * w + w)(ops.argwhere(a)), lambda a: np.argwhere(a) ** 2 + np.argwhere(a)),
    "a reduction": (lambda a: ops.sum(ops.argwhere(a), axis=0), lambda a: np.argwhere(a).sum(0)),
    "a softmax": (lambda a: ops.softmax(ops.masked_select(a, a > 1)), lambda a: _softmax(a[a > 1])),
    "two of them": (
        lambda a: ops.concatenate((ops.masked_select(a, a > 1), ops.masked_select(a, a < 2)), axis=0),
        lambda a: np.concatenate([a[a > 1], a[a < 2]]),
    ),
    "beside what is static": (
        lambda a: ops.add(ops.expand_dims(ops.masked_select(a, a > 0), axis=1), a),
        lambda a: a[a > 0][:, None] + a,
    ),
    "after another": (lambda a: ops.unique(ops.masked_select(a, a > 0))[0], lambda a: np.unique(a[a > 0])),
    "a contraction": (
        lambda a: ops.matmul(ops.transpose(ops.argwhere(a)), ops.argwhere(a)),
        lambda a: np.argwhere(a).T @ np.argwhere(a),
    ),
    "a tuple": (
        lambda a: (ops.masked_select(a, a > 1) + 1, ops.max(a), ops.argwhere(a)),
        lambda a: (a[a > 1] + 1, a.max(), np.argwhere(a)),
    ),
}  # fmt: skip


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(initial=0))
    return e / e.sum()


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_any_op_follows_a_dim_that_depends_on_data(name: str) -> None:
    """Under jit, on arrays that select some, all and none."""
    program, expected = PROGRAMS[name]
    f = rt.jit(program)
    for a in (A, A + 5, np.zeros_like(A), A[:1], A):
        same(f(a), expected(a))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("level", [0, 2, 4])
def test_executors_agree(name: str, level: int) -> None:
    program, expected = PROGRAMS[name]
    function = rt.jit(program).trace(A)
    for kind in ("debug", "graph"):
        result: Any = create_executor(kind, opt_level=level).evaluate(function)(A)  # type: ignore[operator]
        found = tuple([part.numpy() for part in result]) if isinstance(result, tuple) else result.numpy()
        same(found, expected(A))


def test_one_kernel_for_each_combination_of_dims() -> None:
    n = dim("n")  # no operand has it as a whole dim
    x, y = rt.var("x", rt.TensorType((n * 2, 4))), rt.var("y", rt.TensorType((n * 2, 4)))
    executable = rt.build(ir.Function((x, y), ops.exp(ops.add(x, y))))
    (kernel,) = executable.compiled
    for rows in (2, 6, 4, 6, 2):
        a = np.arange(4 * rows, dtype=np.float32).reshape(rows, 4) / 9
        found = executable.run([a, a])
        np.testing.assert_allclose(np.asarray(found), np.exp(2 * a), rtol=1e-5)
    assert len(kernel._kept) == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ([np.zeros((2, 4)), np.zeros((2, 4), np.float32)], "input x must be float32.*, found float64"),
        (
            [np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)],
            r"x must be float32\[n, 4\], found shape \[2, 3\]",
        ),
        ([np.zeros((2, 4), np.float32), np.zeros((3, 4), np.float32)], "n.* is 2.*3|n.* 3.*2"),
        (
            [np.zeros(4, np.float32), np.zeros((3, 4), np.float32)],
            r"x must be float32\[n, 4\], found shape \[4\]",
        ),
    ],
)
def test_arrays_that_do_not_fit(arrays: list[np.ndarray], message: str) -> None:
    n = dim("n")
    x, y = rt.var("x", rt.TensorType((n, 4))), rt.var("y", rt.TensorType((n, 4)))
    executable = rt.build(ir.Function((x, y), ops.add(x, y)))
    with pytest.raises(ExecutorError, match=message):
        executable.run(arrays)


def test_explain_says_why_it_is_interpreted() -> None:
    executable = rt.build(rt.jit(lambda a: ops.abs(ops.unique(a)[0])).trace(A))
    assert "known when it runs" in str(executable.why_interpreted)
    with pytest.raises(ExecutorError, match=r"cannot be saved: opgen_unique calls the hand-written function"):
        executable.save("never-written")


CHAINS = [
    name for name in PROGRAMS if name not in ("elements", "after another")
]  # those call functions of Python


@pytest.mark.parametrize("name", CHAINS)
def test_parts_are_native_saved_and_pickled(name: str, tmp_path: Path) -> None:
    program, expected = PROGRAMS[name]
    executable = rt.build(rt.jit(program).trace(A))
    assert isinstance(executable, Chain)
    assert executable.why_interpreted is None
    assert all([part.executable.why_interpreted is None for part in executable.parts])
    executable.save(tmp_path / "program")
    for again in (executable, rt.load(tmp_path / "program"), pickle.loads(pickle.dumps(executable))):
        assert again.kernels == executable.kernels
        assert [str(slot) for slot in again.takes] == [str(slot) for slot in executable.takes]
        for a in (A, A + 5, np.zeros_like(A), A):
            same(again.run([a]), expected(a))
    assert executable.explain().startswith("in parts, for sizes that depend on data\npart 0\n")
    assert "digraph" in executable.to_dot()
    with pytest.raises(ExecutorError, match="it is in parts, for sizes that depend on data"):
        executable.export_c(tmp_path)
    found = executable.profile({"a": A}, runs=3)
    assert [name for name, _, _ in found.events] == 3 * list(executable.kernels)
    assert all([a[2] <= b[1] for a, b in pairwise(found.events)])
    assert sum([each.calls for each in found.kernels]) == len(found.events)
    with pytest.raises(ExecutorError, match=r"expected float32|must be float32"):
        executable.run([A.astype(np.int32)])


def test_what_does_not_suit_all_sizes_is_not_cut() -> None:
    for program in (
        lambda a: ops.reshape(ops.argwhere(a), newshape=(2, -1)),
        lambda a: ops.matmul(ops.argwhere(a), ops.argwhere(a - 1)),
        lambda a: ops.masked_select(a, a > 0) + ops.masked_select(a, a < 3),
    ):
        assert not isinstance(rt.build(rt.jit(program).trace(A)), Chain)


def test_damage_of_a_part_is_found() -> None:
    executable = rt.build(rt.jit(lambda a: -ops.argwhere(a)).trace(A))
    whole = artifact.encode(executable._contents())
    for position in range(0, len(whole), 997):
        changed = whole[:position] + bytes([whole[position] ^ 0x41]) + whole[position + 1 :]
        try:
            found = artifact.decode(changed, "it")
        except ExecutorError:
            continue
        same(executable_of(found).run([A]), -np.argwhere(A))
