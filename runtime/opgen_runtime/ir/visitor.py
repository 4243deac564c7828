"""Walking and rewriting expressions: no recursion limit, each shared node once.

    post_order(expr)        every node, operands first
    free_vars(expr)         variables that nothing in the expression binds
    ExprFunctor[R]          a method a node class, each run at most once a node, giving an R
    ExprVisitor             visits everything, gives nothing
    ExprMutator             rebuilds what changed
    MixedModeMutator        `rewrite_<node>(pre, post)` with the operands rewritten already

The methods of a functor are generators: `result = yield child` visits a child, `yield other, node` has another
functor visit a node.  The functor runs them on a stack of its own, so a chain of 100,000 calls is as good as any other
program.

    class CountAdds(ExprVisitor):
        count = 0

        def visit_call(self, call: Call) -> Steps[None]:
            yield from super().visit_call(call)
            self.count += call.op is ADD
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Final, Generic, TypeAlias, TypeVar

from .expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Tuple, TupleGetItem, Var

R = TypeVar("R")
Steps: TypeAlias = "Generator[Expr | tuple[ExprFunctor[Any], Expr], Any, R]"


def post_order(expr: Expr, is_leaf: Callable[[Expr], bool] | None = None) -> list[Expr]:
    """Every node of `expr` once, each after its children; what lies below a leaf is left out."""
    order: list[Expr] = []
    done: set[int] = set()
    stack: list[Expr | None] = [expr]  # below None is a node whose children are done
    while stack:
        node = stack.pop()
        if node is None:
            node = stack.pop()
            assert node is not None
            order.append(node)
        elif id(node) not in done:
            done.add(id(node))
            children = () if is_leaf is not None and is_leaf(node) else node.children()
            if children:
                stack += (node, None)
                stack += children[::-1]
            else:
                order.append(node)
    return order


def free_vars(expr: Expr) -> list[Var]:
    """The variables that `expr` reads and does not bind, in order of first use."""
    bound: set[int] = set()
    seen: list[Var] = []
    for node in post_order(expr):
        if isinstance(node, Var):
            seen.append(node)
        elif isinstance(node, Let):
            bound.add(id(node.var))
        elif isinstance(node, Function):
            bound.update([id(p) for p in node.params])
    return [var for var in seen if id(var) not in bound]


_Begun: TypeAlias = "tuple[ExprFunctor[Any], Expr, Steps[Any]]"
"""Whose node waits for what it asked for."""


_METHODS: Final[Mapping[type[Expr], str]] = {
    Var: "visit_var",
    GlobalVar: "visit_global_var",
    Constant: "visit_constant",
    Call: "visit_call",
    Tuple: "visit_tuple",
    TupleGetItem: "visit_tuple_get_item",
    Let: "visit_let",
    If: "visit_if",
    Function: "visit_function",
}


class ExprFunctor(Generic[R]):
    """A function over expressions, given by one generator method a node class; results are kept by node."""

    def __init__(self) -> None:
        self._memo: dict[int, R] = {}
        self._alive: list[Expr] = []  # keeps visited nodes alive, so that an id is never used twice

    def visit(self, expr: Expr) -> R:
        """The result for `expr`; nodes that this object has met before are not visited again."""
        memo = self._memo
        if id(expr) in memo:
            return memo[id(expr)]
        stack: list[_Begun] = []
        result: Any = self._enter(expr, stack)
        while stack:
            functor, owner, steps = stack[-1]
            try:
                wanted = steps.send(result)
            except StopIteration as stop:
                stack.pop()
                result = functor._keep(owner, stop.value)
            else:
                if isinstance(wanted, tuple):
                    functor, wanted = wanted
                known = functor._memo
                result = known[id(wanted)] if id(wanted) in known else functor._enter(wanted, stack)
        return memo[id(expr)]

    def _enter(self, node: Expr, stack: list[_Begun]) -> Any:
        """Begin a node: a generator waits on the stack, a plain result is kept at once."""
        begun = getattr(self, _METHODS[type(node)])(node)
        if isinstance(begun, Generator):
            stack.append((self, node, begun))
            return None
        return self._keep(node, begun)

    def _keep(self, node: Expr, result: R) -> R:
        self._memo[id(node)] = result
        self._alive.append(node)
        return result

    def visit_var(self, var: Var) -> Steps[R] | R:
        return self.visit_default(var)

    def visit_global_var(self, var: GlobalVar) -> Steps[R] | R:
        return self.visit_default(var)

    def visit_constant(self, constant: Constant) -> Steps[R] | R:
        return self.visit_default(constant)

    def visit_call(self, call: Call) -> Steps[R] | R:
        return self.visit_default(call)

    def visit_tuple(self, tup: Tuple) -> Steps[R] | R:
        return self.visit_default(tup)

    def visit_tuple_get_item(self, item: TupleGetItem) -> Steps[R] | R:
        return self.visit_default(item)

    def visit_let(self, let: Let) -> Steps[R] | R:
        return self.visit_default(let)

    def visit_if(self, node: If) -> Steps[R] | R:
        return self.visit_default(node)

    def visit_function(self, function: Function) -> Steps[R] | R:
        return self.visit_default(function)

    def visit_default(self, node: Expr) -> Steps[R] | R:
        """What methods that are not overridden do."""
        raise NotImplementedError(f"{type(self).__name__} has no method for {type(node).__name__}")


class ExprVisitor(ExprFunctor[None]):
    """Visits every node once, operands first; override the methods of the nodes of interest."""

    def visit_default(self, node: Expr) -> Steps[None]:
        yield from node.children()

    def visit_call(self, call: Call) -> Steps[None]:
        return self.visit_default(call)

    def visit_tuple(self, tup: Tuple) -> Steps[None]:
        return self.visit_default(tup)

    def visit_tuple_get_item(self, item: TupleGetItem) -> Steps[None]:
        return self.visit_default(item)

    def visit_let(self, let: Let) -> Steps[None]:
        return self.visit_default(let)

    def visit_if(self, node: If) -> Steps[None]:
        return self.visit_default(node)

    def visit_function(self, function: Function) -> Steps[None]:
        return self.visit_default(function)


class ExprMutator(ExprFunctor[Expr]):
    """Rebuilds every node whose children changed; what did not change stays the same object."""

    def visit_default(self, node: Expr) -> Steps[Expr]:
        children = node.children()
        changed = []
        for child in children:
            changed.append((yield child))
        return rebuild(node, changed)

    def visit_call(self, call: Call) -> Steps[Expr]:
        return self.visit_default(call)

    def visit_tuple(self, tup: Tuple) -> Steps[Expr]:
        return self.visit_default(tup)

    def visit_tuple_get_item(self, item: TupleGetItem) -> Steps[Expr]:
        return self.visit_default(item)

    def visit_let(self, let: Let) -> Steps[Expr]:
        return self.visit_default(let)

    def visit_if(self, node: If) -> Steps[Expr]:
        return self.visit_default(node)

    def visit_function(self, function: Function) -> Steps[Expr]:
        return self.visit_default(function)


class MixedModeMutator:
    """Rewrites bottom-up: `rewrite_<node>(pre, post)` gets the node and its rebuilt form, and gives the new node.

    The order is that of `post_order`; a method that is not overridden keeps `post`.
    """

    def __init__(self) -> None:
        self._memo: dict[int, Expr] = {}
        self._alive: list[Expr] = []

    def rewrite(self, expr: Expr) -> Expr:
        """The rewritten `expr`; nodes that this object has met before keep their results."""
        memo = self._memo
        methods: dict[type[Expr], Callable[[Any, Any], Expr]] = {
            Var: self.rewrite_var,
            GlobalVar: self.rewrite_global_var,
            Constant: self.rewrite_constant,
            Call: self.rewrite_call,
            Tuple: self.rewrite_tuple,
            TupleGetItem: self.rewrite_tuple_get_item,
            Let: self.rewrite_let,
            If: self.rewrite_if,
            Function: self.rewrite_function,
        }
        for node in post_order(expr):
            if id(node) in memo:
                continue
            post = rebuild(node, [memo[id(child)] for child in node.children()])
            memo[id(node)] = methods[type(node)](node, post)
            self._alive.append(node)
        return memo[id(expr)]

    def rewrite_var(self, pre: Var, post: Var) -> Expr:
        return post

    def rewrite_global_var(self, pre: GlobalVar, post: GlobalVar) -> Expr:
        return post

    def rewrite_constant(self, pre: Constant, post: Constant) -> Expr:
        return post

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        return post

    def rewrite_tuple(self, pre: Tuple, post: Tuple) -> Expr:
        return post

    def rewrite_tuple_get_item(self, pre: TupleGetItem, post: TupleGetItem) -> Expr:
        return post

    def rewrite_let(self, pre: Let, post: Let) -> Expr:
        return post

    def rewrite_if(self, pre: If, post: If) -> Expr:
        return post

    def rewrite_function(self, pre: Function, post: Function) -> Expr:
        return post


def rewrite_leaves(expr: Expr, values: Mapping[Expr, Expr]) -> Expr:
    """`expr` with variables and constants replaced, each by what stands for it in `values`."""

    class Leaves(MixedModeMutator):
        def rewrite_var(self, pre: Var, post: Var) -> Expr:
            return values.get(pre, pre)

        def rewrite_constant(self, pre: Constant, post: Constant) -> Expr:
            return values.get(pre, pre)

    return Leaves().rewrite(expr)


def substitute(expr: Expr, values: dict[Var, Expr]) -> Expr:
    """`expr` with the free variables of `values` replaced."""
    return rewrite_leaves(expr, values)  # type: ignore[arg-type]  # mappings are invariant in their keys


def rebuild(node: Expr, children: Sequence[Expr]) -> Expr:
    """`node` over other children, given in the order of `children()`; the same object if none is new.

    Variables in binding position must be rewritten to variables.
    """
    if all(map(_same, node.children(), children)):
        return node
    return _REBUILD[type(node)](node, children)


def _same(a: Expr, b: Expr) -> bool:
    return a is b


def _rebuild_call(node: Call, new: Sequence[Expr]) -> Expr:
    if isinstance(node.op, Expr):
        return Call(new[0], tuple(new[1:]), node.attrs, node.type_args, span=node.span)
    return Call(node.op, tuple(new), node.attrs, node.type_args, span=node.span)


def _rebuild_function(node: Function, new: Sequence[Expr]) -> Expr:
    params = _only_vars(new[:-1])
    return Function(params, new[-1], node.ret_type, node.type_params, node.attrs, span=node.span)


def _rebuild_let(node: Let, new: Sequence[Expr]) -> Expr:
    (var,) = _only_vars(new[:1])
    return Let(var, new[1], new[2], span=node.span)


def _only_vars(nodes: Sequence[Expr]) -> tuple[Var, ...]:
    found = tuple([node for node in nodes if isinstance(node, Var)])
    assert len(found) == len(nodes), "a bound variable was rewritten to something else"
    return found


_REBUILD: dict[type[Expr], Callable[[Any, Sequence[Expr]], Expr]] = {
    Call: _rebuild_call,
    Tuple: lambda node, new: Tuple(tuple(new), span=node.span),
    TupleGetItem: lambda node, new: TupleGetItem(new[0], node.index, span=node.span),
    Let: _rebuild_let,
    If: lambda node, new: If(*new, span=node.span),
    Function: _rebuild_function,
}
