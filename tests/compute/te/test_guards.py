"""Under which conditions nodes are evaluated: against an evaluator that marks what it meets."""

from __future__ import annotations

import random

from opgen_runtime.base.arith import Expr, Select, Var, evaluate_scalar, post_order, select, structural_equal
from opgen_runtime.base.vocabulary import INDEX
from opgen_runtime.compute import te
from opgen_runtime.compute.te.guards import Guards, implies

ROW, COLUMN = Var(INDEX, "i"), Var(INDEX, "j")


def met(e: Expr, i: int, j: int) -> set[int]:
    """The nodes that are evaluated."""
    found: set[int] = set()
    stack = [e]
    while stack:
        node = stack.pop()
        if id(node) in found:
            continue
        found.add(id(node))
        if isinstance(node, Select):
            chosen = evaluate_scalar(node.condition, {ROW: i, COLUMN: j})
            stack += [node.condition, node.then if chosen else node.otherwise]
        else:
            stack += node.children()
    return found


def drawn(chance: random.Random) -> Expr:
    """Choices over values that were made before."""
    values: list[Expr] = [ROW, COLUMN, ROW * 3]
    for _ in range(chance.randint(2, 9)):
        a, b, c, d = (chance.choice(values[-4:]) for _ in range(4))
        kind = chance.randrange(3)
        made = a + b if kind == 0 else select(a > chance.randint(0, 4), b, c + 1 if kind == 1 else d * 2)
        values.append(made)
    return values[-1]


def test_a_guard_holds_where_its_node_is_evaluated_and_nowhere_else() -> None:
    for seed in range(300):
        e = drawn(random.Random(seed))
        order = post_order(e)
        guards = Guards(order)
        places = [(i, j) for i in range(4) for j in range(4)]
        evaluated = {place: met(e, *place) for place in places}
        for node in order:
            guard = guards.of(node)
            for i, j in places:
                holds = guard is None or bool(evaluate_scalar(guard.holds, {ROW: i, COLUMN: j}))
                assert holds == (id(node) in evaluated[i, j]), (seed, str(e), str(node))
            for other in order[-3:]:
                if implies(guard, guards.of(other)):
                    assert all(id(other) in evaluated[p] for p in places if id(node) in evaluated[p]), (
                        seed,
                        str(e),
                    )


def test_both_branches_of_a_choice_are_the_choice() -> None:
    shared = ROW * 5
    order = post_order(select(COLUMN > 2, select(ROW > 1, shared + 1, shared + 2), COLUMN))
    guard = Guards(order).of(shared)
    assert guard is not None
    assert structural_equal(guard.holds, COLUMN > 2)


def test_inside_a_reduction_is_no_place() -> None:
    k = te.reduce_axis(4, "k")
    inside = k.var + ROW
    total = te.reduce("sum", k, inside)
    guards = Guards(post_order(select(ROW > 2, total, ROW)))
    assert guards.has(total)
    assert guards.has(ROW)
    assert not guards.has(inside)
