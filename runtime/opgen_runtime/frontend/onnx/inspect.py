"""What a model is made of: its inputs, outputs and operators, and what is not supported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...base.vocabulary import dataclass
from .check import checked_model
from .declared_nodes import rule_of
from .decode import ModelLike
from .errors import NotSupported, Unsupported, UnsupportedOperatorError, shown
from .graph import Graph, Model, Node, Opsets
from .limits import DEFAULT_LIMITS
from .schemas import schema_of
from .signature import described, signature_of
from .supported import unsupported


@dataclass(frozen=True, slots=True)
class OperatorUse:
    """An operator: how often it is used, and how it is mapped."""

    operator: str
    count: int
    mapped: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """A model in figures. `parameters`: elements of its weights."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    opsets: dict[str, int]
    operators: tuple[OperatorUse, ...]
    parameters: int
    unsupported: tuple[Unsupported, ...]


def inspect_model(model: ModelLike) -> Inspection:
    """The figures of a model."""
    read = checked_model(Model(model), DEFAULT_LIMITS)
    wrong = list(unsupported(read))
    try:
        inputs = tuple([str(each) for each in signature_of(read).inputs])
    except UnsupportedOperatorError as error:
        inputs = read.graph.inputs
        wrong.extend(error.nodes)
    uses: Counter[tuple[str, str]] = Counter()
    for node, opsets in _nodes(read.graph, read.opsets):
        uses[node.full_operator, _mapped(read, node, opsets)] += 1
    operators = tuple([OperatorUse(o, n, how) for (o, how), n in sorted(uses.items())])
    outputs = tuple([_output(read, name) for name in read.graph.outputs])
    return Inspection(inputs, outputs, read.opsets, operators, _parameters(read.graph), tuple(wrong))


def _nodes(graph: Graph, opsets: Opsets) -> Iterator[tuple[Node, Opsets]]:
    for node in graph.nodes:
        yield node, opsets
        for inner in node.subgraphs():
            yield from _nodes(inner, opsets)


def _mapped(model: Model, node: Node, opsets: Opsets) -> str:
    if node.function in model.functions:
        return "a function of the model"
    version = opsets.get(node.domain, 1)
    rule = rule_of(node.domain, node.operator, version)
    if rule is not None:
        return ", ".join(rule.ops) or "composed"
    schema = schema_of(node.domain, node.operator, version)
    if schema is not None and (schema.has_function or schema.has_context_dependent_function):
        return "its function in onnx"
    return "not supported"


def _output(model: Model, name: str) -> str:
    value = next(each for each in model.graph.proto.output if each.name == name)
    try:
        return str(described(value))
    except NotSupported:
        return shown(name)


def _parameters(graph: Graph) -> int:
    total = 0
    for tensor in graph.proto.initializer:
        size = 1
        for extent in tensor.dims:
            size *= extent
        total += size
    return total
