"""`opgen show OP --gradient`: the derived gradients of an op, for the first of its tests that has any."""

from __future__ import annotations

from opgen_runtime.base.errors import OpgenError
from opgen_runtime.testing.cases import Case
from opgen_runtime.testing.gradient import gradient_case, record_of

from ..model import CheckedOp
from ..project import Project
from .coloured import code
from .console import heading, out
from .example import load_op


def print_gradients(project: Project, op: CheckedOp) -> None:
    """The kind of each gradient, and its tensor expression; what is declared as it is written."""
    registered = load_op(project, op)
    cases = [Case(case.inputs, dict(case.attrs)) for case in op.tests]
    stated = {each.input: each.text for each in op.gradients}
    case = next((case for case in cases if gradient_case(registered, case) is not None), None)
    if case is None:
        out.print("no operand or no result is a float")
        return
    made = gradient_case(registered, case)
    assert made is not None
    record = record_of(registered, [case])
    out.print(f"for {case}")
    for wrt, _ in made.operands():
        name = wrt.partition("[")[0]
        heading(f"{wrt}: {record[name]}")
        if name in stated:
            out.print(f"declared: {stated[name]}")
        try:
            code(made.derived(wrt).text(), "python")
        except OpgenError as error:
            out.print(str(error))
