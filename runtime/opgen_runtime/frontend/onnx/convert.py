"""Converting a graph, node by node, for inputs of known types.

Values that decide the program (axes, shapes, repeats, a branch) are constants, or are computed from the arrays of the
call at hand; the result is then good for inputs of the same types that give the same values, which `probes` lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from onnx.defs import onnx_opset_version

from ...base.arith import Expr as DimExpr
from ...base.arith import ge
from ...base.vocabulary import DType, dataclass
from ...ir import Constant, Expr, TupleGetItem
from ...operator import Dim, TupleType, decided
from .declared_nodes import rule_of
from .errors import ModelError, NotSupported, Unsupported, UnsupportedOperatorError, errors_of, shown
from .extents import MOST, OF_SHAPES, Sizes, casts_to, computed, open_conditions
from .functions import schema_body
from .graph import FunctionBody, Graph, Model, Node, Opsets
from .narrow import Narrow
from .node_rules import check_node
from .rules import BODY, REQUIRED, InputRule, Rule
from .schemas import why_bad_types
from .state import Environment, State, Value, tensor_type
from .texts import Texts

_MAX_INTS = 1 << 16  # of an input that decides the program: a shape, axes, pads, sizes of parts


class Conversion:
    """The conversion of one model for inputs of known types."""

    def __init__(self, model: Model, inputs: Mapping[str, Value], state: State) -> None:
        self.model = model
        self.inputs = inputs
        self.state = state

    def outputs(self) -> list[Value]:
        """The values of the model's outputs.

        Raises UnsupportedOperatorError, ModelError.
        """
        with self.state.budget.current():
            found = self.graph(self.model.graph, dict(self.inputs), self.model.opsets)
            return self.state.guarded(found)

    def graph(self, graph: Graph, environment: Environment, opsets: Opsets) -> list[Value]:
        """The values of a graph's outputs; `environment` holds its inputs and what surrounds it, and is extended."""
        with errors_of(graph):
            arrays = graph.initializers
        for name, array in arrays.items():
            if name not in self.inputs or graph is not self.model.graph:
                environment[name] = self.state.tensor(name, array)
        for node in graph.nodes:
            self.node(node, environment, opsets)
        return [environment[name] for name in graph.outputs]

    def node(self, node: Node, environment: Environment, opsets: Opsets) -> None:
        """Adds the values of a node's outputs to the environment."""
        with errors_of(node):
            self.state.budget.node()
            results = self._results(node, environment, opsets)
        for name, value in zip(node.outputs, results, strict=False):
            if name:
                environment[name] = value
                if isinstance(value, Constant) and not node.inputs:  # some exporters write weights as nodes
                    self.state.name_weight(value, name)
        absent = [name for name in node.outputs[len(results) :] if name]
        if absent:
            reason = f"output {shown(absent[0])!r}, number {node.outputs.index(absent[0])}"
            raise UnsupportedOperatorError([Unsupported(node.label, node.full_operator, reason)])

    def _results(self, node: Node, environment: Environment, opsets: Opsets) -> Sequence[Value]:
        missing = [name for name in node.inputs if name and name not in environment]
        if missing:
            raise ModelError(f"the value {shown(missing[0])!r} is used before it is defined")
        body = self.model.functions.get(node.function)
        if body is None:
            version = opsets.get(node.domain, 1)
            values = [environment[name] if name else None for name in node.inputs]
            reason = why_bad_types(node.domain, node.operator, version, [tensor_type(v) for v in values])
            if reason is not None:
                raise ModelError(reason)
            rule = rule_of(node.domain, node.operator, version)
            sizes = self._sizes(node, values)
            if sizes is not None and not open_conditions(sizes):
                return [self.state.sized(sizes, self._dtype_of_sizes(node, values))]
            if rule is not None:
                made = self._apply(rule, node, environment, opsets)
                if made is not None:
                    if sizes is not None and isinstance(made[0], Expr):
                        self.state.conditions[made[0]] = sizes
                    return made
            concrete = [tensor_type(self.state.concrete(v) if isinstance(v, Expr) else None) for v in values]
            body = schema_body(node, version, concrete)
            if body is not None and node.domain:  # bodies outside the default domain leave its opset open
                body = replace(body, opsets={**body.opsets, "": opsets.get("", onnx_opset_version())})
        if body is None:
            raise NotSupported("the operator has no mapping")
        return self._call(body, node, environment)

    def _sizes(self, node: Node, values: Sequence[Value]) -> Sizes | None:
        """What a node gives that computes with sizes alone, of which some are open; None for any other."""
        first = tensor_type(values[0]) if values else None
        if node.domain or first is None or self.state.has_arrays:
            return None
        if node.operator in OF_SHAPES and not first.is_static:
            return OF_SHAPES[node.operator](first.shape, **node.attributes())
        told = [self.state.told(value) for value in values]
        if all([sizes is None for sizes in told]):
            return None
        operands: list[Sizes] = []
        for value, sizes in zip(values, told, strict=True):
            if isinstance(value, Constant) and value.data.size <= MOST:
                operands.append(value.data.astype(object))
            elif sizes is not None:
                operands.append(sizes)
            else:
                return None
        return computed(node.operator, operands, node.attributes(), self.state.assumed)

    def _dtype_of_sizes(self, node: Node, values: Sequence[Value]) -> str:
        """The dtype of what a node gives that computes with sizes alone."""
        if node.operator in OF_SHAPES:
            return "int64"
        kind = tensor_type(values[1 if node.operator == "Where" else 0])  # behind the condition
        assert kind is not None
        return casts_to(node.operator, node.attributes()) or str(kind.dtype)

    def _call(self, body: FunctionBody, node: Node, environment: Environment) -> list[Value]:
        """The outputs of a function for the inputs and attributes of a node."""
        inner: Environment = dict.fromkeys(body.inputs)
        for formal, actual in zip(body.inputs, node.inputs, strict=False):
            inner[formal] = environment[actual] if actual else None
        attributes = {each.name: each for each in node.proto.attribute}
        # What is absent stays absent inside: a name that stands for nothing is the empty name.
        absent = {name for name, value in inner.items() if value is None}
        with self.state.budget.inside():
            for each in body.bound_nodes(attributes):
                with errors_of(each):
                    check_node(self.model, each, body.opsets)
                self.node(_without(each, absent), inner, body.opsets)
        return [inner.get(name) for name in body.outputs]

    def _apply(
        self, rule: Rule, node: Node, environment: Environment, opsets: Opsets
    ) -> Sequence[Value] | None:
        """The results of a rule; None where it leaves the node to the body of the operator's schema."""
        operands = self._operands(rule, node, environment)
        attributes = _checked_attributes(rule, node)
        view = NodeView(self, node, environment, opsets)
        if rule.wants_node:
            attributes["node"] = view
        result = rule.convert(*operands, **attributes)
        if result is BODY:
            return None
        results = result if isinstance(result, tuple) else (result,)
        if len(results) == 1 and isinstance(results[0], Expr):
            type_ = results[0].checked_type
            if isinstance(type_, TupleType):
                results = tuple([TupleGetItem(results[0], k) for k in range(len(type_.fields))])
        tensors = [o.expr if isinstance(o, Narrow) else o for o in operands if isinstance(o, Expr | Narrow)]
        tensors.extend([e for o in operands if isinstance(o, list) for e in o])
        foldable = rule.folds and bool(node.inputs) and all([isinstance(t, Constant) for t in tensors])
        if not foldable:
            return results
        return [self._folded(r) for r in results]

    def _folded(self, result: Value) -> Value:
        """A tensor of constants as one constant; what else there is as it is."""
        expr = result.expr if isinstance(result, Narrow) else result
        if not isinstance(expr, Expr) or not self.state.evaluator.is_constant(expr):
            return result
        folded = self.state.folded(expr)
        return replace(result, expr=folded) if isinstance(result, Narrow) else folded

    def _operands(self, rule: Rule, node: Node, environment: Environment) -> list[Any]:
        names = list(node.inputs)
        rules = list(rule.inputs)
        if rule.rest is None:
            while len(names) > len(rules) and not names[-1]:
                names.pop()
            if len(names) > len(rules):
                raise NotSupported(f"{len(names)} inputs, where the mapping knows {len(rules)}")
        names.extend([""] * (len(rules) - len(names)))
        if rule.rest is not None:
            rules.extend([rule.rest] * (len(names) - len(rules)))
        found = [self._operand(r, n, environment) for r, n in zip(rules, names, strict=True)]
        return found

    def _operand(self, rule: InputRule, name: str, environment: Environment) -> Any:
        value = environment[name] if name else None
        if rule.kind == "object":
            return value
        if value is None:
            if not rule.optional:
                raise ModelError(f"the input {rule.name!r} is absent")
            return None
        if rule.kind == "Sequence":
            if not isinstance(value, list):
                raise ModelError(f"the input {rule.name!r} must be a sequence")
            return value
        if rule.kind in ("Tensor", "Texts") and isinstance(value, Texts):
            return value
        if rule.kind == "Tensor" and isinstance(value, Narrow):
            return replace(value, expr=self.state.concrete(value.expr))
        if not isinstance(value, Expr) or rule.kind == "Texts":
            raise NotSupported(f"{_described(value)} as input {rule.name!r}")
        sizes = self.state.sizes.get(value)
        if sizes is not None and rule.kind not in ("Expr", "Tensor"):
            return _open_sizes(rule, sizes)
        if rule.kind in ("Expr", "Tensor"):
            return self.state.concrete(value)
        return self._decided(rule, value)

    def _decided(self, rule: InputRule, value: Expr) -> Any:
        """A value that decides the program, as the rule wants it."""
        array = self.state.value(value)
        if rule.kind == "Array":
            return array
        if rule.kind in ("Ints", "Dims"):
            if array.size > _MAX_INTS or array.dtype.kind not in "iu":
                raise ModelError(
                    f"the input {rule.name!r} must be at most {_MAX_INTS:,} integers, "
                    f"found {array.size:,} of {array.dtype}"
                )
            return tuple([int(item) for item in array.reshape(-1)])
        if array.size != 1:  # of a Scalar, or a Dim
            raise ModelError(f"the input {rule.name!r} must be one number, its shape is {array.shape}")
        return array.reshape(-1)[0].item()


