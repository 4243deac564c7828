"""Types of IR expressions, the declared signatures of ops, and the type solver.

Declared data:
type.py        TensorType TupleType TypeVar IncompleteType
shapes.py      dims and shapes: equality, broadcast
layout.py      layout strings: parse, permute shapes and indices
relation.py    type relations, what they may ask, FuncType
kind.py        kinds: types of values, constraints
rules.py       the parts of a signature: Input Output Bound Let Require Static Spread
signature.py   Signature
What is done with it:
solver.py      union-find over types with a work queue of relations
binding/       bind: forwards, from known operands to results
inference/     relate: both ways
"""

from typing import TYPE_CHECKING

from ...base.arith.expr import Dim, dim
from ...base.arith.expr import Var as DimVar
from ...base.lazy_imports import import_lazily
from .binding import Binding, attrs_read, bind, binding_of
from .inference import infer_unknown, is_absent, relate
from .kind import Kind, check_kind
from .layout import (
    Layout,
    LayoutAxis,
    canonical_indices,
    parse_layout,
    stored_indices,
    to_canonical,
    to_stored,
)
from .relation import (
    Assumption,
    FuncType,
    RelationFunction,
    TypeRelation,
    TypeReporter,
    bind_type_vars,
    substitute_types,
)
from .rules import Bound, Entry, Function, Input, Let, Output, Require, Rule, Spread, Static
from .shapes import (
    broadcast,
    broadcast_pair,
    certainly_different,
    dim_text,
    dims_equal,
    normalise_dim,
    numbers_in_broadcasts,
    same_shape,
    says_more,
    shape_text,
)
from .signature import Signature
from .type import IncompleteType, TensorType, TupleType, Type, TypeVar, is_narrower

__all__ = [
    "Assumption",
    "Binding",
    "Bound",
    "Dim",
    "DimVar",
    "Entry",
    "FuncType",
    "Function",
    "IncompleteType",
    "Input",
    "Kind",
    "Layout",
    "LayoutAxis",
    "Let",
    "Output",
    "RelationFunction",
    "Require",
    "Rule",
    "Signature",
    "Spread",
    "Static",
    "TensorType",
    "TupleType",
    "Type",
    "TypeRelation",
    "TypeReporter",
    "TypeSolver",
    "TypeVar",
    "attrs_read",
    "bind",
    "bind_type_vars",
    "binding_of",
    "broadcast",
    "broadcast_pair",
    "canonical_indices",
    "certainly_different",
    "check_kind",
    "dim",
    "dim_text",
    "dims_equal",
    "infer_unknown",
    "is_absent",
    "is_narrower",
    "normalise_dim",
    "numbers_in_broadcasts",
    "parse_layout",
    "relate",
    "same_shape",
    "says_more",
    "shape_text",
    "stored_indices",
    "substitute_types",
    "to_canonical",
    "to_stored",
]  # fmt: skip

if TYPE_CHECKING:
    from .solver import TypeSolver
else:
    __getattr__ = import_lazily(__name__, {"TypeSolver": "solver"})
