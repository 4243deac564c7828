"""What the template of an op's module prints."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass

from ..layout import comment_text, docstring_lines, fill, fold, statement_lines
from ..layout.statements import header_lines
from ..model import CheckedAttr, CheckedOp
from .signature import signature_text
from .text import Code, call, camel_case, literal
from .wrapper import WrapperView, field_type, wrapper_view


@dataclass(frozen=True, slots=True)
class FieldView:
    """One line of the Attrs class: `name: annotation = _attr(arguments)`."""

    name: str
    annotation: str
    value: str


@dataclass(frozen=True, slots=True)
class OpView:
    """One op's module.  Every text is Python (or a comment) already."""

    name: str
    source: str
    docstring: str
    attrs_class: str | None  # None: the op has no attrs
    attrs_docstring: str
    type_key: str
    fields: tuple[FieldView, ...]
    compute: str | None  # the whole function; None: a seam
    declaration: str  # `_OpDeclaration(...)`
    wrapper: WrapperView


def op_view(op: CheckedOp, namespace: str = "") -> OpView:
    """The view of `op` in a project with `namespace`."""
    qualified = f"{namespace}.{op.name}" if namespace else op.name
    attrs_class = f"{camel_case(op.name)}Attrs" if op.attrs else None
    return OpView(
        name=op.name,
        source=comment_text(op.source),
        docstring="\n".join(docstring_lines(fill(f"{op.name}: {_lower_first(op.doc)}", 104), 0)),
        attrs_class=attrs_class,
        attrs_docstring=f'"""The attrs of {op.name}."""',
        type_key=literal(f"attrs.{qualified}"),
        fields=tuple(_field(attr) for attr in op.attrs),
        compute=None if op.compute is None else function_text(op.compute, op.formula),
        declaration=_declaration(op, attrs_class, namespace),
        wrapper=wrapper_view(op),
    )


def function_text(function: ast.FunctionDef, docstring: str = "") -> str:
    """A function with its docstring; parameters that have no annotation get `_t.Any`."""
    annotated = copy.deepcopy(function)
    for node in ast.walk(annotated):
        if isinstance(node, ast.FunctionDef):
            _annotate(node)
    lines = header_lines(annotated, indent=0)
    text = fold(docstring, 100)
    if any(line.strip() for line in text):
        first, *rest = docstring_lines(text, 4)
        lines += ["    " + first, *rest]
    lines += statement_lines(annotated.body, indent=4)
    return "\n".join(lines)


def _annotate(function: ast.FunctionDef) -> None:
    anything = ast.Attribute(ast.Name("_t", ast.Load()), "Any", ast.Load())
    arguments = function.args
    extra = [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra):
        if parameter.annotation is None:
            parameter.annotation = anything
    if function.returns is None:
        function.returns = anything


def _field(attr: CheckedAttr) -> FieldView:
    options: dict[str, object] = {}
    if not attr.required:
        options["default"] = attr.default
    if attr.optional:
        options["optional"] = True
    if attr.bound is not None:
        options["bounds"] = attr.bound.text
        if attr.bound.check is not None:
            options["check"] = attr.bound.check
    if attr.doc:
        options["doc"] = attr.doc
    return FieldView(attr.name, field_type(attr), call("_attr", attr.kind, **options))


def _declaration(op: CheckedOp, attrs_class: str | None, namespace: str) -> str:
    options: dict[str, object] = {
        "name": op.name,
        "doc": op.doc,
        "support_level": op.support_level,
        "arity": op.arity,
        "attrs": None if attrs_class is None else Code(attrs_class),
        "signature": Code(signature_text(op.signature)),
        "compute": None if op.compute is None else Code("compute"),
        "extern": op.extern,
        "pattern": Code(f"_OpPattern.{op.pattern.name}"),
    }
    if op.traits:
        options["traits"] = dict(op.traits)
    if op.strategy:
        options["strategy"] = _strategy(op)
    options["source"] = op.source
    options["digest"] = op.digest
    if namespace:
        options["namespace"] = namespace
    return call("_OpDeclaration", **options)


def _strategy(op: CheckedOp) -> Sequence[Code]:
    found: list[Code] = []
    for entry in op.strategy:
        options: dict[str, object] = {"target": entry.target, "schedule": entry.schedule}
        if entry.when is not None:
            options["when"] = entry.when
            options["when_text"] = entry.when_text
        options["plevel"] = entry.plevel
        found.append(call("_StrategyEntry", entry.name, **options))
    return tuple(found)


def _lower_first(text: str) -> str:
    """The first word in lower case, unless it is a name of its own (`LSTM`)."""
    text = text.strip()
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text
