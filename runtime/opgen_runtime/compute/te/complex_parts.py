"""Complex tensors as real ones with a last axis of two: the real part at 0, the imaginary part at 1, as in memory.

z: complex64[n]    -->  z: float32[n, 2]
real(z[i])         -->  z[i, 0]
out[i] = z[n-1-i]  -->  out[i, part] = z[n-1-i, part]
out[i] = complex(x[i], y[i])  -->  out[i, part] = x[i] if part == 0 else y[i]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from ...base.arith import Complex, Expr, Part, Select, const, identical, post_order, select
from ...base.errors import LoweringError
from ...base.vocabulary import INDEX
from .complex_pairs import PARTS, Pair, contraction, joined, part_axis
from .graph import Statement, expressions, tensor_order
from .tensor import (
    Compute,
    Extern,
    Guard,
    IterVar,
    Operation,
    Placeholder,
    Put,
    Read,
    Reduce,
    Scan,
    Sort,
    State,
    Tensor,
    Update,
)

_BY_PARTS: Final = ("sum", "first")  # reductions that are those of each part


def real_tensors(tensors: Sequence[Tensor]) -> dict[Tensor, Tensor]:
    """Every tensor that these need to the real one that has its elements; empty where no complex number is used.

    Raises LoweringError for complex numbers in what only real ones are defined for: products over an axis, Python
    functions.
    """
    order = tensor_order(tensors)
    if not any(tensor.dtype.is_complex or _mentions_complex(tensor.op) for tensor in order):
        return {}
    made: dict[Tensor, Tensor] = {}
    for tensor in order:
        if tensor not in made:
            made.update(
                _scan(tensor.op, made) if isinstance(tensor.op, Scan) else {tensor: _real(tensor, made)}
            )
    return made


def _mentions_complex(op: Operation) -> bool:
    bodies: list[Expr] = []
    if isinstance(op, Compute):
        bodies = [op.body]
    elif isinstance(op, Scan):
        bodies = [s.body for s in op.states if s.body is not None]
    elif isinstance(op, Update):
        bodies = list(expressions(op.body))
    return any(node.dtype.is_complex for body in bodies for node in post_order(body))


def _real(tensor: Tensor, made: Mapping[Tensor, Tensor]) -> Tensor:
    """The tensor over the tensors of `made`, with an axis of parts where it is complex."""
    op = tensor.op
    if isinstance(op, Placeholder):
        return (
            replace(tensor, shape=(*tensor.shape, PARTS), dtype=tensor.dtype.part)
            if tensor.dtype.is_complex
            else tensor
        )
    if isinstance(op, Compute):
        axes, body = _defined(tensor.name, op.axes, op.body, made)
        return (
            tensor if body is op.body else _as_real(tensor, Compute(axes, body, tag=op.tag, attrs=op.attrs))
        )
    if isinstance(op, Update):
        reads = tuple(made.get(t, t) for t in op.reads)
        return _as_real(
            tensor, Update(made.get(op.base, op.base), _statements(op.body, made), reads, tag=op.tag)
        )
    if isinstance(op, Sort):
        return replace(tensor, op=replace(op, source=made.get(op.source, op.source)))
    assert isinstance(op, Extern)
    if tensor.dtype.is_complex or any(operand.dtype.is_complex for operand in op.operands):
        raise LoweringError(
            f"{tensor.name}: hand-written functions take and give real tensors, found {tensor.dtype}"
        )
    return replace(tensor, op=replace(op, operands=tuple(made.get(t, t) for t in op.operands)))


def _as_real(tensor: Tensor, op: Operation) -> Tensor:
    shape = (*tensor.shape, PARTS) if tensor.dtype.is_complex else tensor.shape
    return Tensor(tensor.name, shape, tensor.dtype.part, op)


def _scan(scan: Scan, made: Mapping[Tensor, Tensor]) -> dict[Tensor, Tensor]:
    """The states of a scan, its old tensors to its new ones."""
    axes = [(*s.axes, part_axis()) if s.tensor and s.tensor.dtype.is_complex else s.axes for s in scan.states]
    states = tuple(State(a, s.scan_axis) for a, s in zip(axes, scan.states, strict=True))
    fresh = Scan(states, scan.extent, scan.direction, tag=scan.tag)
    own: dict[Tensor, Tensor] = {}
    for old, new in zip(scan.states, states, strict=True):
        assert old.tensor is not None
        own[old.tensor] = new.tensor = _as_real(old.tensor, fresh)
    every = {**made, **own}
    for old, new in zip(scan.states, states, strict=True):
        assert old.body is not None
        parts = by_parts(old.body, every)
        new.body = joined(parts, new.axes[-1].var) if isinstance(parts, tuple) else parts
    return own


def _defined(
    name: str, axes: tuple[IterVar, ...], body: Expr, made: Mapping[Tensor, Tensor]
) -> tuple[tuple[IterVar, ...], Expr]:
    """The axes and the body of a definition; of a complex one with the axis of parts."""
    parts = by_parts(body, made)
    if not isinstance(parts, tuple):
        return axes, parts
    axis = part_axis()
    product = contraction(name, axes, parts, axis.var)
    return (*axes, axis), joined(parts, axis.var) if product is None else product


def _statements(statements: tuple[Statement, ...], made: Mapping[Tensor, Tensor]) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Put):
            indices, value = [_of_real(i, made) for i in statement.indices], by_parts(statement.value, made)
            if not isinstance(value, tuple):
                found.append(Put(tuple(indices), statement.op, value))
                continue
            for k, each in enumerate(value):
                found.append(Put((*indices, const(k, INDEX)), statement.op, each))
        elif isinstance(statement, Guard):
            found.append(Guard(_of_real(statement.condition, made), _statements(statement.body, made)))
        else:
            axis = statement.axis
            if isinstance(axis.extent, Expr):
                axis = replace(axis, extent=_of_real(axis.extent, made))
            found.append(replace(statement, axis=axis, body=_statements(statement.body, made)))
    return tuple(found)


# ------------------------------------------------------------------ expressions


def by_parts(e: Expr, made: Mapping[Tensor, Tensor]) -> Expr | Pair:
    """`e` over the tensors of `made`: an expression of real numbers, or of a complex one both parts."""
    done: dict[int, Expr | Pair] = {}
    for node in post_order(e):
        children = [done[id(child)] for child in node.children()]
        done[id(node)] = (
            _pair(node, children, made) if node.dtype.is_complex else _single(node, children, made)
        )
    return done[id(e)]


def _of_real(e: Expr, made: Mapping[Tensor, Tensor]) -> Expr:
    found = by_parts(e, made)
    assert isinstance(found, Expr), e
    return found


def _single(node: Expr, children: Sequence[Expr | Pair], made: Mapping[Tensor, Tensor]) -> Expr:
    if isinstance(node, Part):
        (whole,) = children
        assert isinstance(whole, tuple)
        return whole[node.which]
    own = [child for child in children if isinstance(child, Expr)]
    assert len(own) == len(children), node
    if isinstance(node, Read) and made.get(node.tensor, node.tensor) is not node.tensor:
        return Read(node.dtype, made[node.tensor], tuple(own))
    return node if identical(node.children(), own) else node.rebuild(own)


def _pair(node: Expr, children: Sequence[Expr | Pair], made: Mapping[Tensor, Tensor]) -> Pair:
    """Both parts: what is a pair among the children counts by its part, the rest is the same for both."""
    first, second = ([c[k] if isinstance(c, tuple) else c for c in children] for k in range(PARTS))
    if isinstance(node, Complex):
        return first[0], first[1]
    if isinstance(node, Read):
        tensor = made[node.tensor]
        parts = [Read(tensor.dtype, tensor, (*first, const(k, INDEX))) for k in range(PARTS)]
        return parts[0], parts[1]
    if isinstance(node, Select):
        return select(*first), select(*second)
    if isinstance(node, Reduce) and node.combiner in _BY_PARTS:
        real, imag = (_reduced(node, part) for part in (first, second))
        return real, imag
    what = f"{node.combiner} over an axis" if isinstance(node, Reduce) else type(node).__name__.lower()
    raise LoweringError(f"{what} is not defined for {node.dtype}: {node}")


def _reduced(node: Reduce, children: Sequence[Expr]) -> Reduce:
    made = node.rebuild(children)
    assert isinstance(made, Reduce)
    return replace(made, dtype=children[0].dtype)
