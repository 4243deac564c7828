"""What the template of an op's module prints."""

from __future__ import annotations

import ast
import copy
from typing import Final

from opgen_runtime.base.vocabulary import dataclass
from opgen_runtime.declaration.documentation import Documentation, documentation_of, plain

from ..formatting import comment_text, statement_lines
from ..model import CheckedAttr, CheckedOp
from ..model.statement import (
    attr_tree,
    call,
    decomposition_tree,
    name_of,
    signature_options,
    signature_parts,
    strategy_tree,
    upgrade_tree,
)
from .text import camel_case, line_of, literal
from .wrapper import WrapperView, field_type, wrapper_view

_DIGEST: Final = 32  # hex digits: enough that no two declarations share them
_BLOCKS: Final = ("body", "orelse")  # of a statement that holds others
_SUPPORT_LEVEL: Final = 10  # of a declaration that states none


@dataclass(frozen=True, slots=True)
class FieldView:
    """One line of the Attrs class: `name: annotation = _d.attr(arguments)`."""

    name: str
    annotation: str
    value: str


@dataclass(frozen=True, slots=True)
class OpView:
    """One op's module.  Every text is Python (or a comment) already."""

    name: str
    source: str
    attrs_class: str | None  # None: the op has no attrs
    type_key: str
    fields: tuple[FieldView, ...]
    compute: str | None  # the whole function; None: an extern
    decompositions: tuple[str, ...]  # the whole functions of `decompose:`
    declaration: str  # `_d.declare(...)`
    wrapper: WrapperView


def op_view(op: CheckedOp, namespace: str = "") -> OpView:
    """The view of `op` in a project with `namespace`."""
    qualified = f"{namespace}.{op.name}" if namespace else op.name
    attrs_class = f"{camel_case(op.name)}Attrs" if op.attrs else None
    wrapper = wrapper_view(op)
    printed = documentation_of(ast.literal_eval(wrapper.docstring))
    return OpView(
        name=op.name,
        source=comment_text(op.source),
        attrs_class=attrs_class,
        type_key=literal(f"attrs.{qualified}"),
        fields=tuple(_field(attr, _unsaid(attr.doc, printed.parameters.get(attr.name))) for attr in op.attrs),
        compute=None if op.compute is None else function_text(op.compute),
        decompositions=tuple(function_text(entry.into) for entry in op.decompositions),
        declaration=line_of(_declaration(op, attrs_class, namespace, printed)),
        wrapper=wrapper,
    )


def function_text(function: ast.FunctionDef, anything: str = "_d.Any", indent: int = 0) -> str:
    """A function at `indent` columns; what has no annotation gets `anything`."""
    return "\n".join(statement_lines([_annotated(function, name_of(anything))], indent=indent))


def _annotated(node: ast.stmt, anything: ast.expr) -> ast.stmt:
    """The statement with its functions annotated; expressions are shared with it."""
    blocks = {name: getattr(node, name) for name in _BLOCKS if getattr(node, name, None)}
    if not blocks:
        return node
    made = copy.copy(node)
    for name, block in blocks.items():
        setattr(made, name, [_annotated(inner, anything) for inner in block])
    if isinstance(made, ast.FunctionDef):
        made.returns = made.returns or anything
        made.args = _annotated_parameters(made.args, anything)
    return made


def _annotated_parameters(arguments: ast.arguments, anything: ast.expr) -> ast.arguments:
    def annotated(parameter: ast.arg) -> ast.arg:
        return ast.arg(parameter.arg, parameter.annotation or anything)

    made = copy.copy(arguments)
    for name in ("posonlyargs", "args", "kwonlyargs"):
        setattr(made, name, [annotated(each) for each in getattr(arguments, name)])
    for name in ("vararg", "kwarg"):
        given = getattr(arguments, name)
        setattr(made, name, given and annotated(given))
    return made


def _field(attr: CheckedAttr, doc: str) -> FieldView:
    return FieldView(attr.name, field_type(attr), line_of(attr_tree(attr, doc)))


def _declaration(op: CheckedOp, attrs_class: str | None, namespace: str, printed: Documentation) -> ast.Call:
    inputs = {each.name: _unsaid(each.doc, printed.parameters.get(each.name)) for each in op.inputs}
    outputs = {each.name: _unsaid(each.doc, printed.results.get(each.name)) for each in op.outputs}
    parts = signature_parts(op.signature, op.attrs, {**inputs, **outputs})
    options: dict[str, object] = signature_options(op.signature)
    if attrs_class is not None:
        options["attrs"] = name_of(attrs_class)
    definitions = {"compute": op.compute and name_of("compute"), "extern": op.extern, "te": op.expression}
    options |= {name: value for name, value in definitions.items() if value is not None}
    options["pattern"] = name_of(f"_d.OpPattern.{op.pattern.name}")
    if op.support_level != _SUPPORT_LEVEL:
        options["support_level"] = op.support_level
    if op.traits:
        options["traits"] = dict(op.traits)
    if op.gradients:
        options["gradients"] = {each.input: each.function for each in op.gradients}
    if op.decompositions:
        options["decompositions"] = tuple(decomposition_tree(entry) for entry in op.decompositions)
    if op.strategy:
        options["strategy"] = tuple(strategy_tree(entry) for entry in op.strategy)
    if plain(op.doc) != printed.text:
        options["doc"] = op.doc
    if op.version > 1:
        options["version"] = op.version
    if op.upgrades:
        numbers = [ast.Constant(each.version) for each in op.upgrades]
        options["upgrades"] = ast.Dict([*numbers], [upgrade_tree(each) for each in op.upgrades])
    if op.calls:
        options["calls"] = op.calls
    options |= {"source": op.source, "digest": op.digest[:_DIGEST]}
    if namespace:
        options["namespace"] = namespace
    return call("_d.declare", name_of(op.name), *parts, **options)


def _unsaid(doc: str, said: str | None) -> str:
    """What the docstring cannot give back, so that the statement says it too."""
    return "" if plain(doc) == (said or "") else doc
