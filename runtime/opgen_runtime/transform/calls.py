"""What passes know of a call: derived from its tensor expressions, remembered by op, attrs and types.

facts(call)               roles, axes, pairings; None for what is no call of an op with a compute
facts(call).binary        the call as `a op b` of two operands
facts(call).conversion    the call as a conversion of one operand
facts(call).copied(k)     which operand result k is, unchanged
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ..base.arith import Binary, Cast, Const, post_order, structural_equal
from ..base.arith.expr import Call as Function
from ..base.arith.expr import Dim
from ..base.arith.expr import Expr as Scalar
from ..base.arith.expr import Var as Index
from ..base.errors import OpgenError
from ..base.lazy import lazy
from ..base.lru_cache import LRUCache
from ..base.vocabulary import DType, OpPattern, dataclass
from ..compute.te import Compute, Read, Reduce, Tensor, tensor_order
from ..compute.te.roles import Role, is_steady, pairing, passed_axes, plain, role
from ..declaration import CallTensors, call_tensors, pattern_of
from ..ir import Call, Expr
from ..operator import Op

_DIVISIONS: Final = frozenset({"div", "floordiv", "floormod", "truncdiv", "truncmod"})
UNIT: Final = -1
"""In a list of axes: the one position of an axis of extent 1."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand read element by element: its position, and for each of its axes that of the result, or UNIT."""

    position: int
    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BinaryForm:
    """`a op b` for each element; `op` is one of `arith.Binary`."""

    op: str
    a: Operand
    b: Operand


