"""FoldScaleAxis: a scale of channels goes into the weights of a layer before or behind it.

    ForwardFoldScaleAxis    conv2d(relu(%x * s), w)      conv2d(relu(%x), w * s)     for s > 0
    BackwardFoldScaleAxis   relu(conv2d(%x, w)) * s      relu(conv2d(%x, w * s))     for s > 0
    FoldScaleAxis           both: first backward, which needs no consumer to agree

How an op lets a scale through is derived of what it computes (`compute.te.roles`): what is linear in an operand
takes any scale, what is homogeneous, such as relu or a maximum, a positive one; the axis must pass through.  A sum of
products (conv2d with any groups and layout, dense, matmul) hands the scale of one operand to the other; a product of
elements takes none, it gains nothing and may overflow elsewhere.  A scale is folded where fewer elements are multiplied
afterwards, constants not counted; what others read, too, stays as it is, and so does a scale whose product with a
constant is not finite or vanishes.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..base.vocabulary import DType, dataclass
from ..compute.te.roles import Role
from ..ir import Call, Constant, Expr, Function, IRModule, Let, MixedModeMutator, post_order, rebuild
from ..operator import TensorType
from .build import placed
from .calls import UNIT, Facts, facts, move_facts
from .context import PassContext
from .define import function_pass, module_pass
from .evaluator import elements
from .infer_type import InferType

_DEPTH = 16  # so many calls in a row are looked through, so that the work stays linear in long chains
_READERS = 64  # so many in all, where a scale has many readers
ERROR = (
    "a few epsilon of the dtype, relative to the greatest summand: factors are multiplied in another order"
)


@dataclass(frozen=True, slots=True)
class Scale:
    """A factor for each position of an axis; `axis` None: one factor for everything.

    `values`: of rank 1, or 0 where there is no axis.  `positive`: every factor is known to be > 0.
    """

    values: Expr
    axis: int | None
    positive: bool

    def at(self, axis: int | None) -> Scale:
        return Scale(self.values, axis, self.positive)


def scaled_operand(call: Expr) -> tuple[int, Scale] | None:
    """(operand, scale) of a call that multiplies the elements of an operand by a scale; None if it does not."""
    known = move_facts(call)
    form = None if known is None else known.binary
    type_ = call.checked_type
    if form is None or form.op != "mul" or not isinstance(type_, TensorType) or not isinstance(call, Call):
        return None
    assert known is not None
    for data, factor in ((form.a, form.b), (form.b, form.a)):
        x = call.args[data.position]
        s: Expr | None = call.args[factor.position]
        axes = [axis for axis in factor.axes if axis != UNIT]
        if x is s or x.checked_type != type_ or len(axes) > 1 or isinstance(x, Constant):
            continue
        if not isinstance(s, Constant) and len(factor.axes) > len(axes):
            s = _unexpanded(s)
        if s is None:
            continue
        if isinstance(s, Constant):
            if not np.isfinite(s.data.astype(np.float64)).all():
                continue
            values = Constant(s.data.reshape([-1] if axes else []))
            return data.position, Scale(values, axes[0] if axes else None, bool((s.data > 0).all()))
        return data.position, Scale(s, axes[0] if axes else None, False)
    return None


def _unexpanded(s: Expr | None) -> Expr | None:
    """The vector, or the scalar, that is behind axes of extent 1."""
    while isinstance(s, Call):
        known = facts(s)
        moved = None if known is None else known.moved
        if moved is None:
            return None
        s = s.args[moved.position]
        if len(moved.axes) <= 1:
            return s
    return None


def times(x: Expr, scale: Scale) -> Expr:
    """`x` multiplied by the scale along its axis; constants give a constant."""
    type_ = x.checked_type
    assert isinstance(type_, TensorType)
    values = scale.values if scale.axis is None else placed(scale.values, (scale.axis,), type_.ndim)
    return product(x, values, type_.dtype)


def product(x: Expr, factor: Expr, dtype: DType) -> Expr:
    """`x * factor`; constants give a constant, halves by float32."""
    if isinstance(x, Constant) and isinstance(factor, Constant):
        wide = np.dtype(np.float32) if dtype.is_storage else dtype.numpy
        with np.errstate(all="ignore"):
            return Constant((x.data.astype(wide) * factor.data.astype(wide)).astype(dtype.numpy))
    return x * factor


def is_sound(x: Expr, made: Expr) -> bool:
    """Whether a product of constants is finite, and zero only where the constant `x` was."""
    if not isinstance(x, Constant) or not isinstance(made, Constant):
        return True
    before, after = x.data.astype(np.float64), made.data.astype(np.float64)
    return bool((np.isfinite(after) & ((after != 0) | (before == 0))).all())


def cost(x: Expr) -> int:
    """How many elements are multiplied at run time where `x` is."""
    return 0 if isinstance(x, Constant) else elements(x.checked_type)


def lets_through(known: Facts, positions: tuple[int, ...], scale: Scale) -> bool:
    """Whether a scale of these operands together is one of the result."""
    found = known.role(*positions)
    return found is Role.LINEAR or (found in (Role.HOMOGENEOUS, Role.ZERO) and scale.positive)


# ------------------------------------------------------------------ backward


@function_pass(opt_level=3, required=(InferType,), preserves=("InferType",), error_bound=ERROR)
def BackwardFoldScaleAxis(function: Function, module: IRModule, context: PassContext) -> Function:
    """Scales of results go into the weights that these are made with."""
    found = _Backward(_uses(function)).rewrite(function)
    assert isinstance(found, Function)
    return found


def _uses(function: Function) -> Counter[int]:
    """How often each node is read; the value of a let by its variable alone."""
    return Counter([id(child) for node in post_order(function) for child in node.children()])


class _Backward(MixedModeMutator):
    def __init__(self, uses: Counter[int]) -> None:
        super().__init__()
        self.uses = uses
        self.once: set[int] = set()  # rewritten nodes that are read once

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        made: Expr = post
        found = scaled_operand(post)
        if found is not None:
            position, scale = found
            folded = self.scaled(post.args[position], scale, _DEPTH)
            if folded is not None and folded[1] < elements(post.checked_type):
                made = folded[0]
        if self.uses[id(pre)] == 1:
            self.once.add(id(made))
            self._alive.append(made)
        return made

    def scaled(self, x: Expr, scale: Scale, depth: int) -> tuple[Expr, int] | None:
        """`x` times the scale, folded into what it is made of, and its cost; None where it cannot be."""
        known = facts(x)
        if known is None or not known.is_plain or id(x) not in self.once or depth == 0:
            return None
        assert isinstance(x, Call)
        best: tuple[Expr, int] | None = None
        for positions in self._ways(known, x):
            if not lets_through(known, positions, scale):
                continue
            made = self._into(x, known, positions, scale, depth)
            if made is not None and (best is None or made[1] < best[1]):
                best = made
        return best

    @staticmethod
    def _ways(known: Facts, x: Call) -> list[tuple[int, ...]]:
        """Which operands may take the scale: one of them, or all together, of those of the scale's dtype.

        A cast is linear, but a product before it has other bounds and another precision.
        """
        floats = [
            k
            for k, arg in enumerate(x.args)
            if isinstance(arg.checked_type, TensorType)
            and arg.checked_type.dtype.is_float
            and arg.checked_type.dtype == _dtype(x)
        ]
        return [(k,) for k in floats] + ([tuple(floats)] if len(floats) > 1 else [])

    def _into(
        self, x: Call, known: Facts, positions: tuple[int, ...], scale: Scale, depth: int
    ) -> tuple[Expr, int] | None:
        args = list(x.args)
        spent = 0
        for k in positions:
            axis = None
            if scale.axis is not None:
                axes = known.axes(k)
                if scale.axis not in axes:
                    return None
                axis = axes.index(scale.axis)
            inner = self.scaled(args[k], scale.at(axis), depth - 1)
            plain_cost = cost(args[k])
            if inner is None or plain_cost <= inner[1]:
                if len(positions) == 1 and not known.is_reduction:
                    return None  # a factor of a factor: (x * a) * b overflows where x * (a * b) does not
                made_of = times(args[k], scale.at(axis))
                if not is_sound(args[k], made_of):
                    return None
                args[k], spent = made_of, spent + plain_cost
            else:
                args[k], spent = inner[0], spent + inner[1]
        made = Call(x.op, tuple(args), x.attrs, x.type_args, span=x.span)
        self.once.add(id(made))
        self._alive.append(made)
        return made, spent


# ------------------------------------------------------------------ forward


@function_pass(opt_level=3, required=(InferType,), preserves=("InferType",), error_bound=ERROR)
def ForwardFoldScaleAxis(function: Function, module: IRModule, context: PassContext) -> Function:
    """Scales of operands go into the weights that these are multiplied with, where every reader agrees."""
    plan = _Plan(function)
    order = post_order(function)
    for node in order:
        found = scaled_operand(node)
        if found is not None:
            assert isinstance(node, Call)
            plan.consider(node, *found)
    if not plan.dropped:
        return function
    new: dict[int, Expr] = {}
    for node in order:
        if id(node) in plan.dropped:
            assert isinstance(node, Call)
            new[id(node)] = new[id(node.args[plan.dropped[id(node)]])]
            continue
        children = [new[id(child)] for child in node.children()]
        for position, factor, dtype in plan.factors.get(id(node), ()):
            children[position] = product(children[position], factor, dtype)
        new[id(node)] = rebuild(node, children)
    made = new[id(function)]
    assert isinstance(made, Function)
    return made


class _Plan:
    """Which multiplications go, and what the operands of which calls are multiplied with instead."""

    def __init__(self, function: Function) -> None:
        self.users: dict[int, list[Expr]] = {}
        for node in post_order(function):
            for child in node.children():
                self.users.setdefault(id(child), []).append(node)
        self.dropped: dict[int, int] = {}
        self.factors: dict[int, list[tuple[int, Expr, DType]]] = {}

    def consider(self, node: Call, position: int, scale: Scale) -> None:
        """Drop the multiplication `node` if all that reads it can take the scale, at less cost."""
        found: dict[int, tuple[Call, int, Expr, DType]] = {}
        passed: set[int] = set()
        stack: list[tuple[Expr, Scale, int]] = [(node, scale, _DEPTH)]
        spent = 0
        while stack:
            value, here, depth = stack.pop()
            if depth == 0 or not self.users.get(id(value)) or len(passed) > _READERS:
                return
            for user in self.users[id(value)]:
                known = facts(user)
                if known is None or not known.is_plain or not isinstance(user, Call) or id(user) in passed:
                    return
                if sum([arg is value for arg in user.args]) != 1 or isinstance(user, Let):
                    return
                at = next(k for k, arg in enumerate(user.args) if arg is value)
                taken = self._taken(user, known, at, here)
                if taken is not None:
                    other, factor = taken
                    found[id(user)] = (user, other, factor, _dtype(user.args[other]))
                    spent += cost(user.args[other])
                    continue
                through = self._through(user, known, at, here)
                if through is None:
                    return
                passed.add(id(user))
                stack.append((user, through, depth - 1))
        if not found or spent >= elements(node.checked_type):
            return
        self.dropped[id(node)] = position
        for key, (_, other, factor, dtype) in found.items():
            self.factors.setdefault(key, []).append((other, factor, dtype))

    @staticmethod
    def _taken(user: Call, known: Facts, at: int, scale: Scale) -> tuple[int, Expr] | None:
        """(operand, factor) that does to a sum of products what the scale of operand `at` does."""
        if known.role(at) is not Role.LINEAR or not known.is_reduction:
            return None
        for other, arg in enumerate(user.args):
            if other == at or known.role(other) is not Role.LINEAR or _dtype(arg) != _dtype(scale.values):
                continue
            if scale.axis is None:
                factor: Expr | None = scale.values
            else:
                positions = known.pairing(at, scale.axis, other)
                factor = None if positions is None else _gathered(scale.values, positions)
            if factor is not None and is_sound(arg, product(arg, factor, _dtype(arg))):
                return other, factor
        return None

    @staticmethod
    def _through(user: Call, known: Facts, at: int, scale: Scale) -> Scale | None:
        if not lets_through(known, (at,), scale) or _dtype(user) != _dtype(scale.values):
            return None
        if scale.axis is None:
            return scale
        axis = known.axes(at)[scale.axis]
        return None if axis is None else scale.at(axis)


def _gathered(values: Expr, positions: np.ndarray) -> Expr | None:
    """The factors at `positions`, to be multiplied with `other`."""
    if isinstance(values, Constant):
        data = values.data[positions]
        first = next((k for k, extent in enumerate(data.shape) if extent != 1), data.ndim)
        return Constant(data.reshape(data.shape[first:]))
    axes = [k for k, extent in enumerate(positions.shape) if extent != 1]
    count = values.checked_type.concrete_shape[0]  # type: ignore[attr-defined]
    if len(axes) == 1 and np.array_equal(positions.ravel(), np.arange(count)):
        return placed(values, axes, positions.ndim)
    return None


def _dtype(expr: Expr) -> DType:
    type_ = expr.checked_type
    assert isinstance(type_, TensorType)
    return type_.dtype


@module_pass(opt_level=3, required=(InferType,), preserves=("InferType",), error_bound=ERROR)
def FoldScaleAxis(module: IRModule, context: PassContext) -> IRModule:
    """Backward, then forward, until neither finds anything, three times at most."""
    for _ in range(3):
        folded = ForwardFoldScaleAxis()(BackwardFoldScaleAxis()(module, context), context)
        if folded.functions == module.functions:
            break
        module = folded
    return module
