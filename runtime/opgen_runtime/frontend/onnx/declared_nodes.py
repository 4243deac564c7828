"""Nodes of declared ops: a node of the domain of a project is a call of its op, attributes by the names of the attrs.

The domain of the built-in ops is `opgen`, that of a project's its namespace.  Attributes of ONNX are float32: one is
read as the shortest decimal that it is, so that 1e-5 stays 1e-5; a number that it would not hold is a tensor of
float64.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
import onnx

from ...base.errors import RegistryError, did_you_mean
from ...ir import Expr, declared, make_call
from ...operator import REQUIRED as NEEDED
from ...operator import AttrField, Op, Signature, has_op, list_ops
from .element_types import dtype_of
from .errors import ModelError, NotSupported
from .limits import spending
from .rules import REQUIRED, AttributeRule, InputRule, Rule, find
from .schemas import schema_of

BUILT_IN: Final = "opgen"
"""The domain of the built-in ops."""


def domain_of(op: Op) -> tuple[str, str]:
    """The domain and the operator that stand for an op: what its name has before the last dot, and behind it."""
    namespace, _, name = op.name.rpartition(".")
    return namespace or BUILT_IN, name


def why_not_a_node(op: Op) -> str | None:
    """Why no node can be a call of an op; None where one can."""
    declaration = declared(op)
    if declaration is None:
        return f"op {op.name!r} has no declaration, by which readers of a model would know it"
    for operand in declaration.signature.inputs[:-1]:
        if operand.variadic:
            return f"operand {operand.name!r} of op {op.name!r} takes several tensors, which only the last one can"
    return None


def short_decimal(value: float) -> float:
    """The shortest decimal that is this float32."""
    return float(str(np.float32(value)))


def rule_of(domain: str, operator: str, version: int) -> Rule | None:
    """The rule of an operator at an opset, that of a declared op where it is one of a project's domain."""
    found = find(domain, operator, version)
    if found is not None or domain in _domains_of_onnx() or schema_of(domain, operator, version) is not None:
        return found
    op = _op_of(domain, operator)
    return None if op is None else _rule(op)


def why_unknown(domain: str, operator: str, version: int) -> str:
    """Why an operator that neither onnx nor a rule knows has no mapping."""
    if domain in _domains_of_onnx():
        return f"no such operator at opset {version}"
    prefix = "" if domain == BUILT_IN else f"{domain}."
    known = [
        own
        for name in list_ops()
        if name.startswith(prefix) and "." not in (own := name.removeprefix(prefix))
    ]
    if not known:
        return f"no project that is installed or imported declares ops of the domain {domain!r}"
    return f"no op {operator!r} is declared in the domain {domain!r}{did_you_mean(operator, known)}"


@lru_cache(None)
def _domains_of_onnx() -> frozenset[str]:
    return frozenset([schema.domain for schema in onnx.defs.get_all_schemas()])


def _op_of(domain: str, operator: str) -> Op | None:
    name = operator if domain == BUILT_IN else f"{domain}.{operator}"
    try:
        found = Op.get(name) if has_op(name) else None
    except RegistryError:
        return None
    return found if found is not None and declared(found) is not None else None


def _rule(op: Op) -> Rule:
    """What the declaration says of a node: its inputs, in order, and its attributes."""
    declaration = declared(op)
    assert declaration is not None
    inputs: list[InputRule] = []
    rest: InputRule | None = None
    for declared_input in declaration.signature.inputs:
        rule = InputRule(declared_input.name, "Expr", declared_input.optional)
        if declared_input.variadic:
            rest = rule
        else:
            inputs.append(rule)
    fields = {} if declaration.attrs is None else declaration.attrs._fields
    attributes = {
        name: AttributeRule(REQUIRED if field.default is NEEDED else None) for name, field in fields.items()
    }
    signature = declaration.signature

    def convert(*operands: Expr | None, **given: Any) -> Expr:
        reason = why_not_a_node(op)
        if reason is not None:
            raise NotSupported(reason)
        attrs = {name: _value(fields[name], value) for name, value in given.items() if value is not None}
        kind = declaration.attrs
        call = make_call(op, _grouped(signature, operands), None if kind is None else kind(**attrs))
        spending().call(call.checked_type)
        return call

    return Rule(op.name, 1, convert, tuple(inputs), rest, attributes, False, (op.name,), folds=False)


def _grouped(signature: Signature, operands: tuple[Expr | None, ...]) -> list[Any]:
    """One operand a declared input: what is left over is the last one's, which takes several."""
    if not signature.inputs or not signature.inputs[-1].variadic:
        return list(operands)
    single = len(signature.inputs) - 1
    return [*operands[:single], [each for each in operands[single:] if each is not None]]


def _value(field: AttrField, value: object) -> object:
    """An attribute as a value of the attr.  Raises ModelError for one that it cannot be."""
    if isinstance(value, np.ndarray):
        if value.dtype != np.float64 or value.ndim > 1:
            raise ModelError(
                f"attribute {field.name!r} is a tensor of {value.dtype}; expected one or several of float64"
            )
        return tuple(value.tolist()) if value.ndim else float(value)
    if isinstance(value, tuple):
        return tuple([_value(field, each) for each in value])
    if isinstance(value, float):
        return short_decimal(value)
    if field.kind == "dtype" and isinstance(value, int):
        return dtype_of(value)
    if field.kind == "bool" and value in (0, 1):
        return bool(value)
    return value
