"""Dot products of packed narrow integers, summed in each lane: by the machine's instruction where it has one."""

from __future__ import annotations

from typing import Final

from ...base.arith import DOT_PRODUCTS, Call, DotProduct, Expr
from ...base.vocabulary import INT32
from . import arithmetic
from .text import FunctionText, Value, constant, register
from .text.types import register_type, vector_type

_WORD_BITS: Final = 32  # bits


def is_dot(e: Expr) -> bool:
    """Whether an expression is such a sum, to which more may be added in one instruction."""
    return isinstance(e, Call) and e.name in DOT_PRODUCTS


def dot(f: FunctionText, name: str, a: Value, b: Value, to: Value | None = None) -> Value:
    """`to + name(a, b)`, where `to` is 0 if it is not given."""
    lanes, form = max(a.lanes, b.lanes, 1 if to is None else to.lanes), DOT_PRODUCTS[name]
    steps = form.steps
    found = f.module.target.dot(steps, lanes * _WORD_BITS)
    to = constant(INT32, 0) if to is None else to
    if found is None:
        return arithmetic.binary(f, "add", to, _written_out(f, form, a, b))
    kind, numbers = register_type(INT32, lanes), vector_type(f"i{_WORD_BITS // steps}", lanes * steps)
    operands = [(numbers, f.emit(f"bitcast {kind} {f.vector(each, lanes)} to {numbers}")) for each in (a, b)]
    if found.adds:
        return register(
            INT32, lanes, f.call(found.instruction, kind, ((kind, f.vector(to, lanes)), *operands))
        )
    return arithmetic.binary(f, "add", to, register(INT32, lanes, f.call(found.instruction, kind, operands)))


def _written_out(f: FunctionText, form: DotProduct, a: Value, b: Value) -> Value:
    """The sum by shifts and products."""
    lanes, bits = max(a.lanes, b.lanes), _WORD_BITS // form.steps
    kind = register_type(INT32, lanes)
    left, right = f.vector(a, lanes), f.vector(b, lanes)

    def number(held: str, step: int, signed: bool) -> str:
        up = f.vector(constant(INT32, _WORD_BITS - bits * (step + 1)), lanes)
        down = f.vector(constant(INT32, _WORD_BITS - bits), lanes)
        high = f.emit(f"shl {kind} {held}, {up}")
        return f.emit(f"{'ashr' if signed else 'lshr'} {kind} {high}, {down}")

    total = ""
    for step in range(form.steps):
        x, y = number(left, step, form.signed), number(right, step, True)
        product = f.emit(f"mul {kind} {x}, {y}")
        total = f.emit(f"add {kind} {total}, {product}") if total else product
    return register(INT32, lanes, total)
