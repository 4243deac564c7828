"""The signature of an op as Python text: `_Signature(inputs=..., rules=..., outputs=..., dtypes=...)`."""

from __future__ import annotations

from ..model import (
    BoundRule,
    CheckedInput,
    CheckedOutput,
    CheckedSignature,
    LetRule,
    Rule,
    ShapeEntry,
    StaticEntry,
)
from .text import Code, call


def signature_text(signature: CheckedSignature) -> str:
    """The whole signature; parts that are empty are left out."""
    parts: dict[str, object] = {"inputs": tuple(_input(each) for each in signature.inputs)}
    if signature.rules:
        parts["rules"] = tuple(_rule(each) for each in signature.rules)
    parts["outputs"] = tuple(_output(each) for each in signature.outputs)
    if signature.dtypes:
        parts["dtypes"] = dict(signature.dtypes)
    if signature.dynamic:
        parts["dynamic"] = dict(signature.dynamic)
    if signature.relation_seam is not None:
        parts["relation"] = signature.relation_seam
    return call("_Signature", **parts)


def _input(operand: CheckedInput) -> Code:
    options: dict[str, object] = {}
    if operand.shape is not None:
        options["shape"] = tuple(_entry(each) for each in operand.shape)
    if operand.dtype != "any":
        options["dtype"] = operand.dtype
    if operand.doc:
        options["doc"] = operand.doc
    if operand.optional:
        options["optional"] = True
    if operand.variadic:
        options["variadic"] = True
    if operand.layout is not None:
        options["layout"] = (operand.layout.attr, operand.layout.canonical)
    return call("_Input", operand.name, **options)


def _output(result: CheckedOutput) -> Code:
    shape = result.shape
    options: dict[str, object] = {
        "shape": tuple(_entry(each) for each in shape) if isinstance(shape, tuple) else shape,
        "dtype": result.dtype,
    }
    if result.doc:
        options["doc"] = result.doc
    if result.variadic is not None:
        options["variadic"] = result.variadic
        if result.variadic_index not in (None, "j"):
            options["index"] = result.variadic_index
    if result.layout is not None:
        options["layout"] = (result.layout.attr, result.layout.canonical)
    return call("_Output", result.name, **options)


def _entry(entry: ShapeEntry) -> object:
    if isinstance(entry, StaticEntry):
        return call("_Spread" if entry.spread else "_Static", entry.function, entry.text)
    return entry


def _rule(rule: Rule) -> Code:
    if isinstance(rule, BoundRule):
        return call("_Bound", rule.attr, rule.function, rule.text)
    if isinstance(rule, LetRule):
        return call("_Let", rule.names, rule.function, rule.text)
    options: dict[str, object] = {}
    if rule.error is not None:
        options["error"] = rule.error
    if rule.binds is not None:
        options["binds"] = rule.binds
    return call("_Require", rule.function, rule.text, **options)
