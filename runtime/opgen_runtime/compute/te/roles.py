"""What a computation is in its operands: linear, homogeneous, affine; which axis passes through which; what pairs up.

    role(output, {x})             how `output` depends on x, all other operands held
    passed_axes(output, x)        for each axis of x the axis of the output that it passes through
    pairing(output, x, axis, w)   in a sum of products: which position of x's axis each element of w meets

Everything is derived from the expressions, so that it holds for any op that is declared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Final

import numpy as np

from ...base.arith import (
    Analyzer,
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Not,
    Select,
    Var,
    free_vars,
    holds,
    post_order,
    structural_equal,
    substitute,
)
from ...base.vocabulary import INDEX, INT64, POSITIONAL
from .evaluation import evaluate
from .graph import tensor_order
from .tensor import Compute, IterVar, Placeholder, Read, Reduce, Tensor


class Role(Enum):
    """How f depends on x, up to rounding.

    FREE: not at all.  ZERO and INFINITE: it is that constant.  LINEAR: f(s x) = s f(x) for every s, and f(x + y) =
    f(x) + f(y).  HOMOGENEOUS: f(s x) = s f(x) for s > 0.  INVARIANT: f(s x) = f(x) for s > 0.  AFFINE: a linear
    function plus what is free.  OTHER: none of these is known.
    """

    ZERO = "zero"
    INFINITE = "infinite"
    FREE = "free"
    LINEAR = "linear"
    HOMOGENEOUS = "homogeneous"
    INVARIANT = "invariant"
    AFFINE = "affine"
    OTHER = "other"


_MAX_POSITIONS: Final = 1 << 20  # positions that are looked at
_DIVISIONS: Final = frozenset({"floordiv", "floormod"})
_CONSTANT: Final = frozenset({Role.ZERO, Role.INFINITE, Role.FREE})
_SCALED: Final = frozenset({Role.ZERO, Role.INFINITE, Role.LINEAR, Role.HOMOGENEOUS})
_STEADY: Final = _CONSTANT | {Role.INVARIANT}


def _join(a: Role, b: Role) -> Role:
    """The role of what is the one or the other, by a free choice, and of a sum."""
    if a is b or a is Role.ZERO:
        return b
    if b is Role.ZERO:
        return a
    if a in _CONSTANT and b in _CONSTANT:
        return Role.FREE
    if a in _SCALED and b in _SCALED:
        return Role.HOMOGENEOUS
    if a in _STEADY and b in _STEADY:
        return Role.INVARIANT
    summands = {Role.FREE, Role.LINEAR, Role.AFFINE}
    return Role.AFFINE if a in summands and b in summands else Role.OTHER


def _product(a: Role, b: Role) -> Role:
    if a in _CONSTANT and b in _CONSTANT:
        return Role.ZERO if Role.ZERO in (a, b) else Role.FREE
    if a in _CONSTANT or b in _CONSTANT:
        return b if a in _CONSTANT else a
    if Role.INVARIANT in (a, b):
        other = b if a is Role.INVARIANT else a
        return Role.HOMOGENEOUS if other in _SCALED else _steady(a, b)
    return Role.OTHER


def _quotient(a: Role, b: Role) -> Role:
    if b in _CONSTANT:
        return Role.FREE if a in _CONSTANT and a is not Role.ZERO else a
    if a in _SCALED and b in _SCALED:
        return Role.OTHER if a is Role.INFINITE else Role.INVARIANT
    if b is Role.INVARIANT and a in _SCALED:
        return Role.HOMOGENEOUS
    return _steady(a, b)


def _extremum(a: Role, b: Role) -> Role:
    if a in _CONSTANT and b in _CONSTANT:
        return Role.FREE
    return Role.HOMOGENEOUS if a in _SCALED and b in _SCALED else _steady(a, b)


def _comparison(a: Role, b: Role) -> Role:
    if a in _CONSTANT and b in _CONSTANT:
        return Role.FREE
    return Role.INVARIANT if a in _SCALED and b in _SCALED else _steady(a, b)


def _steady(*roles: Role) -> Role:
    """What nothing more is known of: as steady as its parts."""
    if all([role in _CONSTANT for role in roles]):
        return Role.FREE
    return Role.INVARIANT if all([role in _STEADY for role in roles]) else Role.OTHER


def _chosen(condition: Role, then: Role, otherwise: Role) -> Role:
    if condition in _CONSTANT:
        return _join(then, otherwise)
    if condition is not Role.INVARIANT:
        return Role.OTHER
    if then in _SCALED and otherwise in _SCALED:
        return Role.HOMOGENEOUS
    return _steady(condition, then, otherwise)


_BINARY: Final[Mapping[str, Callable[[Role, Role], Role]]] = {
    "add": _join,
    "sub": _join,
    "mul": _product,
    "div": _quotient,
    "min": _extremum,
    "max": _extremum,
}


def role(output: Tensor, varying: frozenset[Tensor]) -> Role:
    """The role of `output` in the operands `varying` together, the others held."""
    found: dict[Tensor, Role] = {}
    for tensor in tensor_order([output]):
        if isinstance(tensor.op, Placeholder):
            found[tensor] = Role.LINEAR if tensor in varying else Role.FREE
        elif isinstance(tensor.op, Compute):
            found[tensor] = _role_of(tensor.op.body, found)
        else:
            found[tensor] = _steady(*[found.get(source, Role.OTHER) for source in tensor.op.inputs()])
            if found[tensor] is not Role.FREE:
                found[tensor] = Role.OTHER
    return found[output]


def _role_of(body: Expr, tensors: Mapping[Tensor, Role]) -> Role:
    roles: dict[int, Role] = {}
    for node in post_order(body):
        parts = [roles[id(child)] for child in node.children()]
        roles[id(node)] = _of_node(node, parts, tensors)
    return roles[id(body)]


def _of_node(node: Expr, parts: list[Role], tensors: Mapping[Tensor, Role]) -> Role:
    match node:
        case Const():
            return _of_constant(node)
        case Var():
            return Role.FREE
        case Read():
            return tensors[node.tensor] if all([part in _CONSTANT for part in parts]) else Role.OTHER
        case Binary() if node.op in _BINARY and node.dtype.is_float:
            return _BINARY[node.op](parts[0], parts[1])
        case Compare():
            return _comparison(parts[0], parts[1])
        case Not():
            return _steady(parts[0])
        case Select():
            return _chosen(parts[0], parts[1], parts[2])
        case Cast() if node.dtype.is_float and node.a.dtype.is_float:
            return parts[0]
        case Reduce():
            return _of_reduction(node, parts)
        case Call() if node.name == "abs" and node.dtype.is_float and parts[0] not in _STEADY:
            return Role.HOMOGENEOUS if parts[0] in _SCALED else Role.OTHER
        case Call() if node.name == "sign" and parts[0] in _SCALED:
            return _steady(Role.INVARIANT)
        case Call() if node.name == "fma":
            return _join(_product(parts[0], parts[1]), parts[2])
    return _steady(*parts)


def _of_constant(node: Const) -> Role:
    if node.value == 0:
        return Role.ZERO
    return Role.INFINITE if node.value in (float("inf"), float("-inf")) else Role.FREE


def _of_reduction(node: Reduce, parts: list[Role]) -> Role:
    """`parts`: value, condition, default (where there), then the extents that are expressions."""
    rest = parts[1:]
    condition = rest.pop(0) if node.condition is not None else Role.FREE
    default = rest.pop(0) if node.default is not None else None
    if not all([part in _CONSTANT for part in rest]):
        return Role.OTHER
    value = parts[0]
    if node.combiner == "sum" and node.dtype.is_float:
        return _chosen(condition, value, Role.ZERO)
    if node.combiner in ("min", "max") and node.dtype.is_float:
        return _extremum(_chosen(condition, value, Role.INFINITE), Role.INFINITE)
    if node.combiner in POSITIONAL and condition in _STEADY and value in _SCALED:
        return Role.FREE if value in _CONSTANT and condition in _CONSTANT else Role.INVARIANT
    if node.combiner == "first" and default is not None:
        return _chosen(condition, value, default)
    return _steady(*parts)


# ------------------------------------------------------------------ axes


def passed_axes(output: Tensor, operand: Tensor) -> tuple[int | None, ...]:
    """For each axis of `operand` the axis of `output` at whose index every read stands; None where there is none.

    Scaling `operand` along such an axis scales what is linear in it along the axis of the output.
    """
    found: dict[Tensor, list[int | None] | None] = {operand: list(range(operand.ndim))}  # None: is not read
    for tensor in tensor_order([output]):
        if tensor is operand:
            continue
        op = tensor.op
        if isinstance(op, Compute):
            found[tensor] = _axes_of(op, found, operand.ndim)
        elif any(found.get(source) is not None for source in op.inputs()):
            found[tensor] = [None] * operand.ndim
        else:
            found[tensor] = None
    axes = found[output]
    if axes is None:
        return (None,) * operand.ndim
    kept = [a if a is None or output.shape[a] == operand.shape[k] else None for k, a in enumerate(axes)]
    return tuple(kept)


def _axes_of(
    op: Compute, known: Mapping[Tensor, list[int | None] | None], ndim: int
) -> list[int | None] | None:
    place = {axis.var: k for k, axis in enumerate(op.axes)}
    merged: list[int | None] | None = None
    for node in post_order(op.body):
        if not isinstance(node, Read):
            continue
        inner = known.get(node.tensor)
        if inner is None:
            continue
        here: list[int | None] = []
        for axis in inner:
            index = None if axis is None else _bare(node.indices[axis], op.axes)
            here.append(place.get(index) if isinstance(index, Var) else None)
        merged = (
            here if merged is None else [a if a == b else None for a, b in zip(merged, here, strict=True)]
        )
    return merged


def plain(index: Expr) -> Expr:
    """An index without conversions between integer types."""
    while isinstance(index, Cast) and index.a.dtype.is_int:
        index = index.a
    return index


def _bare(index: Expr, axes: Sequence[IterVar]) -> Expr:
    """`plain`, without the quotients and remainders that the extents of the axes decide, such as of one group."""
    index = plain(index)
    if any([isinstance(node, Binary) and node.op in _DIVISIONS for node in post_order(index)]):
        analyzer = Analyzer()
        for axis in axes:
            analyzer.bind(axis.var, 0, axis.extent)
        return plain(analyzer.simplify(index))
    return index


# ------------------------------------------------------------------ products


def pairing(output: Tensor, operand: Tensor, axis: int, other: Tensor) -> np.ndarray | None:
    """Where `output` is a sum of products of an element of each: the position on `axis` of `operand` that each
    element of `other` is multiplied with.

    An int64 array of the rank of `other`, of extent 1 along axes that do not matter.  None where an element meets
    several positions, or shapes are not static.
    """
    if not isinstance(output.op, Compute) or not all(isinstance(dim, int) for dim in other.shape):
        return None
    products = [node for node in post_order(output.op.body) if isinstance(node, Reduce)]
    if len(products) != 1 or products[0].combiner != "sum":
        return None
    value = products[0].value
    while isinstance(value, Cast):
        value = value.a
    if not (isinstance(value, Binary) and value.op == "mul"):
        return None
    sides = [[n for n in post_order(side) if isinstance(n, Read)] for side in value.children()]
    for mine, theirs in (sides, sides[::-1]):
        if [r.tensor for r in mine] == [operand] and [r.tensor for r in theirs] == [other]:
            axes = (*output.op.axes, *products[0].axes)
            return _positions(_bare(mine[0].indices[axis], axes), theirs[0], axes)
    return None


def _positions(index: Expr, read: Read, axes: Sequence[IterVar]) -> np.ndarray | None:
    """`index` as a function of the indices of `read`, both over `axes`."""
    shape = tuple([int(dim) for dim in read.tensor.shape if isinstance(dim, int)])
    extents = {axis.var: axis.extent for axis in axes}
    places: dict[Var, int] = {}
    for d, at in enumerate(read.indices):
        var = _bare(at, axes)
        if not isinstance(var, Var) and structural_equal(var, index):
            return np.arange(shape[d]).reshape([-1 if k == d else 1 for k in range(len(shape))])
        if isinstance(var, Var) and extents.get(var) == shape[d]:
            places.setdefault(var, d)
    used = [var for var in free_vars(index) if extents.get(var) != 1]
    if not all([var in places for var in used]) or holds(index, Read):
        return None
    zero = Const(INDEX, 0)
    kept = sorted({places[var] for var in used})
    small = tuple([dim if d in kept else 1 for d, dim in enumerate(shape)])
    own = tuple([IterVar(Var(INDEX, f"i{d}"), dim) for d, dim in enumerate(small)])
    values: dict[Var, Expr] = {var: zero for var in free_vars(index)}
    values.update({var: own[places[var]].var for var in used})
    body = substitute(index, values)
    table = Tensor("positions", small, INT64, Compute(own, body))
    found = evaluate([table], {})[0]
    for d, extent in enumerate(small):
        first = found.take([0], axis=d) if extent > 1 else found
        found = first if bool((found == first).all()) else found  # such as o // 4, where there is one group
    return found


def is_steady(output: Tensor, operand: Tensor, axis: int) -> bool:
    """Whether all reads of `operand` for an element of `output` are the same whatever its position on `axis`."""
    op = output.op
    if not isinstance(op, Compute):
        return False
    var = op.axes[axis].var
    for node in post_order(op.body):
        if isinstance(node, Read) and node.tensor is operand:
            if not all([_is_steady_index(plain(index), var, op, node) for index in node.indices]):
                return False
        elif isinstance(node, Read) and not isinstance(node.tensor.op, Placeholder):
            return False  # it may read the operand elsewhere
    return True


def _is_steady_index(index: Expr, var: Var, op: Compute, read: Read) -> bool:
    used = free_vars(index)
    if var not in used:
        return True
    axes = [*op.axes, *[axis for n in post_order(op.body) if isinstance(n, Reduce) for axis in n.axes]]
    extents = {each.var: each.extent for each in axes}
    sizes = [extents.get(each) for each in used]
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) != len(used) or int(np.prod(known)) > _MAX_POSITIONS or holds(index, Read):
        return False
    own = tuple([IterVar(Var(INDEX, f"i{d}"), size) for d, size in enumerate(known)])
    body = substitute(index, {each: axis.var for each, axis in zip(used, own, strict=True)})
    found = evaluate([Tensor("positions", tuple(known), INT64, Compute(own, body))], {})[0]
    return bool((found == found.take([0], axis=used.index(var))).all())
