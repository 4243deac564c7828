"""ToCPS: functions give their results to continuations, which are parameters of theirs.

    def @f(%x: T) -> R { exp(%x) }          def @f[A](%x: T, %k: fn(R) -> A) -> A { let %a = exp(%x); %k(%a) }
    def @main(%x: T) { tanh(@f(%x)) }       def @main[A](%x: T, %k: fn(R) -> A) -> A {
                                              @f(%x, fn (%a: R) -> A { let %b = tanh(%a); %k(%b) }) }

Calls of functions are the last thing that happens, and what happens after them is a function.  What follows a branch is
one function that both sides call.  Ops, and functions whose ops are not looked at one by one, are called as before.
"""

from __future__ import annotations

from typing import Final

from ..base.errors import PassError
from ..ir import (
    Call,
    Expr,
    ExprFunctor,
    Function,
    GlobalVar,
    If,
    IRModule,
    Let,
    Steps,
    Var,
    rebuild,
)
from ..operator import FuncType, Op, TupleType, Type, TypeVar
from .context import PassContext
from .define import module_pass
from .regions import is_closed

ANSWER: Final = "A"
"""The type parameter of a function: what its continuation gives, and so it."""


@module_pass(opt_level=1, required=("InferType", "EtaExpand", "ToANormalForm"), changes_type=True)
def ToCPS(module: IRModule, context: PassContext) -> IRModule:
    """Each function takes a continuation. Raises PassError for functions with type parameters, such as these."""
    taking = {var.name: function for var, function in module.functions.items() if not is_closed(function)}
    for name, function in taking.items():
        if function.type_params:
            raise PassError(f"ToCPS: @{name} has type parameters, expected none")
    answers = {name: TypeVar(ANSWER) for name in taking}
    names = {name: _global(name, function, answers[name]) for name, function in taking.items()}
    functions = dict(module.functions)
    for var, function in module.functions.items():
        if var.name in taking:
            del functions[var]
            made = _Passing(answers[var.name], names).function_of(function)
            functions[names[var.name]] = Function(
                made.params, made.body, made.ret_type, (answers[var.name],), made.attrs, span=made.span
            )
    return IRModule(functions)


def _global(name: str, function: Function, answer: TypeVar) -> GlobalVar:
    """The name of a function with its type after the pass."""
    kind = cps_type(function.checked_type, answer)
    assert isinstance(kind, FuncType)
    return GlobalVar(name, FuncType(kind.params, kind.ret, (answer,)))


def cps_type(kind: Type, answer: Type) -> Type:
    """A type in which each function takes a continuation that gives an `answer`."""
    if isinstance(kind, TupleType):
        return TupleType(tuple([cps_type(each, answer) for each in kind.fields]))
    if isinstance(kind, FuncType):
        params = [cps_type(each, answer) for each in kind.params]
        return FuncType((*params, FuncType((cps_type(kind.ret, answer),), answer)), answer)
    return kind


class _Passing(ExprFunctor[Expr]):
    """One function of the module in A-normal form: blocks that end in a call of their continuation."""

    def __init__(self, answer: TypeVar, names: dict[str, GlobalVar]) -> None:
        super().__init__()
        self.answer = answer
        self.names = names
        self.vars: dict[Var, Var] = {}
        self.direct: set[Var] = set()  # that stand for functions which take no continuation
        self.after: dict[int, Var] = {}  # the continuation of a block

    def function_of(self, function: Function) -> Function:
        made = self.visit(function)
        assert isinstance(made, Function)
        return made

    def visit_default(self, node: Expr) -> Steps[Expr] | Expr:
        return self._operands(node) if node.children() else node

    def _operands(self, node: Expr) -> Steps[Expr]:
        children = []
        for child in node.children():
            children.append((yield child))
        return rebuild(node, children)

    def visit_var(self, var: Var) -> Expr:
        if var in self.direct:
            return var
        if var not in self.vars:
            kind = cps_type(var.checked_type, self.answer)
            self.vars[var] = var if kind == var.checked_type else Var(var.name_hint, kind, span=var.span)
        return self.vars[var]

    def visit_global_var(self, var: GlobalVar) -> Expr:
        return self.names.get(var.name, var)

    def visit_function(self, function: Function) -> Steps[Expr] | Expr:
        return function if is_closed(function) else self._function(function)

    def _function(self, function: Function) -> Steps[Expr]:
        params = []
        for param in function.params:
            params.append((yield param))
        kind = function.checked_type
        assert isinstance(kind, FuncType)
        after = self._continuation(cps_type(kind.ret, self.answer))
        body = yield from self._block(function.body, after)
        return Function((*params, after), body, self.answer, attrs=function.attrs, span=function.span)

    def _continuation(self, result: Type) -> Var:
        return Var("k", FuncType((result,), self.answer))

    def _block(self, block: Expr, after: Var) -> Steps[Expr]:
        """A block that gives its value to `after`."""
        if isinstance(block, Let):
            self.after[id(block)] = after
            made: Expr = yield block
            return made
        return Call(after, ((yield block),))

    def visit_let(self, let: Let) -> Steps[Expr]:
        """A whole block, from its end."""
        after = self.after[id(let)]
        steps: list[tuple[Var, Expr]] = []
        tail: Expr = let
        while isinstance(tail, Let):
            steps.append((tail.var, tail.value))
            if self._is_direct(tail.value):
                self.direct.add(tail.var)
            tail = tail.body
        if steps[-1][0] is tail and self._is_passed(steps[-1][1]):
            made: Expr = yield from self._passed(steps.pop()[1], after)
        else:
            made = Call(after, ((yield tail),))
        for var, value in reversed(steps):
            name = yield var
            if not self._is_passed(value):
                made = Let(name, (yield value), made, span=value.span)
                continue
            result = cps_type(value.checked_type, self.answer)
            if name.checked_type != result:  # it says more of the dims
                given = Var(var.name_hint, result)
                made, name = Let(name, given, made), given
            rest = Function((name,), made, self.answer)
            if isinstance(value, If):
                join = self._continuation(result)
                made = Let(join, rest, (yield from self._passed(value, join)))
            else:
                made = yield from self._passed(value, rest)
        return made

    def _is_direct(self, value: Expr) -> bool:
        return is_closed(value) or (isinstance(value, Var) and value in self.direct)

    def _is_passed(self, value: Expr) -> bool:
        """Whether a value comes by a continuation: of a branch, or of a call of a function that takes one."""
        if isinstance(value, If):
            return True
        if not isinstance(value, Call) or isinstance(value.op, Op) or self._is_direct(value.op):
            return False
        return not isinstance(value.op, GlobalVar) or value.op.name in self.names

    def _passed(self, value: Expr, after: Expr) -> Steps[Expr]:
        """A branch or a call that gives its value to `after`, a variable where it is a branch."""
        if isinstance(value, If):
            assert isinstance(after, Var)
            condition = yield value.condition
            then = yield from self._block(value.then, after)
            otherwise = yield from self._block(value.otherwise, after)
            return If(condition, then, otherwise, span=value.span)
        assert isinstance(value, Call)
        assert isinstance(value.op, Expr)
        result = FuncType((cps_type(value.checked_type, self.answer),), self.answer)
        if after.checked_type != result:  # it takes what is known less of
            given = Var("x", result.params[0])
            after = Function((given,), Call(after, (given,)), self.answer)
        args = []
        for each in value.args:
            args.append((yield each))
        return Call((yield value.op), (*args, after), span=value.span)
