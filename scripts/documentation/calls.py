"""The example of an op's page: run, for what it prints, and read, for the call that it makes."""

from __future__ import annotations

import ast
import contextlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgen_runtime.compute.te import Tensor
from opgen_runtime.declaration import call_tensors
from opgen_runtime.operator import Op, TensorType, TupleType

_SUMMARISED = {"threshold": 64, "edgeitems": 1, "precision": 4, "suppress": True}  # how numpy prints arrays


@dataclass(frozen=True)
class Example:
    """What the program of a page prints, and the tensors that its call is about."""

    printed: str
    operands: Sequence[Tensor]
    results: Sequence[Tensor]


def run(name: str, program: str) -> Example:
    """Run the program of the page of op `name`; what it raises is a fault of the page."""
    held: dict[str, Any] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), np.printoptions(**_SUMMARISED):
        exec(compile(program, f"<example of {name}>", "exec"), held)
    op = Op.get(name)
    declaration: Any = op.get_attr("declaration")
    given = {keyword.arg: keyword.value for keyword in _call(program, name).keywords}
    types = [
        _type(held.get(each.name) if each.name in given else None) for each in declaration.signature.inputs
    ]
    operands = {each.name for each in declaration.signature.inputs}
    values = {key: eval(ast.unparse(node), held) for key, node in given.items() if key not in operands}
    if op.get_attr("compute") is None:
        return Example(printed.getvalue(), (), ())
    made = call_tensors(op, None if declaration.attrs is None else declaration.attrs(**values), types)
    return Example(printed.getvalue(), made.inputs, made.results)


def _call(program: str, name: str) -> ast.Call:
    """The call of the op."""
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == f"eager.{name}":
            return node
    raise ValueError(f"the example of {name} does not call it")


def _type(value: Any) -> Any:
    if isinstance(value, list):
        return TupleType(tuple(_type(each) for each in value))
    return TupleType(()) if value is None else TensorType(value.shape, str(value.dtype))
