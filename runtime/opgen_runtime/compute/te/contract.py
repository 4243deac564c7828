"""What tensor expressions that are written by hand must be: well made, and every access proved in bounds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from ...base.arith import Expr, Table, Var, post_order, structural_equal
from ...base.arith.expr import Dim
from ...base.contract import Contract, Rule, When
from ...base.errors import AccessError, DTypeError, LanguageError, ShapeError
from ...base.vocabulary import INDEX, INT64, REDUCTIONS, DType, dataclass
from .access import why_not_inside
from .guards import Guards
from .tensor import (
    Compute,
    Extern,
    Guard,
    IterVar,
    Loop,
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

_OPERATIONS: Final = (Placeholder, Compute, Scan, Sort, Update, Extern)


@dataclass(frozen=True, slots=True)
class Place:
    """An expression of a tensor, the domains that it is under, and the conditions."""

    expr: Expr
    axes: tuple[IterVar, ...]
    facts: tuple[Expr, ...] = ()

    @property
    def extents(self) -> dict[Var, Dim]:
        return {axis.var: axis.extent for axis in self.axes}


def verify_tensors(outputs: Iterable[Tensor], stage: str, operands: Collection[Tensor]) -> None:
    """Hold the tensors that `outputs` need to the rules; they may read no placeholder but the `operands`.

    Raises LanguageError, ShapeError, DTypeError or AccessError naming `stage`, the tensor and the rule.
    """
    seen = set(operands)
    stack = [tensor for tensor in outputs if tensor not in seen]
    while stack:
        tensor = stack.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        if isinstance(tensor.op, Placeholder):
            raise LanguageError(
                f"{stage}: it reads the tensor {tensor.name}, which is no operand of the call"
            )
        verify_tensor(tensor, stage)
        stack.extend(tensor.op.inputs())


def verify_tensor(tensor: Tensor, stage: str) -> None:
    """Hold one tensor to the rules; those that it reads are taken to keep them."""
    for contract in TENSORS:
        contract.verify(tensor, stage)


def _why_not_made(tensor: Tensor) -> str | None:
    if not isinstance(tensor.op, _OPERATIONS):
        return f"tensor {tensor.name} is defined by {tensor.op!r:.80}, which is no operation"
    if isinstance(tensor.op, Scan) and not any(
        s.tensor is tensor and s.body is not None for s in _states(tensor)
    ):
        return f"tensor {tensor.name} is no complete state of its scan"
    seen: set[int] = set()
    stack: list[object] = [place.expr for place in _places(tensor)]
    while stack:
        node = stack.pop()
        if not isinstance(node, Expr):
            return f"tensor {tensor.name} is computed from {node!r:.80}, expected an expression"
        if id(node) not in seen:
            seen.add(id(node))
            stack.extend(node.children())
    return None


def _why_not_reduced(tensor: Tensor) -> str | None:
    for place in _places(tensor):
        for node in post_order(place.expr):
            if not isinstance(node, Reduce):
                continue
            if node.combiner not in REDUCTIONS:
                return f"tensor {tensor.name} reduces by {node.combiner!r:.80}, which is no combiner"
            if node.combiner == "first" and node.default is None:
                return f"tensor {tensor.name} takes the first of what may be nothing: there is no default"
            if len({axis.var for axis in node.axes}) != len(node.axes):
                return f"tensor {tensor.name} reduces over an axis twice"
    return None


def _why_not_sorted(tensor: Tensor) -> str | None:
    op = tensor.op
    if not isinstance(op, Sort):
        return None
    source = op.source
    if not 0 <= op.axis < source.ndim:
        return f"tensor {tensor.name} sorts {source.name}, which has {source.ndim} dims, along axis {op.axis}"
    if op.positions and not (tensor.dtype.is_int and tensor.dtype.bits >= 32):
        return f"tensor {tensor.name} holds positions as {tensor.dtype}, expected an int of 32 or 64 bits"
    return None


def _why_not_bound(tensor: Tensor) -> str | None:
    for place in _places(tensor):
        order = post_order(place.expr)
        bound = {axis.var for axis in place.axes}
        bound.update(axis.var for node in order if isinstance(node, Reduce) for axis in node.axes)
        for node in order:
            if isinstance(node, Var) and node not in bound and not node.size:
                return f"tensor {tensor.name} uses the variable {node.name}, which no axis of it binds"
    return None


def _why_not_shape(tensor: Tensor) -> str | None:
    for axis, dim in enumerate(tensor.shape):
        fits = dim >= 0 if type(dim) is int else isinstance(dim, Expr) and dim.dtype is INDEX
        if not fits:
            return f"axis {axis} of tensor {tensor.name} has the extent {dim!r:.80}, expected an int of at least 0"
    return None


def _why_not_covered(tensor: Tensor) -> str | None:
    if isinstance(tensor.op, Sort):
        return _why_not_sorted_shape(tensor, tensor.op)
    for axes in _data_axes(tensor):
        same = len(axes) == tensor.ndim and all(
            _same(axis.extent, dim) for axis, dim in zip(axes, tensor.shape, strict=True)
        )
        if not same:
            found = ", ".join(str(axis.extent) for axis in axes)
            wanted = ", ".join(map(str, tensor.shape))
            return f"tensor {tensor.name} has the shape ({wanted}), but axes of the extents ({found})"
    return None


def _why_not_sorted_shape(tensor: Tensor, op: Sort) -> str | None:
    wanted, found = op.source.shape, tensor.shape
    same = len(wanted) == len(found) and all(
        [k == op.axis or _same(a, b) for k, (a, b) in enumerate(zip(wanted, found, strict=True))]
    )
    length, count = (shape[op.axis] if same else 0 for shape in (wanted, found))
    if same and not (isinstance(length, int) and isinstance(count, int) and count > length):
        return None
    shapes = [", ".join(map(str, shape)) for shape in (found, wanted)]
    return f"tensor {tensor.name} has the shape ({shapes[0]}), and sorts {op.source.name} of the shape ({shapes[1]})"


def _why_not_read(tensor: Tensor) -> str | None:
    for place in _places(tensor):
        for node in post_order(place.expr):
            if isinstance(node, Read) and len(node.indices) != node.tensor.ndim:
                return (
                    f"tensor {tensor.name} reads {node.tensor.name}, which has {node.tensor.ndim} dims, "
                    f"with {len(node.indices)} indices"
                )
    return None


def _why_not_dtype(tensor: Tensor) -> str | None:
    if not isinstance(tensor.dtype, DType) or tensor.dtype is INDEX:
        return f"tensor {tensor.name} has the dtype {tensor.dtype!r:.80}, which no tensor has"
    if isinstance(tensor.op, Sort) and not tensor.op.positions and tensor.dtype != tensor.op.source.dtype:
        return f"tensor {tensor.name} is {tensor.dtype}, what it sorts is {tensor.op.source.dtype}"
    for found in _values(tensor):
        if found.dtype != tensor.dtype and not (found.dtype is INDEX and tensor.dtype == INT64):
            return f"tensor {tensor.name} is {tensor.dtype}, its value is {found.dtype}"
    return None


def _why_not_read_as(tensor: Tensor) -> str | None:
    for place in _places(tensor):
        for node in post_order(place.expr):
            if not isinstance(node, Read):
                continue
            if node.dtype != node.tensor.dtype:
                return f"tensor {tensor.name} reads {node.tensor.name}, {node.tensor.dtype}, as {node.dtype}"
            for index in node.indices:
                if not index.dtype.is_int:
                    return f"tensor {tensor.name} reads {node.tensor.name} at {index}, which is {index.dtype}"
    return None


# ------------------------------------------------------------------ accesses


def _why_not_inside(tensor: Tensor) -> str | None:
    for place in _places(tensor):
        reason = _why_not_safe(place, f"tensor {tensor.name}")
        if reason is not None:
            return reason
    if isinstance(tensor.op, Update):
        for put, axes, facts in _puts(tensor.op.body, (), ()):
            extents = {axis.var: axis.extent for axis in axes}
            for position, (index, extent) in enumerate(zip(put.indices, tensor.shape, strict=True)):
                reason = why_not_inside(tensor.name, position, index, extent, extents, facts)
                if reason is not None:
                    return f"the update of tensor {tensor.name} at [{_indices(put.indices)}]: {reason}"
    return None


def _why_not_safe(place: Place, what: str, known: Collection[int] = ()) -> str | None:
    """The first access of an expression that may leave its tensor; one inside a reduction knows its axes.

    The nodes `known` by id are safe wherever the expression is evaluated.
    """
    if id(place.expr) in known:
        return None
    order = post_order(place.expr, known)
    guards = Guards(order)
    extents = place.extents
    for node in order:
        if not guards.has(node):
            continue  # inside a reduction
        guard = guards.of(node)
        facts = place.facts if guard is None else (*place.facts, guard.holds)
        reason = _why_not_access(node, extents, facts)
        if reason is not None:
            return f"{what} reads {node}: {reason}"
        if isinstance(node, Reduce):
            safe = {*known, *map(id, guards.before(node))}
            for inner in _inner(node, place.axes, facts):
                reason = _why_not_safe(inner, what, safe)
                if reason is not None:
                    return reason
    return None


def _why_not_access(node: Expr, extents: Mapping[Var, Dim], facts: tuple[Expr, ...]) -> str | None:
    if isinstance(node, Table):
        return why_not_inside("a constant table", 0, node.index, len(node.values), extents, facts)
    if isinstance(node, Read):
        for position, (index, extent) in enumerate(zip(node.indices, node.tensor.shape, strict=True)):
            reason = why_not_inside(node.tensor.name, position, index, extent, extents, facts)
            if reason is not None:
                return reason
    return None


def _inner(reduce: Reduce, outside: tuple[IterVar, ...], facts: tuple[Expr, ...]) -> Iterator[Place]:
    """The parts of a reduction, each with what is known where it is evaluated."""
    axes = outside
    for axis in reduce.axes:
        if isinstance(axis.extent, Expr):
            yield Place(axis.extent, axes, facts)
        axes = (*axes, axis)
    inside = facts
    if reduce.condition is not None:
        yield Place(reduce.condition, axes, facts)
        inside = (*facts, reduce.condition)
    yield Place(reduce.value, axes, inside)
    if reduce.default is not None:
        yield Place(reduce.default, outside, facts)


# ------------------------------------------------------------------ parts of a tensor


def _states(tensor: Tensor) -> tuple[State, ...]:
    """The state of a scan that a tensor is, as a tuple of one."""
    assert isinstance(tensor.op, Scan)
    return tuple(state for state in tensor.op.states if state.tensor is tensor)


def _data_axes(tensor: Tensor) -> Iterator[tuple[IterVar, ...]]:
    if isinstance(tensor.op, Compute):
        yield tensor.op.axes
    elif isinstance(tensor.op, Scan):
        for state in _states(tensor):
            yield state.axes


def _values(tensor: Tensor) -> Iterator[Expr]:
    """The expressions whose values the tensor holds."""
    if isinstance(tensor.op, Compute):
        yield tensor.op.body
    elif isinstance(tensor.op, Scan):
        yield from (state.body for state in _states(tensor) if state.body is not None)
    elif isinstance(tensor.op, Update):
        yield from (put.value for put, _, _ in _puts(tensor.op.body, (), ()))


def _places(tensor: Tensor) -> Iterator[Place]:
    """Every expression of a tensor."""
    op = tensor.op
    if isinstance(op, Compute):
        yield Place(op.body, op.axes)
    elif isinstance(op, Scan):
        for state in _states(tensor):
            assert state.body is not None
            yield Place(state.body, state.axes)
    elif isinstance(op, Update):
        yield from _update_places(op.body, (), ())


def _update_places(
    body: Sequence[Loop | Guard | Put], axes: tuple[IterVar, ...], facts: tuple[Expr, ...]
) -> Iterator[Place]:
    for statement in body:
        if isinstance(statement, Put):
            yield from (Place(index, axes, facts) for index in statement.indices)
            yield Place(statement.value, axes, facts)
        elif isinstance(statement, Guard):
            yield Place(statement.condition, axes, facts)
            yield from _update_places(statement.body, axes, (*facts, statement.condition))
        else:
            if isinstance(statement.axis.extent, Expr):
                yield Place(statement.axis.extent, axes, facts)
            yield from _update_places(statement.body, (*axes, statement.axis), facts)


def _puts(
    body: Sequence[Loop | Guard | Put], axes: tuple[IterVar, ...], facts: tuple[Expr, ...]
) -> Iterator[tuple[Put, tuple[IterVar, ...], tuple[Expr, ...]]]:
    for statement in body:
        if isinstance(statement, Put):
            yield statement, axes, facts
        elif isinstance(statement, Guard):
            yield from _puts(statement.body, axes, (*facts, statement.condition))
        else:
            yield from _puts(statement.body, (*axes, statement.axis), facts)


def _indices(indices: Sequence[Expr]) -> str:
    return ", ".join(map(str, indices))


def _same(a: Dim, b: Dim) -> bool:
    if isinstance(a, Expr) and isinstance(b, Expr):
        return a is b or structural_equal(a, b)
    return not isinstance(a, Expr) and not isinstance(b, Expr) and a == b


TENSORS: Final = tuple(
    Contract("tensors", error, When.USERS, tuple(Rule(name, check) for name, check in checks))
    for error, checks in (
        (
            LanguageError,
            (
                ("made of operations and expressions", _why_not_made),
                ("reductions are known ones", _why_not_reduced),
                ("sorts have an axis", _why_not_sorted),
                ("no free variable", _why_not_bound),
            ),
        ),
        (
            ShapeError,
            (
                ("dims are ints or expressions", _why_not_shape),
                ("axes cover the shape", _why_not_covered),
                ("as many indices as dims", _why_not_read),
            ),
        ),
        (
            DTypeError,
            (
                ("values have the tensor's dtype", _why_not_dtype),
                ("reads have their tensor's dtype", _why_not_read_as),
            ),
        ),
        (AccessError, (("accesses are inside", _why_not_inside),)),
    )
)
"""What users' computes are held to; `lang` proves what it makes as it is made."""
