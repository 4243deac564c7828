"""Loops as values: functions that call themselves at their ends, where there is no module to name them in.

    fn(%n, %x) { if (%n > 0) { @self(%n - 1, sin(%x)) } else { %x } }

A `Function` with the attr `LOOP` is such a loop; `@self` inside stands for the innermost one around.  It has no free
variables.  `lifted` makes functions of a module of them, which is what programs are compiled as.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from types import MappingProxyType
from typing import Final

from ..operator import FuncType, Type
from .expr import Call, Expr, Function, GlobalVar, If, Var
from .visitor import ExprMutator, Steps, post_order

LOOP: Final = "loop"
"""The attr of a loop: what messages call it."""
MOST: Final = "most"
"""The attr of a loop that says how often it calls itself at most."""
EVERY: Final = "checkpoint"
"""The attr of a loop that says which of its states are kept for the gradient: the first of so many."""
LIMIT: Final = "limit"
"""The attr of a loop that may not call itself more often: a program that would do so stops with an error."""
SELF: Final = "self"


def beyond(limits: Sequence[int]) -> str:
    """What is said of a loop that went beyond its limit, which is one of these."""
    return (
        f"a loop calls itself more often than {' or '.join(map(str, limits))} times, the most that it states (the attr "
        f"{MOST!r} of its function), and its gradient keeps no more states; state a greater number"
    )


def own_name(params: Sequence[Var], result: Type) -> GlobalVar:
    """What calls of itself name, in the body of a loop."""
    return GlobalVar(SELF, FuncType(tuple([param.checked_type for param in params]), result))


def loop_of(name: str, params: Sequence[Var], body: Expr, result: Type, **attrs: object) -> Function:
    """The loop of a body, in which `own_name` stands for it."""
    return Function(tuple(params), body, result, attrs=MappingProxyType({LOOP: name, **attrs}))


def is_loop(node: object) -> bool:
    return isinstance(node, Function) and LOOP in node.attrs


def ends_of(body: Expr) -> list[Expr]:
    """What a body without bindings may end with: the values of its branches, in order."""
    found: list[Expr] = []
    stack = [body]
    while stack:
        node = stack.pop()
        if isinstance(node, If):
            stack += [node.otherwise, node.then]
        else:
            found.append(node)
    return found


def with_ends(body: Expr, new: Callable[[Expr], Expr | None]) -> Expr | None:
    """A body without bindings with other ends; of a branch with an end that is None the other side is left."""
    order: list[Expr] = []
    stack = [body]
    while stack:
        node = stack.pop()
        order.append(node)
        if isinstance(node, If):
            stack += [node.then, node.otherwise]
    made: dict[int, Expr | None] = {}
    for node in reversed(order):
        if not isinstance(node, If):
            made[id(node)] = new(node)
            continue
        then, otherwise = made[id(node.then)], made[id(node.otherwise)]
        if then is None or otherwise is None:
            made[id(node)] = otherwise if then is None else then
        else:
            made[id(node)] = If(node.condition, then, otherwise, span=node.span)
    return made[id(body)]


def lifted(expr: Expr, taken: Container[str] = ()) -> tuple[Expr, dict[str, Function]]:
    """`expr` without loops, and the functions that they are, by names that are not `taken`."""
    if not any([is_loop(node) for node in post_order(expr)]):
        return expr, {}
    functions: dict[str, Function] = {}
    found = _Lifting(functions, {}, taken, None).visit(expr)
    return found, functions


class _Lifting(ExprMutator):
    """One body; `name` is what `@self` means in it."""

    def __init__(
        self,
        functions: dict[str, Function],
        known: dict[int, GlobalVar],
        taken: Container[str],
        name: GlobalVar | None,
    ) -> None:
        super().__init__()
        self.functions, self.known, self.taken, self.name = functions, known, taken, name

    def visit_global_var(self, var: GlobalVar) -> Expr:
        return self.name if self.name is not None and var.name == SELF else var

    def visit_function(self, function: Function) -> Steps[Expr]:
        if not is_loop(function):
            return (yield from self.visit_default(function))
        if id(function) not in self.known:
            k = len(self.known)
            while f"loop{k}" in self.taken or f"loop{k}" in self.functions:
                k += 1
            name = self.known[id(function)] = GlobalVar(f"loop{k}", function.checked_type)
            self.functions[name.name] = function  # the name is taken from now on
            body: Expr = yield _Lifting(self.functions, self.known, self.taken, name), function.body
            limit = (
                {LIMIT: function.attrs[LIMIT], LOOP: function.attrs[LOOP]} if LIMIT in function.attrs else {}
            )
            self.functions[name.name] = Function(
                function.params,
                body,
                function.ret_type,
                function.type_params,
                MappingProxyType(limit),
                span=function.span,
            )
        return self.known[id(function)]


def is_again(node: Expr) -> bool:
    """Whether a node of a loop's body is a call of the loop itself."""
    return isinstance(node, Call) and isinstance(node.op, GlobalVar) and node.op.name == SELF
