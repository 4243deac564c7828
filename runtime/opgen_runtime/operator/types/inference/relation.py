"""The type relation of a declared op: its signature run both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....base.forks import importing
from ..binding.arguments import group_arguments
from ..binding.run import bind, is_known, plan_of
from ..binding.written import as_types, run_relation
from ..relation import TypeReporter
from ..signature import Signature
from ..type import Type


def relate(
    signature: Signature, types: Sequence[Type], num_inputs: int, attrs: Any, reporter: TypeReporter
) -> bool:
    """The type relation: `types` are those of the inputs, then the result's.

    Infers the result from the inputs, and inputs from the other inputs, the attrs and the result.  True
    when all is known, False when not enough is known yet; raises like `bind` for a mistake of the user.
    """
    operands: list[Any] = list(types[:num_inputs])
    result = types[num_inputs]
    groups = group_arguments(signature, reporter.op_name, operands, reporter.site)
    if not all(is_known(group) for group in groups):
        with importing:  # calls whose operands are known need none of it
            from .backward import infer_backwards

        plan = plan_of(signature, reporter.op_name, attrs, groups)
        groups = infer_backwards(signature, groups, attrs, result, reporter, plan)
        if not all(is_known(group) for group in groups):
            if signature.relation is None:
                return False
            return run_relation(signature.relation, as_types(groups), result, attrs, reporter)
    binding = bind(signature, reporter.op_name, attrs, groups, site=reporter.site)
    reporter.assign(result, binding.result_type)
    for assumption in binding.undecided:
        reporter.assume(assumption)
    return True
