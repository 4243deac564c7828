"""`upgrades:`: how calls that older versions of an op saved become ones of today's."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from opgen_runtime.base.vocabulary import dataclass

from ...diagnostics import Diagnostics, Place, did_you_mean
from ...document import TextNode
from ...document.kinds import ValueProblem
from ...expression.names import ATTRS_ONLY, NameChecker
from ...expression.op_calls import op_expression
from ...expression.parse import parse_expression
from ...expression.scope import Kind, Namespace, Symbol
from ...expression.translate import Translator, make_lambda
from ...model import CheckedAttr, CheckedUpgrade
from ...model.opdef import OpDef, SavedAttrDef, UpgradeDef
from .externs import ExternRoots, check_extern
from .values import parse_value


@dataclass(frozen=True, slots=True)
class _Version:
    """What one version takes.  `required`: the operands without which there is no call."""

    inputs: tuple[str, ...]
    attrs: tuple[str, ...]
    required: frozenset[str]


def check_upgrades(
    op: OpDef, roots: ExternRoots, known_ops: Mapping[str, str], diagnostics: Diagnostics
) -> tuple[CheckedUpgrade, ...]:
    """The upgrades that are sound, from the oldest version; what is wrong with the others is reported."""
    after = _Version(
        tuple(each.name for each in op.inputs),
        tuple(each.name for each in op.attrs),
        frozenset(each.name for each in op.inputs if not each.optional),
    )
    outputs = tuple(output.name for output in op.outputs)
    found: list[CheckedUpgrade] = []
    for upgrade in reversed(op.upgrades):
        before = _before(upgrade, after)
        checker = _Checker(upgrade, before, after, known_ops, diagnostics)
        found.append(checker.checked(outputs, roots))
        after = before
    return tuple(reversed(found))


def _before(upgrade: UpgradeDef, after: _Version) -> _Version:
    inputs = after.inputs if upgrade.inputs is None else tuple(text.value for text in upgrade.inputs)
    attrs = dict.fromkeys([*after.attrs, *(attr.name for attr in upgrade.attrs)])
    return _Version(inputs, tuple(attrs), after.required & set(inputs))


class _Checker:
    """One upgrade, between the version `before` it and the one `after` it."""

    def __init__(
        self,
        upgrade: UpgradeDef,
        before: _Version,
        after: _Version,
        known_ops: Mapping[str, str],
        diagnostics: Diagnostics,
    ) -> None:
        self.upgrade = upgrade
        self.before = before
        self.after = after
        self.known_ops = known_ops
        self.diagnostics = diagnostics
        self.namespace = Namespace(diagnostics)
        for place, name in self._names():
            self.namespace.declare(Symbol(name, Kind.INPUT if name in before.inputs else Kind.ATTR, place))

    def _names(self) -> list[tuple[Place, str]]:
        stated = {attr.name: attr.place for attr in self.upgrade.attrs}
        stated |= {text.value: text.place for text in self.upgrade.inputs or ()}
        names = dict.fromkeys([*self.before.inputs, *self.before.attrs])
        return [(stated.get(name, self.upgrade.place), name) for name in names]

    def checked(self, outputs: Sequence[str], roots: ExternRoots) -> CheckedUpgrade:
        upgrade = self.upgrade
        becomes: dict[str, ast.Lambda] = {}
        for name, place, text in upgrade.becomes:
            function = self._becomes(name, place, text)
            if function is not None:
                becomes[name] = function
        extern = None
        if upgrade.extern is not None:
            extern = check_extern(upgrade.extern, roots, ["inputs", "attrs"], self.diagnostics)
        else:
            self._find_missing()
        result = None
        if upgrade.result is not None:
            names = [*self.before.inputs, *self.before.attrs, *outputs]
            result = op_expression(upgrade.result, names, self.known_ops, self.diagnostics)
        return CheckedUpgrade(
            upgrade.version,
            None if upgrade.inputs is None else self.before.inputs,
            tuple(map(self._attr, upgrade.attrs)),
            becomes,
            self._require(),
            result,
            extern,
        )

    def _becomes(self, name: str, place: Place, text: TextNode) -> ast.Lambda | None:
        if name in self.after.inputs:
            names = [*self.before.inputs, *self.before.attrs]
            return op_expression(text, names, self.known_ops, self.diagnostics)
        if name in self.after.attrs:
            return self._static(text)
        known = [*self.after.inputs, *self.after.attrs]
        message = f"version {self.upgrade.version + 1} has no operand or attr `{name[:60]}`"
        self.diagnostics.error("unknown-name", message, place, did_you_mean(name, known))
        return None

    def _static(self, text: TextNode) -> ast.Lambda | None:
        """An expression of the language over the attrs of the version."""
        tree = parse_expression(text, self.diagnostics)
        if tree is None:
            return None
        before = self.diagnostics.count
        NameChecker(self.namespace, self.diagnostics).check(tree, ATTRS_ONLY, {})
        if self.diagnostics.count > before:
            return None
        body = Translator(self.namespace, static=True).expression(tree, {})
        return make_lambda(self.namespace.used(tree), body, text.place)

    def _require(self) -> tuple[ast.Lambda, str] | None:
        text = self.upgrade.require
        function = None if text is None else self._static(text)
        return None if text is None or function is None else (function, " ".join(text.value.split()))

    def _find_missing(self) -> None:
        """Operands that the next version needs and nothing gives."""
        given = {*self.before.inputs, *(name for name, _, _ in self.upgrade.becomes)}
        for name in self.after.inputs:
            if name in self.after.required and name not in given:
                text = f"calls of version {self.upgrade.version} have no `{name}`, and nothing says what it becomes"
                hint = f"write `becomes: {{{name}: ...}}`, an expression of calls of ops"
                self.diagnostics.error("missing-key", text, self.upgrade.place, hint)

    def _attr(self, attr: SavedAttrDef) -> CheckedAttr:
        default = None
        if attr.default is not None:
            try:
                default = parse_value(attr.kind, attr.default, attr.optional)
            except ValueProblem as problem:
                place = attr.default[0].place if attr.default else attr.place
                self.diagnostics.error("bad-value", f"the default of `{attr.name}`: {problem}", place)
        required = attr.default is None and not attr.optional
        choices = attr.values or None
        return CheckedAttr(
            attr.name, attr.kind, required, default, attr.optional, None, choices, "", attr.place
        )
