"""CombineParallelDense, CombineParallelConv2D, CombineParallelBatchMatmul: layers side by side become one.

    dense(%x, %a), dense(%x, %b), dense(%x, %c)
        %0 = concatenate((%a, %b, %c), axis=0); %1 = split(dense(%x, %0), ..); %1.0, %1.1, %1.2

Calls of one op with the same attrs on the same operand are combined if there are `min_branches` of them: what they
compute must be linear in the other operand, one axis of which is an axis of the result, and the shared operand must be
read in the same way for every position of that axis (so that a convolution in groups stays).  Values keep their bits.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from ..compute.te.roles import Role
from ..ir import Call, Expr, Function, IRModule, TupleGetItem, post_order, rebuild
from ..ir.scopes import blocks_of
from ..lower.library.fusion.dataflow import is_segment
from ..operator import Op, TensorType
from .build import concatenate, split
from .calls import facts
from .context import PassContext
from .define import function_pass
from .infer_type import InferType
from .info import Option

OPTIONS = {"min_branches": Option(3, "The least number of calls that are combined.", least=2)}
_SUBTREE: Final = 64  # an operand made of more nodes is not combined: it might depend on one of the calls


@function_pass(opt_level=4, required=(InferType,), preserves=("InferType",), options=OPTIONS)
def CombineParallelDense(
    function: Function, module: IRModule, context: PassContext, *, min_branches: int
) -> Function:
    """Dense layers of one input become one."""
    return combine(function, frozenset({"dense", "matmul"}), min_branches)


@function_pass(opt_level=4, required=(InferType,), preserves=("InferType",), options=OPTIONS)
def CombineParallelConv2D(
    function: Function, module: IRModule, context: PassContext, *, min_branches: int
) -> Function:
    """Convolutions of one image become one."""
    return combine(function, frozenset({"conv2d"}), min_branches)


@function_pass(opt_level=4, required=(InferType,), preserves=("InferType",), options=OPTIONS)
def CombineParallelBatchMatmul(
    function: Function, module: IRModule, context: PassContext, *, min_branches: int
) -> Function:
    """Batched products of one operand become one."""
    return combine(function, frozenset({"batch_matmul"}), min_branches)


@dataclass(frozen=True, slots=True)
class _Branch:
    """A call that may be combined: by operand `weight`, whose axis `axis` is axis `result` of what it gives."""

    call: Call
    data: int
    weight: int
    axis: int
    result: int

    @property
    def extent(self) -> int:
        type_ = self.call.args[self.weight].checked_type
        assert isinstance(type_, TensorType)
        return type_.concrete_shape[self.axis]


def combine(function: Function, ops: frozenset[str], min_branches: int) -> Function:
    """`function` with the calls of `ops` that stand side by side combined."""
    order = post_order(function, is_segment)
    blocks = blocks_of(function, order)
    groups: dict[Hashable, list[_Branch]] = {}
    for node in order:
        branch = _branch(node, ops)
        if branch is not None:
            key = (id(blocks.at.get(id(node))), _key(branch))
            groups.setdefault(key, []).append(branch)
    combined = [group for group in groups.values() if len(group) >= min_branches and _is_apart(group)]
    return _rewritten(function, combined) if combined else function


def _branch(node: Expr, ops: frozenset[str]) -> _Branch | None:
    if not isinstance(node, Call) or not isinstance(node.op, Op) or node.op.name not in ops:
        return None
    known = facts(node)
    if known is None or not known.is_plain or len(node.args) != 2 or not known.is_reduction:
        return None
    for data, weight in ((0, 1), (1, 0)):
        type_ = node.args[weight].checked_type
        if known.role(weight) is not Role.LINEAR or not isinstance(type_, TensorType) or not type_.is_static:
            continue
        for axis, result in enumerate(known.axes(weight)):
            if result is not None and result not in known.axes(data) and known.is_steady(data, result):
                return _Branch(node, data, weight, axis, result)
    return None


def _key(branch: _Branch) -> Hashable:
    """What branches that may be combined have in common."""
    call = branch.call
    type_ = call.args[branch.weight].checked_type
    assert isinstance(type_, TensorType)
    rest = tuple([dim for d, dim in enumerate(type_.concrete_shape) if d != branch.axis])
    where = (branch.data, branch.weight, branch.axis, branch.result)
    return (id(call.op), call.attrs, id(call.args[branch.data]), where, rest, type_.dtype)


def _is_apart(group: Sequence[_Branch]) -> bool:
    """Whether no operand depends on one of the calls."""
    calls = {id(branch.call) for branch in group}
    for branch in group:
        stack, seen = [branch.call.args[branch.weight]], 0
        while stack:
            node = stack.pop()
            seen += 1
            if id(node) in calls or seen > _SUBTREE:
                return False
            stack.extend(node.children())
    return True


def _rewritten(function: Function, groups: Sequence[Sequence[_Branch]]) -> Function:
    """The function with each group one call, in an order in which the operands of all branches come first."""
    group_of = {id(branch.call): group for group in groups for branch in group}
    place = {id(branch.call): k for group in groups for k, branch in enumerate(group)}

    def operands(node: Expr) -> Sequence[Expr]:
        group = group_of.get(id(node))
        if group is None:
            return () if is_segment(node) else node.children()
        return [*node.children(), *[branch.call.args[branch.weight] for branch in group]]

    new: dict[int, Expr] = {}
    parts: dict[int, Expr] = {}
    stack: list[tuple[Expr, bool]] = [(function, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in new:
            continue
        if not ready:
            stack.append((node, True))
            stack.extend([(child, False) for child in reversed(operands(node)) if id(child) not in new])
        elif is_segment(node):
            new[id(node)] = node
        elif id(node) in group_of:
            group = group_of[id(node)]
            if id(group) not in parts:
                parts[id(group)] = _combined(group, new)
            new[id(node)] = TupleGetItem(parts[id(group)], place[id(node)], span=node.span)
        else:
            new[id(node)] = rebuild(node, [new[id(child)] for child in node.children()])
    made = new[id(function)]
    assert isinstance(made, Function)
    return made


def _combined(group: Sequence[_Branch], new: dict[int, Expr]) -> Expr:
    """The results of a group as a tuple."""
    first = group[0]
    args = [new[id(arg)] for arg in first.call.args]
    args[first.weight] = concatenate([new[id(b.call.args[b.weight])] for b in group], first.axis)
    whole = Call(first.call.op, tuple(args), first.call.attrs, first.call.type_args, span=first.call.span)
    cuts = list(accumulate([branch.extent for branch in group]))[:-1]
    return split(whole, cuts, first.result)
