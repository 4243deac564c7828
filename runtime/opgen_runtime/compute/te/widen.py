"""The half precision rule: what float16 and bfloat16 tensors are made of is computed and kept in float32.

Reads of halves are widened; expressions, reductions, scan states and intermediate tensors are float32.  Only the store
of an output rounds, once, and an explicit cast to a half, where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ...base.arith import (
    ELEMENT_FUNCTIONS,
    Binary,
    Bitcast,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Select,
    bitcast,
    call,
    cast,
    const,
    identical,
    post_order,
    register_printer,
    select,
)
from ...base.arith.expr import Not, Table
from ...base.arith.semantics import round_float
from ...base.vocabulary import BOOL, FLOAT32, DType, dataclass
from .construct import data_axes
from .graph import Statement, expressions, tensor_order
from .tensor import (
    Compute,
    Guard,
    IterVar,
    Operation,
    Put,
    Read,
    Reduce,
    Scan,
    Sort,
    State,
    Tensor,
    Update,
)

_ACCUMULATING: Final = ("add", "mul")  # puts that do not commute with rounding
_CHOOSING: Final = ("min", "max", "first")  # reductions whose result is one of the values


@dataclass(frozen=True, eq=False, slots=True)
class Unrounded(Expr):
    """A float32 value in the place of a half, of which `widen` leaves the value."""

    value: Expr

    def children(self) -> tuple[Expr, ...]:
        return (self.value,)

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        return Unrounded(self.dtype, children[0])


register_printer(Unrounded, lambda e, text: text(e.value))


def widen(outputs: Sequence[Tensor], operands: Iterable[Tensor] = ()) -> tuple[Tensor, ...]:
    """The same outputs with all arithmetic of halves in float32, and the tensors between that hold its results.

    `operands` stay what they are, and what they are computed from is not looked at: it may be shared with others.
    """
    given = list(operands)
    if not _mentions_half(outputs, given):
        return tuple(outputs)
    order = tensor_order(outputs, given)
    rounded = _rounded(order, outputs)
    made: dict[Tensor, Tensor] = {}
    for tensor in order:
        if tensor in made:
            continue
        if isinstance(tensor.op, Scan):
            made.update(_wide_scan(tensor.op, made))
        else:
            made[tensor] = _wide(tensor, tensor in rounded, made)
    return tuple(_as(made.get(t, t), t.dtype) for t in outputs)


def _mentions_half(outputs: Iterable[Tensor], given: Iterable[Tensor]) -> bool:
    """Whether a half stands anywhere in what the outputs are computed from: most programs hold none."""
    seen = set(map(id, given))
    tensors = list(outputs)
    dtypes: set[DType] = set()
    while tensors:
        tensor = tensors.pop()
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        dtypes.add(tensor.dtype)
        tensors += () if isinstance(tensor.op, Compute) else tensor.op.inputs()
        nodes = _bodies(tensor.op)
        while nodes:
            node = nodes.pop()
            dtypes.add(node.dtype)
            children = node.children()
            if isinstance(node, Read):
                tensors.append(node.tensor)
            if children and id(node) not in seen:
                seen.add(id(node))
                nodes += children
    return any([dtype.is_storage for dtype in dtypes])


def _bodies(op: Operation) -> list[Expr]:
    if isinstance(op, Compute):
        return [op.body]
    if isinstance(op, Scan):
        return [s.body for s in op.states if s.body is not None]
    return list(expressions(op.body)) if isinstance(op, Update) else []


def _rounded(order: Sequence[Tensor], outputs: Sequence[Tensor]) -> set[Tensor]:
    """The tensors that are stored rounded: outputs that nothing else reads, and what scatters into them start from."""
    readers: dict[Tensor, list[Operation]] = {}
    for tensor in order:
        for source in tensor.op.inputs():
            readers.setdefault(source, []).append(tensor.op)
    found = {t for t in outputs if t.dtype.is_storage and t not in readers}
    for tensor in reversed(order):
        op = tensor.op
        if tensor in found and isinstance(op, Update):
            if any(put.op in _ACCUMULATING for put in _puts(op.body)):
                found.discard(tensor)
            elif readers[op.base] == [op]:
                found.add(op.base)
    return found


def _wide(tensor: Tensor, rounded: bool, made: Mapping[Tensor, Tensor]) -> Tensor:
    """The tensor over the tensors of `made`; in float32 unless it is stored rounded, or no value of it is."""
    op = tensor.op
    if isinstance(op, Compute):
        body = widen_half(op.body, made)
        if body is op.body:
            return tensor
        keep = not tensor.dtype.is_storage or rounded or _is_exact(body, tensor.dtype)
        dtype = tensor.dtype if keep else FLOAT32
        return Tensor(tensor.name, tensor.shape, dtype, Compute(op.axes, cast(body, dtype)))
    if isinstance(op, Update):
        base = made.get(op.base, op.base)
        statements = _statements(op.body, made)
        puts = _puts(statements)
        exact = base.dtype.is_storage and all(
            p.op not in _ACCUMULATING and _is_exact(p.value, tensor.dtype) for p in puts
        )
        dtype = tensor.dtype if not tensor.dtype.is_storage or rounded or exact else FLOAT32
        reads = tuple(made.get(t, t) for t in op.reads)
        return Tensor(
            tensor.name, tensor.shape, dtype, Update(_as(base, dtype), _stored_as(statements, dtype), reads)
        )
    if isinstance(op, Sort):
        source = made.get(op.source, op.source)
        dtype = tensor.dtype if op.positions else source.dtype
        return replace(tensor, dtype=dtype, op=replace(op, source=source))
    return tensor


def _wide_scan(scan: Scan, made: Mapping[Tensor, Tensor]) -> dict[Tensor, Tensor]:
    """The states of a scan, its old tensors to its new ones: all halves in float32, unless no value is rounded."""
    narrow, exact = _scan_over(scan, made, {})
    if exact:
        return narrow
    return _scan_over(
        scan, made, {s.tensor: FLOAT32 for s in scan.states if s.tensor and s.tensor.dtype.is_storage}
    )[0]


def _scan_over(
    scan: Scan, made: Mapping[Tensor, Tensor], dtypes: Mapping[Tensor, DType]
) -> tuple[dict[Tensor, Tensor], bool]:
    """The scan with states of these dtypes, its old tensors to its new ones, and whether no half of it is rounded."""
    states = tuple(State(s.axes, s.scan_axis) for s in scan.states)
    fresh = Scan(states, scan.extent, scan.direction)
    own: dict[Tensor, Tensor] = {}
    for old, new in zip(scan.states, states, strict=True):
        assert old.tensor is not None
        new.tensor = replace(old.tensor, op=fresh, dtype=dtypes.get(old.tensor, old.tensor.dtype))
        own[old.tensor] = new.tensor
    every, exact = {**made, **own}, True
    for old, new in zip(scan.states, states, strict=True):
        assert old.body is not None
        assert new.tensor is not None
        body, dtype = widen_half(old.body, every), new.tensor.dtype
        exact &= not dtype.is_storage or _is_exact(body, dtype)
        new.body = cast(body, dtype)
    return own, exact


def _as(tensor: Tensor, dtype: DType) -> Tensor:
    """The tensor's elements as `dtype`."""
    if tensor.dtype is dtype:
        return tensor
    axes = data_axes(tensor.shape)
    body = cast(Read(tensor.dtype, tensor, tuple(a.var for a in axes)), dtype)
    return Tensor(f"{tensor.name}_{dtype}", tensor.shape, dtype, Compute(axes, body))


