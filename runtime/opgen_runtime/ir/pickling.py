"""Programs pickled as their text: nothing in a pickle of a program is run but the parser."""

from __future__ import annotations

import copyreg
from collections.abc import Callable

from .expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Tuple, TupleGetItem, Var
from .module import IRModule


def _expr(expr: Expr) -> tuple[Callable[[str], Expr], tuple[str]]:
    from .parser import parse_expr  # with the first pickle
    from .printer import to_text

    return parse_expr, (to_text(expr),)


def _module(module: IRModule) -> tuple[Callable[[str], IRModule], tuple[str]]:
    from .parser import parse_module
    from .printer import to_text

    return parse_module, (to_text(module),)


for _node in (Call, Constant, Function, GlobalVar, If, Let, Tuple, TupleGetItem, Var):
    copyreg.pickle(_node, _expr)
copyreg.pickle(IRModule, _module)
