"""Operands and attrs of the cases of suites, as every bridge is given them."""

from __future__ import annotations

from typing import Any

from opgen_runtime.testing.cases import Case, case_call, specs_of
from opgen_runtime.testing.data import ordinary
from opgen_runtime.testing.suite import Suite


def arrays_of(suite: type[Suite], case: Case) -> list[Any]:
    """Ordinary values for the operands."""
    return [
        None
        if spec is None
        else tuple([ordinary(each, f"{case} {k} {j}") for j, each in enumerate(spec)])
        if isinstance(spec, tuple)
        else ordinary(spec, f"{case} {k}")
        for k, spec in enumerate(specs_of(suite.op, case))
    ]


def attrs_of(suite: type[Suite], case: Case) -> dict[str, Any]:
    """All attrs of the call."""
    attrs = case_call(suite.op, case)[0].attrs
    return {} if attrs is None else attrs.as_dict()
