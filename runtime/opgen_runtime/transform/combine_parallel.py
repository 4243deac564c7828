"""CombineParallelDense, CombineParallelConv2D, CombineParallelBatchMatmul: layers side by side become one.

    relu(dense(%x, %a)), relu(dense(%x, %b)), relu(dense(%x, %c))
        %0 = concatenate((%a, %b, %c), axis=0); %1 = split(relu(dense(%x, %0)), ..); %1.0, %1.1, %1.2

Calls of one op with the same attrs on the same operand are combined if there are `min_branches` of them: what they
compute must be linear in the other operand, one axis of which is an axis of the result, and the shared operand must be
read in the same way for every position of that axis (so that a convolution in groups stays).  Elementwise ops that
follow all of them alike follow the combined call, too, where each is all that reads what it follows and its other
operands are one for all or cost little to join: constants, and what is smaller than the result, such as biases.  Values
keep their bits.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from itertools import accumulate
from typing import Final

from ..base.vocabulary import dataclass
from ..compute.te.roles import Role
from ..declaration import OpDeclaration
from ..ir import Call, Constant, Expr, Function, IRModule, TupleGetItem, post_order, rebuild
from ..ir.scopes import blocks_of
from ..lower.library.fusion.dataflow import is_segment
from ..operator import Op, TensorType
from .build import concatenate, split
from .calls import UNIT, facts
from .context import PassContext
from .define import function_pass
from .evaluator import elements
from .infer_type import InferType
from .info import Option

OPTIONS = {"min_branches": Option(3, "The least number of calls that are combined.", least=2)}
_SUBTREE: Final = 64  # an operand made of more nodes is not combined: it might depend on one of the calls


class Products(Enum):
    """What a sum of products of two operands is, by what its op declares and by its operands."""

    CONVOLUTION = "both operands have layouts"
    BATCHES = "both operands are matrices, many of them"
    DENSE = "one of them is a matrix or less"


@function_pass(opt_level=4, required=(InferType,), preserves=("InferType",), options=OPTIONS)
def CombineParallelDense(
    function: Function, module: IRModule, context: PassContext, *, min_branches: int
) -> Function:
    """Dense layers of one input become one."""
    return combine(function, Products.DENSE, min_branches)


@function_pass(opt_level=4, required=(InferType,), preserves=("InferType",), options=OPTIONS)
def CombineParallelConv2D(
    function: Function, module: IRModule, context: PassContext, *, min_branches: int
) -> Function:
    """Convolutions of one image become one."""
    return combine(function, Products.CONVOLUTION, min_branches)


@function_pass(opt_level=4, required=(InferType,), preserves=("InferType",), options=OPTIONS)
def CombineParallelBatchMatmul(
    function: Function, module: IRModule, context: PassContext, *, min_branches: int
) -> Function:
    """Batched products of one operand become one."""
    return combine(function, Products.BATCHES, min_branches)


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


def combine(function: Function, of: Products, min_branches: int) -> Function:
    """`function` with the calls of products of that kind that stand side by side combined."""
    order = post_order(function, is_segment)
    blocks = blocks_of(function, order)
    groups: dict[Hashable, list[_Branch]] = {}
    readers: dict[int, list[Expr]] = {}
    for node in order:
        for child in [] if is_segment(node) else node.children():
            readers.setdefault(id(child), []).append(node)
        branch = _branch(node, of)
        if branch is not None:
            key = (id(blocks.at.get(id(node))), _key(branch))
            groups.setdefault(key, []).append(branch)
    combined: dict[int, _Group] = {}
    for branches in groups.values():
        if len(branches) < min_branches:
            continue
        group = _Group(branches, [branch.call for branch in branches], combined)
        if group.is_apart([branch.call.args[branch.weight] for branch in branches]):
            group.follow(readers, lambda node: id(blocks.at.get(id(node))))
            combined.update([(id(end), group) for end in group.ends])
    return _rewritten(function, combined) if combined else function


def _branch(node: Expr, of: Products) -> _Branch | None:
    if not isinstance(node, Call) or not isinstance(node.op, Op) or len(node.args) != 2:
        return None
    known = facts(node)
    if known is None or not known.is_plain or not known.is_reduction or _products(node) is not of:
        return None
    for data, weight in ((0, 1), (1, 0)):
        type_ = node.args[weight].checked_type
        if known.role(weight) is not Role.LINEAR or not isinstance(type_, TensorType) or not type_.is_static:
            continue
        for axis, result in enumerate(known.axes(weight)):
            if result is not None and result not in known.axes(data) and known.is_steady(data, result):
                return _Branch(node, data, weight, axis, result)
    return None


def _products(call: Call) -> Products:
    assert isinstance(call.op, Op)
    declaration: OpDeclaration | None = call.op.get_attr("declaration")
    if declaration is not None and all([each.layout for each in declaration.signature.inputs]):
        return Products.CONVOLUTION
    types = [arg.checked_type for arg in call.args]
    ranks = [len(type_.shape) for type_ in types if isinstance(type_, TensorType)]
    return Products.BATCHES if min(ranks, default=0) > 2 else Products.DENSE


def _key(branch: _Branch) -> Hashable:
    """What branches that may be combined have in common."""
    call = branch.call
    type_ = call.args[branch.weight].checked_type
    assert isinstance(type_, TensorType)
    rest = tuple([dim for d, dim in enumerate(type_.concrete_shape) if d != branch.axis])
    where = (branch.data, branch.weight, branch.axis, branch.result)
    return (id(call.op), call.attrs, id(call.args[branch.data]), where, rest, type_.dtype)


@dataclass(frozen=True, slots=True)
class _Step:
    """Elementwise calls, one a branch, that follow: operand `position` is what the branches have given before.

    The operands at `joined` have an axis that goes along with that of the results; the others are shared.
    """

    calls: Sequence[Call]
    position: int
    joined: dict[int, int]

    @property
    def operands(self) -> list[Expr]:
        """What the calls read beside the branches."""
        return [arg for call in self.calls for k, arg in enumerate(call.args) if k != self.position]


@dataclass(slots=True)
class _Group:
    """Branches that are combined.

    `ends`: the last call of each; `others`: the groups that are combined already, by the ids of their ends.
    """

    branches: Sequence[_Branch]
    ends: Sequence[Call]
    others: Mapping[int, _Group]
    steps: list[_Step] = field(default_factory=list)

    def operands(self) -> list[Expr]:
        """What the combined calls read."""
        first = self.branches[0]
        weights = [branch.call.args[branch.weight] for branch in self.branches]
        return [first.call.args[first.data], *weights, *[arg for step in self.steps for arg in step.operands]]

    def is_apart(self, operands: Sequence[Expr]) -> bool:
        """Whether no operand depends on one of the calls, with the other groups combined."""
        calls = {id(branch.call) for branch in self.branches}
        for operand in operands:
            stack, seen = [operand], 0
            while stack:
                node = stack.pop()
                seen += 1
                if id(node) in calls or seen > _SUBTREE:
                    return False
                other = self.others.get(id(node))
                stack.extend(node.children() if other is None else other.operands())
        return True

    def follow(self, readers: Mapping[int, Sequence[Expr]], block: Callable[[Expr], int]) -> None:
        """Take the elementwise calls that follow all branches alike."""
        while True:
            following = [readers.get(id(end), ()) for end in self.ends]
            calls = [found[0] for found in following if len(found) == 1 and isinstance(found[0], Call)]
            where = {block(node) for node in (*self.ends, *calls)}
            if len(calls) < len(self.ends) or len(set(map(id, calls))) < len(calls) or len(where) > 1:
                return
            step = self._step(calls)
            if step is None or not self.is_apart(step.operands):
                return
            self.steps.append(step)
            self.ends = calls

    def _step(self, calls: Sequence[Call]) -> _Step | None:
        """The calls as one step; None where they are not alike, or not elementwise."""
        first, axis = calls[0], self.branches[0].result
        known = facts(first)
        places = {
            tuple([k for k, arg in enumerate(call.args) if arg is end])
            for call, end in zip(calls, self.ends, strict=True)
        }
        if known is None or known.pointwise is None or len(places) > 1 or len(next(iter(places))) != 1:
            return None
        if any([(call.op, call.attrs) != (first.op, first.attrs) for call in calls]):
            return None
        ((position,),) = places
        axes = {operand.position: operand.axes for operand in known.pointwise}
        in_place = all([of in (k, UNIT) for k, of in enumerate(axes.get(position, (None,)))])
        if not in_place or [_dims(call, axis) for call in calls] != [_dims(end, axis) for end in self.ends]:
            return None
        joined: dict[int, int] = {}
        for k in range(len(first.args)):
            if k == position:
                continue
            args = [call.args[k] for call in calls]
            if axis in axes.get(k, ()):
                joined[k] = axes[k].index(axis)
                if not _are_narrow(calls, k, joined[k], axis):
                    return None
            elif any([arg is not args[0] for arg in args]):
                return None
        return _Step(calls, position, joined)


def _are_narrow(calls: Sequence[Call], position: int, own: int, axis: int) -> bool:
    """Whether operands differ along one axis alone, `axis` of the results, and joining them costs little.

    That is where each is a constant, or has fewer elements than the result.
    """
    rest: set[object] = set()
    for call in calls:
        arg, kind, made = call.args[position], call.args[position].checked_type, call.checked_type
        if not isinstance(kind, TensorType) or not kind.is_static or not isinstance(made, TensorType):
            return False
        vector = elements(kind) == kind.concrete_shape[own]
        narrow = vector or isinstance(arg, Constant) or elements(kind) < elements(made)
        if not narrow or kind.shape[own] != made.shape[axis]:
            return False
        rest.add((kind.dtype, kind.shape[:own], kind.shape[own + 1 :]))
    return len(rest) == 1


def _dims(call: Call, axis: int) -> tuple[object, ...]:
    """The dims of a call's result: that of the axis, and the others."""
    kind = call.checked_type
    assert isinstance(kind, TensorType)
    return (kind.shape[axis], kind.shape[:axis], kind.shape[axis + 1 :])


