"""Which updates are of one slice: derived of the statements, whatever the op is called."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opgen_runtime import ir, ops
from opgen_runtime.base.arith import dim
from opgen_runtime.compute.te.slice_update import slice_update
from opgen_runtime.ir import Call, Expr
from opgen_runtime.transform import InferType
from opgen_runtime.transform.calls import facts

N, M = dim("n"), dim("m")


def typed(make: Callable[..., Expr], *shapes: tuple[object, ...]) -> Call:
    params = [ir.var(f"p{k}", shape=shape, dtype="float32") for k, shape in enumerate(shapes)]
    module = InferType()(ir.IRModule.from_expr(ir.Function(tuple(params), make(*params))))
    body = module["main"].body
    assert isinstance(body, Call)
    return body


@pytest.mark.parametrize(
    ("make", "shapes", "expected"),
    [
        (lambda x, p: ops.put_slice(x, p, axis=0, start=3), ((6, 5), (2, 5)), "p0 with p1 from 3 on, axis 0"),
        (lambda x, p: ops.put_slice(x, p, axis=-1, start=0), ((6, 5), (6, 1)), "p0 with p1 from 0 on, axis 1"),
        (lambda x, p: ops.put_slice(x, p, axis=1), ((4, 4), (4, 4)), "p0 with p1 from 0 on, axis 0"),
        (lambda x, p: ops.put_slice(x, p, axis=1, start=N), ((2, M), (2, 1)), "p0 with p1 from n on, axis 1"),
        (lambda x, p: ops.put_slice(x, p, axis=0, start=N + 1), ((M, 3), (1, 3)), "p0 with p1 from n + 1 on, axis 0"),
        (lambda x, p: ops.add(x, p), ((6, 5), (6, 5)), None),
        (lambda x, p: ops.concatenate((x, p)), ((6, 5), (2, 5)), None),
    ],
)  # fmt: skip
def test_what_is_written(
    make: Callable[..., Expr], shapes: tuple[tuple[object, ...], ...], expected: str | None
) -> None:
    found = facts(typed(make, *shapes))
    assert found is not None
    update = slice_update(found.outputs[0])
    shown = None
    if update is not None:
        names = {found.operand(k): f"p{k}" for k in range(len(shapes))}
        shown = f"{names[update.whole]} with {names[update.part]} from {update.start} on, axis {update.axis}"
    assert shown == expected


def test_sums_are_no_slices() -> None:
    """Nor is what is put at positions that another tensor holds."""
    x, at, rows = (
        ir.var("x", shape=(6, 5)), ir.var("at", shape=(2, 1), dtype="int64"), ir.var("rows", shape=(2, 5))
    )  # fmt: skip
    for call in (ops.scatter_nd(x, at, rows), ops.scatter_nd(x, at, rows, mode="add")):
        module = InferType()(ir.IRModule.from_expr(ir.Function((x, at, rows), call)))
        found = facts(module["main"].body)
        assert found is not None
        assert slice_update(found.outputs[0]) is None
