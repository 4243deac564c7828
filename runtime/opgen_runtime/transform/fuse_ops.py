"""FuseOps: partition each function into segments that are compiled to one kernel each.

Each segment becomes a function marked `Primitive`, called in place of its ops.  Post-dominator fusion as in Relay,
with reductions extended by their epilogues:

    elemwise, broadcast   into the post-dominator, if all between is injective
    injective             likewise, after those, so that they go into reductions too
    reductions            take elementwise consumers of the reduced shape (an epilogue); one reduction a segment

Scalar constants become part of the segment, other constants are its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from ..base.vocabulary import OpPattern
from ..ir import Call, Constant, Expr, Function, IRModule, Tuple, TupleGetItem, Var, rebuild
from ..operator.types import TupleType
from .context import PassContext
from .define import function_pass
from .infer_type import InferType
from .info import Option
from .post_dominators import Node, dataflow, find_post_dominators, is_op_call, is_segment

MAX_OPS = Option(256, "The most ops that one segment may have.", least=1)
PRIMITIVE = MappingProxyType({"Primitive": 1})
Rule = Callable[[OpPattern, bool], bool]
"""`(pattern of a group, whether it is the sink) -> whether it may be joined`."""


@function_pass(name="FuseOps", required=(InferType,), preserves=("InferType",), options={"max_ops": MAX_OPS})
def FuseOps(function: Function, module: IRModule, context: PassContext, *, max_ops: int) -> Function:
    """Partition into segments; at level 0 every op is a segment of its own."""
    if "Primitive" in function.attrs:
        return function
    return fuse(function, max_ops if context.opt_level > 0 else 1)


def fuse(function: Function, max_ops: int = 256) -> Function:
    """`function` with its ops in segments of at most `max_ops` ops."""
    nodes = dataflow(function.body)
    groups = _Groups(nodes, max_ops)
    if max_ops > 1:
        find_post_dominators(nodes, max_ops)
        for injective in (False, True):
            for node in nodes:
                groups.fuse_into_post_dominator(node, injective)
    body = _Partition(nodes, groups).rewrite(function.body)
    if body is function.body:
        return function
    attrs = function.attrs
    return Function(function.params, body, function.ret_type, function.type_params, attrs, span=function.span)


@dataclass(eq=False, slots=True)
class _Group:
    """Nodes that are to be one segment. `pattern`: of the group as a whole; `root`: the node whose value it gives."""

    root: Node
    pattern: OpPattern
    size: int
    joined: _Group | None = None


class _Groups:
    """The groups of all nodes, by union-find."""

    def __init__(self, nodes: list[Node], max_ops: int) -> None:
        self.of = {node: _Group(node, node.pattern, 1 if is_op_call(node.expr) else 0) for node in nodes}
        self.max_ops = max_ops

    def find(self, node: Node) -> _Group:
        group = self.of[node]
        while group.joined is not None:
            group = group.joined
        self.of[node] = group
        return group

    def fuse_into_post_dominator(self, node: Node, injective: bool) -> None:
        """Join `node` with its post-dominator and what lies between, if the rules for its pattern allow it.

        The rules for injective ops run after the others (`injective`), when those have found their groups.
        """
        sink = node.parent
        group = self.find(node)
        if sink is None or group.root is not node or group is self.find(sink):
            return
        may_join = _rule(group.pattern, node.reach, injective)
        if may_join is None:
            return
        between = self.path(node, sink, may_join)
        if between is not None:
            self.join([node, *between], sink)

    def path(self, node: Node, sink: Node, may_join: Rule) -> list[Node] | None:
        """The nodes between `node` and `sink`; None if one of them, or the sink, may not join."""
        if not may_join(self.find(sink).pattern, True):
            return None
        found: dict[Node, None] = {}
        stack = [user for user, _ in node.users]
        while stack:
            each = stack.pop()
            if each is sink or each in found:
                continue
            if not may_join(self.find(each).pattern, False) or len(found) >= self.max_ops:
                return None
            found[each] = None
            stack.extend([user for user, _ in each.users])
        return list(found)

    def join(self, members: list[Node], sink: Node) -> None:
        into = self.find(sink)
        groups = {id(group): group for member in members if (group := self.find(member)) is not into}
        if into.size + sum([group.size for group in groups.values()]) > self.max_ops:
            return
        for group in groups.values():
            group.joined = into
            into.size += group.size
            into.pattern = max(into.pattern, group.pattern)


def _rule(pattern: OpPattern, reach: OpPattern, injective: bool) -> Rule | None:
    """Which groups a group of `pattern` may join; None if it stays as it is."""
    if pattern in (OpPattern.COMM_REDUCE, OpPattern.OUT_ELEMWISE_FUSABLE):
        return _epilogue if not injective and reach == OpPattern.ELEMWISE else None
    if pattern <= OpPattern.INJECTIVE and injective == (pattern == OpPattern.INJECTIVE):
        return _producer if reach <= OpPattern.COMM_REDUCE else None
    return None


def _epilogue(found: OpPattern, is_sink: bool) -> bool:
    """A reduction joins what reads it element by element."""
    return found <= OpPattern.BROADCAST


def _producer(found: OpPattern, is_sink: bool) -> bool:
    """Elementwise and injective ops join a group with a reduction only as its inputs, not on the way."""
    return found <= (OpPattern.OUT_ELEMWISE_FUSABLE if is_sink else OpPattern.INJECTIVE)


class _Partition:
    """The body with each group replaced by a call of its segment."""

    def __init__(self, nodes: list[Node], groups: _Groups) -> None:
        self.nodes = nodes
        self.group = {id(node.expr): groups.find(node) for node in nodes if is_op_call(node.expr)}
        self.members: dict[int, list[Call]] = {}
        for node in nodes:
            if isinstance(node.expr, Call) and id(node.expr) in self.group:
                self.members.setdefault(id(self.group[id(node.expr)].root.expr), []).append(node.expr)
        self.new: dict[int, Expr] = {}

    def rewrite(self, body: Expr) -> Expr:
        for node in self.nodes:
            expr = node.expr
            group = self.group.get(id(expr))
            if is_segment(expr):
                self.new[id(expr)] = expr
            elif group is None:
                children = expr.children()
                if all([id(child) in self.new for child in children]):
                    self.new[id(expr)] = rebuild(expr, [self.new[id(child)] for child in children])
                # else: a tuple of operands inside one segment, which is rebuilt there
            elif group.root is node:
                self.new[id(expr)] = self.segment(self.members[id(expr)])
        return self.new[id(body)]

    def segment(self, members: list[Call]) -> Call:
        """The call of the function that holds `members`, the last of which gives its value."""
        inside: dict[int, Expr] = {}
        params: list[Var] = []
        args: list[Expr] = []

        def param(outer: Expr, arg: Expr) -> Var:
            hint = outer.name_hint if isinstance(outer, Var) else f"p{len(params)}"
            params.append(Var(hint, arg.checked_type))
            args.append(arg)
            return params[-1]

        def operand(expr: Expr) -> Expr:
            found = inside.get(id(expr))
            if found is None:
                if isinstance(expr, Constant) and expr.is_scalar:
                    found = expr
                elif isinstance(expr, Tuple):
                    found = Tuple(tuple([operand(field) for field in expr.fields]), span=expr.span)
                elif isinstance(expr.checked_type, TupleType):
                    outer = self.new[id(expr)]
                    fields = [TupleGetItem(outer, k) for k in range(len(expr.checked_type.fields))]
                    found = Tuple(tuple([param(field, field) for field in fields]))
                else:
                    found = param(expr, self.new[id(expr)])
                inside[id(expr)] = found
            return found

        for call in members:
            operands = tuple([operand(arg) for arg in call.args])
            inside[id(call)] = Call(call.op, operands, call.attrs, call.type_args, span=call.span)
        body = inside[id(members[-1])]
        function = Function(tuple(params), body, attrs=PRIMITIVE)
        return Call(function, tuple(args), span=members[-1].span)
