"""Types of IR expressions, the declared signatures of ops, and the type solver.

type.py        TensorType TupleType FuncType TypeVar IncompleteType TypeRelation
shapes.py      dims and shapes: equality, broadcast
layout.py      layout strings: parse, permute shapes and indices
rules.py       the parts of a signature: Input Output Bound Let Require Static Spread
signature.py   Signature: bind (forwards) and relation (both ways)
arguments.py   arguments of a call -> one entry an input
frame.py       the state of one binding, and its error messages
patterns.py    shape patterns
outputs.py     output types
plan.py        the order of the rules, made once a signature
backward.py    inference of unknown inputs
unknown.py     what follows for unknown operands, from the others and the result
solver.py      union-find over types with a work queue of relations
reporter.py    what a relation may ask of the solver
"""

from .binding import Assumption, Binding
from .layout import Layout, LayoutAxis, parse_layout, stored_indices, to_canonical, to_stored
from .reporter import TypeReporter
from .rules import Bound, Entry, Function, Input, Let, Output, Require, Rule, Spread, Static
from .shapes import broadcast, certainly_different, dim_text, dims_equal, normalise_dim, shape_text
from .signature import Signature
from .solver import TypeSolver
from .type import (
    FuncType,
    IncompleteType,
    RelationFunction,
    TensorType,
    TupleType,
    Type,
    TypeRelation,
    TypeVar,
    substitute_types,
)
from .unknown import infer_unknown, is_absent

__all__ = [
    "Assumption", "Binding", "Bound", "Entry", "FuncType", "Function", "IncompleteType", "Input", "Layout",
    "LayoutAxis", "Let", "Output", "RelationFunction", "Require", "Rule", "Signature", "Spread", "Static",
    "TensorType", "TupleType", "Type", "TypeRelation", "TypeReporter", "TypeSolver", "TypeVar", "broadcast",
    "certainly_different", "dim_text", "dims_equal", "infer_unknown", "is_absent", "normalise_dim", "parse_layout",
    "shape_text",
    "stored_indices", "substitute_types", "to_canonical", "to_stored",
]  # fmt: skip
