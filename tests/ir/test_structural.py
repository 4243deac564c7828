"""Structural equality, hashes and well-formedness."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from opgen_runtime import ir, ops
from opgen_runtime.base.arith import dim
from opgen_runtime.operator.types import FuncType, TensorType, TypeVar

F = TensorType((2, 3), "float32")


def v(name: str, type_: TensorType = F) -> ir.Var:
    return ir.Var(name, type_)


def test_bound_names_do_not_count_and_free_variables_do() -> None:
    x, y = v("x"), v("y")
    a, b = v("a"), v("b")
    assert ir.structural_equal(ir.Function((x,), ops.exp(x)), ir.Function((y,), ops.exp(y)))
    assert not ir.structural_equal(ops.exp(x), ops.exp(y))
    assert ir.structural_equal(ops.exp(x), ops.exp(y), map_free_vars=True)
    assert not ir.structural_equal(ops.add(x, y), ops.add(x, x), map_free_vars=True)
    outer = ir.Function((x,), ir.Function((y,), ops.subtract(x, y)))
    assert ir.structural_equal(outer, ir.Function((a,), ir.Function((b,), ops.subtract(a, b))))
    assert not ir.structural_equal(outer, ir.Function((a,), ir.Function((b,), ops.subtract(b, a))))


def test_closures_are_compared_wherever_they_stand() -> None:
    x, p, q = v("x"), v("p"), v("q")
    one = ir.Function((p,), ops.exp(p))
    other = ir.Function((q,), ops.exp(q))
    assert ir.structural_equal(ir.Tuple((one, one)), ir.Tuple((one, other)))
    nested = ir.Let(v("l"), one(x), other(x))
    assert ir.structural_equal(nested, ir.Let(v("l"), one(x), one(x)))


def test_types_attrs_and_constants_count_bit_for_bit() -> None:
    x = v("x")
    assert not ir.structural_equal(v("x"), v("x", TensorType((3, 2), "float32")), map_free_vars=True)
    assert not ir.structural_equal(ops.sum(x, axis=0), ops.sum(x, axis=1))
    assert ir.structural_equal(ops.sum(x, axis=0), ops.sum(x, axis=[0]))
    assert not ir.structural_equal(ir.const(0.0), ir.const(-0.0))
    assert not ir.structural_equal(ir.const(1), ir.const(1, "int64"))
    assert ir.structural_equal(ir.const(np.array([np.nan])), ir.const(np.array([np.nan])))


def test_types_and_attrs_by_themselves() -> None:
    def square(name: str) -> TensorType:
        return TensorType((dim(name),) * 2, "float32")

    def generic(name: str, twice: bool) -> FuncType:
        a, b = TypeVar(name), TypeVar("b")
        return FuncType((a, a if twice else b), a, (a, b))

    one, other = square("n"), square("m")
    assert ir.structural_equal(F, TensorType((2, 3), "float32"))
    assert not ir.structural_equal(one, other)
    assert ir.structural_equal(one, other, map_free_vars=True)
    assert not ir.structural_equal(one, TensorType((dim("n"), dim("m")), "float32"), map_free_vars=True)
    assert ir.structural_equal(generic("a", True), generic("c", True))
    assert not ir.structural_equal(generic("a", True), generic("a", False))
    summed = [ops.sum(v("x"), axis=axis).attrs for axis in (0, [0], 1)]
    assert ir.structural_equal(summed[0], summed[1])
    assert not ir.structural_equal(summed[0], summed[2])
    assert not ir.structural_equal(F, summed[0])
    assert not ir.structural_equal(v("x"), F)
    assert ir.structural_hash(summed[0]) == ir.structural_hash(summed[1]) != ir.structural_hash(summed[2])
    assert ir.structural_hash(one, map_free_vars=True) == ir.structural_hash(other, map_free_vars=True)


def test_symbolic_dims_are_mapped_like_free_variables() -> None:
    n, m = dim("n"), dim("m")
    square, free = TensorType((n, n), "float32"), TensorType((n, m), "float32")
    k = dim("k")
    assert ir.structural_equal(v("x", square), v("y", TensorType((k, k), "float32")), map_free_vars=True)
    assert not ir.structural_equal(v("x", square), v("y", free), map_free_vars=True)


def test_sharing_makes_no_difference() -> None:
    x = v("x")
    shared = ops.exp(x)
    assert ir.structural_equal(ops.add(shared, shared), ops.add(ops.exp(x), ops.exp(x)))
    assert ir.structural_hash(ops.add(shared, shared)) == ir.structural_hash(ops.add(ops.exp(x), ops.exp(x)))


def test_digests_are_the_same_in_every_process() -> None:
    program = (
        "from opgen_runtime import ir, ops\nfrom opgen_runtime.operator.types import TensorType\n"
        "x = ir.var('x', TensorType((2, 3), 'float32'))\n"
        "print(ir.structural_digest(ops.sum(ops.exp(x) * 0.5, axis=1)))"
    )
    here = ir.structural_digest(ops.sum(ops.exp(v("z")) * 0.5, axis=1))
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == here


def test_well_formed() -> None:
    x, y = v("x"), v("y")
    assert ir.why_not_well_formed(ops.add(x, y)) is None
    twice = ir.Let(x, y, ir.Let(x, y, x))
    assert ir.why_not_well_formed(twice) == "variable %x is bound twice"
    outside = ir.Tuple((ir.Let(x, y, x), ops.exp(x)))
    assert ir.why_not_well_formed(outside) == "variable %x is used outside the Let that binds it"
    in_value = ir.Let(x, ops.exp(x), x)
    assert ir.why_not_well_formed(in_value) == "variable %x is used outside the Let that binds it"
    escaped = ir.Tuple((ir.Function((x,), ops.exp(x)), x))
    assert ir.why_not_well_formed(escaped) == "variable %x is used outside the Function that binds it"
    shared = ops.exp(x)  # a shared node that needs x, inside and outside the branch that binds it
    assert not ir.well_formed(ir.If(ir.const(True), ir.Let(x, y, shared), shared))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def @main(%x: Tensor[(2), float32]) { @f(%x) }", "@main: @f is not a function of the module"),
        ("def @main(%x: Tensor[(2), float32]) { @main(%x) }", None),
    ],
)
def test_well_formed_modules(text: str, reason: str | None) -> None:
    assert ir.why_not_well_formed(ir.parse_module(text)) == reason


def test_functions_of_a_module_are_closed() -> None:
    x, y = v("x"), v("y")
    module = ir.IRModule({ir.GlobalVar("f"): ir.Function((x,), ops.add(x, y))})
    assert ir.why_not_well_formed(module) == "@f: variable %y is free"
