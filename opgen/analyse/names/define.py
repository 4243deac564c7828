"""A validated document to an `OpDef`: every expression parsed, everything that must be given is there."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from opgen_runtime.ir.operators import OPERATORS

from ...diagnostics import Diagnostics, Place, did_you_mean
from ...document import Declaration, DeclarationPart, ListNode, Node, TextNode
from ...document.schema import (
    AttrPart,
    DecomposePart,
    InputPart,
    LayoutPart,
    OutputPart,
    RelationPart,
    StrategyPart,
    UpgradePart,
)
from ...expression import syntax as s
from ...expression.composed import ComposedText, parse_composed
from ...expression.parse import parse_block, parse_expression, parse_member_range, parse_shape
from ...model.opdef import (
    AttrDef,
    CaseDef,
    DecompositionDef,
    DTypeDef,
    DynamicDef,
    GradientDef,
    InputDef,
    LayoutDef,
    OpDef,
    OutputDef,
    RelationDef,
    RequireDef,
    SavedAttrDef,
    StrategyDef,
    UpgradeDef,
)
from .compositions import composed_output, composed_text, type_name, with_types
from .inherit import Ancestry

_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_BINDING: Final = frozenset(
    {"dtypes", "inputs", "attrs", "type_relation", "let", "outputs", "dynamic", "compute", "composed"}
)


def define(declaration: Declaration, ancestry: Ancestry, diagnostics: Diagnostics) -> OpDef:
    """The OpDef; `partial` names the keys of which something could not be read (reported)."""
    return _Definer(declaration, diagnostics).run(ancestry)


class _Definer:
    def __init__(self, declaration: Declaration, diagnostics: Diagnostics) -> None:
        self.declaration = declaration
        self.part = declaration.part
        self.diagnostics = diagnostics
        self.partial = {str(path[0]) for path in declaration.dropped if path}
        self.lost = {
            name
            for path, node in declaration.dropped_nodes()
            if path and (path[0] in _BINDING or path[0] not in DeclarationPart.model_fields)
            for name in (*map(str, path[1:]), *_names(node))
        }
        self.key = ""  # the key being read

    def run(self, ancestry: Ancestry) -> OpDef:
        part = self.part
        self.key = "inputs"
        inputs = tuple(self._input(name, entry) for name, entry in part.inputs.items())
        self.key = "attrs"
        attrs = tuple(self._attr(name, entry) for name, entry in part.attrs.items())
        self.key = "type_relation"
        relation = self._relation(part.type_relation)
        self.key = "let"
        let = self._block(part.let, static=True)
        self.key = "outputs"
        stated = part.outputs or ({"out": OutputPart.model_validate({})} if part.composed is not None else {})
        outputs = tuple(filter(None, (self._output(name, entry) for name, entry in stated.items())))
        if not stated and not part.abstract:
            self._missing("outputs", part.op.place)
        self.key = "dynamic"
        dynamic = tuple(filter(None, (self._dynamic(name, text) for name, text in part.dynamic.items())))
        self.key = "compute"
        compute, compute_text = self._compute()
        if part.composed is not None and not part.abstract:
            self.key = "composed"
            composed = self._composed(part.composed, stated)
            if composed is not None:
                compute = composed.block
                let, relation = with_types(composed, let, relation)
            compute_text = composed_text(part.composed, stated)
        extern, expression = (None, None) if part.compute is None else (part.compute.python, part.compute.te)
        self.key = "strategy"
        strategy = tuple(self._strategy(entry) for entry in part.strategy)
        self.key = "decompose"
        decompositions = tuple(self._decomposition(entry) for entry in part.decompose)
        return OpDef(
            name=part.op.value,
            place=part.op.place,
            doc=_doc(part.doc),
            support_level=part.support_level,
            since=_text(part.since),
            version=part.version,
            deprecated=_text(part.deprecated),
            abstract=part.abstract,
            arity=part.arity,
            arity_place=self.declaration.value_place("arity"),
            traits=self._traits(),
            dtypes=tuple(DTypeDef(n, self._at("dtypes", n), texts) for n, texts in part.dtypes.items()),
            inputs=inputs,
            attrs=attrs,
            relation=relation,
            let=let,
            let_text=_block_text(part.let),
            outputs=outputs,
            dynamic=dynamic,
            compute=compute,
            compute_text=compute_text,
            compute_place=self._at("compute" if part.composed is None else "composed"),
            extern=extern,
            expression=expression,
            pattern=part.pattern,
            strategy=strategy,
            gradients=tuple(GradientDef(n, self._at("grad", n), text) for n, text in part.grad.items()),
            decompositions=decompositions,
            upgrades=self._upgrades(),
            reference=part.reference,
            tests=self._tests(),
            lost=frozenset(self.lost),
            partial=frozenset(self.partial),
            path=self.declaration.document.path,
            document=self.declaration.document.index,
            extends=ancestry.names,
            digest=ancestry.digest,
        )

    def _at(self, *path: str | int) -> Place:
        return self.declaration.key_place(*path)

    def _missing(self, key: str, place: Place, *path: str) -> None:
        """Report a key that must be given, unless it was given wrongly."""
        self.partial.add(self.key or key)
        if (*path, key) in self.declaration.dropped:
            return
        self.diagnostics.error("missing-key", f"the key `{key}` must be given", place)

    def _expression(self, node: TextNode) -> s.Expression | None:
        found = parse_expression(node, self.diagnostics)
        if found is None:
            self._lose(node)
        return found

    def _shape(self, node: TextNode) -> tuple[s.Expression | s.Star, ...]:
        found = parse_shape(node, self.diagnostics)
        if found is None:
            self._lose(node)
        return found or ()

    def _lose(self, node: TextNode) -> None:
        """The text cannot be read: what stands in it might have been bound by it."""
        self.partial.add(self.key)
        self.lost |= _names(node)

    def _block(self, node: TextNode | None, static: bool) -> s.Block:
        if node is None:
            return ()
        found = parse_block(node, self.diagnostics, static)
        if not found.complete:
            self.partial.add(self.key)
            self.lost |= _names(node) if found.lost is None else found.lost
        return found.block

    def _input(self, name: str, part: InputPart) -> InputDef:
        return InputDef(
            name,
            self._at("inputs", name),
            None if part.shape is None else self._shape(part.shape),
            None if part.shape is None else part.shape.value.strip(),
            part.dtype or (),
            _doc(part.doc),
            part.optional,
            part.variadic,
            _layout(part.layout),
        )

    def _attr(self, name: str, part: AttrPart) -> AttrDef:
        place = self._at("attrs", name)
        bounds = None if part.bounds is None else self._expression(part.bounds)
        if part.type is None:
            self._missing("type", place, "attrs", name)
        bounds_text = None if part.bounds is None else " ".join(part.bounds.value.split())
        kind = "" if part.type is None else part.type.value
        values = self._values(kind, part.values, place)
        if values and bounds is not None:
            self.diagnostics.error("bad-value", f"the values of `{name}` are its bounds", bounds.place)
            bounds = bounds_text = None
        doc = _doc(part.doc)
        return AttrDef(name, place, kind, part.default, part.optional, bounds, bounds_text, doc, values)

    def _values(self, kind: str, values: Sequence[TextNode] | None, place: Place) -> tuple[str, ...]:
        """The values of an enum; no other kind states any."""
        found = tuple([each.value for each in values or ()])
        if kind == "enum" and not found:
            self.diagnostics.error("missing-key", "an enum states its `values`, such as `[mean, sum]`", place)
        elif found and kind != "enum":
            text = f"only an attr of type enum states values, not one of type {kind}"
            self.diagnostics.error("bad-value", text, place)
            return ()
        elif len(set(found)) < len(found):
            self.diagnostics.error("bad-value", "a value of the enum is stated twice", place)
        return found

    def _output(self, name: str, part: OutputPart) -> OutputDef | None:
        place = self._at("outputs", name)
        shape = None if part.shape is None else self._shape(part.shape)
        dtype = None if part.dtype is None else self._expression(part.dtype)
        variadic = None
        if part.variadic is not None:
            variadic = parse_member_range(part.variadic, self.diagnostics)
            if variadic is None:
                self.partial.add(self.key)
        if self.part.composed is not None:
            return composed_output(name, place, shape, part.shape, dtype, part.dtype, _doc(part.doc))
        if part.shape is None or part.dtype is None:
            self._missing("shape" if part.shape is None else "dtype", place, "outputs", name)
        if shape is None or dtype is None or part.shape is None or part.dtype is None:
            return None
        texts = (part.shape.value.strip(), part.dtype.value.strip())
        return OutputDef(
            name, place, shape, texts[0], dtype, texts[1], _doc(part.doc), variadic, _layout(part.layout)
        )

    def _dynamic(self, name: str, text: TextNode) -> DynamicDef | None:
        bound = self._expression(text)
        return None if bound is None else DynamicDef(name, self._at("dynamic", name), bound)

    def _relation(self, part: RelationPart | None) -> RelationDef:
        if part is None:
            return RelationDef(None, (), None)
        requires: list[RequireDef] = []
        for entry in part.require:
            predicate = self._expression(entry.require)
            error = entry.error or part.error
            if predicate is not None:
                text = " ".join(entry.require.value.split())
                requires.append(RequireDef(predicate, text, _text(error)))
        return RelationDef(part.name, tuple(requires), part.python)

    def _compute(self) -> tuple[s.Block | None, str]:
        part = self.part
        if part.compute is None:
            if not part.abstract and part.composed is None:
                self._missing("compute", part.op.place)
            return None, ""
        if part.compute.text is not None:
            return self._block(part.compute.text, static=False), _block_text(part.compute.text)
        if part.compute.python is None and part.compute.te is None:
            self._missing("python", self._at("compute"), "compute")
        if part.compute.python is not None and part.compute.te is not None:
            text = "`python` and `te` are two ways to compute; expected one"
            self.diagnostics.error("bad-value", text, part.compute.te.place)
        return None, ""

    def _composed(self, node: TextNode, outputs: Collection[str]) -> ComposedText | None:
        part = self.part
        if part.compute is not None:
            text = "`compute` and `composed` are two ways to compute; expected one"
            self.diagnostics.error("bad-value", text, self._at("composed"))
        for name, output in part.outputs.items():
            if output.variadic is not None or output.layout is not None:
                text = f"the output `{name}` of a composition is one tensor, without a layout"
                self.diagnostics.error("bad-value", text, self._at("outputs", name))
        texts = [part.let, *[each.shape for each in part.inputs.values()]]
        known = {*part.inputs, *part.attrs, *part.dtypes}
        known |= {name for text in texts if text is not None for name in _names(text)}
        inputs = [name for name, each in part.inputs.items() if not each.variadic]
        found = parse_composed(node, inputs, list(outputs), known, self.diagnostics)
        if found is None:
            self._lose(node)
            self.lost |= set(map(type_name, outputs))
        return found

    def _strategy(self, part: StrategyPart) -> StrategyDef:
        when = None if part.when is None else self._expression(part.when)
        text = _text(part.when)
        if part.schedule is None and part.kernel is None:
            self._missing("schedule", part.name.place, "strategy")
        if part.schedule is not None and part.kernel is not None:
            message = "`schedule` and `kernel` are two ways to compute; expected one"
            self.diagnostics.error("bad-value", message, part.kernel.place)
        return StrategyDef(
            part.name, part.target, part.schedule, part.kernel, when, text, part.plevel, part.layouts
        )

    def _decomposition(self, part: DecomposePart) -> DecompositionDef:
        when = None if part.when is None else self._expression(part.when)
        return DecompositionDef(when, _text(part.when), part.into)

    def _upgrades(self) -> tuple[UpgradeDef, ...]:
        found: list[UpgradeDef] = []
        for key, part in self.part.upgrades.items():
            place = self._at("upgrades", key)
            if not re.fullmatch("[1-9][0-9]{0,8}", key) or int(key) >= self.part.version:
                text = f"`{key[:40]}` is no version before {self.part.version}, which the op is of"
                self.diagnostics.error("bad-value", text, place)
                continue
            found.append(self._upgrade(key, place, part))
        return tuple(sorted(found, key=lambda each: each.version))

    def _upgrade(self, key: str, place: Place, part: UpgradePart) -> UpgradeDef:
        attrs = tuple(
            SavedAttrDef(
                name,
                at := self._at("upgrades", key, "attrs", name),
                each.type.value,
                each.default,
                each.optional,
                self._values(each.type.value, each.values, at),
            )
            for name, each in part.attrs.items()
        )
        becomes = tuple(
            (name, self._at("upgrades", key, "becomes", name), text) for name, text in part.becomes.items()
        )
        inputs = None if part.inputs is None else tuple(part.inputs)
        return UpgradeDef(int(key), place, inputs, attrs, part.require, becomes, part.result, part.python)

    def _traits(self) -> Mapping[str, object]:
        traits = {name: _plain(value) for name, value in self.part.traits.items()}
        if self.part.operator is not None:
            symbol = self.part.operator.value
            if symbol not in OPERATORS:
                text = f"`{symbol[:20]}` is not an operator; the operators are {', '.join(OPERATORS)}"
                hint = did_you_mean(symbol, OPERATORS)
                self.diagnostics.error("bad-value", text, self.part.operator.place, hint)
            traits["operator"] = symbol
        stated = self.part.gradient
        if stated is not None:
            said = {"domain": stated.domain, "ties": stated.ties, "none": stated.none}
            traits["gradient"] = {name: text.value for name, text in said.items() if text is not None}
        return traits

    def _tests(self) -> tuple[CaseDef, ...]:
        cases = []
        for number, case in enumerate(self.part.tests):
            entries = tuple((name, self._at("tests", number, name), texts) for name, texts in case.items())
            cases.append(CaseDef(entries, self._at("tests", number)))
        return tuple(cases)


def _names(node: Node) -> set[str]:
    """Every name that stands in a part of the document."""
    if isinstance(node, TextNode):
        return set(_NAME.findall(node.value))
    if isinstance(node, ListNode):
        return {name for item in node.items for name in _names(item)}
    return {name for key, value in node for name in (key.value, *_names(value))}


def _layout(part: LayoutPart | None) -> LayoutDef | None:
    return None if part is None else LayoutDef(part.attr, part.canonical)


def _text(node: TextNode | None) -> str | None:
    return None if node is None else node.value.strip()


def _doc(node: TextNode | None) -> str:
    return "" if node is None else node.value.strip()


def _block_text(node: TextNode | None) -> str:
    return "" if node is None else node.value.rstrip()


def _plain(value: object) -> object:
    """A trait as plain data: text, whole numbers, flags, tuples and mappings of them."""
    if isinstance(value, TextNode):
        if value.value.lower() in ("true", "false"):
            return value.value.lower() == "true"
        text = value.value
        return int(text) if text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 10 else text
    if isinstance(value, list):
        return tuple(_plain(item) for item in value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return str(value)
