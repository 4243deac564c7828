"""What calls are for a batch, whole programs."""

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.errors import PassError
from opgen_runtime.ir import Function, Var
from opgen_runtime.operator import TensorType
from opgen_runtime.transform.batching import batched


def program(make, *shapes, shared=()):
    """The program of `make` over a batch of three of each operand that is not `shared`."""
    rows = [Var(f"p{k}", TensorType(shape, "float32")) for k, shape in enumerate(shapes)]
    wide = {
        row: Var(row.name_hint, TensorType((3, *row.checked_type.shape), "float32"))
        for k, row in enumerate(rows)
        if k not in shared
    }
    (part,) = batched([make(*rows)], wide, 3)
    params = tuple([wide.get(row, row) for row in rows])
    return str(Function(params, part.expr)).partition("{\n")[2].removesuffix("\n}").strip()


@pytest.mark.parametrize(
    ("make", "shapes", "shared", "text"),
    [
        (ops.tanh, [(4,)], (), "tanh(%p0)"),
        (lambda x: ops.softmax(x, axis=0), [(4, 5)], (), "softmax(%p0, axis=1)"),
        (lambda x: ops.transpose(x, axes=(1, 0)), [(4, 5)], (), "transpose(%p0, axes=[0, 2, 1])"),
        (ops.add, [(4, 5), (5,)], (1,), "add(%p0, %p1)"),
        (ops.add, [(5,), (4, 5)], (1,), "%0 = reshape(%p0, newshape=[3, 1, 5]);\n  add(%0, %p1)"),
        (ops.matmul, [(4, 5), (5, 6)], (), "matmul(%p0, %p1)"),
        (
            ops.matmul, [(4, 5), (5, 6)], (1,),
            "%0 = reshape(%p0, newshape=[12, 5]);\n  %1 = matmul(%0, %p1);\n  reshape(%1, newshape=[3, 4, 6])",
        ),
        (
            ops.conv2d, [(2, 3, 8, 8), (4, 3, 3, 3)], (1,),
            "%0 = reshape(%p0, newshape=[6, 3, 8, 8]);\n  %1 = conv2d(%0, %p1);\n"
            "  reshape(%1, newshape=[3, 2, 4, 6, 6])",
        ),
        (ops.conv2d, [(2, 3, 8, 8), (4, 3, 3, 3)], (0,), "batch.conv2d(%p0, %p1, batched=[1])"),
        (lambda x: ops.sum(x), [(4, 5)], (), "batch.sum(%p0, batched=[0])"),
    ],
)  # fmt: skip
def test_the_op_itself_where_that_says_the_same(make, shapes, shared, text):
    assert program(make, *shapes, shared=shared) == text


def test_what_does_not_depend_on_the_batch_has_no_axis():
    x = Var("x", TensorType((4,), "float32"))
    y = Var("y", TensorType((4,), "float32"))
    (part,) = batched([ops.tanh(y)], {x: Var("x", TensorType((3, 4), "float32"))}, 3)
    assert not part.has_axis
    assert part.expr.checked_type == y.checked_type


def test_sizes_that_depend_on_data_are_refused():
    with pytest.raises(
        PassError,
        match=r"vmap: batch.argwhere: the sizes of its results depend on data, and each element of the batch would",
    ):
        program(ops.argwhere, (4,))


def test_the_adjoint_of_a_batched_op_is_that_of_the_op():
    """Declared gradients and ties hold, and the adjoint of a shared operand is the sum over the batch."""
    x, w = np.ones((3, 2, 3, 8, 8), np.float32), np.ones((4, 3, 3, 3), np.float32)

    def loss(x, w):
        return rt.vmap(lambda w: ops.conv2d(x, w), in_axes=0)(w).sum()

    found = str(rt.grad(loss).trace(x[0], np.stack([w] * 3)))
    assert "batch.conv2d_transpose" in found or "batch.vjp.conv2d" in found
    assert "collapse_sum_to" in found


def test_what_a_declaration_says_of_its_operands_is_not_said_of_batches():
    x, w = (
        np.random.default_rng(0).normal(size=shape).astype("float32")
        for shape in ((3, 1, 2, 6, 6), (3, 4, 2, 3, 3))
    )
    conv = lambda data, weight: ops.conv2d(data, weight, padding=(1, 1))  # noqa: E731
    found = rt.jit(rt.vmap(conv))(x, w)
    np.testing.assert_allclose(
        found, np.stack([rt.jit(conv)(*row) for row in zip(x, w, strict=True)]), rtol=1e-4, atol=1e-5
    )
