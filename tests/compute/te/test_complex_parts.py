"""Complex tensors as real ones with an axis of parts: whole expressions, and the same values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from opgen_runtime.base.arith import Expr, complex_number, mul, part
from opgen_runtime.base.errors import DTypeError, LoweringError
from opgen_runtime.compute import te
from opgen_runtime.compute.te.complex_parts import real_tensors

Z = te.placeholder("z", (3,), "complex64")


def real(tensor: te.Tensor) -> te.Tensor:
    return real_tensors([tensor])[tensor]


@pytest.mark.parametrize(
    ("dtype", "body", "expected"),
    [
        ("complex64", lambda i: te.read(Z, 2 - i), "out[i0, part]: float32[3, 2] = z[2 - i0, part]"),
        ("float32", lambda i: part(te.read(Z, i), 1), "out[i0]: float32[3] = z[i0, 1]"),
        (
            "complex64",
            lambda i: complex_number(part(te.read(Z, i), 1), part(te.read(Z, i), 0)),
            "out[i0, part]: float32[3, 2] = z[i0, 1] if part == 0 else z[i0, 0]",
        ),
        (
            "complex64",
            lambda i: mul(te.read(Z, i), te.read(Z, i)),
            "out[i0, part]: float32[3, 2] = z[i0, 0] * z[i0, 0] - z[i0, 1] * z[i0, 1] if part == 0 "
            "else z[i0, 0] * z[i0, 1] + z[i0, 1] * z[i0, 0]",
        ),
    ],
)
def test_whole_expressions(dtype: str, body: Callable[..., Expr], expected: str) -> None:
    made = real(te.compute("out", (3,), dtype, body))
    assert made.dtype == "float32"
    assert te.to_text([made]) == f"z: float32[3, 2]\n{expected}\n"


def test_a_sum_stays_one_reduction() -> None:
    k = te.reduce_axis(3, "k")
    total = te.compute("out", (), "complex64", lambda: te.reduce("sum", k, te.read(Z, k.var)))
    assert "out[part]: float32[2] = sum(z[k, part] for k in range(3))" in te.to_text([real(total)])


def test_a_matrix_product_is_a_real_one() -> None:
    a, b = te.placeholder("a", (3, 4), "complex64"), te.placeholder("b", (4, 2), "complex64")
    k = te.reduce_axis(4, "k")
    product = te.compute(
        "out",
        (3, 2),
        "complex64",
        lambda i, j: te.reduce("sum", k, mul(te.read(a, i, k.var), te.read(b, k.var, j))),
    )
    assert te.to_text([real(product)]) == (
        "a: float32[3, 4, 2]\n"
        "b: float32[4, 2, 2]\n"
        "out_rotated[k, part, i1, part]: float32[4, 2, 2, 2] = b[k, i1, part] if part == 0 else "
        "b[k, i1, 1] * -1.0 if part == 0 else b[k, i1, 0]\n"
        "out[i0, i1, part]: float32[3, 2, 2] = "
        "sum(a[i0, k, part_1] * out_rotated[k, part_1, i1, part] for k in range(4) for part_1 in range(2))\n"
    )


def test_products_of_rows_are_summed_by_parts() -> None:
    """No element would serve twice."""
    k = te.reduce_axis(3, "k")
    square = te.compute(
        "out", (), "complex64", lambda: te.reduce("sum", k, mul(te.read(Z, k.var), te.read(Z, k.var)))
    )
    assert "rotated" not in te.to_text([real(square)])


def test_the_same_values() -> None:
    z = np.array([1 + 2j, -3 + 0.5j, 1j], np.complex64)
    out = te.compute("out", (3,), "complex64", lambda i: mul(te.read(Z, i), te.read(Z, 2 - i)))
    made = real_tensors([out])
    (found,) = te.evaluate([out], {Z: z})
    (parts,) = te.evaluate([made[out]], {made[Z]: z.view(np.float32).reshape(3, 2)})
    assert found.tolist() == (z * z[::-1]).tolist()
    assert parts.tolist() == np.stack([found.real, found.imag], -1).tolist()


def test_real_tensors_stay_as_they_are() -> None:
    x = te.placeholder("x", (3,), "float32")
    assert real_tensors([te.compute("out", (3,), "float32", lambda i: te.read(x, i))]) == {}


def test_what_is_not_defined() -> None:
    k = te.reduce_axis(3, "k")
    product = te.compute("out", (), "complex64", lambda: te.reduce("prod", k, te.read(Z, k.var)))
    with pytest.raises(LoweringError, match="prod over an axis is not defined for complex64"):
        real_tensors([product])

    def less(i: Expr) -> Expr:
        return te.read(Z, i) < te.read(Z, i)

    with pytest.raises(DTypeError, match=r"complex64 values have no order; compare abs\(x\) or real\(x\)"):
        te.compute("out", (3,), "bool", less)