class Facts:
    """What is derived of calls of one op with some attrs on operands of some types."""

    def __init__(self, made: CallTensors) -> None:
        self.made = made
        self.outputs = made.outputs
        self._roles: dict[tuple[int, frozenset[int]], Role] = {}
        self._axes: dict[tuple[int, int], tuple[int | None, ...]] = {}
        self._pairs: dict[tuple[int, int, int], np.ndarray | None] = {}

    def operand(self, position: int) -> Tensor | None:
        """The tensor of an operand; None where it is absent or several."""
        found = self.made.operands[position]
        return found if isinstance(found, Tensor) else None

    @lazy
    def is_plain(self) -> bool:
        """Whether there is one result, of a shape that the types decide, and every operand is one tensor."""
        alone = len(self.outputs) == 1 and not self.made.lengths
        return alone and all([isinstance(operand, Tensor) for operand in self.made.operands])

    @lazy
    def is_reduction(self) -> bool:
        """Whether an element of the result is made of many of an operand's."""
        return any([_reduces(tensor) for tensor in tensor_order(self.outputs)])

    def role(self, *positions: int, output: int = 0) -> Role:
        """The role of operands together."""
        key = (output, frozenset(positions))
        if key not in self._roles:
            tensors = [self.operand(position) for position in positions]
            varying = frozenset([tensor for tensor in tensors if tensor is not None])
            known = len(varying) == len(tensors)
            self._roles[key] = role(self.outputs[output], varying) if known else Role.OTHER
        return self._roles[key]

    def axes(self, position: int, output: int = 0) -> tuple[int | None, ...]:
        """The axes of the result that those of an operand pass through."""
        key = (output, position)
        if key not in self._axes:
            tensor = self.operand(position)
            self._axes[key] = () if tensor is None else passed_axes(self.outputs[output], tensor)
        return self._axes[key]

    def pairing(self, position: int, axis: int, other: int) -> np.ndarray | None:
        """The positions on an operand's axis that the elements of another are multiplied with."""
        key = (position, axis, other)
        if key not in self._pairs:
            mine, theirs = self.operand(position), self.operand(other)
            found = None if mine is None or theirs is None else pairing(self.outputs[0], mine, axis, theirs)
            self._pairs[key] = found
        return self._pairs[key]

    def is_steady(self, position: int, axis: int) -> bool:
        """Whether an operand is read in the same way for every position on an axis of the result."""
        tensor = self.operand(position)
        return tensor is not None and is_steady(self.outputs[0], tensor, axis)

    @lazy
    def binary(self) -> BinaryForm | None:
        """The call as `a op b`; halves are computed in float32 and rounded once."""
        body = self._body(0)
        if body is None:
            return None
        half = isinstance(body, Cast) and body.dtype.is_storage
        inner = body.a if isinstance(body, Cast) and half else body
        if not isinstance(inner, Binary):
            return None
        parts = [_without_widening(part) if half else part for part in (inner.a, inner.b)]
        a, b = (self._element(part) for part in parts)
        return None if a is None or b is None else BinaryForm(inner.op, a, b)

    @lazy
    def pointwise(self) -> tuple[Operand, ...] | None:
        """The operands of a call whose elements are each made of one of each operand's, and of nothing else.

        Which one follows from the place; the place itself does not matter.
        """
        body = self._body(0) if self.is_plain else None
        if body is None:
            return None
        found: dict[Operand, None] = {}
        for node in post_order(body):
            if isinstance(node, Read):
                operand = self._element(node)
                if operand is None:
                    return None
                found[operand] = None
            elif isinstance(node, Reduce) or any([isinstance(part, Index) for part in node.children()]):
                return None  # the place itself matters
        once = len({operand.position for operand in found}) == len(found)
        return tuple(found) if once else None

    @lazy
    def elementwise(self) -> tuple[Operand, ...] | None:
        """`pointwise`, where the operands broadcast as numpy's do."""
        found = self.pointwise
        if found is None or not all([is_aligned(each.axes, self.outputs[0].ndim) for each in found]):
            return None
        return found

    @lazy
    def conversion(self) -> tuple[int, DType, DType] | None:
        """(operand, its dtype, the result's) of a call that converts each element and does nothing else."""
        body = self._body(0)
        found = self._element(body.a) if isinstance(body, Cast) else None
        if found is None or not self._is_whole(found, 0):
            return None
        assert isinstance(body, Cast)
        return found.position, body.a.dtype, body.dtype

    @lazy
    def permutation(self) -> tuple[int, tuple[int, ...]] | None:
        """(operand, axes) of a call that permutes axes: axis k of the result is axis `axes[k]` of the operand."""
        body = self._body(0)
        found = None if body is None else self._element(body)
        if found is None or sorted(found.axes) != list(range(self.outputs[0].ndim)):
            return None
        return found.position, tuple([found.axes.index(k) for k in range(len(found.axes))])

    @lazy
    def moved(self) -> Operand | None:
        """How an operand's axes stand in the result of a call that is elements of it, unchanged."""
        body = self._body(0)
        return None if body is None else self._element(body)

    @lazy
    def cost(self) -> int:
        """Arithmetic of one element of each tensor: a division or remainder 4, an element function 8, all else 1."""
        bodies = [t.op.body for t in tensor_order(self.outputs) if isinstance(t.op, Compute)]
        return sum([_cost(node) for body in bodies for node in post_order(body)])

    @lazy
    def forms(self) -> frozenset[str]:
        """What patterns may take the call for: the operator that it is, and what it does to one operand."""
        found = set() if self.binary is None else {self.binary.op}
        if self.copied(0) is not None and not self.made.binding.undecided:
            found.add("copy")
        if self.permutation is not None:
            found.add("permutation")
        if self.conversion is not None:
            found.add("conversion")
        return frozenset(found)

    @lazy
    def filled(self) -> int | None:
        """The operand of rank 0 whose value, converted or as it is, each element of the result is."""
        body = self._body(0)
        found = None if body is None else self._element(body.a if isinstance(body, Cast) else body)
        return None if found is None or found.axes else found.position

    @lazy
    def number(self) -> np.ndarray | None:
        """The one number, of rank 0, that every element of the result is, whatever the operands."""
        body = self._body(0)
        while isinstance(body, Cast) and isinstance(body.a, Const):
            body = body.a
        return np.array(body.value).astype(self.outputs[0].dtype.numpy) if isinstance(body, Const) else None

    def copied(self, output: int) -> int | None:
        """The operand that the result is, element by element in the same shape; None if it is none."""
        body = self._body(output)
        found = None if body is None else self._element(body)
        return found.position if found is not None and self._is_whole(found, output) else None

    def _body(self, output: int) -> Scalar | None:
        op = self.outputs[output].op
        return op.body if isinstance(op, Compute) else None

    def _element(self, value: Scalar) -> Operand | None:
        """The operand that a value is an element of, where its position follows from the result's."""
        if not isinstance(value, Read):
            return None
        position = next((k for k, each in enumerate(self.made.operands) if each is value.tensor), None)
        owner = next((tensor.op for tensor in self.outputs if _holds(tensor, value)), None)
        if position is None or not isinstance(owner, Compute):
            return None
        place = {axis.var: k for k, axis in enumerate(owner.axes)}
        axes: list[int] = []
        for index, extent in zip(value.indices, value.tensor.shape, strict=True):
            index = plain(index)
            if isinstance(index, Const) and index.value == 0 and extent == 1:
                axes.append(UNIT)
            elif (
                isinstance(index, Index)
                and index in place
                and same_dim(extent, owner.axes[place[index]].extent)
            ):
                axes.append(place[index])
            else:
                return None  # such as the first rows of a slice
        return Operand(position, tuple(axes))

    def _is_whole(self, found: Operand, output: int) -> bool:
        """Whether the operand is read at exactly the result's indices, and has its shape."""
        tensor, result = self.operand(found.position), self.outputs[output]
        assert tensor is not None
        in_order = all([axis in (k, UNIT) for k, axis in enumerate(found.axes)])
        return in_order and tensor.ndim == result.ndim and all(map(same_dim, tensor.shape, result.shape))


