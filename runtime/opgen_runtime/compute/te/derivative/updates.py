"""Updates: what the statements get of the adjoint of the result, and what the tensor that they start from gets.

t = base; for u: t[i(u)] += v(u)   -->   d_v(u) = d_t[i(u)],  d_base = d_t
t = base; for u: t[i(u)] = v(u)    -->   the same where u wrote last,  d_base = d_t where nothing was written
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....base.arith import Expr, Var, add, cast, const, eq, lt, mul, substitute
from ....base.errors import LanguageError
from ....base.vocabulary import INDEX, INT64, dataclass
from ..construct import data_axes
from ..graph import Statement
from ..tensor import Compute, Guard, IterVar, Loop, Put, Read, Tensor, Update
from .inverse import both
from .local import where
from .place import counted, updated
from .reductions import Seed


@dataclass(frozen=True, slots=True)
class _Placed:
    """What is put, where it stands, and of an assignment its number among all that are executed."""

    put: Put
    loops: tuple[IterVar, ...]
    condition: Expr | None
    number: Expr | None


def seeds_of_update(tensor: Tensor, adjoint: Tensor) -> tuple[list[Seed], Tensor]:
    """The seeds of the values that are put, and the adjoint of the base.

    Raises LanguageError for an update that neither adds nor assigns.
    """
    op = tensor.op
    assert isinstance(op, Update)
    puts = list(_puts(op.body, (), None, None))
    kinds = {each.put.op for each in puts}
    if kinds == {"add"}:
        return [_seed(each, adjoint, None) for each in puts], adjoint
    if kinds != {"="}:
        raise LanguageError(
            f"{tensor.name} is updated by {' and '.join(sorted(kinds))}; "
            "of updates, sums alone and assignments alone have a derivative"
        )
    puts = list(_puts(op.body, (), None, const(0, INDEX)))
    writer = _writer(tensor, op)
    axes = data_axes(tensor.shape)
    at = tuple([axis.var for axis in axes])
    kept = where(lt(Read(INT64, writer, at), 0), Read(adjoint.dtype, adjoint, at))
    base = Tensor(f"d_{op.base.name}", adjoint.shape, adjoint.dtype, Compute(axes, kept))
    return [_seed(each, adjoint, writer) for each in puts], base


def _seed(placed: _Placed, adjoint: Tensor, writer: Tensor | None) -> Seed:
    indices = placed.put.indices
    condition = placed.condition
    if writer is not None and placed.number is not None:
        condition = both(condition, eq(Read(INT64, writer, indices), placed.number))
    return Seed(placed.put.value, placed.loops, condition, Read(adjoint.dtype, adjoint, indices))


def _puts(
    body: Sequence[Statement], loops: tuple[IterVar, ...], condition: Expr | None, first: Expr | None
) -> Iterator[_Placed]:
    """What the statements put; numbered from `first` where that is given, for which loops need bounds."""
    for statement in body:
        if isinstance(statement, Put):
            yield _Placed(statement, loops, condition, first)
        elif isinstance(statement, Guard):
            yield from _puts(statement.body, loops, both(condition, statement.condition), first)
        else:
            step = 0 if first is None else _size(statement.body)
            inner = None if first is None else add(first, mul(statement.axis.var, step))
            yield from _puts(statement.body, (*loops, statement.axis), condition, inner)
        first = None if first is None else add(first, _size((statement,)))


def _size(body: Sequence[Statement]) -> int:
    """How many assignments are executed, at most."""
    total = 0
    for statement in body:
        if isinstance(statement, Put):
            total += 1
        elif isinstance(statement, Guard):
            total += _size(statement.body)
        else:
            known = counted((statement.axis,))
            if known is None:
                raise LanguageError(f"the extent of the loop {statement.axis.var.name} has no bound")
            total += next(iter(known[0].values())) * _size(statement.body)
    return total


def _writer(tensor: Tensor, op: Update) -> Tensor:
    """The number of the assignment that wrote each element last, -1 where none did."""
    axes = data_axes(tensor.shape)
    start = Tensor(f"{tensor.name}_none", tensor.shape, INT64, Compute(axes, const(-1, INT64)))
    return updated(f"{tensor.name}_writer", start, _numbered(op.body, const(0, INDEX), {}))


def _numbered(body: Sequence[Statement], first: Expr, names: dict[Var, Expr]) -> tuple[Statement, ...]:
    made: list[Statement] = []
    for statement in body:
        if isinstance(statement, Put):
            indices = tuple([substitute(index, names) for index in statement.indices])
            made.append(Put(indices, "=", cast(first, INT64)))
        elif isinstance(statement, Guard):
            made.append(
                Guard(substitute(statement.condition, names), _numbered(statement.body, first, names))
            )
        else:
            axis = statement.axis
            extent = substitute(axis.extent, names) if isinstance(axis.extent, Expr) else axis.extent
            fresh = IterVar(Var(INDEX, axis.var.name), extent, axis.kind)
            inner = add(first, mul(fresh.var, _size(statement.body)))
            made.append(Loop(fresh, _numbered(statement.body, inner, {**names, axis.var: fresh.var})))
        first = add(first, _size((statement,)))
    return tuple(made)
