"""The signature of a declaration: operands, rules and results with their functions translated."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from opgen_runtime.base.vocabulary import DTYPE_CLASSES, DTYPES

from ...diagnostics import Diagnostics, did_you_mean
from ...document import TextNode
from ...expression import syntax as s
from ...expression.print import to_text
from ...expression.scope import Kind, Namespace
from ...expression.translate import Translator, at, make_lambda
from ...expression.translate_let import flatten_let, translate_let
from ...model import (
    BoundRule,
    CheckedAttr,
    CheckedInput,
    CheckedOutput,
    CheckedSignature,
    LayoutView,
    LetRule,
    RequireRule,
    Rule,
    ShapeEntry,
    StaticEntry,
)
from ...model.opdef import InputDef, LayoutDef, OpDef, OutputDef, RequireDef
from ..names.namespace import binding_of
from .relations import relation_requires

DType = str | tuple[str, ...]


def check_signature(
    op: OpDef,
    attrs: Sequence[CheckedAttr],
    namespace: Namespace,
    known_ops: Mapping[str, str],
    diagnostics: Diagnostics,
) -> CheckedSignature:
    """The signature; unknown dtypes, layouts and relations are reported.

    `known_ops`: the ops that the types of a composition are those of, with their names in the registry.
    """
    return _SignatureBuilder(op, namespace, known_ops, diagnostics).run(attrs)


class _SignatureBuilder:
    def __init__(
        self, op: OpDef, namespace: Namespace, known_ops: Mapping[str, str], diagnostics: Diagnostics
    ) -> None:
        self.op = op
        self.known_ops = known_ops
        self.namespace = namespace
        self.diagnostics = diagnostics
        self.translator = Translator(namespace, static=True)
        self.dynamic = {entry.name for entry in op.dynamic}

    def run(self, attrs: Sequence[CheckedAttr]) -> CheckedSignature:
        op = self.op
        dtypes: Mapping[str, DType] = {
            entry.name: self._dtype(entry.classes, variables=False) for entry in op.dtypes
        }
        inputs = tuple(self._input(operand) for operand in op.inputs)
        rules: list[Rule] = []
        for attr in attrs:
            bound = attr.bound
            if bound is not None and bound.function is not None:
                rules.append(BoundRule(attr.name, bound.function, bound.text))
        for item in flatten_let(op.let):
            text = ", ".join(item.names)
            if isinstance(item.value, s.Composition):
                text += " = the types of the composition"
            elif not isinstance(item.value, s.Def):
                text += f" = {to_text(item.value)}"
            rules.append(LetRule(item.names, translate_let(item, self.namespace, self.known_ops), text))
        named = relation_requires(op, self.diagnostics)
        rules += [self._require(require) for require in (*named, *op.relation.requires)]
        outputs = tuple(self._output(output) for output in op.outputs)
        dynamic = {entry.name: self.function(entry.bound) for entry in op.dynamic}
        relation = None if op.relation.name is None else op.relation.name.value
        extern = None if op.relation.extern is None else op.relation.extern.value
        return CheckedSignature(inputs, tuple(rules), outputs, dtypes, dynamic, relation, extern)

    def function(self, tree: s.Expression, first: Sequence[str] = ()) -> ast.Lambda:
        """A lambda of the names that the expression needs."""
        needs = [*first, *(used for used in self.namespace.used(tree) if used not in first)]
        return make_lambda(needs, self.translator.expression(tree, {}), tree.place)

    def _dtype(self, texts: Sequence[TextNode], variables: bool = True) -> DType:
        """A class, a dtype, a dtype variable, or several dtypes (classes are spread)."""
        names = [part.strip() for text in texts for part in text.value.split(",")]
        known = {entry.name for entry in self.op.dtypes} if variables else set()
        for name in names:
            if name not in DTYPE_CLASSES and name not in DTYPES and name not in known:
                hint: str | None = did_you_mean(name, [*DTYPE_CLASSES, *DTYPES, *known])
                if name.endswith(".dtype"):
                    hint = "give both operands one dtype variable: `dtypes: {T: ...}`, then `dtype: T`"
                classes = ", ".join(DTYPE_CLASSES)
                text = f"`{name[:40]}` is neither a dtype, nor a class ({classes}), nor a dtype variable"
                self.diagnostics.error("dtype", text, texts[0].place, hint)
                return "any"
        if len(names) == 1:
            return names[0]
        spread = [str(dtype) for name in names for dtype in DTYPE_CLASSES.get(name, (name,))]
        return tuple(dict.fromkeys(spread))

    def _input(self, operand: InputDef) -> CheckedInput:
        shape = None if operand.shape is None else tuple(self.entry(entry) for entry in operand.shape)
        return CheckedInput(
            operand.name,
            shape,
            operand.shape_text,
            self._dtype(operand.dtype) if operand.dtype else "any",
            operand.doc,
            operand.optional,
            operand.variadic,
            self._layout(operand.layout),
            operand.place,
        )

    def entry(self, entry: s.Expression | s.Star) -> ShapeEntry:
        """One entry: a name that binds or is read, a number, or a computed one."""
        spread = isinstance(entry, s.Star)
        value = entry.value if isinstance(entry, s.Star) else entry
        if isinstance(value, s.Name):
            symbol = self.namespace.symbols.get(value.name)
            if value.name in self.dynamic or (symbol is not None and symbol.kind in (Kind.DIM, Kind.DIMS)):
                return f"*{value.name}" if spread else value.name
        if not spread and isinstance(value, s.Literal) and type(value.value) is int:
            return value.value
        text = f"*{to_text(value)}" if spread else to_text(value)
        return StaticEntry(self.function(value), spread, text)

    def _layout(self, layout: LayoutDef | None) -> LayoutView | None:
        if layout is None:
            return None
        attr = next((attr for attr in self.op.attrs if attr.name == layout.attr.value), None)
        if attr is None or attr.kind != "layout":
            text = f"`{layout.attr.value[:40]}` is not an attr of type layout"
            hint = did_you_mean(layout.attr.value, [a.name for a in self.op.attrs if a.kind == "layout"])
            self.diagnostics.error("unknown-name", text, layout.attr.place, hint)
        return LayoutView(layout.attr.value, layout.canonical.value)

    def _require(self, require: RequireDef) -> RequireRule:
        binds = binding_of(require.predicate, self.namespace)
        if binds is not None and isinstance(require.predicate, s.Compare):
            right = require.predicate.rest[0][1]
            assert right is not None
            if binds not in self.namespace.used(right):
                return RequireRule(self.function(right), require.text, require.error, binds)
        return RequireRule(self.function(require.predicate), require.text, require.error, None)

    def _output(self, output: OutputDef) -> CheckedOutput:
        index, variadic = None, None
        if output.variadic is not None:
            index = output.variadic[0].name
            variadic = self.function(output.variadic[1])
        return CheckedOutput(
            output.name,
            self._output_shape(output, index),
            output.shape_text,
            self._output_dtype(output, index),
            output.dtype_text,
            output.doc,
            variadic,
            index,
            self._layout(output.layout),
            output.place,
        )

    def _output_shape(
        self, output: OutputDef, index: str | None
    ) -> tuple[ShapeEntry, ...] | ast.Lambda | str:
        first = () if index is None else (index,)
        if len(output.shape) == 1 and not isinstance(output.shape[0], s.Star):
            only = output.shape[0]
            if isinstance(only, s.Attribute) and isinstance(only.value, s.Name) and index is None:
                symbol = self.namespace.symbols.get(only.value.name)
                if only.name == "shape" and symbol is not None and symbol.kind is Kind.INPUT:
                    return f"{only.value.name}.shape"
            entry = self.entry(only)
            if isinstance(entry, StaticEntry):
                return self.function(only, first)
            return (entry,)
        if index is None:
            return tuple(self.entry(entry) for entry in output.shape)
        place = output.shape[0].place if output.shape else output.place
        whole = at(ast.Tuple(self.translator.items(output.shape, {}), ast.Load()), place)
        needs = [index, *(used for used in self.namespace.used(*output.shape) if used != index)]
        return make_lambda(needs, whole, place)

    def _output_dtype(self, output: OutputDef, index: str | None) -> str | ast.Lambda:
        tree = output.dtype
        if isinstance(tree, s.Name):
            symbol = self.namespace.symbols.get(tree.name)
            if tree.name in DTYPES or (symbol is not None and symbol.kind is Kind.DTYPE):
                return tree.name
        if isinstance(tree, s.Attribute) and isinstance(tree.value, s.Name) and tree.name == "dtype":
            symbol = self.namespace.symbols.get(tree.value.name)
            if symbol is not None and symbol.kind is Kind.INPUT:
                return f"{tree.value.name}.dtype"
        return self.function(tree, () if index is None else (index,))