def _puts(statements: Sequence[Statement]) -> list[Put]:
    found: list[Put] = []
    for statement in statements:
        found += [statement] if isinstance(statement, Put) else _puts(statement.body)
    return found


def _statements(statements: tuple[Statement, ...], made: Mapping[Tensor, Tensor]) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Put):
            indices = tuple(widen_half(index, made) for index in statement.indices)
            found.append(Put(indices, statement.op, widen_half(statement.value, made)))
        elif isinstance(statement, Guard):
            inner = _statements(statement.body, made)
            found.append(Guard(widen_half(statement.condition, made), inner))
        else:
            axis = statement.axis
            if isinstance(axis.extent, Expr):
                axis = IterVar(axis.var, widen_half(axis.extent, made), axis.kind)
            found.append(replace(statement, axis=axis, body=_statements(statement.body, made)))
    return tuple(found)


def _stored_as(statements: tuple[Statement, ...], dtype: DType) -> tuple[Statement, ...]:
    """The statements with every value put as `dtype`."""
    return tuple(
        replace(s, value=cast(s.value, dtype))
        if isinstance(s, Put)
        else replace(s, body=_stored_as(s.body, dtype))
        for s in statements
    )


def _is_exact(e: Expr, dtype: DType) -> bool:
    """Whether every value of a widened expression is one of the half `dtype`, so that storing it so loses nothing."""
    stack, seen = [e], set[int]()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Select):
            stack += node.children()[1:]
        elif isinstance(node, Reduce) and node.combiner in _CHOOSING:
            stack += [node.value, *([] if node.default is None else [node.default])]
        elif (isinstance(node, Binary) and node.op in ("min", "max")) or (
            isinstance(node, Call) and node.name == "abs"
        ):
            stack += node.children()
        elif isinstance(node, Const):
            if round_float(float(node.value), dtype) != node.value:
                return False
        elif not (isinstance(node, Cast) and node.a.dtype is dtype):
            return False
    return True


