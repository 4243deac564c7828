"""Programs as drawings.

A parameter, a constant, a call and a result are nodes; a value that a node reads is an edge, labelled with its type.
The calls of a segment (a function marked `Primitive`, which is compiled to one kernel) are nodes of one group.  Tuples
are drawn as their fields, lets as what they stand for; functions that are no segments are one node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias, TypeGuard

from ..base.vocabulary import dataclass
from ..operator import Op, TensorType, Type
from .drawing import Drawing, Edge, Kind, Node, output_names
from .expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Tuple, TupleGetItem, Var
from .module import IRModule
from .text import ConstantSection, TypePrinter, op_text
from .visitor import free_vars, post_order

_MAX_FIELDS: Final = 64  # a tuple of more fields is a node of its own
_MAX_LETTERS: Final = 60  # of one line of a label


def drawing_of(program: Expr | IRModule) -> Drawing:
    """What there is to see of a program: of a function or an expression, or of every function of a module."""
    drawing = Drawing()
    kernels: dict[Function, int] = {}
    if isinstance(program, IRModule):
        for var, function in program.functions.items():
            of = f"@{var.name} " if len(program) > 1 else ""
            _Artist(drawing, kernels, of).function(function)
    elif isinstance(program, Function):
        _Artist(drawing, kernels, "").function(program)
    else:
        _Artist(drawing, kernels, "").function(Function(tuple(free_vars(program)), program))
    return drawing


@dataclass(frozen=True, slots=True)
class _Port:
    """A value: the node that gives it, which part of what that gives (`.1`, or nothing), and its type."""

    node: int
    part: str
    type: Type


_Value: TypeAlias = _Port | tuple[_Port, ...]


class _Artist:
    def __init__(self, drawing: Drawing, kernels: dict[Function, int], of: str) -> None:
        """`of`: the function's name, where there are several."""
        self.drawing = drawing
        self.kernels = kernels
        self.of = of
        self.types = TypePrinter()
        self.group: int | None = None
        self.tuples: dict[
            int, tuple[_Value, _Port]
        ] = {}  # by id, with the tuple itself to keep the id its own

    def function(self, function: Function) -> None:
        """Draw a function's parameters, its body and its results."""
        values: dict[Expr, _Value] = {}
        for param in function.params:
            label = f"{self.of}%{param.name_hint}"
            values[param] = self.node("input", (label, self.type_text(param.checked_type)), (), param)
        result = self.body(function.body, values)
        ports = result if isinstance(result, tuple) else (result,)
        for name, port in zip(output_names(len(ports)), ports, strict=True):
            self.node("output", (f"{self.of}{name}",), [port])

    def body(self, body: Expr, values: dict[Expr, _Value]) -> _Value:
        """The value of an expression, drawn."""
        order = post_order(body, lambda node: isinstance(node, Function))
        known = _Known(values, {node.var: node.value for node in order if isinstance(node, Let)})
        read = {body, *[each for node in order for each in _read(node)]}
        for node in order:
            named = isinstance(node, Function | GlobalVar) and node not in read
            if not named and node not in values and node not in known.lets:
                values[node] = self.value(node, known)
        return known[body]

    def value(self, node: Expr, known: _Known) -> _Value:
        """What a node gives, whose operands are drawn."""
        if isinstance(node, Call):
            return self.call(node, known)
        if isinstance(node, Tuple):
            return tuple([self.port(known[each]) for each in node.fields])
        if isinstance(node, TupleGetItem):
            whole = known[node.tuple_value]
            if isinstance(whole, tuple):
                return whole[node.index]
            if not whole.part:
                return _Port(whole.node, f".{node.index}", node.checked_type)
            return self.node("call", (f"field {node.index}",), [whole], node)
        if isinstance(node, If):
            parts = [(node.condition, "if "), (node.then, "then "), (node.otherwise, "else ")]
            ports = [_marked(self.port(known[each]), mark) for each, mark in parts]
            return self.node("call", ("if",), ports, node)
        if isinstance(node, Let):
            return known[node.body]
        return self.leaf(node)

    def leaf(self, node: Expr) -> _Port:
        if isinstance(node, Constant):
            text = ConstantSection().text(node)
            label = "constant" if text.startswith("meta[") else text
            return self.node("constant", (label, self.type_text(node.checked_type)), (), node)
        if isinstance(node, Var):
            return self.node("input", (f"%{node.name_hint}",), (), node)
        return self.node("call", (f"@{node.name}" if isinstance(node, GlobalVar) else "fn",), (), node)

    def call(self, call: Call, known: _Known) -> _Value:
        args = [known[arg] for arg in call.args]
        callee = call.op
        if _is_segment(callee) and self.group is None:
            number = self.kernels.setdefault(callee, len(self.kernels))
            self.group = len(self.drawing.groups)
            self.drawing.groups.append(f"kernel {number}")
            result = self.body(callee.body, dict(zip(callee.params, args, strict=True)))
            self.group = None
            return result
        operands = [port for arg in args for port in self.fields(arg)]
        if isinstance(callee, Op):
            attrs = call.attrs.to_text() if call.attrs is not None else ""
            return self.node("call", (op_text(callee.name), *([attrs] if attrs else [])), operands, call)
        if isinstance(callee, GlobalVar) or _is_segment(callee):
            name = f"@{callee.name}" if isinstance(callee, GlobalVar) else "fn"
            return self.node("call", (name,), operands, call)
        return self.node("call", ("call",), [_marked(self.port(known[callee]), "calls "), *operands], call)

    def fields(self, value: _Value) -> Iterator[_Port]:
        """A value as the operands of what reads it."""
        if isinstance(value, tuple) and len(value) <= _MAX_FIELDS:
            yield from value
        else:
            yield self.port(value)

    def port(self, value: _Value) -> _Port:
        """A value as one; a tuple becomes a node."""
        if isinstance(value, _Port):
            return value
        if id(value) not in self.tuples:
            self.tuples[id(value)] = (value, self.node("call", (f"tuple of {len(value)}",), value))
        return self.tuples[id(value)][1]

    def node(
        self,
        kind: Kind,
        label: tuple[str, ...],
        operands: list[_Port] | tuple[_Port, ...] | Iterator[_Port],
        gives: Expr | None = None,
    ) -> _Port:
        number = len(self.drawing.nodes)
        self.drawing.nodes.append(Node(kind, tuple([_line(each) for each in label]), self.group))
        for port in operands:
            text = " ".join([each for each in (port.part, self.type_text(port.type)) if each])
            self.drawing.edges.append(Edge(port.node, number, _line(text)))
        return _Port(number, "", Tuple(()).checked_type if gives is None else gives.checked_type)

    def type_text(self, type_: Type) -> str:
        """`float32[2, 4]` of a tensor; nothing of others, whose text may grow with the number of their paths."""
        if not isinstance(type_, TensorType):
            return ""
        return f"{type_.dtype}[{', '.join([self.types.dim(each) for each in type_.shape])}]"


