"""What one read adds to the adjoint of the tensor that it reads.

out[i] = sum(x[i, k] * w[k] for k in range(n))   -->   Term(w, (k,), over (i, k), grad[i] * x[i, k])
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ....base.arith import Expr, Select, Var, add, logical_not, mul, post_order, structural_equal, substitute
from ....base.errors import LanguageError
from ....base.vocabulary import INDEX, dataclass
from ..guards import Arm, Guards, implies
from ..guards import Guard as Condition
from ..tensor import IterVar, Read, Reduce, Tensor
from .inverse import both
from .local import branches, parts_of, where


@dataclass(frozen=True, slots=True)
class Term:
    """`adjoint(tensor)[indices] += value` for every point of `domain` at which `condition` holds."""

    tensor: Tensor
    indices: tuple[Expr, ...]
    domain: tuple[IterVar, ...]
    condition: Expr | None
    value: Expr


def terms_of(
    body: Expr,
    domain: tuple[IterVar, ...],
    condition: Expr | None,
    adjoint: Expr,
    active: Collection[Tensor],
    whole: Expr | None = None,
) -> list[Term]:
    """The terms of `body`, whose own adjoint is `adjoint`, for its reads of the `active` tensors.

    Of reductions the body holds sums alone; it is evaluated over `domain` where `condition` holds.  `whole`: its value
    where that is stored.
    """
    order = post_order(body)
    depends: set[int] = set()
    for node in order:
        if (isinstance(node, Read) and node.tensor in active) or (
            node.dtype.is_inexact and any(id(child) in depends for child in node.children())
        ):
            depends.add(id(node))
    if id(body) not in depends:
        return []
    guards = Guards(order)
    adjoints: dict[int, Expr] = {id(body): adjoint}
    found: list[Term] = []
    for node in reversed(order):
        own = adjoints.get(id(node))
        if own is None or id(node) not in depends or not guards.has(node):
            continue
        if isinstance(node, Read):
            holds = both(condition, _holds(guards, node))
            found.append(Term(node.tensor, node.indices, domain, holds, own))
            continue
        if isinstance(node, Reduce):
            found += _inside(node, domain, both(condition, _holds(guards, node)), own, active)
            continue
        for operand, part in _parts(node, own, whole if node is body and whole is not None else node, guards):
            if id(operand) in depends:
                known = adjoints.get(id(operand))
                adjoints[id(operand)] = part if known is None else _sum(known, part)
    return _merged(found)


def _holds(guards: Guards, node: Expr) -> Expr | None:
    guard = guards.of(node)
    return None if guard is None else guard.holds


def _inside(
    node: Reduce,
    domain: tuple[IterVar, ...],
    condition: Expr | None,
    adjoint: Expr,
    active: Collection[Tensor],
) -> list[Term]:
    """The terms of a reduction inside a body, as scans have them. Raises LanguageError for one that is no sum."""
    if node.combiner != "sum":
        raise LanguageError(
            f"{node.combiner} inside a recurrence has no derivative; of reductions, sums have one"
        )
    axes = tuple([IterVar(Var(INDEX, axis.var.name), axis.extent, axis.kind) for axis in node.axes])
    names = {old.var: new.var for old, new in zip(node.axes, axes, strict=True)}
    holds = None if node.condition is None else substitute(node.condition, names)
    return terms_of(substitute(node.value, names), (*domain, *axes), both(condition, holds), adjoint, active)


def _parts(node: Expr, adjoint: Expr, value: Expr, guards: Guards) -> list[tuple[Expr, Expr]]:
    """The operands with what they get; each part holds wherever its operand is evaluated."""
    outer = guards.of(node)
    made: list[tuple[Expr, Expr]] = []
    if isinstance(node, Select):
        for operand, inverted in zip(branches(node), (False, True), strict=True):
            arm = logical_not(node.condition) if inverted else node.condition
            guard = guards.of(operand)
            if guard is not None and _is_arm(guard, outer, node, inverted):
                made.append((operand, adjoint))
            else:
                made.append((operand, _under(outer, guard, where(arm, adjoint))))
        return made
    for operand, part in parts_of(node, adjoint, value):
        made.append((operand, _under(outer, guards.of(operand), part)))
    return made


def _is_arm(guard: Condition, outer: Condition | None, node: Select, inverted: bool) -> bool:
    """Whether the guard is exactly this branch of this choice."""
    if len(guard.arms) != 1:
        return False
    arm: Arm = guard.arms[0]
    return arm.condition is node.condition and arm.inverted is inverted and arm.outer is outer


def _under(outer: Condition | None, inner: Condition | None, part: Expr) -> Expr:
    """The part where the node is evaluated, zero elsewhere, for an operand that others may need too."""
    if outer is None or outer is inner or implies(inner, outer):
        return part
    return where(outer.holds, part)


def _merged(terms: list[Term]) -> list[Term]:
    """One term for reads of the same element under the same condition."""
    kept: list[Term] = []
    for term in terms:
        at = next((k for k, other in enumerate(kept) if _is_same(other, term)), None)
        if at is None:
            kept.append(term)
        else:
            kept[at] = replace(term, value=_sum(kept[at].value, term.value))
    return kept


def _sum(a: Expr, b: Expr) -> Expr:
    """Twice the same, as squares have it, is a product, which has factors."""
    return mul(a, 2.0) if structural_equal(a, b) and not a.dtype.is_complex else add(a, b)


def _is_same(a: Term, b: Term) -> bool:
    return (
        a.tensor is b.tensor
        and _equal(a.condition, b.condition)
        and all(map(structural_equal, a.indices, b.indices))
    )


def _equal(a: Expr | None, b: Expr | None) -> bool:
    return a is b or (a is not None and b is not None and structural_equal(a, b))
