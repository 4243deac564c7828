"""How many products a program adds up: the measure by which networks are compared."""

from __future__ import annotations

from ..base.errors import UndecidedError
from ..compute.te.operations import products_added
from ..declaration import call_tensors
from ..ir import Call, Expr, post_order
from ..operator import Op
from .infer_type import infer_type


def get_total_mac_number(program: Expr) -> int:
    """The multiply-adds of a program: products that are summed, in convolutions, products of matrices and the like.

    Every call is counted once, that of a kernel as what it computes; functions of a module that are called by name are
    not followed.  Raises UndecidedError for a call whose count depends on open dims or on values, naming its op, and
    ExecutorError for one whose op has no compute.
    """
    total = 0
    for node in post_order(infer_type(program)):
        if not (isinstance(node, Call) and isinstance(node.op, Op)):
            continue
        found = call_tensors(node.op, node.attrs, [arg.checked_type for arg in node.args], node.span)
        count = products_added(found.outputs)
        if count is None:
            raise UndecidedError(
                f"{node.op.name}: how many products it adds depends on what a run tells, with "
                f"{', '.join([str(arg.checked_type) for arg in node.args])}"
            )
        total += count
    return total
