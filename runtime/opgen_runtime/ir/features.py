"""Which features of the graph a program uses: what an executor or a pass must know to take it."""

from __future__ import annotations

from enum import Enum
from typing import Final

from ..operator import Op
from .expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Tuple, TupleGetItem, Var
from .module import IRModule
from .visitor import post_order


class Feature(Enum):
    """A kind of node that a program holds; `GRAPH`: a value that several others, or one twice, are computed of."""

    VAR = "variables"
    GLOBAL_VAR = "functions by name"
    CONSTANT = "constants"
    TUPLE = "tuples"
    TUPLE_GET_ITEM = "fields of tuples"
    FUNCTION = "functions"
    OP = "ops"
    CALL = "calls"
    LET = "bindings"
    IF = "branches"
    GRAPH = "shared values"


_OF_NODES: Final[dict[type[Expr], Feature]] = {
    Var: Feature.VAR,
    GlobalVar: Feature.GLOBAL_VAR,
    Constant: Feature.CONSTANT,
    Tuple: Feature.TUPLE,
    TupleGetItem: Feature.TUPLE_GET_ITEM,
    Function: Feature.FUNCTION,
    Call: Feature.CALL,
    Let: Feature.LET,
    If: Feature.IF,
}
_NAMED: Final = (Var, GlobalVar, Constant)  # leaves, which are no work to share


def detect_feature(program: Expr | IRModule) -> frozenset[Feature]:
    """The features of an expression, or of all functions of a module.

    add(%x, exp(%x))             VAR OP CALL
    %0 = exp(%x); add(%0, %0)    VAR OP CALL GRAPH
    """
    roots = list(program.functions.values()) if isinstance(program, IRModule) else [program]
    found: set[Feature] = set()
    for root in roots:
        seen: set[int] = set()  # of nodes that are an operand of one that came before
        for node in post_order(root):
            found.add(_OF_NODES[type(node)])
            if isinstance(node, Call) and isinstance(node.op, Op):
                found.add(Feature.OP)
            for child in node.children():
                if id(child) in seen and not isinstance(child, _NAMED):
                    found.add(Feature.GRAPH)
                seen.add(id(child))
    return frozenset(found)
