"""The graph executor: programs are partitioned and compiled for the types at hand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...base.errors import ExecutorError
from ...base.kept import Kept
from ...base.target import Target
from ...ir import Call, Expr, Function, GlobalVar, IRModule, MixedModeMutator, Var, post_order, substitute
from ...ir.scopes import binders_of
from ...operator.types import Type
from ...transform import PassContext, infer_type
from ..interpret import Arrays, array_type, concrete_types
from .base import Executor
from .executable import Executable, build

_KEPT = 128


class GraphExecutor(Executor):
    """Compiles programs; a program that is evaluated again with values of the same types is not compiled again."""

    kind = "graph"

    def __init__(
        self, module: IRModule | None = None, target: Target | None = None, opt_level: int | None = None
    ) -> None:
        super().__init__(module)
        self.target = target or Target.host()
        self.opt_level = opt_level
        self._compiled: Kept[tuple[Expr, tuple[Var, ...], PassContext, Executable]] = Kept(_KEPT)

    @property
    def context(self) -> PassContext:
        """The settings of passes: the current ones, at the executor's level where it has one."""
        current = PassContext.current()
        return current if self.opt_level is None else current.at_level(self.opt_level)

    def run(self, expr: Expr, arrays: Mapping[Var, np.ndarray], module: IRModule | None) -> Arrays:
        params = tuple(arrays)
        current = PassContext.current()
        key = (id(expr), id(current), *[(id(param), array_type(arrays[param])) for param in params])
        found = self._compiled.get(key)
        if found is None:
            executable = self.compile(expr, params, concrete_types(arrays), module)
            held = (expr, params, current, executable)  # so that the ids stay theirs
            found = self._compiled.put(key, held)
        return found[-1].run(list(arrays.values()))

    def compile(
        self, expr: Expr, params: tuple[Var, ...], types: Mapping[Var, Type], module: IRModule | None
    ) -> Executable:
        """`expr` compiled as a function of `params`; `types` narrows their types, so that symbolic dims are ints."""
        if module is not None:
            expr = _Inline(module).rewrite(expr)
        function = infer_type(Function(params, expr), types)
        assert isinstance(function, Function)
        return build(function, self.target, self.context)


class _Inline(MixedModeMutator):
    """Calls of functions of a module replaced by the functions themselves."""

    def __init__(self, module: IRModule, above: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.module = module
        self.above = above

    def rewrite_global_var(self, pre: GlobalVar, post: GlobalVar) -> Expr:
        if pre.name in self.above:
            raise ExecutorError(
                f"@{pre.name} calls itself, which the graph executor cannot compile; use the debug executor"
            )
        return _Inline(self.module, (*self.above, pre.name)).rewrite(self.module[pre])

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        if isinstance(pre.op, GlobalVar) and isinstance(post.op, Function):
            body = post.op.body
            values: dict[Var, Expr] = {}
            for node in post_order(body):  # a variable is bound once: each copy of the body has its own
                for var in binders_of(node):
                    values[var] = Var(var.name_hint, var.type)
            values.update(zip(post.op.params, post.args, strict=True))
            return substitute(body, values)
        return post
