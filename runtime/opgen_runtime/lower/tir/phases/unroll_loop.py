"""unroll_loop: unrolled loops become their iterations one after the other."""

from __future__ import annotations

from dataclasses import replace

from ....base.arith import Const, Expr, Var, const
from ....base.kernel_options import UNROLL_MAX_STEPS
from ....base.vocabulary import INDEX
from ..nodes.folding import Template
from ..nodes.stmt import Block, For, ForKind, PrimFunc, Stmt
from ..nodes.visit import StmtMutator, block, children, statements, trips


def unroll_loop(func: PrimFunc) -> PrimFunc:
    """The function without unrolled loops: expanded, or serial where that would take too much code."""
    loops = [s for s in statements(func.body) if isinstance(s, For) and s.kind is ForKind.UNROLLED]
    if not loops:
        return func
    most = int(func.options[UNROLL_MAX_STEPS])
    return func.with_body(_Unroll({s.var for s in loops}, most).stmt(func.body))


class _Unroll(StmtMutator):
    """Walks the body of an unrolled loop once an iteration; what expressions share with the last one is kept."""

    def __init__(self, variables: set[Var], most: int) -> None:
        """`most`: the statements that a loop may become."""
        self.variables = variables
        self.most = most
        self.values: dict[Var, Expr] = {}
        self.templates: dict[int, Template] = {}

    def expr(self, e: Expr) -> Expr:
        if not self.values or isinstance(e, Const):
            return e
        template = self.templates.get(id(e))
        if template is None:
            template = self.templates[id(e)] = Template(e, self.variables)
        return template.instance(self.values)

    def loop(self, s: For) -> Stmt:
        count = trips(s)
        if s.kind is not ForKind.UNROLLED:
            return super().loop(s)
        if count is None or count * _size(s.body, self.most) > self.most:
            return super().loop(replace(s, kind=ForKind.SERIAL))
        steps: list[Stmt] = []
        for step in range(count):
            self.values[s.var] = const(step, INDEX)
            steps.append(self.stmt(s.body))
        del self.values[s.var]
        return block(*steps)


def _size(s: Stmt, most: int) -> int:
    """How many statements there are when the unrolled loops inside are expanded, those of at most `most`."""
    inner = sum(_size(part, most) for part in children(s))
    if isinstance(s, Block):
        return inner
    if isinstance(s, For) and s.kind is ForKind.UNROLLED and (count := trips(s)) is not None:
        expanded = count * inner
        return expanded if expanded <= most else 1 + inner
    return 1 + inner
