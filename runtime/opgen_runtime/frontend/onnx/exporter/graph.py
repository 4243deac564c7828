"""Expressions as nodes: each node of the DAG once, in the innermost graph that holds all its uses.

A tuple is no value of ONNX: it is the values of its fields, as a Python tuple; the empty one is an absent operand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from onnx import AttributeProto, GraphProto, NodeProto, ValueInfoProto

from ....base.vocabulary import dataclass
from ....ir import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    IRModule,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    post_order,
)
from ....ir.scopes import Block, Blocks, blocks_of
from ....operator import Op, TensorType, TupleType, Type
from ..errors import ExportError, ModelError, said
from .loops import Loop, calls_itself, loop_of_function
from .nodes import Names, Nodes, NoStandard, Value, attribute_proto
from .own import write_own
from .registry import writer_of
from .values import value_info

Tree: TypeAlias = "Value | tuple[Tree, ...]"
Environment: TypeAlias = "dict[int, Tree]"


def leaves(tree: Tree) -> list[Value]:
    """The values of a tree, in order."""
    return [tree] if isinstance(tree, Value) else [leaf for each in tree for leaf in leaves(each)]


def like(type_: Type, values: list[Value]) -> Tree:
    """The first values as the tree that a type is; they are taken off the list."""
    if isinstance(type_, TupleType):
        return tuple([like(field, values) for field in type_.fields])
    return values.pop(0)


def tensor_types(type_: Type) -> tuple[TensorType, ...]:
    """The types of the tensors that a type is made of."""
    if isinstance(type_, TensorType):
        return (type_,)
    if isinstance(type_, TupleType):
        return tuple([each for field in type_.fields for each in tensor_types(field)])
    raise ExportError(f"a value of type {type_} is no tensor")


@dataclass(frozen=True, eq=False, slots=True)
class Writing:
    """A model that is being written: its functions, and what its graphs share.

    `standard`: whether ops are written in ONNX's own operators where these are known.  `within`: the functions that are
    being written, one in another.
    """

    names: Names
    module: IRModule
    standard: bool
    within: tuple[str, ...] = ()

    def body(self, function: Function, arguments: Sequence[Tree], nodes: Nodes) -> Tree:
        """The results of a function of the module for arguments."""
        known = {id(param): tree for param, tree in zip(function.params, arguments, strict=True)}
        return self.expression(function.body, known, nodes)

    def expression(self, expr: Expr, known: Mapping[int, Tree], nodes: Nodes) -> Tree:
        """The value of an expression, of whose variables the values are known by id."""
        blocks = blocks_of(expr, post_order(expr))
        return self._block(blocks.root, dict(known), nodes, blocks)

    def _block(self, block: Block, known: Environment, nodes: Nodes, blocks: Blocks) -> Tree:
        for node in block.members:
            if id(node) not in known and not isinstance(node, Function | GlobalVar):
                known[id(node)] = self._node(node, known, nodes, blocks)
        return known[id(block.tail)]

    def _node(self, node: Expr, known: Environment, nodes: Nodes, blocks: Blocks) -> Tree:
        if isinstance(node, Constant):
            return self.names.constant(node.data)
        if isinstance(node, Tuple):
            return tuple([known[id(field)] for field in node.fields])
        if isinstance(node, TupleGetItem):
            return known[id(node.tuple_value)][node.index]  # type: ignore[index]  # of a tuple, says its type
        if isinstance(node, If):
            return self._branch(node, known, nodes, blocks)
        if isinstance(node, Let):
            known[id(node.var)] = known[id(node.value)]
            return self._block(blocks.inner[id(node)][0], known, nodes, blocks)
        if isinstance(node, Call):
            return self._call(node, known, nodes, blocks)
        what = (
            f"variable {node.name_hint!r} is bound nowhere" if isinstance(node, Var) else type(node).__name__
        )
        raise ExportError(f"{what}; expected a program of calls, tuples, branches and loops")

    def _call(self, call: Call, known: Environment, nodes: Nodes, blocks: Blocks) -> Tree:
        arguments = [known[id(arg)] for arg in call.args]
        if isinstance(call.op, Op):
            return self._op(call, call.op, arguments, nodes)
        if isinstance(call.op, Function):
            inner = {**known, **dict(zip([id(param) for param in call.op.params], arguments, strict=True))}
            return self._block(blocks.inner[id(call.op)][0], inner, nodes, blocks)
        if not isinstance(call.op, GlobalVar) or call.op not in self.module:
            raise ExportError(f"{_place(call)}what is called is no op and no function of the module")
        name, function = call.op.name, self.module[call.op]
        if name in self.within:
            raise ExportError(
                f"function @{name} calls itself by way of @{self.within[-1]}, which is no loop of ONNX"
            )
        inside = replace(self, within=(*self.within, name))
        if calls_itself(name, function):
            return inside._loop(loop_of_function(name, function), arguments, nodes)
        return inside.body(function, arguments, nodes)

    def _op(self, call: Call, op: Op, arguments: Sequence[Tree], nodes: Nodes) -> Tree:
        types = tensor_types(call.checked_type)
        nodes.types, nodes.hint = types, op.name.rpartition(".")[2]
        operands = [_operand(tree) for tree in arguments]
        writer = writer_of(op.name) if self.standard else None
        attrs = {} if call.attrs is None else call.attrs.as_dict()
        start = len(nodes.protos)
        try:
            if writer is None:
                raise NoStandard("no writer is known")
            made = writer(nodes, *operands, **attrs)
            results = [made] if isinstance(made, Value) else list(made)
        except NoStandard:
            del nodes.protos[start:]
            try:
                flat = [leaf for each in operands for leaf in (each if isinstance(each, list) else [each])]
                results = write_own(nodes, op, flat, call.attrs, types)
            except (ExportError, ModelError) as error:
                raise ExportError(f"{_place(call)}{said(error)}") from None
        typed = [_typed(value, type_) for value, type_ in zip(results, types, strict=True)]
        return like(call.checked_type, typed)

    def _branch(self, node: If, known: Environment, nodes: Nodes, blocks: Blocks) -> Tree:
        graphs = []
        for name, block in zip(("then_branch", "else_branch"), blocks.inner[id(node)], strict=True):
            inner = Nodes(self.names)
            tree = self._block(block, dict(known), inner, blocks)
            graphs.append(attribute_graph(name, self.graph(name, inner, [], leaves(tree), node.checked_type)))
        (condition,) = leaves(known[id(node.condition)])
        types = tensor_types(node.checked_type)
        return like(node.checked_type, self._with_graphs("If", nodes, [condition], graphs, types))

    def _loop(self, loop: Loop, arguments: Sequence[Tree], nodes: Nodes) -> Tree:
        """A `Loop` that goes on while the function calls itself; what it never changes is read from around it."""
        fixed = {
            id(p): arg for p, arg, keeps in zip(loop.params, arguments, loop.fixed, strict=True) if keeps
        }
        carried = [p for p, keeps in zip(loop.params, loop.fixed, strict=True) if not keeps]
        first = {
            id(p): arg for p, arg, keeps in zip(loop.params, arguments, loop.fixed, strict=True) if not keeps
        }
        types = [type_ for param in carried for type_ in tensor_types(param.checked_type)]
        (condition,) = leaves(self.expression(loop.again, {**fixed, **first}, nodes))
        inner = Nodes(self.names)
        step = Value(self.names.fresh("step"), TensorType((), "int64").dtype, ())
        going = Value(self.names.fresh("going"), TensorType((), "bool").dtype, ())
        inputs = [_typed(Value(self.names.fresh("carried"), t.dtype), t) for t in types]
        own = _bound(carried, inputs)
        following = self.expression(loop.following, {**fixed, **own}, inner)
        assert isinstance(following, tuple)
        (again,) = leaves(self.expression(loop.again, {**fixed, **_bound(carried, leaves(following))}, inner))
        body_type = TupleType((TensorType((), "bool"), *types))
        formals = [value_info(step), value_info(going), *[value_info(each) for each in inputs]]
        body = self.graph("body", inner, formals, [again, *leaves(following)], body_type)
        start = [leaf for param in carried for leaf in leaves(first[id(param)])]
        found = self._with_graphs(
            "Loop", nodes, [None, condition, *start], [attribute_graph("body", body)], types
        )
        return self.expression(loop.done, {**fixed, **_bound(carried, found)}, nodes)

    def _with_graphs(
        self,
        operator: str,
        nodes: Nodes,
        operands: Sequence[Value | None],
        graphs: Sequence[AttributeProto],
        types: Sequence[TensorType],
    ) -> list[Value]:
        results = [_typed(Value(self.names.fresh(operator.lower()), t.dtype), t) for t in types]
        proto = NodeProto(op_type=operator, output=[each.name for each in results])
        proto.name = results[0].name if results else self.names.fresh(operator.lower())
        proto.input.extend(["" if each is None else each.name for each in operands])
        proto.attribute.extend(graphs)
        nodes.add(proto)
        return results

    def graph(
        self, name: str, nodes: Nodes, inputs: Sequence[ValueInfoProto], results: Sequence[Value], type_: Type
    ) -> GraphProto:
        """A graph of nodes; a result that none of them gives, or that comes twice, is copied."""
        given = {output for proto in nodes.protos for output in proto.output}
        outputs: list[Value] = []
        for value in results:
            if value.name not in given:
                nodes.hint = "result"
                value = nodes("Identity", value)
            given.discard(value.name)
            outputs.append(value)
        typed = [value_info(_typed(v, t)) for v, t in zip(outputs, tensor_types(type_), strict=True)]
        return GraphProto(name=name, node=nodes.protos, input=inputs, output=typed)


def attribute_graph(name: str, graph: GraphProto) -> AttributeProto:
    """A graph as the attribute of a node."""
    return attribute_proto(name, graph)


def _bound(params: Sequence[Var], values: list[Value]) -> Environment:
    rest = list(values)
    return {id(param): like(param.checked_type, rest) for param in params}


def _operand(tree: Tree) -> Value | list[Value] | None:
    if isinstance(tree, Value):
        return tree
    return leaves(tree) or None


def _typed(value: Value, type_: TensorType) -> Value:
    return Value(value.name, type_.dtype, type_.shape, value.array)


def _place(call: Call) -> str:
    return "" if call.span is None else f"{call.span}: "
