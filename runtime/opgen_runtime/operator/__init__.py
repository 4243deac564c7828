"""One operator: attributes, types and type relations, registration.

What the storeys above import stands here; the rooms are known to one another only.

attrs/     the typed, immutable compile-time arguments of an op
types/     types of expressions, declared signatures, what binds and solves them
registry/  operators and classes by name
"""

from .attrs import REQUIRED, AttrField, Attrs, KindError, attr, document_attrs, value_text
from .registry import (
    Op,
    has_op,
    list_ops,
    register_class,
    register_op,
    set_op_loader,
)
from .types import (
    Assumption,
    Binding,
    Bound,
    Dim,
    DimVar,
    Function,
    FuncType,
    IncompleteType,
    Input,
    Let,
    Output,
    RelationFunction,
    Require,
    Rule,
    Signature,
    Spread,
    Static,
    TensorType,
    TupleType,
    Type,
    TypeRelation,
    TypeReporter,
    TypeSolver,
    TypeVar,
    bind,
    binding_of,
    broadcast,
    broadcast_pair,
    canonical_indices,
    certainly_different,
    dim,
    dims_equal,
    infer_unknown,
    is_absent,
    is_narrower,
    parse_layout,
    relate,
    same_shape,
    says_more,
    shape_text,
    stored_indices,
    to_canonical,
)
from .types.recall import decided, simplified, told
from .types.rules import needs_of
from .types.shapes import prefer

__all__ = [
    "REQUIRED",
    "Assumption",
    "AttrField",
    "Attrs",
    "Binding",
    "Bound",
    "Dim",
    "DimVar",
    "FuncType",
    "Function",
    "IncompleteType",
    "Input",
    "KindError",
    "Let",
    "Op",
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
    "attr",
    "bind",
    "binding_of",
    "broadcast",
    "broadcast_pair",
    "canonical_indices",
    "certainly_different",
    "decided",
    "dim",
    "dims_equal",
    "document_attrs",
    "has_op",
    "infer_unknown",
    "is_absent",
    "is_narrower",
    "list_ops",
    "needs_of",
    "parse_layout",
    "prefer",
    "register_class",
    "register_op",
    "relate",
    "same_shape",
    "says_more",
    "set_op_loader",
    "shape_text",
    "simplified",
    "stored_indices",
    "to_canonical",
    "told",
    "value_text",
]  # fmt: skip

register_class(Type)
for _final in (TensorType, TupleType, FuncType, TypeVar, IncompleteType, TypeRelation):
    register_class(_final, final=True)
register_class(Op, final=True)
register_class(Attrs)