def _open_sizes(rule: InputRule, sizes: Sizes) -> Any:
    if rule.kind == "Dims":
        return tuple(sizes.reshape(-1))
    if rule.kind == "Dim" and sizes.size == 1:
        return sizes.reshape(-1)[0]
    raise NotSupported(f"sizes that are not known as input {rule.name!r}; give the shapes of the inputs")


def tensor(value: Value) -> Expr:
    """A value that must be a tensor."""
    if not isinstance(value, Expr):
        raise ModelError(f"a tensor is expected, found {_described(value)}")
    return value


def _described(value: Value) -> str:
    if isinstance(value, Narrow):
        return f"a tensor of {value.kind}"
    if isinstance(value, Texts):
        return "strings"
    return (
        "a sequence" if isinstance(value, list) else "a tensor of numbers" if value is not None else "nothing"
    )


@dataclass(frozen=True, slots=True, eq=False)
class NodeView:
    """The node that is converted, for mappings that need more than operands and attributes."""

    conversion: Conversion
    node: Node
    environment: Environment
    opsets: Opsets

    @property
    def version(self) -> int:
        """The opset of the node's domain."""
        return self.opsets.get(self.node.domain, 1)

    @property
    def num_outputs(self) -> int:
        return len(self.node.outputs)

    def has_output(self, position: int) -> bool:
        """Whether anything names that output."""
        return position < len(self.node.outputs) and bool(self.node.outputs[position])

    def assume(self, *sizes: Dim) -> None:
        """Sizes are at least 0, or the program refuses to run.  Raises ModelError where one is not in any case."""
        for size in sizes:
            holds = size >= 0 if isinstance(size, int) else decided(ge(size, 0))
            if holds is False:
                raise ModelError(f"a size of {size}")
            if holds is None and isinstance(size, DimExpr):
                self.conversion.state.assumed.append(size)

    def dtype(self, position: int) -> DType:
        """The dtype of an input that is a tensor."""
        kind = tensor_type(self.environment[self.node.inputs[position]])
        assert kind is not None
        return kind.dtype

    def value(self, expr: Expr) -> np.ndarray:
        """The value of a tensor, specialising on it if it depends on the call."""
        return self.conversion.state.value(expr)

    def concrete(self, expr: Expr) -> Expr:
        """`expr`, or where its shape depends on data a variable of the shape that it has in this call."""
        return self.conversion.state.concrete(expr)

    def subgraph(self, graph: Graph, inputs: Sequence[Value]) -> list[Value]:
        """The outputs of a subgraph of the node, whose inputs have the given values, in order."""
        if len(inputs) != len(graph.all_inputs):
            raise ModelError(
                f"its graph {shown(graph.name)!r} has {len(graph.all_inputs)} inputs, expected {len(inputs)}"
            )
        inner = {**self.environment, **dict(zip(graph.all_inputs, inputs, strict=True))}
        with self.conversion.state.budget.inside():
            return self.conversion.graph(graph, inner, self.opsets)

    def captured(self, expr: Expr) -> Expr:
        """`expr` as the body of a loop reads it from around."""
        return expr if isinstance(expr, Constant) else self.conversion.state.capture(expr, "scanned")

    def truth(self, value: Value) -> bool:
        """The value of a condition, specialising on it if it depends on the call, and on sizes where they are open."""
        state, condition = self.conversion.state, tensor(value)
        conditions = state.conditions.get(condition)
        if conditions is not None and conditions.size == 1:
            return state.decide(conditions.reshape(-1)[0])
        array = self.value(condition)
        if array.size != 1:
            raise ModelError(f"a condition must be one element, its shape is {list(array.shape)}")
        return bool(array.reshape(())[()])

    def decides(self, condition: DimExpr) -> bool:
        """Whether a condition on open dims holds for the sizes at hand, which the program assumes from now on."""
        return self.conversion.state.decide(condition)

    def step(self, done: int) -> None:
        """Raises ModelError where a loop that has done so many steps may not do another."""
        self.conversion.state.budget.step(done)

    def random_key(self) -> Expr:
        """The two words of a random key, a parameter that each run of the program fills anew."""
        return self.conversion.state.random_key()


def _without(node: Node, absent: set[str]) -> Node:
    if absent.isdisjoint(node.inputs):
        return node
    inputs = tuple(["" if name in absent else name for name in node.inputs])
    return Node(node.name, node.operator, node.domain, inputs, node.outputs, node.proto)


def _checked_attributes(rule: Rule, node: Node) -> dict[str, Any]:
    given = node.attributes()
    unknown = [name for name in given if name not in rule.attributes]
    if unknown:
        raise NotSupported(f"attribute {unknown[0]!r}")
    for name, wanted in rule.attributes.items():
        if name in given:
            reason = wanted.why_not(name, given[name])
            if reason is not None:
                raise ModelError(reason)
        elif wanted.default is REQUIRED:
            raise ModelError(f"attribute {name!r} is missing")
        else:
            given[name] = wanted.default
    return given
