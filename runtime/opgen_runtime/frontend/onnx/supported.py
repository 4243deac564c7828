"""Which operators of a model have no mapping: found before anything is converted, all at once."""

from __future__ import annotations

from collections.abc import Iterator

from . import mappings as mappings
from .declared_nodes import rule_of, why_unknown
from .emit import op
from .errors import Unsupported, UnsupportedOperatorError
from .graph import Graph, Model, Node, Opsets
from .schemas import schema_of


def check_supported(model: Model) -> None:
    """Raises UnsupportedOperatorError with every node that has no mapping, in subgraphs and functions too."""
    found = unsupported(model)
    if found:
        raise UnsupportedOperatorError(found)


def unsupported(model: Model) -> list[Unsupported]:
    """The nodes of a model that have no mapping, with the reason."""
    found = list(_of_graph(model, model.graph, model.opsets))
    for body in model.functions.values():
        for node in body.bound_nodes({}):
            found.extend(_of_node(model, node, body.opsets))
    return found


def _of_graph(model: Model, graph: Graph, opsets: Opsets) -> Iterator[Unsupported]:
    for node in graph.nodes:
        yield from _of_node(model, node, opsets)


def _of_node(model: Model, node: Node, opsets: Opsets) -> Iterator[Unsupported]:
    reason = why_unsupported(model, node, opsets)
    if reason is not None:
        yield Unsupported(node.label, node.full_operator, reason)
    for graph in node.subgraphs():
        yield from _of_graph(model, graph, opsets)


def why_unsupported(model: Model, node: Node, opsets: Opsets) -> str | None:
    """Why a node cannot be converted, as far as its operator alone says; None if it may be."""
    if node.function in model.functions:
        return None
    version = opsets.get(node.domain, 1)
    rule = rule_of(node.domain, node.operator, version)
    if rule is not None:
        missing = [name for name in rule.ops if not op.has(name)]
        return f"no op {missing[0]!r} is declared" if missing else None
    schema = schema_of(node.domain, node.operator, version)
    if schema is not None and (schema.has_function or schema.has_context_dependent_function):
        return None
    if schema is not None:
        return "the operator has no mapping"
    return why_unknown(node.domain, node.operator, version)
