"""Partial results of a reduction: what rfactor makes a stage of."""

from __future__ import annotations

from ....base.arith import Expr, Var, lt, select, substitute
from ....base.vocabulary import INDEX
from ....compute.te.tensor import Compute, IterVar, Reduce, Tensor
from ..stages.relations import Split
from ..stages.stage import Stage


def partials(stage: Stage, body: Reduce, axis: IterVar) -> Tensor:
    """What a reduction gives for each part of its loops, a part for each value of `axis`, which comes first.

    Splits and fusions of its reduce axes are written into the body; a part that a split does not fill takes no more
    than there is.
    """
    part = IterVar(Var(INDEX, axis.var.name), axis.extent)
    data = tuple(IterVar(Var(INDEX, own.var.name), own.extent) for own in stage.axes)
    values: dict[Var, Expr] = {a.var: b.var for a, b in zip(stage.axes, data, strict=True)}
    kept = tuple(leaf for leaf in stage.leaves if leaf.kind == "reduce" and leaf is not axis)
    if not kept:  # one element a part
        kept = (IterVar(Var(INDEX, "one"), 1, "reduce"),)
    values.update({leaf.var: leaf.var for leaf in kept})
    values[axis.var] = part.var
    condition = body.condition
    for relation in reversed(stage.relations):
        if isinstance(relation, Split):
            values[relation.parent.var] = (
                values[relation.outer.var] * relation.factor + values[relation.inner.var]
            )
        else:
            fused, extent = values[relation.fused.var], relation.inner.extent
            values[relation.outer.var], values[relation.inner.var] = fused // extent, fused % extent
    value = substitute(body.value, values)
    if condition is not None:
        condition = substitute(condition, values)
    for split in [r for r in stage.relations if isinstance(r, Split)]:
        extent = split.parent.extent
        if not isinstance(extent, int) or extent % split.factor:
            inside = lt(values[split.parent.var], extent)
            condition = inside if condition is None else select(inside, condition, False)
    made = Reduce(body.dtype, body.combiner, kept, value, condition)
    shape = (part.extent, *stage.tensor.shape)
    return Tensor(f"{stage.name}_rf", shape, body.dtype, Compute((part, *data), made))