# ------------------------------------------------------------------ expressions


def widen_half(e: Expr, made: Mapping[Tensor, Tensor]) -> Expr:
    """`e` over the tensors of `made`, with all arithmetic of halves in float32; one of a half's dtype gives float32."""
    nodes = post_order(e)
    if not any(node.dtype.is_storage or isinstance(node, Read) for node in nodes):
        return e
    done: dict[int, Expr] = {}
    for node in nodes:
        children = [done[id(c)] for c in node.children()]
        if isinstance(node, Read):
            done[id(node)] = _read(node, children, made)
        else:
            done[id(node)] = _widened(node, children) if _touches_half(node) else _kept(node, children)
    return done[id(e)]


def _touches_half(node: Expr) -> bool:
    return node.dtype.is_storage or any(c.dtype.is_storage for c in node.children())


def _kept(node: Expr, children: list[Expr]) -> Expr:
    if identical(node.children(), children):
        return node
    return node.rebuild(children)


def _read(node: Read, children: list[Expr], made: Mapping[Tensor, Tensor]) -> Expr:
    tensor = made.get(node.tensor, node.tensor)
    found = _kept(node, children)
    if tensor is not node.tensor:
        found = Read(tensor.dtype, tensor, tuple(children))
    return cast(found, FLOAT32) if found.dtype.is_storage else found


def _widened(node: Expr, children: list[Expr]) -> Expr:
    """The node in float32, over children of which those that were halves are float32 already."""
    if isinstance(node, Const):
        return const(node.value, FLOAT32)
    if isinstance(node, Unrounded):
        return children[0]
    if isinstance(node, Cast):
        if node.dtype.is_storage:
            return cast(cast(children[0], node.dtype), FLOAT32)
        return cast(children[0], node.dtype)
    if isinstance(node, Bitcast):
        if node.dtype.is_storage:
            return cast(_kept(node, children), FLOAT32)
        return bitcast(cast(children[0], node.children()[0].dtype), node.dtype)
    if isinstance(node, Binary):
        return Binary(FLOAT32, node.op, children[0], children[1])
    if isinstance(node, Compare):
        return Compare(BOOL, node.op, children[0], children[1])
    if isinstance(node, Select):
        return select(*children)
    if isinstance(node, Call):
        made = call(node.name, *children)
        assert (made.dtype is BOOL) == ELEMENT_FUNCTIONS[node.name].gives_bool
        return made
    if isinstance(node, Reduce):
        made = node.rebuild(children)
        assert isinstance(made, Reduce)
        dtype = FLOAT32 if node.dtype.is_storage else node.dtype
        return Reduce(dtype, made.combiner, made.axes, made.value, made.condition, made.default)
    if isinstance(node, Table):
        return Table(FLOAT32, node.values, children[0])
    assert not isinstance(node, Not)
    return cast(_kept(node, children), FLOAT32)  # a var
