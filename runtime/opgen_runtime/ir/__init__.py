"""The graph IR: programs of declared operators.

expr.py          the nodes
forward.py       the type of a node from the types of its operands
constant.py      constants from Python numbers and arrays
admit.py         arrays of others as numpy's
build.py         calls from what users write
traced.py        what stands for an expression while a Python function is traced
operators.py     Python's operators on expressions
visitor.py       walks and rewriting without recursion; mixed_mode_visitor.py (plain methods)
analysis.py      questions about programs: variables, type parameters, dtypes, constants
loops.py         loops as values
module.py        IRModule
features.py      which kinds of nodes a program holds
scopes.py        which block of the text a node belongs to
text.py          names, types and constants as text
printer.py       programs as text
picture.py       programs as pictures: drawing.py (nodes, edges, groups), drawn.py and artist.py (of functions and
                 modules), dot.py, svg.py (and its layout)
type_parser.py, parser.py                text as programs (of tokens of base.arith); object_text.py (as attrs)
structural.py    structural equality, hash, digest
well_formed.py   the rules that making nodes does not check
"""

from typing import TYPE_CHECKING

from ..operator import register_class
from . import drawn as drawn
from . import object_text as object_text
from . import pickling as pickling
from .admit import admissible, admit
from .analysis import (
    all_dtypes,
    all_type_vars,
    all_vars,
    bound_type_vars,
    bound_vars,
    check_constant,
    free_type_vars,
)
from .build import Operand, constant_like, make_call, var
from .constant import ExprLike, as_expr, const, is_literal, literal_array
from .expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Span, Tuple, TupleGetItem, Var
from .features import Feature, detect_feature
from .forward import attrs_type, declared, join_types, type_relation
from .mixed_mode_visitor import MixedModeVisitor
from .module import IRModule
from .operators import OPERATORS, apply_operator, bind_operator, operator_op, set_operator_loader
from .structural import structural_digest, structural_equal, structural_hash
from .traced import Traced, expr_of, first_traced, refuse_traced
from .visitor import (
    ExprFunctor,
    ExprMutator,
    ExprVisitor,
    MixedModeMutator,
    Steps,
    free_vars,
    post_order,
    rebuild,
    substitute,
)
from .well_formed import well_formed, why_not_well_formed

__all__ = [
    "OPERATORS", "Call", "Constant", "Expr", "ExprFunctor", "ExprLike", "ExprMutator", "ExprVisitor", "Feature",
    "Function",
    "GlobalVar", "IRModule", "If", "Let", "MixedModeMutator", "MixedModeVisitor", "Operand", "Span", "Steps",
    "Traced", "Tuple", "TupleGetItem", "Var", "admissible", "admit", "all_dtypes", "all_type_vars", "all_vars",
    "apply_operator", "as_expr", "attrs_type", "bind_operator", "bound_type_vars", "bound_vars", "check_constant",
    "const", "constant_like", "declared", "detect_feature", "expr_of", "first_traced", "free_type_vars", "free_vars",
    "is_literal",
    "join_types", "literal_array", "make_call", "operator_op", "parse_expr", "parse_module", "post_order", "rebuild",
    "refuse_traced", "set_operator_loader", "structural_digest", "structural_equal", "structural_hash", "substitute",
    "to_text", "type_relation", "var", "well_formed", "why_not_well_formed",
]  # fmt: skip

if TYPE_CHECKING:
    from .parser import parse_expr, parse_module
    from .printer import to_text

register_class(Expr)
for _final in (Var, GlobalVar, Constant, Tuple, TupleGetItem, Call, Let, If, Function):
    register_class(_final, final=True)


def __getattr__(name: str) -> object:
    """The parser and the printer are imported with the first text."""
    if name in ("parse_expr", "parse_module"):
        from . import parser

        return getattr(parser, name)
    if name == "to_text":
        from .printer import to_text

        return to_text
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
