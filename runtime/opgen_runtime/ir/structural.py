"""Structural equality, hash and digest of expressions, and of types and attrs.

All three number the distinct sub-expressions of a program, children first, so that sharing makes no difference and a
DAG costs its nodes, not its paths.  Bound variables are compared up to renaming: a variable is known by the height
of the node that binds it (how deep binders nest below it), which says which of the enclosing ones is meant.  Types
of variables count; types of other nodes follow from them.  Name hints and spans do not count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeAlias

from ..base.arith.expr import AnyDim, Const, Dim
from ..base.arith.expr import Expr as DimExpr
from ..base.arith.expr import Var as DimVar
from ..base.arith.structural import label
from ..operator import Attrs, FuncType, IncompleteType, Op, TensorType, TupleType, Type, TypeVar
from .expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Tuple, TupleGetItem, Var
from .module import IRModule
from .scopes import binders_of
from .visitor import post_order

Key = tuple[object, ...]


Structured: TypeAlias = Expr | IRModule | Type | Attrs


def structural_equal(a: Structured, b: Structured, map_free_vars: bool = False) -> bool:
    """Whether two programs, types or attrs are the same up to the names of what they bind.

    Free variables and symbolic dims are the same if they are one object; with `map_free_vars`, if they occur in the
    same places.  Types that are not known yet are all the same.
    """
    if isinstance(a, IRModule) or isinstance(b, IRModule):
        if not (isinstance(a, IRModule) and isinstance(b, IRModule)):
            return False
        return _module_rows(a) == _module_rows(b)
    table: dict[Key, int] = {}
    if not (isinstance(a, Expr) and isinstance(b, Expr)):
        is_node = isinstance(a, Expr) or isinstance(b, Expr)
        return not is_node and _object_key(a, map_free_vars) == _object_key(b, map_free_vars)  # type: ignore[arg-type]  # no node
    return _Numbering(table, map_free_vars).number(a) == _Numbering(table, map_free_vars).number(b)


def structural_hash(expr: Structured, map_free_vars: bool = False) -> int:
    """A hash that is equal for structurally equal programs, types or attrs, within this process."""
    if isinstance(expr, IRModule):
        return hash(_module_rows(expr))
    table: dict[Key, int] = {}
    if not isinstance(expr, Expr):
        return hash(_object_key(expr, map_free_vars))
    _Numbering(table, map_free_vars).number(expr)
    return hash(tuple(table))


def structural_digest(expr: Expr) -> str:
    """A hex digest that is equal for programs equal with `map_free_vars`, the same in every process and version."""
    table: dict[Key, int] = {}
    _Numbering(table, map_free_vars=True).number(expr)
    return hashlib.blake2b(repr(list(table)).encode(), digest_size=20).hexdigest()


def _object_key(node: Type | Attrs, map_free_vars: bool) -> object:
    return _Numbering({}, map_free_vars).value_key(node)


def _module_rows(module: IRModule) -> tuple[tuple[str, tuple[Key, ...]], ...]:
    rows = []
    for var, function in module.functions.items():
        table: dict[Key, int] = {}
        _Numbering(table, map_free_vars=True).number(function)
        rows.append((var.name, tuple(table)))
    return tuple(sorted(rows, key=lambda row: row[0]))


class _Numbering:
    """Numbers for sub-expressions: the same number for the same structure, in one table."""

    def __init__(self, table: dict[Key, int], map_free_vars: bool) -> None:
        self.table = table
        self.mapped = map_free_vars
        self.vars: dict[int, Key] = {}
        self.free: dict[int, int] = {}
        self.dims: dict[int, int] = {}
        self.type_vars: dict[int, int] = {}

    def number(self, expr: Expr) -> int:
        order = post_order(expr)
        self._name_bound(order)
        numbers: dict[int, int] = {}
        for node in order:
            key = self.key(node, [numbers[id(child)] for child in node.children()])
            numbers[id(node)] = self.table.setdefault(key, len(self.table))
        # The root's number alone does not tell two tables apart; its row is entered last.
        return self.table.setdefault(("root", numbers[id(expr)]), len(self.table))

    def _name_bound(self, order: Sequence[Expr]) -> None:
        heights: dict[int, int] = {}
        for node in order:
            height = max([heights[id(child)] for child in node.children()], default=0)
            bound = binders_of(node)
            if isinstance(node, Let | Function):
                height += 1
            heights[id(node)] = height
            for position, var in enumerate(bound):
                self.vars[id(var)] = ("bound", height, position)

    def key(self, node: Expr, children: list[int]) -> Key:
        kind = type(node).__name__
        if isinstance(node, Var):
            return (kind, *self.var_key(node), self.type_key(node.type))
        if isinstance(node, GlobalVar):
            return (kind, node.name)
        if isinstance(node, Constant):
            digest = hashlib.blake2b(node.data.tobytes(), digest_size=20).hexdigest()
            return (kind, node.data.dtype.name, node.data.shape, digest)
        if isinstance(node, Call):
            op = node.op.name if isinstance(node.op, Op) else None
            types = tuple([self.type_key(t) for t in node.type_args])
            return (kind, op, self.attrs_key(node.attrs), types, *children)
        if isinstance(node, TupleGetItem):
            return (kind, node.index, *children)
        if isinstance(node, Function):
            attrs = tuple([(name, self.value_key(value)) for name, value in sorted(node.attrs.items())])
            generic = tuple([self.type_key(t) for t in node.type_params])
            return (kind, self.type_key(node.ret_type), generic, attrs, *children)
        assert isinstance(node, Tuple | Let | If)
        return (kind, *children)

    def var_key(self, var: Var) -> Key:
        bound = self.vars.get(id(var))
        if bound is not None:
            return bound
        return ("free", self.free.setdefault(id(var), len(self.free)) if self.mapped else id(var))

    def attrs_key(self, attrs: Attrs | None) -> Key | None:
        if attrs is None:
            return None
        return (attrs.type_key, *[self.value_key(value) for value in attrs.as_dict().values()])

    def value_key(self, value: object) -> object:
        """The value of an attr; floats by their decimals, which tell -0.0 from 0.0 and hold NaN equal to itself."""
        if isinstance(value, tuple):
            return tuple([self.value_key(item) for item in value])
        if isinstance(value, Attrs):
            return self.attrs_key(value)
        if isinstance(value, Type):
            return self.type_key(value)
        return self.dim_key(value) if isinstance(value, DimExpr) else repr(value)

    def type_key(self, type_: Type | None) -> object:
        if isinstance(type_, TensorType):
            return (str(type_.dtype), *[d if isinstance(d, int) else self.dim_key(d) for d in type_.shape])
        if isinstance(type_, TupleType):
            return ("tuple", *[self.type_key(f) for f in type_.fields])
        if isinstance(type_, FuncType):
            generic = [self.type_key(v) for v in type_.type_params]
            return ("fn", *generic, *[self.type_key(p) for p in type_.params], "->", self.type_key(type_.ret))
        if isinstance(type_, TypeVar):
            return ("type", self.type_vars.setdefault(id(type_), len(self.type_vars)))
        assert type_ is None or isinstance(type_, IncompleteType)
        return None

    def dim_key(self, dim: Dim) -> object:
        if isinstance(dim, int):
            return dim
        if isinstance(dim, AnyDim):
            return "?"
        if isinstance(dim, DimVar):
            return ("dim", self.dims.setdefault(id(dim), len(self.dims)) if self.mapped else id(dim))
        if isinstance(dim, Const):
            return (str(dim.dtype), repr(dim.value))
        what = [part.__name__ if isinstance(part, type) else str(part) for part in label(dim)]
        return (*what, *[self.dim_key(child) for child in dim.children()])


__all__ = ["structural_digest", "structural_equal", "structural_hash"]
