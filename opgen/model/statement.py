"""Checked values as the syntax trees that state them: printed into a generated module, and run by analysis.

`_d` is `opgen_runtime.declaration.statement`, `_l` is `opgen_runtime.compute.lang`.  A keyword that would say what is
said by default is left out.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Final

from opgen_runtime.declaration.statement import let_names
from opgen_runtime.operator.attrs import AttrObject, object_text

from .checked import (
    BoundRule,
    CheckedAttr,
    CheckedDecomposition,
    CheckedInput,
    CheckedOutput,
    CheckedSignature,
    CheckedStrategy,
    CheckedUpgrade,
    LetRule,
    Rule,
    ShapeEntry,
    StaticEntry,
)

_PLEVEL: Final = 10  # of a strategy that states none


def tree(value: object, library: str = "_l.") -> ast.expr:
    """A plain value as a syntax tree, an object as its text; a syntax tree stands for itself.

    `library`: what stands before `inf` and `nan`; nothing in documentation.
    Raises TypeError for a value that has no literal.
    """
    match value:
        case ast.expr():
            return value
        case float() if math.isnan(value):
            return name_of(f"{library}nan")
        case float() if math.isinf(value):
            infinity = name_of(f"{library}inf")
            return infinity if value > 0 else ast.UnaryOp(ast.USub(), infinity)
        case None | bool() | float():
            return ast.Constant(value)
        case int():
            return ast.Constant(int(value))
        case str():
            return ast.Constant(str(value))
        case AttrObject():
            return ast.Constant(object_text(value))
        case tuple():
            return ast.Tuple([tree(each, library) for each in value], ast.Load())
        case list():
            return ast.List([tree(each, library) for each in value], ast.Load())
        case Mapping():
            keys: list[ast.expr | None] = [tree(key, library) for key in value]
            return ast.Dict(keys, [tree(each, library) for each in value.values()])
    raise TypeError(f"no literal for a value of type {type(value).__name__}")


def call(function: str, *arguments: object, **keywords: object) -> ast.Call:
    """`function(arguments, keyword=value)`; a dot in the name is an attribute."""
    return ast.Call(
        name_of(function),
        [tree(each) for each in arguments],
        [ast.keyword(name, tree(value)) for name, value in keywords.items()],
    )


def name_of(text: str) -> ast.expr:
    """A name; what follows a dot is an attribute."""
    first, *rest = text.split(".")
    node: ast.expr = ast.Name(first, ast.Load())
    for each in rest:
        node = ast.Attribute(node, each, ast.Load())
    return node


def attr_tree(attr: CheckedAttr, doc: str = "") -> ast.Call:
    """`_d.attr(kind, default=...)`: the statement of one field of an attrs class."""
    options: dict[str, object] = {}
    if not attr.required:
        options["default"] = attr.default
    if attr.optional and (attr.required or attr.default is not None):
        options["optional"] = True
    if attr.values:
        options["values"] = attr.values
    elif attr.bound is not None:
        options["bounds"] = attr.bound.text
        if attr.bound.check is not None:
            options["check"] = attr.bound.check
    return call("_d.attr", attr.kind, **options, **_given(doc=doc))


def signature_parts(
    signature: CheckedSignature, attrs: tuple[CheckedAttr, ...], docs: Mapping[str, str] | None = None
) -> list[ast.expr]:
    """The parts of a signature in order.  `docs`: what is to be said of operands and results here."""
    said = docs or {}
    texts = {attr.name: attr.bound.text for attr in attrs if attr.bound is not None}
    return [
        *[_input(operand, said.get(operand.name, "")) for operand in signature.inputs],
        *[_rule(rule, texts) for rule in signature.rules],
        *[_output(result, said.get(result.name, "")) for result in signature.outputs],
    ]


def signature_options(signature: CheckedSignature) -> dict[str, object]:
    """What else a signature states, by keyword."""
    return _given(dtypes=signature.dtypes, dynamic=signature.dynamic, relation=signature.relation_extern)


def strategy_tree(entry: CheckedStrategy) -> ast.Call:
    """`_d.StrategyEntry(...)`."""
    when = {} if entry.when is None else {"when": entry.when, "when_text": entry.when_text}
    plevel = {} if entry.plevel == _PLEVEL else {"plevel": entry.plevel}
    given = _given(target=entry.target, schedule=entry.schedule, kernel=entry.kernel)
    layouts = {"layouts": dict(entry.layouts)} if entry.layouts else {}
    return call("_d.StrategyEntry", entry.name, **given, **when, **plevel, **layouts)


def decomposition_tree(entry: CheckedDecomposition) -> ast.Call:
    """`_d.Decomposition(...)`."""
    when = {} if entry.when is None else {"when": entry.when, "when_text": entry.when_text}
    return call("_d.Decomposition", name_of(entry.into.name), **when)


def upgrade_tree(entry: CheckedUpgrade) -> ast.Call:
    """`_d.Upgrade(...)`."""
    attrs = {attr.name: attr_tree(attr) for attr in entry.attrs}
    inputs = {} if entry.inputs is None else {"inputs": entry.inputs}
    given = _given(
        attrs=attrs, becomes=entry.becomes, require=entry.require, result=entry.result, extern=entry.extern
    )
    return call("_d.Upgrade", **inputs, **given)


def _input(operand: CheckedInput, doc: str) -> ast.Call:
    shape = None if operand.shape is None else tuple(_entry(each) for each in operand.shape)
    dtype = "" if operand.dtype == "any" else operand.dtype
    given = _given(dtype=dtype, doc=doc, optional=operand.optional, variadic=operand.variadic)
    shapes = {} if shape is None else {"shape": shape}
    return call("_d.Input", operand.name, **shapes, **given, **_layout(operand))


def _output(result: CheckedOutput, doc: str) -> ast.Call:
    shape = result.shape
    options: dict[str, object] = {
        "shape": tuple(_entry(each) for each in shape) if isinstance(shape, tuple) else shape,
        "dtype": result.dtype,
        **_given(doc=doc),
    }
    if result.variadic is not None:
        options["variadic"] = result.variadic
        if result.variadic_index not in (None, "j"):
            options["index"] = result.variadic_index
    return call("_d.Output", result.name, **options, **_layout(result))


def _layout(tensor: CheckedInput | CheckedOutput) -> dict[str, object]:
    view = tensor.layout
    return {} if view is None else {"layout": (view.attr, view.canonical)}


def _entry(entry: ShapeEntry) -> object:
    if isinstance(entry, StaticEntry):
        return call("_d.Spread" if entry.spread else "_d.Static", entry.function, entry.text)
    return entry


def _rule(rule: Rule, bounds: Mapping[str, str]) -> ast.Call:
    match rule:
        case BoundRule():
            text = () if rule.text == bounds.get(rule.attr) else (rule.text,)
            return call("_d.Bound", rule.attr, rule.function, *text)
        case LetRule():
            names = {} if rule.names == let_names(rule.text) else {"names": rule.names}
            return call("_d.let", rule.text, rule.function, **names)
    options = {
        name: value for name, value in (("error", rule.error), ("binds", rule.binds)) if value is not None
    }
    return call("_d.Require", rule.function, rule.text, **options)


def _given(**options: object) -> dict[str, object]:
    """The options that say something."""
    return {name: value for name, value in options.items() if value}
