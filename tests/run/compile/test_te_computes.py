"""Ops whose compute is a Python function of te tensors."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import te
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.base.vocabulary import OpPattern
from opgen_runtime.declaration import OpDeclaration, register
from opgen_runtime.declaration.statement import call
from opgen_runtime.operator.registry import Op, remove_op
from opgen_runtime.operator.types import Input, Output, Signature
from opgen_runtime.run.compile.kernel.key import front_key

SOURCE = """from opgen_runtime import te


def doubled(x):
    return te.compute(x.shape, lambda *i: x[i] * {}, name="doubled")
"""
SHAPE = (3, 4)
DATA = np.arange(12, dtype=np.float32).reshape(SHAPE)


def half_rows(x: te.Tensor) -> te.Tensor:
    k = te.reduce_axis((0, x.shape[1]), name="k")
    return te.compute((x.shape[0],), lambda i: te.sum(x[i, k], axis=k) / 2.0, name="half_rows")


def shifted(x: te.Tensor) -> te.Tensor:
    return te.compute(x.shape, lambda i, j: x[i, j + 1], name="shifted")


def turned(x: te.Tensor) -> te.Tensor:
    return te.compute(x.shape, lambda i, j: x[i, x.shape[1] - 1 - j], name="turned")


def number(x: te.Tensor) -> float:
    return 1.0


def broken(x: te.Tensor) -> te.Tensor:
    return x[0, 0, 0]


Declare = Callable[..., Op]


@pytest.fixture
def declare() -> Iterator[Declare]:
    made: list[str] = []

    def declared(
        function: str, pattern: OpPattern = OpPattern.OPAQUE, shape: Any = "x.shape", name: str = ""
    ) -> Op:
        made.append(name or f"te_op_{len(made)}")
        outputs = (Output("out", shape=shape, dtype="x.dtype"),)
        signature = Signature(inputs=(Input("x", dtype="float32"),), outputs=outputs)
        declaration = OpDeclaration(
            name=made[-1], doc="", support_level=10, arity=1, attrs=None, signature=signature, digest=made[-1],
            compute=None, extern=None, te=function, pattern=pattern,
        )  # fmt: skip
        return register(declaration, __file__)

    yield declared
    for name in set(made) & set(rt.list_ops()):
        remove_op(name)


def results(op: Op) -> list[np.ndarray]:
    x = rt.var("x", rt.TensorType(SHAPE, "float32"))
    made: Any = call(op, (x,))
    return [rt.create_executor(kind).evaluate(made, {x: DATA}).numpy() for kind in ("debug", "graph")]


def test_both_executors_compute_it(declare: Declare) -> None:
    op = declare(f"{__name__}:half_rows", OpPattern.COMM_REDUCE, shape=(SHAPE[0],))
    for found in results(op):
        np.testing.assert_allclose(found, DATA.sum(axis=1) / 2)


def test_it_is_fused_as_far_as_its_pattern_says(declare: Declare) -> None:
    x = rt.var("x", rt.TensorType(SHAPE, "float32"))
    for pattern, kernels in ((OpPattern.OPAQUE, 2), (OpPattern.INJECTIVE, 1)):
        op = declare(f"{__name__}:turned", pattern)
        program = rt.Function((x,), rt.ops.exp(call(op, (x,))))
        module = rt.transform.FuseOps()(rt.transform.InferType()(rt.IRModule.from_expr(program)))
        assert str(module).count("Primitive") == kernels


@pytest.mark.parametrize(
    ("function", "pattern", "message"),
    [
        (
            "turned",
            OpPattern.ELEMWISE,
            r"turned: the pattern is declared elemwise, but it is injective: turned reads",
        ),
        ("number", OpPattern.OPAQUE, "number gave 1.0, expected a tensor"),
        ("broken", OpPattern.OPAQUE, "broken: x has 2 dims, found 3 indices"),
        ("shifted", OpPattern.OPAQUE, r"index 1 of x is in bounds: j \+ 1 ranges over 1\.\.4, the dim is 4"),
        ("half_rows", OpPattern.OPAQUE, r"has the shape \(3\), expected \(3, 4\)"),
    ],
)
def test_what_a_function_gives_is_checked(
    declare: Declare, function: str, pattern: OpPattern, message: str
) -> None:
    op = declare(f"{__name__}:{function}", pattern)
    with pytest.raises(OpgenError, match=message) as caught:
        results(op)
    assert op.name in str(caught.value)


def test_the_sources_are_part_of_the_key(
    declare: Declare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "te_of_users.py"
    x = rt.var("x", rt.TensorType(SHAPE, "float32"))

    def key(factor: str) -> str | None:
        """The key of the op's kernel where its file says that."""
        if not module.exists() or module.read_text() != SOURCE.format(factor):
            module.unlink(missing_ok=True)
            module.write_text(SOURCE.format(factor))
        sys.modules.pop("te_of_users", None)
        importlib.invalidate_caches()
        op = declare("te_of_users:doubled", OpPattern.ELEMWISE, name="te_op_of_users")
        for found in results(op):
            np.testing.assert_array_equal(found, DATA * float(factor))
        typed = rt.transform.infer_type(rt.Function((x,), call(op, (x,))))
        assert isinstance(typed, rt.Function)
        remove_op(op.name)
        return front_key(typed, rt.Target.host())

    first, again, other = key("2.0"), key("2.0"), key("3.25")
    sys.modules.pop("te_of_users", None)
    assert first is not None
    assert first == again != other
