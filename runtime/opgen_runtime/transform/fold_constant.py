"""FoldConstant: what is made of constants alone becomes a constant.  DynamicToStatic: dims that constants decide, too.

    add(multiply(2, 3), %x)      add(6, %x)
    let %v = 1; exp(%v + %x)     exp(1 + %x)
    (%a, %b).1                   %b
    if (true) %a else %b         %a

A value that would be larger than `max_bytes` and than the constants that it is made of stays a call (a program of a few
bytes may describe gigabytes), as does one whose shape depends on data or whose evaluation is refused.  DynamicToStatic
evaluates the former as well, so that dims that only a run would tell are static where the data are constants:

    argwhere([0, 5, 7])      [[1], [2]], and Tensor[(2, 1), int64] where it was Tensor[(?, 1), int64]
"""

from __future__ import annotations

import math

from ..base.errors import OpgenError
from ..declaration import Arrays
from ..ir import (
    Constant,
    Expr,
    Function,
    If,
    IRModule,
    Let,
    Span,
    Tuple,
    TupleGetItem,
    Var,
    post_order,
    rebuild,
)
from ..lower.library.fusion.dataflow import is_segment
from ..operator import TensorType, TupleType, Type
from .context import PassContext
from .define import function_pass
from .evaluator import Evaluator, is_op_call, reads_dims
from .infer_type import InferType
from .info import Option

OPTIONS = {
    "max_bytes": Option(
        1 << 24, "The most bytes of a constant that is larger than what it is made of.", least=0
    )
}


@function_pass(opt_level=2, required=(InferType,), preserves=("InferType",), options=OPTIONS)
def FoldConstant(function: Function, module: IRModule, context: PassContext, *, max_bytes: int) -> Function:
    """Expressions of constants become constants."""
    folded = _Folding((context.evaluator or Evaluator)(), max_bytes).rewrite(function)
    assert isinstance(folded, Function)
    return folded


@function_pass(
    opt_level=2, required=(InferType,), preserves=("InferType",), options=OPTIONS, changes_type=True
)
def DynamicToStatic(
    function: Function, module: IRModule, context: PassContext, *, max_bytes: int
) -> Function:
    """Expressions of constants become constants, those whose dims depend on their values, too."""
    folded = _Folding((context.evaluator or Evaluator)(), max_bytes, of_data=True).rewrite(function)
    assert isinstance(folded, Function)
    return folded


class _Folding:
    """The rewritten form of each node; `pending` holds calls of constants, which are evaluated where one is needed.

    `of_data`: calls whose dims depend on the values of constants are evaluated when they are met.
    """

    def __init__(self, evaluator: Evaluator, max_bytes: int, of_data: bool = False) -> None:
        self.evaluator = evaluator
        self.max_bytes = max_bytes
        self.of_data = of_data
        self.new: dict[int, Expr] = {}
        self.pending: set[int] = set()  # of rewritten nodes that are foldable
        self.values: dict[int, Expr] = {}
        self.sizes: dict[int, int] = {}
        self.alive: list[Expr] = []

    def rewrite(self, function: Function) -> Expr:
        order = post_order(function, is_segment)
        lets: dict[int, list[Var]] = {}
        for node in order:
            if isinstance(node, Let):
                lets.setdefault(id(node.value), []).append(node.var)
        for node in order:
            self.new[id(node)] = found = self.node(node)
            self.alive.append(found)
            for var in lets.get(id(node), ()):  # what the variable stands for is known before it is read
                value = self.value(found)
                if isinstance(value, Constant):
                    self.new[id(var)] = value
        return self.new[id(function)]

    def node(self, node: Expr) -> Expr:
        """`node` over rewritten operands: values for those of calls that stay, calls for those of calls that fold."""
        if is_segment(node):
            return node
        children = [self.new[id(child)] for child in node.children()]
        if isinstance(node, TupleGetItem) and isinstance(children[0], Tuple):
            return children[0].fields[node.index]
        if isinstance(node, If):
            condition = self.value(children[0])
            if isinstance(condition, Constant):
                return children[1] if bool(condition.data) else children[2]
        if isinstance(node, Let) and isinstance(children[0], Constant):
            return children[2]
        if is_op_call(node) or isinstance(node, Tuple | TupleGetItem):
            made = rebuild(node, children)
            if self.may_fold(made):
                self.pending.add(id(made))
                return made
        made = rebuild(node, [self.value(child) for child in children])
        return self.with_dims(made) if self.of_data and is_op_call(made) else made

    def with_dims(self, call: Expr) -> Expr:
        """The value of a call whose dims its constant operands decide, if it is not too large; else the call."""
        if _bytes(call.checked_type) is not None or not self.evaluator.is_constant(call):
            return call
        try:
            found = _constants(self.evaluator.result(call), call.span)
        except OpgenError:  # running it says so
            return call
        made_of = sum([_bytes(operand.checked_type) or 0 for operand in call.children()])
        size = _bytes(found.checked_type)
        assert size is not None
        return found if size <= max(self.max_bytes, made_of) else call

    def may_fold(self, node: Expr) -> bool:
        """Whether all operands are constants, or calls that fold, and the value is not too large."""
        operands = node.children()
        if not all([isinstance(child, Constant) or id(child) in self.pending for child in operands]):
            return False
        size = _bytes(node.checked_type)
        if size is None or reads_dims(node):
            return False
        made_of = sum([self.sizes.get(id(child), 0) or _bytes(child.checked_type) or 0 for child in operands])
        self.sizes[id(node)] = max(size, made_of)
        return not is_op_call(node) or size <= max(self.max_bytes, made_of)

    def value(self, node: Expr) -> Expr:
        """The constant that a pending node is, or the node itself."""
        if id(node) not in self.pending:
            return node
        if id(node) not in self.values:
            found = self.evaluated(node)
            self.values[id(node)] = self._piece_by_piece(node) if found is None else found
        return self.values[id(node)]

    def evaluated(self, node: Expr) -> Constant | None:
        """The value of a tensor; None where it has none."""
        if not isinstance(node.checked_type, TensorType) or not self.evaluator.is_constant(node):
            return None
        try:
            return Constant(self.evaluator.array(node), span=node.span)
        except OpgenError:  # an index out of range, an op without a compute: running it says so
            return None

    def _piece_by_piece(self, node: Expr) -> Expr:
        """A tuple, or a call without a value, over the values of what it is made of."""
        for inner in post_order(node, lambda each: id(each) not in self.pending or id(each) in self.values):
            if id(inner) in self.pending and id(inner) not in self.values:
                made = rebuild(inner, [self.values.get(id(c), c) for c in inner.children()])
                found = self.evaluated(made)
                self.values[id(inner)] = made if found is None else found
                self.alive.append(made)
        return self.values[id(node)]


def _constants(arrays: Arrays, span: Span | None) -> Expr:
    """The results of a call as a constant, or a tuple of them."""
    if isinstance(arrays, tuple):
        return Tuple(tuple([_constants(each, span) for each in arrays]), span=span)
    return Constant(arrays, span=span)


def _bytes(kind: Type) -> int | None:
    """The bytes of a value of the type; None where they are not known."""
    if isinstance(kind, TupleType):
        sizes = [_bytes(field) for field in kind.fields]
        return None if None in sizes else sum([size for size in sizes if size is not None])
    if isinstance(kind, TensorType) and kind.is_static:
        return math.prod(kind.concrete_shape) * kind.dtype.itemsize
    return None
