"""Type relations: what one may ask of whoever runs it, and the types of functions, which carry them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar, Protocol

from ...base.arith.expr import Expr, Shape
from ...base.vocabulary import DType, dataclass
from ..attrs import AttrVisitor
from .type import TupleType, Type, TypeVar


@dataclass(frozen=True, slots=True)
class Assumption:
    """A condition that the shapes alone do not decide; it is taken to hold and checked with the values.

    `condition` is None where the rule could not even be evaluated without the value of a symbolic dim; `error` is what
    the declaration says where it does not hold.
    """

    text: str
    condition: Expr | None = None
    error: str | None = None


class TypeReporter(Protocol):
    """Passed to type relations.

    `op_name` and `site` say whose call is inferred and where it stands, for messages.
    """

    op_name: str
    site: object | None

    def assign(self, target: Type, value: Type) -> None:
        """Makes the two types one. Raises TypeInferenceError where they cannot be."""

    def assume(self, assumption: Assumption) -> None:
        """Records a condition that cannot be decided yet."""

    def known(self, target: Type) -> tuple[Shape | None, DType | None]:
        """The shape and the dtype of a tensor whose type is not known whole, as far as `narrow` has told them."""

    def narrow(self, target: Type, shape: Shape | None, dtype: DType | None) -> None:
        """Tells a part of an unknown tensor type; with the other part it is known."""


RelationFunction = Callable[[Sequence[Type], int, Any, TypeReporter], bool]
"""`(types, num_inputs, attrs, reporter) -> bool`: False = not enough is known yet, True = done."""


@dataclass(frozen=True, slots=True, repr=False)
class TypeRelation(Type):
    """A constraint: `function(args, num_inputs, attrs, reporter)` holds; `args` are inputs, then the output."""

    type_key: ClassVar[str] = "TypeRelation"
    name: str
    function: RelationFunction
    args: tuple[Type, ...]
    num_inputs: int
    attrs: Any = None

    def visit_fields(self, visitor: AttrVisitor) -> None:
        visitor.visit("name", "str", self.name)
        visitor.visit("args", "array", self.args)
        visitor.visit("num_inputs", "int", self.num_inputs)
        visitor.visit("attrs", "object", self.attrs)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.args))})"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class FuncType(Type):
    """The type of a function. Equality is up to the names of its type parameters."""

    type_key: ClassVar[str] = "FuncType"
    params: tuple[Type, ...]
    ret: Type
    type_params: tuple[TypeVar, ...] = ()
    constraints: tuple[TypeRelation, ...] = ()

    @property
    def is_complete(self) -> bool:
        return self.ret.is_complete and all(p.is_complete for p in self.params)

    @property
    def is_value(self) -> bool:
        is_plain = not self.type_params and not self.constraints
        return is_plain and self.ret.is_value and all(p.is_value for p in self.params)

    def visit_fields(self, visitor: AttrVisitor) -> None:
        visitor.visit("params", "array", self.params)
        visitor.visit("ret", "object", self.ret)
        visitor.visit("type_params", "array", self.type_params)
        visitor.visit("constraints", "array", self.constraints)

    def instantiate(self, types: Sequence[Type]) -> FuncType:
        """The function type with its type parameters replaced by `types`, one each."""
        mapping = dict(zip(self.type_params, types, strict=True))
        return FuncType(
            tuple(substitute_types(p, mapping) for p in self.params),
            substitute_types(self.ret, mapping),
            (),
            tuple(
                TypeRelation(
                    c.name,
                    c.function,
                    tuple(substitute_types(a, mapping) for a in c.args),
                    c.num_inputs,
                    c.attrs,
                )
                for c in self.constraints
            ),
        )

    def __eq__(self, other: object) -> bool:
        if type(other) is not FuncType:
            return NotImplemented
        if self is other:
            return True
        if len(self.type_params) != len(other.type_params):
            return False
        mine, theirs = self.instantiate(other.type_params), other
        return (mine.params, mine.ret, mine.constraints) == (theirs.params, theirs.ret, theirs.constraints)

    def __hash__(self) -> int:
        return hash((len(self.params), len(self.type_params), type(self.ret)))

    def __repr__(self) -> str:
        generic = f"[{', '.join(v.name for v in self.type_params)}]" if self.type_params else ""
        where = f" where {', '.join(map(repr, self.constraints))}" if self.constraints else ""
        return f"fn{generic}({', '.join(map(repr, self.params))}) -> {self.ret!r}{where}"


def bind_type_vars(pattern: Type, found: Type, bound: dict[TypeVar, Type], of: Collection[TypeVar]) -> None:
    """Enters in `bound` what the variables `of` stand for where `found` is `pattern` with types in their place."""
    if isinstance(pattern, TypeVar):
        if pattern in of and found.is_complete:
            bound.setdefault(pattern, found)
    elif isinstance(pattern, TupleType) and isinstance(found, TupleType):
        for a, b in zip(pattern.fields, found.fields, strict=False):
            bind_type_vars(a, b, bound, of)
    elif isinstance(pattern, FuncType) and isinstance(found, FuncType):
        for a, b in zip((*pattern.params, pattern.ret), (*found.params, found.ret), strict=False):
            bind_type_vars(a, b, bound, of)


def substitute_types(t: Type, mapping: dict[TypeVar, Type]) -> Type:
    """`t` with its type variables replaced."""
    if not mapping:
        return t
    if isinstance(t, TypeVar):
        return mapping.get(t, t)
    if isinstance(t, TupleType):
        return TupleType(tuple(substitute_types(f, mapping) for f in t.fields))
    if isinstance(t, FuncType):
        return FuncType(
            tuple(substitute_types(p, mapping) for p in t.params),
            substitute_types(t.ret, mapping),
            t.type_params,
            t.constraints,
        )
    return t
