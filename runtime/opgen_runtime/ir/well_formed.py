"""Whether a program obeys the rules of the IR that making its nodes does not check."""

from __future__ import annotations

from .expr import Expr, Function, GlobalVar
from .module import IRModule
from .scopes import binders_of, blocks_of, encloses
from .visitor import free_vars, post_order


def why_not_well_formed(program: Expr | IRModule) -> str | None:
    """The first rule that is broken, or None.

    A variable is bound by one node, once; it is used only inside what that node encloses.  In a module, functions
    have no free variables, and the global variables that they use name functions of the module.
    """
    if not isinstance(program, IRModule):
        return _why_not_scoped(program)
    for var, function in program.functions.items():
        reason = _why_not_scoped(function) or _why_not_closed(function, program)
        if reason is not None:
            return f"@{var.name}: {reason}"
    return None


def well_formed(program: Expr | IRModule) -> bool:
    """Whether `why_not_well_formed` finds nothing."""
    return why_not_well_formed(program) is None


def _why_not_scoped(expr: Expr) -> str | None:
    order = post_order(expr)
    blocks = blocks_of(expr, order)
    bound: set[int] = set()
    for node in order:
        for var in binders_of(node):
            if id(var) in bound:
                return f"variable %{var.name_hint} is bound twice"
            bound.add(id(var))
            used_in = blocks.at.get(id(var))
            if used_in is not None and not encloses(blocks.inner[id(node)][0], used_in):
                return f"variable %{var.name_hint} is used outside the {type(node).__name__} that binds it"
    return None


def _why_not_closed(function: Function, module: IRModule) -> str | None:
    free = free_vars(function)
    if free:
        return f"variable %{free[0].name_hint} is free"
    for node in post_order(function):
        if isinstance(node, GlobalVar) and node not in module:
            return f"@{node.name} is not a function of the module"
    return None
