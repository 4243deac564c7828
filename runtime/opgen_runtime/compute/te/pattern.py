"""The fusion pattern of a computation, derived from its expressions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Final

from ...base.arith import Binary, Cast, Compare, Const, Dim, Expr, Select, Var, post_order, structural_equal
from ...base.vocabulary import OpPattern
from .extern import extern_kind
from .graph import tensor_order
from .tensor import Compute, Extern, IterVar, Read, Reduce, Scan, Sort, Tensor, Update

Reason = tuple[OpPattern, str]
Nodes = Mapping[Tensor, Sequence[Expr]]  # of the bodies, children before parents

_KINDS: Final = {Scan: "a scan", Sort: "a sort", Update: "an update"}


def derive_pattern(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> Reason:
    """The pattern of `outputs` over `inputs`, and why.

    elemwise: every read is at exactly the output's indices, of a tensor of the output's shape.  broadcast: each index
    is one of the output's, in order, or 0 in a dim of 1.  injective: no reduction.  comm_reduce: one reduction.
    out_elemwise_fusable: a reduction of products of two tensors, or several reductions.  opaque: scans, sorts, updates,
    Python functions and loop IR.  Several outputs are a tuple if each is injective at most, else opaque.
    """
    del inputs  # every tensor without a definition is one
    order = tensor_order(outputs)
    for tensor in order:
        op = tensor.op
        if isinstance(op, (Scan, Sort, Update, Extern)):
            kind = extern_kind(op) if isinstance(op, Extern) else _KINDS[type(op)]
            return OpPattern.OPAQUE, f"{tensor.name} is {kind}"
    nodes = {tensor: post_order(tensor.op.body) for tensor in order if isinstance(tensor.op, Compute)}
    found = _reductions(nodes)
    if found is None:
        found = _worst_read(nodes)
    if len(outputs) == 1:
        return found
    pattern, reason = found
    if pattern <= OpPattern.INJECTIVE:
        return OpPattern.TUPLE, f"{len(outputs)} outputs, each without reductions"
    return OpPattern.OPAQUE, f"{len(outputs)} outputs; {reason}"


def _reductions(nodes: Nodes) -> Reason | None:
    """The pattern where something is reduced."""
    found = [(tensor, node) for tensor, body in nodes.items() for node in body if isinstance(node, Reduce)]
    if not found:
        return None
    for tensor, node in found:
        product = _product_of_reads(node)
        if product is not None:
            a, b = product
            return (
                OpPattern.OUT_ELEMWISE_FUSABLE,
                f"{tensor.name} reduces ({node.combiner}) products of {a} and {b}",
            )
    if len(found) > 1:
        names = ", ".join(f"{node.combiner} in {tensor.name}" for tensor, node in found)
        return OpPattern.OUT_ELEMWISE_FUSABLE, f"{len(found)} reductions: {names}"
    tensor, node = found[0]
    return OpPattern.COMM_REDUCE, f"{tensor.name} has one reduction, {node.combiner}"


def _product_of_reads(node: Reduce) -> tuple[str, str] | None:
    """Two reads, of different elements, that are multiplied inside the reduction."""
    if node.combiner != "sum":
        return None
    reads: dict[int, tuple[Read, ...]] = {}
    for e in post_order(node.value):
        if isinstance(e, Read):
            reads[id(e)] = (e,)
            continue
        children = [reads.get(id(c), ()) for c in e.children()]
        if isinstance(e, Binary) and e.op == "mul" and children[0] and children[1]:
            a, b = children[0][0], children[1][0]
            if not structural_equal(a, b):
                return a.tensor.name, b.tensor.name
        # one read stands for the rest: only whether there is one matters, and which
        reads[id(e)] = next((c for c in children if c), ())
    return None


def _worst_read(nodes: Nodes) -> Reason:
    worst: Reason = (OpPattern.ELEMWISE, "every read is at exactly the output's indices")
    for tensor, body in nodes.items():
        assert isinstance(tensor.op, Compute)
        for node in body:
            if isinstance(node, Read):
                found = _classify(tensor, tensor.op.axes, node)
                if found is not None and found[0] > worst[0]:
                    worst = found[0], f"{tensor.name} reads {node}{found[1]}"
    return worst


def _classify(tensor: Tensor, axes: tuple[IterVar, ...], read: Read) -> Reason | None:
    """The pattern and what the read does; None for a read at the tensor's own indices."""
    positions = {axis.var: d for d, axis in enumerate(axes)}
    picked = [_axis_of(index, positions, read.tensor.shape[d]) for d, index in enumerate(read.indices)]
    if any(p is None for p in picked):
        return OpPattern.INJECTIVE, ", which is not at the output's indices in order"
    used = [p for p in picked if p is not None and p >= 0]
    if any(a >= b for a, b in itertools.pairwise(used)):
        return OpPattern.INJECTIVE, ": the output's indices in another order"
    whole = used == list(range(tensor.ndim)) and len(picked) == tensor.ndim
    if whole and all(_same_dim(a, b) for a, b in zip(read.tensor.shape, tensor.shape, strict=True)):
        return None
    return OpPattern.BROADCAST, ", which repeats along some dims"


def _axis_of(index: Expr, positions: dict[Var, int], dim: Dim) -> int | None:
    """The output axis that an index is; -1 for the only position of a dim of 1; None for anything else."""
    while True:
        if isinstance(index, Cast):
            index = index.a
        elif isinstance(index, Select) and _tests_one(index.condition):
            # i if n != 1 else 0, for a dim that is known only when the kernel runs
            if not _is_zero(index.then) and not _is_zero(index.otherwise):
                return None
            index, dim = (index.otherwise if _is_zero(index.then) else index.then), 1
        elif isinstance(index, Var):
            return positions.get(index)
        else:
            return -1 if _is_zero(index) and dim == 1 else None


def _tests_one(condition: Expr) -> bool:
    return isinstance(condition, Compare) and any(
        isinstance(e, Const) and e.value == 1 for e in (condition.a, condition.b)
    )


def _is_zero(e: Expr) -> bool:
    return isinstance(e, Const) and e.value == 0


def _same_dim(a: Dim, b: Dim) -> bool:
    if isinstance(a, Expr) and isinstance(b, Expr):
        return a is b or structural_equal(a, b)
    return a == b if isinstance(a, int) and isinstance(b, int) else False
