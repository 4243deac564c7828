"""The graph executor: programs are partitioned and compiled for the types at hand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...base import Target
from ...base.lru_cache import Footprint
from ...base.vocabulary import dataclass
from ...ir import Expr, Function, IRModule, Var, substitute
from ...operator import Type
from ...transform import PassContext
from ..compile.interpret import Arrays, array_type, concrete_types
from ..compile.specialisations import Specialisations
from .base import Executor
from .driver import build_program
from .executable import Executable


@dataclass(frozen=True, slots=True)
class _Held:
    """A program, and what its key has the ids of, so that they stay theirs."""

    executable: Executable
    meaning: tuple[object, ...]

    def footprint(self) -> Footprint:
        return self.executable.footprint()


class GraphExecutor(Executor):
    """Compiles programs; a program that is evaluated again with values of the same types is not compiled again."""

    kind = "graph"

    def __init__(
        self, module: IRModule | None = None, target: Target | None = None, opt_level: int | None = None
    ) -> None:
        super().__init__(module)
        self.target = target or Target.host()
        self.opt_level = opt_level
        self._compiled: Specialisations[_Held] = Specialisations()

    @property
    def context(self) -> PassContext:
        """The settings of passes: the current ones, at the executor's level where it has one."""
        current = PassContext.current()
        return current if self.opt_level is None else current.at_level(self.opt_level)

    def run(self, expr: Expr, arrays: Mapping[Var, np.ndarray], module: IRModule | None) -> Arrays:
        params = tuple(arrays)
        current = PassContext.current()
        key = (id(expr), id(current), *[(id(param), array_type(arrays[param])) for param in params])

        def made() -> _Held:
            executable = self.compile(expr, params, concrete_types(arrays), module)
            return _Held(executable, (expr, params, current))

        found = self._compiled.made(key, made)
        return found.executable.run(list(arrays.values()))

    def compile(
        self, expr: Expr, params: tuple[Var, ...], types: Mapping[Var, Type], module: IRModule | None
    ) -> Executable:
        """`expr` compiled as a function of `params`; `types` narrows their types, so that symbolic dims are ints."""
        narrowed: dict[Var, Var] = {param: Var(param.name_hint, found) for param, found in types.items()}
        main = Function(
            tuple([narrowed.get(param, param) for param in params]),
            substitute(expr, dict(narrowed)) if narrowed else expr,
        )
        whole = IRModule.from_expr(main) if module is None else module.with_functions({"main": main})
        return build_program(whole, target=self.target, context=self.context)
