"""Sizes of open dims as values of a graph: `n // 2 + 1` from the shapes of the inputs, when the model runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ....base.arith.expr import Binary, Compare, Const, Expr, Not, Select, Var
from ....operator import Dim
from .nodes import Nodes, NoStandard, Operand, Value

_BINARY: Final = {"add": "Add", "sub": "Sub", "mul": "Mul", "min": "Min", "max": "Max", "floormod": "Mod"}
_OF_BOOLS: Final = {"and": "And", "or": "Or", "xor": "Xor"}
_COMPARE: Final = {"lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual", "eq": "Equal"}


def sizes(to: Nodes, dims: Sequence[Dim]) -> Value:
    """Sizes as int64 with one axis: a constant where all are known.

    Raises NoStandard for one that no input has, or that is not made of operators of ONNX.
    """
    if all([isinstance(dim, int) for dim in dims]):
        return to.ints(*[int(dim) for dim in dims if isinstance(dim, int)])
    parts: list[Operand] = []
    for dim in dims:
        parts.append(np.asarray([dim], np.int64) if isinstance(dim, int) else _value(to, dim))
    return parts[0] if len(parts) == 1 and isinstance(parts[0], Value) else to("Concat", *parts, axis=0)


def size(to: Nodes, dim: Dim) -> Value:
    """One size, without axes."""
    if isinstance(dim, int):
        return to.number(dim, "int64")
    return to("Squeeze", _value(to, dim), to.ints(0))


def _value(to: Nodes, dim: Expr) -> Value:
    """One element with one axis."""
    if isinstance(dim, Const):
        return to.names.constant(np.asarray([dim.value], np.int64))
    if isinstance(dim, Var):
        if dim not in to.names.places:
            raise NoStandard(f"the size {dim} is the extent of no input")
        value, axis = to.names.places[dim]
        return to("Shape", value, gives="int64", start=axis, end=axis + 1)
    if isinstance(dim, Not):
        return to("Not", _value(to, dim.a))
    if isinstance(dim, Select):
        parts = [_value(to, each) for each in dim.children()]
        return to("Where", *parts, gives="int64")
    if not isinstance(dim, Binary | Compare):
        raise NoStandard(f"the size {dim} has no form in ONNX")
    a, b = _value(to, dim.a), _value(to, dim.b)
    if isinstance(dim, Compare):
        if dim.op == "ne":
            return to("Not", to("Equal", a, b, gives="bool"))
        return to(_COMPARE[dim.op], a, b, gives="bool")
    if dim.op == "floordiv":  # ONNX's Div truncates
        return to("Div", to("Sub", a, to("Mod", a, b)), b)
    table = _OF_BOOLS if a.dtype.is_bool else _BINARY
    if dim.op not in table:
        raise NoStandard(f"the size {dim} has no form in ONNX")
    return to(table[dim.op], a, b)
