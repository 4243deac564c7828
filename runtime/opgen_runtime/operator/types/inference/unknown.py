"""What a type relation says of operands that are not known, from the others and the result."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ..relation import RelationFunction
from ..type import TupleType, Type


def infer_unknown(
    relation: RelationFunction,
    op_name: str,
    types: Sequence[Type],
    result: Type,
    attrs: Any,
    unknown: Collection[int],
) -> dict[int, Type]:
    """The complete types that follow for the operands at the positions `unknown`; those that do not are left out.

    `types`: of all operands, those of the unknown ones included: an absent operand (of the empty tuple's type) stays.
    Raises what the relation raises.
    """
    from ..solver import TypeSolver  # with the first operand that is not known

    solver = TypeSolver()
    sought = {k: solver.fresh() for k in sorted(unknown) if not is_absent(types[k])}
    operands = [sought.get(k, known) for k, known in enumerate(types)]
    solver.add_relation(relation, (*operands, result), len(operands), attrs, op_name=op_name)
    solver.solve()
    resolved = {k: solver.resolve(open_type) for k, open_type in sought.items()}
    return {k: found for k, found in resolved.items() if found.is_complete}


def is_absent(type_: Type) -> bool:
    """Whether a type is that of an optional operand that is not given: the empty tuple's."""
    return isinstance(type_, TupleType) and not type_.fields
