"""FuseOps: partition each function into segments that are compiled to one kernel each.

Each segment becomes a function marked `Primitive`, called in place of its ops.  What is joined, in this order:

    level 1   by patterns: elementwise and injective ops with what reads them, reductions with their epilogues
    level 2   by rows: reductions with what reads them, where the schedule can keep a row in the cache (softmax,
    layer norm)
              contractions with what moves the elements of an operand of which they read each a few times
              sweeps over one shape that share an operand of that shape, as one segment of several results

The fields of an op of several results, such as a split, are joined each for itself with what reads it; those with which
nothing was joined stay one segment.
"""

from __future__ import annotations

from ..base import Target
from ..ir import Function, IRModule, post_order, structural_digest
from ..lower.library.fusion import (
    Groups,
    Node,
    dataflow,
    find_post_dominators,
    join_by_pattern,
    join_fields,
    join_rows,
    join_sweeps,
    join_views,
    partition,
    reasons,
)
from ..lower.library.fusion.dataflow import is_segment
from .context import PassContext
from .define import function_pass
from .infer_type import InferType
from .info import Option

MAX_OPS = Option(256, "The most ops that one segment may have.", least=1)


@function_pass(name="FuseOps", required=(InferType,), preserves=("InferType",), options={"max_ops": MAX_OPS})
def FuseOps(function: Function, module: IRModule, context: PassContext, *, max_ops: int) -> Function:
    """Partition into segments; at level 0 every op is a segment of its own."""
    if "Primitive" in function.attrs:
        return function
    return fuse(function, max_ops, context.opt_level, context.target)


def fuse(
    function: Function, max_ops: int = 256, opt_level: int = 2, target: Target | None = None
) -> Function:
    """`function` with its ops in segments of at most `max_ops` ops, for this machine by default."""
    nodes, groups = _grouped(function, max_ops, opt_level, target)
    body = partition(function.body, nodes, groups)
    if body is function.body:
        return function
    attrs = function.attrs
    return Function(function.params, body, function.ret_type, function.type_params, attrs, span=function.span)


def extract_fused_functions(module: IRModule) -> dict[str, Function]:
    """The kernels that the functions of a module are fused into, each once, by the digest of its structure."""
    found: dict[str, Function] = {}
    for function in FuseOps()(module).functions.values():
        for node in post_order(function):
            if isinstance(node, Function) and is_segment(node):
                found.setdefault(structural_digest(node), node)
    return found


def why_apart(
    function: Function, max_ops: int = 256, opt_level: int = 2, target: Target | None = None
) -> list[str]:
    """A line for each op that reads another's result from another segment: `exp -> sum: why`."""
    return reasons(*_grouped(function, max_ops, opt_level, target))


def _grouped(
    function: Function, max_ops: int, opt_level: int, target: Target | None
) -> tuple[list[Node], Groups]:
    nodes = dataflow(function.body)
    groups = Groups(nodes, max_ops if opt_level > 0 else 1)
    if groups.max_ops > 1:
        find_post_dominators(nodes, max_ops)
        join_by_pattern(nodes, groups)
        if opt_level > 1:
            chosen = Target.host() if target is None else target
            join_rows(nodes, groups, chosen)
            join_views(nodes, groups, chosen)
            join_sweeps(nodes, groups)
    join_fields(nodes, groups)
    return nodes, groups
