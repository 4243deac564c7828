"""`build_program`: a program compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...base import Target
from ...base.errors import ExecutorError
from ...base.garbage import rare_collections
from ...ir import Constant, Expr, Function, IRModule, Var, post_order
from ...ir.visitor import rewrite_leaves
from ...transform import Evaluator, PassContext
from ..compile.interpret import Arrays
from ..compile.kernel.constant_cache import Digests, cached_constants
from ..compile.program.plan import Donation
from ..compile.program.program_records import Asked, Linked, Sections, Values
from ..compile.programs import compile_program
from .crossed import Crossed
from .executable import Chain, Executable, Native, Part
from .interpreted import Interpreted


@rare_collections()
def build_program(
    module: IRModule | Function,
    params: Values | None = None,
    target: Target | str | None = None,
    opt_level: int | None = None,
    *,
    context: PassContext | None = None,
    donations: Sequence[Donation] = (),
) -> Executable:
    """Optimise a module's main, or a function, partition it and compile its segments: what PROGRAM makes of it.

    `params`: values of parameters, by name or variable, which become constants of the program; `run` takes the others.
    `target`: this machine by default; of another one the program is `Crossed`.  `opt_level`: that of the current
    PassContext by default, which is 2; `context` says more.  `donations`: results that take the memory of parameters of
    their types, by positions.
    Types must be known, dims need not be: a segment on the dims of what depends on data is compiled when it runs first,
    but where there are donations.  Raises what the passes and the compilation raise;
    ExecutorError for a value of no parameter, or one that does not fit, for a variable that nothing binds, and for
    another machine of a program without a plan; StrategyError for a machine whose objects are not written.
    """
    program = asked(module, params, target, opt_level, context, donations)
    program.target.check_objects()
    found = compile_program(program)
    if isinstance(found, Linked):
        return _executable(found)
    return _chain(found)


def asked(
    module: IRModule | Function,
    params: Values | None = None,
    target: Target | str | None = None,
    opt_level: int | None = None,
    context: PassContext | None = None,
    donations: Sequence[Donation] = (),
) -> Asked:
    """What `build_program` asks the compiler for."""
    context = context or PassContext.current()
    if opt_level is not None:
        context = context.at_level(opt_level)
    chosen = Target.host() if target is None else Target.parse(target)
    known = context.evaluating_by(CompilingEvaluator).for_target(chosen)
    return Asked(module, params, chosen, known, tuple(donations))


def _executable(linked: Linked) -> Native | Interpreted:
    prepared = linked.planned.prepared
    target = prepared.closed.target
    if linked.whole is None:
        if target.elsewhere:
            raise ExecutorError(
                f"the program cannot be compiled for {target.elsewhere}, where Python would have to run it: "
                f"{linked.planned.why_not}"
            )
        return Interpreted(prepared, str(linked.planned.why_not))
    kind = Crossed if target.elsewhere else Native
    return kind(prepared.inputs, prepared.kernels, linked.whole, linked.result, str(target), prepared.names)


def _chain(sections: Sections) -> Chain:
    parts: list[Part] = []
    for section, linked in zip(sections.cut.sections, sections.linked, strict=True):
        made = _executable(linked)
        assert isinstance(made, Native)
        parts.append(Part(made, section.takes))
    inputs = [param.name_hint for param in sections.cut.closed.main.params]
    return Chain(inputs, parts, sections.cut.result)


class CompilingEvaluator(Evaluator):
    """Finds the values of expressions of many elements by compiling them; those of constants alone once a process.

    Their arrays are arguments, so that expressions of one structure share their kernels.
    """

    def __init__(self, arrays: Mapping[Var, np.ndarray] | None = None) -> None:
        super().__init__(arrays)
        self._digests = Digests()

    def made(self, expr: Expr) -> Arrays:
        if not self.is_constant(expr):
            return super().made(expr)
        return cached_constants(*self._digests.key(expr), lambda: super(CompilingEvaluator, self).made(expr))

    def module(self, function: Function) -> IRModule:
        """The program whose main is the function."""
        return IRModule.from_expr(function)

    def compiled(self, expr: Expr) -> Arrays:
        leaves: dict[Expr, Var] = {}
        arrays: list[np.ndarray] = []
        for node in post_order(expr):
            if isinstance(node, Var):
                leaves[node] = node
                arrays.append(np.ascontiguousarray(self.arrays[node]))
            elif isinstance(node, Constant) and not node.is_scalar:
                leaves[node] = Var(f"constant{len(leaves)}", node.checked_type)
                arrays.append(np.ascontiguousarray(node.data))
        function = Function(tuple(leaves.values()), rewrite_leaves(expr, leaves))
        module = self.module(function)
        return build_program(module, context=PassContext(opt_level=1)).run(arrays)  # nothing is left to fold
