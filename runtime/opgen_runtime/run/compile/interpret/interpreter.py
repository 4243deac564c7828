"""Running a program node by node; how an op or a compiled segment is run is left to the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from ....base.arith import Var as DimVar
from ....base.errors import ExecutorError
from ....base.vocabulary import dataclass
from ....ir import (
    Call,
    Constant,
    Expr,
    ExprFunctor,
    Function,
    GlobalVar,
    If,
    IRModule,
    Let,
    Steps,
    Tuple,
    TupleGetItem,
    Var,
)
from ....ir.loops import LIMIT, beyond
from ....operator import Op
from .bindings import check_value
from .value import Arrays


@dataclass(frozen=True, slots=True)
class Scope:
    """The values of an activation's own variables, inside those of the function that it came from."""

    own: dict[Var, Interpreted]
    outer: Scope | None = None

    def value(self, var: Var) -> Interpreted:
        """Raises ExecutorError for a variable without a value."""
        scope: Scope | None = self
        while scope is not None:
            if var in scope.own:
                return scope.own[var]
            scope = scope.outer
        raise ExecutorError(f"variable {var.name_hint!r} has no value")


@dataclass(frozen=True, slots=True)
class Closure:
    """A function with the values of its free variables."""

    function: Function
    scope: Scope | None


Interpreted: TypeAlias = "Arrays | Closure"


class Runner(Protocol):
    """How the work is done."""

    def run_op(self, call: Call, args: Sequence[Arrays]) -> Arrays:
        """The value of a call of an op."""

    def run_segment(self, function: Function, args: Sequence[Arrays]) -> Arrays:
        """The value of a call of a function marked `Primitive`."""


def run(
    expr: Expr, values: Mapping[Var, Interpreted], runner: Runner, module: IRModule | None = None
) -> Interpreted:
    """The value of `expr` where its free variables have `values`.

    Of a branch only the chosen side is run, of what is shared each node once.  Raises ExecutorError for a variable
    without a value.
    """
    return _Interpreter(Scope(dict(values)), runner, module).visit(expr)


class _Interpreter(ExprFunctor[Interpreted]):
    """One activation: the body of a function or of a let under fixed values."""

    def __init__(
        self,
        scope: Scope,
        runner: Runner,
        module: IRModule | None,
        own: Function | None = None,
        steps: int = 0,
    ) -> None:
        """`own`: the function, which has called itself `steps` times to come here."""
        super().__init__()
        self.scope = scope
        self.runner = runner
        self.module = module
        self.own = own
        self.steps = steps

    def visit_var(self, var: Var) -> Interpreted:
        return self.scope.value(var)

    def visit_global_var(self, var: GlobalVar) -> Interpreted:
        if self.module is None:
            raise ExecutorError(f"@{var.name} is used, but no module is given")
        return Closure(self.module[var], None)

    def visit_constant(self, constant: Constant) -> Interpreted:
        return constant.data

    def visit_tuple(self, tup: Tuple) -> Steps[Interpreted]:
        fields: list[Arrays] = []
        for field in tup.fields:
            value: Interpreted = yield field
            if isinstance(value, Closure):
                raise ExecutorError("a tuple holds a function; executors keep tensors in tuples only")
            fields.append(value)
        return tuple(fields)

    def visit_tuple_get_item(self, item: TupleGetItem) -> Steps[Interpreted]:
        source: Interpreted = yield item.tuple_value
        assert isinstance(source, tuple)
        return source[item.index]

    def visit_let(self, let: Let) -> Steps[Interpreted]:
        value: Interpreted = yield let.value
        check_value(f"%{let.var.name_hint}", let.var.type, value, {})
        self.scope.own[let.var] = value
        result: Interpreted = yield let.body
        return result

    def visit_if(self, node: If) -> Steps[Interpreted]:
        condition: Interpreted = yield node.condition
        assert isinstance(condition, np.ndarray)
        result: Interpreted = yield node.then if bool(condition) else node.otherwise
        return result

    def visit_function(self, function: Function) -> Interpreted:
        return Closure(function, self.scope)

    def visit_call(self, call: Call) -> Steps[Interpreted]:
        args: list[Interpreted] = []
        for arg in call.args:
            args.append((yield arg))
        if isinstance(call.op, Op):
            return self.runner.run_op(call, args)  # type: ignore[arg-type]  # the types of ops admit no closures
        if isinstance(call.op, Function) and "Primitive" in call.op.attrs:
            return self.runner.run_segment(call.op, args)  # type: ignore[arg-type]  # nor do those of segments
        callee: Interpreted = yield call.op
        assert isinstance(callee, Closure)
        dims: dict[DimVar, int] = {}
        for param, value in zip(callee.function.params, args, strict=True):
            check_value(f"%{param.name_hint}", param.type, value, dims)
        scope = Scope(dict(zip(callee.function.params, args, strict=True)), callee.scope)
        steps = self.steps + 1 if callee.function is self.own else 0
        limit = callee.function.attrs.get(LIMIT)
        if isinstance(limit, int) and steps > limit:
            raise ExecutorError(beyond([limit]))
        inner = _Interpreter(scope, self.runner, self.module, callee.function, steps)
        result: Interpreted = yield inner, callee.function.body
        check_value("the result of a function", callee.function.ret_type, result, dims)
        return result