def _rewritten(function: Function, group_of: Mapping[int, _Group]) -> Function:
    """The function with each group one call, in an order in which the operands of all branches come first."""
    place = {id(call): k for group in group_of.values() for k, call in enumerate(group.ends)}

    def operands(node: Expr) -> Sequence[Expr]:
        group = group_of.get(id(node))
        if group is None:
            return () if is_segment(node) else node.children()
        return group.operands()

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


def _combined(group: _Group, new: dict[int, Expr]) -> Expr:
    """The results of a group as a tuple."""
    first = group.branches[0]
    args = [new[id(arg)] if k == first.data else arg for k, arg in enumerate(first.call.args)]
    args[first.weight] = concatenate([new[id(b.call.args[b.weight])] for b in group.branches], first.axis)
    whole = _like(first.call, args)
    for step in group.steps:
        call = step.calls[0]
        args = [whole if k == step.position else new[id(arg)] for k, arg in enumerate(call.args)]
        for k, axis in step.joined.items():
            args[k] = concatenate([new[id(each.args[k])] for each in step.calls], axis)
        whole = _like(call, args)
    cuts = list(accumulate([branch.extent for branch in group.branches]))[:-1]
    return split(whole, cuts, first.result)


def _like(call: Call, args: Sequence[Expr]) -> Call:
    return Call(call.op, tuple(args), call.attrs, call.type_args, span=call.span)