class _Known(Mapping[Expr, _Value]):
    """The values of what is drawn, of variables that lets bind too."""

    def __init__(self, values: dict[Expr, _Value], lets: Mapping[Expr, Expr]) -> None:
        self.values_of = values
        self.lets = lets

    def __getitem__(self, node: Expr) -> _Value:
        """A chain of lets that rename each other is followed once."""
        chain: list[Expr] = []
        while node not in self.values_of:
            chain.append(node)
            node = self.lets[node]
        self.values_of.update(dict.fromkeys(chain, self.values_of[node]))
        return self.values_of[node]

    def __iter__(self) -> Iterator[Expr]:
        return iter(self.values_of)

    def __len__(self) -> int:
        return len(self.values_of)


def _is_segment(callee: Op | Expr) -> TypeGuard[Function]:
    return isinstance(callee, Function) and "Primitive" in callee.attrs


def _read(node: Expr) -> tuple[Expr, ...]:
    """The operands of a node that have nodes of their own: not a callee that is drawn as its call."""
    if isinstance(node, Call) and (isinstance(node.op, GlobalVar) or _is_segment(node.op)):
        return node.args
    return () if isinstance(node, Function) else node.children()


def _marked(port: _Port, mark: str) -> _Port:
    return _Port(port.node, f"{mark}{port.part}".strip(), port.type)


def _line(text: str) -> str:
    """One line of a label: what cannot be printed is escaped, what is long is cut."""
    shown = "".join([c if c.isprintable() else ascii(c)[1:-1] for c in text[: _MAX_LETTERS + 1]])
    return shown if len(shown) <= _MAX_LETTERS else f"{shown[: _MAX_LETTERS - 1]}…"