def facts(call: Expr) -> Facts | None:
    """What is derived of a call; None where nothing can be: its types are not known, or it has no compute."""
    if not isinstance(call, Call) or not isinstance(call.op, Op):
        return None
    types = tuple([arg.checked_type for arg in call.args])
    compute = call.op.get_attr("compute", call.op.get_attr("FTVMCompute"))
    key = (call.op, compute, call.attrs, types)
    found = _facts.get(key)
    if found is None:
        found = _facts.put(key, _Outcome(_derived(call)))
    return found.facts


def move_facts(call: Expr) -> Facts | None:
    """`facts` of a call without reductions, None for others: what is heavy is not asked for its form in vain."""
    if not isinstance(call, Call) or not isinstance(call.op, Op):
        return None
    pattern = pattern_of(call.op, call.attrs, [arg.checked_type for arg in call.args])
    return facts(call) if pattern <= OpPattern.INJECTIVE else None


@dataclass(frozen=True, slots=True)
class _Outcome:
    facts: Facts | None


_facts: Final[LRUCache[_Outcome]] = LRUCache(4096)


def _derived(call: Call) -> Facts | None:
    if not all([arg.checked_type.is_complete for arg in call.args]):
        return None
    assert isinstance(call.op, Op)
    try:
        return Facts(call_tensors(call.op, call.attrs, [arg.checked_type for arg in call.args]))
    except OpgenError:  # no compute, or one that such types do not suit: whatever needs it says so
        return None


def _cost(node: Scalar) -> int:
    if isinstance(node, Const | Index | Read | Cast):
        return 0
    if isinstance(node, Function):
        return 8
    return 4 if isinstance(node, Binary) and node.op in _DIVISIONS else 1


def _reduces(tensor: Tensor) -> bool:
    return isinstance(tensor.op, Compute) and any([isinstance(n, Reduce) for n in post_order(tensor.op.body)])


def _holds(tensor: Tensor, value: Scalar) -> bool:
    return isinstance(tensor.op, Compute) and any([node is value for node in post_order(tensor.op.body)])


def _without_widening(value: Scalar) -> Scalar:
    return value.a if isinstance(value, Cast) and value.a.dtype.is_storage else value


def same_dim(a: Dim, b: Dim) -> bool:
    """Whether two dims are surely one."""
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return a is b or structural_equal(a, b)
    return isinstance(a, int) and a == b


def is_aligned(axes: Sequence[int], ndim: int) -> bool:
    """Whether an operand's axes stand as numpy broadcasts them: at the end of those of the result."""
    first = ndim - len(axes)
    return all([axis in (UNIT, first + k) for k, axis in enumerate(axes)])
