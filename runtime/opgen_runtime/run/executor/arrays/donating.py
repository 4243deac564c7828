"""Results that take the memory of parameters: which ones."""

from __future__ import annotations

from collections.abc import Sequence

from ....base.errors import ExecutorError
from ....ir import Function, Tuple
from ...compile.program.plan import Donation


def donations_of(function: Function, params: Sequence[int]) -> list[Donation]:
    """For each of these parameters of a typed function, by position, the first result of its type that is left.

    Raises ExecutorError where there is none.
    """
    results = function.body.fields if isinstance(function.body, Tuple) else (function.body,)
    left = {k: result.checked_type for k, result in enumerate(results)}
    found: list[Donation] = []
    for position in params:
        param = function.params[position]
        same = [k for k, kind in left.items() if kind == param.checked_type]
        if not same:
            kinds = ", ".join(map(str, left.values())) or "none"
            raise ExecutorError(
                f"{param.name_hint} is donated, and no result that is left has its type {param.checked_type}; "
                f"there are {kinds}"
            )
        del left[same[0]]
        found.append(Donation(position, same[0]))
    return found
