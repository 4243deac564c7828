"""Attrs of a declaration: defaults as values, bounds split into the part without inputs and the rest."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial

from opgen_runtime.operator.attrs import bounds_of_values

from ...diagnostics import Diagnostics, Place
from ...document.kinds import ValueProblem
from ...expression import syntax as s
from ...expression.print import link_text, operand_text
from ...expression.scope import Kind, Namespace
from ...expression.translate import Translator, at, call, make_lambda, name
from ...model import AttrValue, CheckedAttr, CheckedBound
from ...model.opdef import AttrDef, OpDef
from .values import parse_value

Link = tuple[s.Expression, str, s.Expression | None]


def check_attrs(op: OpDef, namespace: Namespace, diagnostics: Diagnostics) -> tuple[CheckedAttr, ...]:
    """All attrs; a default that does not suit its kind is reported."""
    return tuple(_attr(attr, namespace, diagnostics) for attr in op.attrs)


def _attr(attr: AttrDef, namespace: Namespace, diagnostics: Diagnostics) -> CheckedAttr:
    default: AttrValue = None
    if attr.default is not None:
        try:
            default = parse_value(attr.kind, attr.default, attr.optional)
        except ValueProblem as problem:
            place = attr.default[0].place if attr.default else attr.place
            diagnostics.error("bad-value", f"the default of `{attr.name}`: {problem}", place)
    bound = None if attr.bounds is None else _bound(attr, attr.bounds, namespace)
    required = attr.default is None and not attr.optional
    choices = None if attr.bounds is None else _choices(attr.bounds)
    if attr.values:
        choices = attr.values
        bound = CheckedBound(bounds_of_values(attr.values), None, None, None, None)
    return CheckedAttr(
        attr.name, attr.kind, required, default, attr.optional, bound, choices, attr.doc, attr.place
    )


def _bound(attr: AttrDef, bounds: s.Expression, namespace: Namespace) -> CheckedBound | None:
    links = links_of(bounds)
    own = [link for link in links if _is_own(link, namespace)]
    rest = [link for link in links if not _is_own(link, namespace)]
    assert attr.bounds_text is not None
    return CheckedBound(
        attr.bounds_text,
        _check(attr.name, own, namespace),
        _chain_text(own),
        _function(attr.name, rest, namespace),
        _chain_text(rest),
    )


def links_of(bounds: s.Expression) -> list[Link]:
    """The links `(left, op, right)` of a chained comparison."""
    if not isinstance(bounds, s.Compare):
        return []
    found: list[Link] = []
    left = bounds.first
    for op, right in bounds.rest:
        found.append((left, op, right))
        left = right if right is not None else left
    return found


def _is_own(link: Link, namespace: Namespace) -> bool:
    """True if a link needs attrs alone."""
    nodes = [node for node in (link[0], link[2]) if node is not None]
    return all(namespace.symbols[used].kind is Kind.ATTR for used in namespace.used(*nodes))


def _chain_text(links: Sequence[Link]) -> str | None:
    """The links as text; adjoining ones share their middle operand: `0 <= axis < data.ndim`."""
    text: str | None = None
    last: s.Expression | None = None
    for left, op, right in links:
        link = link_text(left, op, right)
        if text is None:
            text = link
        elif last is left:
            text += link[len(operand_text(left)) :]
        else:
            text += f" and {link}"
        last = right
    return text


def _comparison(links: Sequence[Link]) -> s.Expression:
    """The links as one expression."""
    compares: list[s.Expression] = []
    for left, op, right in links:
        end = right if right is not None else left
        place = Place(
            left.place.path, left.place.line, left.place.column, end.place.end_line, end.place.end_column
        )
        compares.append(s.Compare(place, left, ((op, right),)))
    return compares[0] if len(compares) == 1 else s.Logic(compares[0].place, "and", tuple(compares))


def _check(attr: str, links: Sequence[Link], namespace: Namespace) -> ast.Lambda | None:
    """`lambda axis, attrs: ...`: other attrs are `attrs.<name>`."""
    if not links:
        return None
    tree = _comparison(links)
    others = [used for used in namespace.used(tree) if used != attr]

    table = {other: partial(_field, other) for other in others}
    body = Translator(namespace, static=True, renamed=table).expression(tree, {})
    body = call("truth", tree.place, body)
    return make_lambda([attr, "attrs"], body, tree.place)


def _field(attr: str, place: Place) -> ast.expr:
    return at(ast.Attribute(name("attrs", place), attr, ast.Load()), place)


def _function(attr: str, links: Sequence[Link], namespace: Namespace) -> ast.Lambda | None:
    if not links:
        return None
    tree = _comparison(links)
    needs = [attr, *(used for used in namespace.used(tree) if used != attr)]
    return make_lambda(needs, Translator(namespace, static=True).expression(tree, {}), tree.place)


def _choices(bounds: s.Expression) -> tuple[AttrValue, ...] | None:
    """The values of `mode in ("a", "b")`."""
    if not isinstance(bounds, s.Compare) or len(bounds.rest) != 1 or bounds.rest[0][0] != "in":
        return None
    source = bounds.rest[0][1]
    if not isinstance(source, s.Tuple):
        return None
    values = [item.value for item in source.items if isinstance(item, s.Literal)]
    return tuple(values) if len(values) == len(source.items) else None
