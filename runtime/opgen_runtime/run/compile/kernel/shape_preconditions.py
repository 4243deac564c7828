"""Preconditions on symbolic dims: types take what ops require to hold, and kernels check it with the values.

matmul(x: [2, 6], y: [n, 3])    n must be 6
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ....base.arith import Expr, Var, evaluate_scalar, free_vars, substitute
from ....base.forks import importing
from ....base.vocabulary import dataclass
from .sizes import why_not_a_size

if TYPE_CHECKING:
    from ....ir import Function
    from ....operator import Assumption


@dataclass(frozen=True, slots=True)
class ShapePrecondition:
    """A condition on dims that an op has; `text` is how it is declared, `error` what is declared to be said."""

    op: str
    text: str
    condition: Expr
    error: str | None = None

    def on(self, values: Mapping[Var, Expr]) -> ShapePrecondition:
        """The precondition on what the dims are elsewhere."""
        return replace(self, condition=substitute(self.condition, values))

    def why_not(self, values: Mapping[Var, int]) -> str | None:
        """Why values of the dims do not satisfy it; None where they do."""
        if evaluate_scalar(self.condition, dict(values)):
            return None
        found = " and ".join([f"{var.name} is {values[var]}" for var in free_vars(self.condition)])
        begin = f"{self.op} requires" if self.error is None else f"{self.op}: {self.error}; it requires"
        return f"{begin} {self.condition} ({self.text}), but {found}"


def shape_preconditions(function: Function) -> list[ShapePrecondition]:
    """What the ops of a segment require of its dims that their types leave open."""
    return [
        ShapePrecondition(op, assumption.text, assumption.condition, assumption.error)
        for op, assumption in _assumed(function)
        if assumption.condition is not None
    ]


def why_not_checkable(function: Function) -> str | None:
    """Why what a segment requires of its dims cannot be checked when it runs; None where it can."""
    for op, assumption in _assumed(function):
        if assumption.condition is None:
            return f"{op} requires {assumption.text}, which sizes must be known for"
        why_not = why_not_a_size(assumption.condition)
        if why_not is not None:
            return f"{op} requires {assumption.text}: {why_not}"
    return None


def _assumed(function: Function) -> Iterator[tuple[str, Assumption]]:
    with importing:  # who loads a program has its preconditions, and neither graphs nor declarations
        from ....declaration import stated
        from ....ir import Call, post_order
        from ....operator import Op

    for node in post_order(function.body):
        if isinstance(node, Call) and isinstance(node.op, Op):
            what = stated(node.op, node.attrs, [arg.checked_type for arg in node.args], node.span)
            for assumption in () if what is None else what.binding.undecided:
                yield node.op.name, assumption
