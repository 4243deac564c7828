"""Helpers for tests of programs and passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..ir import Call, Expr, Function, IRModule, post_order
from ..operator import Op
from ..transform import InferType, Pass, PassContext, Sequential, infer_type


def run_infer_type(expr: Expr) -> Expr:
    """`expr` with all types known. Raises TypeInferenceError and its kin."""
    return infer_type(expr)


def run_opt_pass(expr: Expr, passes: Pass | Sequence[Pass], context: PassContext | None = None) -> Expr:
    """What InferType and then the passes make of `expr`: a function of a function, else the body of `main`."""
    listed = (passes,) if isinstance(passes, Pass) else tuple(passes)
    module = Sequential([InferType(), *listed])(IRModule.from_expr(expr), context)
    main = module["main"]
    return main if isinstance(expr, Function) else main.body


def count_ops(program: Expr | IRModule) -> dict[str, int]:
    """How often each op is called, by name; a shared call counts once."""
    roots = list(program.functions.values()) if isinstance(program, IRModule) else [program]
    found: Counter[str] = Counter()
    for root in roots:
        found.update(n.op.name for n in post_order(root) if isinstance(n, Call) and isinstance(n.op, Op))
    return dict(sorted(found.items()))
