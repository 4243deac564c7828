"""Tensor expressions as few definitions, for people who read them.

    t[i] = x[i] - m[()]
    out[i] = t[i] * 2
-->
    out[i] = (x[i] - m[()]) * 2

A stage that one place reads is written there, and so is a copy or a constant wherever it is read; a reduction stays a
stage of its own where another one reads it.  What holds for all elements, such as a guard of a border that is not
there, is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from ...base.arith import Cast, Const, Expr, Var, holds, post_order, rewrite, substitute
from ...base.vocabulary import dataclass
from .graph import expressions, tensor_order
from .regions import bound_axes
from .tensor import Compute, IterVar, Placeholder, Read, Reduce, Scan, Tensor, Update, tensors_read
from .values import body_of

_FEW: Final = 3  # nodes of a value that is written wherever it is read


@dataclass(frozen=True, slots=True)
class Definition:
    """A tensor, and its value at `axes`; without a body it is what its operation says, which is no compute."""

    tensor: Tensor
    axes: tuple[IterVar, ...]
    body: Expr | None


def definitions(outputs: Sequence[Tensor]) -> list[Definition]:
    """The definitions of the outputs and of what they need, producers first, operands left out."""
    order = [t for t in tensor_order(outputs) if not isinstance(t.op, Placeholder)]
    inline = _inlined(order, frozenset(outputs))
    bodies: dict[Tensor, tuple[tuple[IterVar, ...], Expr]] = {}
    found: list[Definition] = []
    for tensor in _with_states(order):
        made = body_of(tensor)
        if made is None:
            found.append(Definition(tensor, (), None))
            continue
        axes, body = made
        body = _simplified(_written(body, bodies), axes)
        if tensor in inline:
            bodies[tensor] = axes, body
        else:
            found.append(Definition(tensor, axes, body))
    return found


def _with_states(order: Sequence[Tensor]) -> list[Tensor]:
    """The tensors, all states of a scan where one of them is needed, in the order in which they are computed."""
    found: dict[Tensor, None] = {}
    for tensor in order:
        states = tensor.op.states if isinstance(tensor.op, Scan) else ()
        found.update(
            dict.fromkeys([state.tensor for state in states if state.tensor is not None] or [tensor])
        )
    return list(found)


def _inlined(order: Sequence[Tensor], kept: frozenset[Tensor]) -> frozenset[Tensor]:
    """The stages that are written where they are read."""
    uses: Counter[Tensor] = Counter()
    inside: set[Tensor] = set()  # read by a reduction
    whole: set[Tensor] = set()  # needed as tensors, not by their elements
    found: set[Tensor] = set()
    for tensor in reversed(_with_states(order)):
        body = body_of(tensor)
        if (
            isinstance(tensor.op, Compute)
            and tensor not in kept | whole
            and (_is_short(tensor.op.body) or (uses[tensor] == 1 and not _is_nested(tensor, inside)))
        ):
            found.add(tensor)
        places = uses[tensor] if tensor in found else 1
        if body is None:
            whole.update(tensor.op.inputs())
            for e in expressions(tensor.op.body) if isinstance(tensor.op, Update) else ():
                uses.update(_reads(e))
            continue
        for read, count in _reads(body[1]).items():
            uses[read] += places * count
        for e in post_order(body[1]):
            if isinstance(e, Reduce) or tensor in inside:
                inside.update(tensors_read(e))
    return frozenset(found)


def _reads(e: Expr) -> Counter[Tensor]:
    """How often each tensor stands in the text of `e`."""
    found: Counter[Tensor] = Counter()
    times: Counter[int] = Counter({id(e): 1})
    for node in reversed(post_order(e)):
        for child in node.children():
            times[id(child)] += times[id(node)]
        if isinstance(node, Read):
            found[node.tensor] += times[id(node)]
    return found


def _is_nested(tensor: Tensor, inside: set[Tensor]) -> bool:
    """Whether it would be a reduction inside another one."""
    return tensor in inside and isinstance(tensor.op, Compute) and holds(tensor.op.body, Reduce)


def _is_short(e: Expr) -> bool:
    """Whether it is a number, a position or an element, perhaps of another dtype."""
    while isinstance(e, Cast):
        e = e.a
    return isinstance(e, Const | Var) or (isinstance(e, Read) and len(post_order(e)) <= _FEW + len(e.indices))


def _written(e: Expr, bodies: Mapping[Tensor, tuple[tuple[IterVar, ...], Expr]]) -> Expr:
    """`e` with the values of the stages of `bodies` in place of reads of them."""

    def put(node: Expr) -> Expr | None:
        if not isinstance(node, Read) or node.tensor not in bodies:
            return None
        axes, body = bodies[node.tensor]
        return substitute(body, {axis.var: index for axis, index in zip(axes, node.indices, strict=True)})

    return rewrite(e, put)


def _simplified(e: Expr, axes: Sequence[IterVar]) -> Expr:
    """`e` as it is while the axes run over their extents."""
    spans = [(0, axis.extent) for axis in axes if isinstance(axis.extent, int)]
    return bound_axes(e, axes, spans).simplify(e) if len(spans) == len(axes) else e
