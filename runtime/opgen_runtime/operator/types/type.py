"""The types of IR expressions. All are immutable; `==` is equality of value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ...base.arith.expr import Dim, Shape
from ...base.errors import DTypeError, ShapeError
from ...base.vocabulary import DType
from .shapes import dim_text, dims_equal, normalise_dim, shape_key, shape_text

if TYPE_CHECKING:
    from .reporter import TypeReporter

RelationFunction = Callable[[Sequence["Type"], int, Any, "TypeReporter"], bool]
"""`(types, num_inputs, attrs, reporter) -> bool`: False = not enough is known yet, True = done."""


class Type:
    """Base of all types."""

    type_key: ClassVar[str] = "Type"
    __slots__ = ()

    @property
    def is_complete(self) -> bool:
        """Whether no part of the type is an `IncompleteType` (symbolic and unknown dims are complete)."""
        return True


class TensorType(Type):
    """A tensor: a shape of dims (ints >= 0, symbolic expressions, or `Any()`) and an element type.

    `shape ()` is a scalar.  Raises ShapeError for a negative or non-integer dim, DTypeError for a dtype
    that no tensor has.
    """

    type_key: ClassVar[str] = "TensorType"
    __slots__ = ("_hash", "dtype", "shape")
    shape: Shape
    dtype: DType

    def __init__(self, shape: Iterable[Dim] = (), dtype: str = "float32") -> None:
        object.__setattr__(
            self, "shape", tuple([d if type(d) is int and d >= 0 else normalise_dim(d) for d in shape])
        )
        object.__setattr__(self, "dtype", dtype if type(dtype) is DType else _tensor_dtype(dtype))
        object.__setattr__(self, "_hash", None)
        if dtype == "index":
            raise DTypeError(
                "no tensor has dtype index; it is the type of loop variables and dims; use int64"
            )

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("TensorType is immutable")

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every dim is an int."""
        return all(type(d) is int for d in self.shape)

    @property
    def concrete_shape(self) -> tuple[int, ...]:
        """The shape as ints. Raises ShapeError where a dim is symbolic or unknown."""
        for d in self.shape:
            if not isinstance(d, int):
                raise ShapeError(f"{self} has the dim {dim_text(d)}, whose value is not known")
        return self.shape  # type: ignore[return-value]  # every dim has just been seen to be an int

    def with_shape(self, shape: Iterable[Dim]) -> TensorType:
        return TensorType(shape, self.dtype)

    def with_dtype(self, dtype: str) -> TensorType:
        return TensorType(self.shape, dtype)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not TensorType:
            return NotImplemented
        if self.dtype is not other.dtype or len(self.shape) != len(other.shape):
            return False
        return all(a is b or dims_equal(a, b) for a, b in zip(self.shape, other.shape, strict=True))

    def __hash__(self) -> int:
        found: int | None = self._hash
        if found is None:
            found = hash((shape_key(self.shape), self.dtype))
            object.__setattr__(self, "_hash", found)
        return found

    _hash: int | None

    def __repr__(self) -> str:
        return f"Tensor[{shape_text(self.shape)}, {self.dtype}]"

    def __reduce__(self) -> tuple[object, ...]:
        return TensorType, (self.shape, self.dtype)


@dataclass(frozen=True, slots=True, repr=False)
class TupleType(Type):
    """A tuple of types."""

    type_key: ClassVar[str] = "TupleType"
    fields: tuple[Type, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(self.fields))

    @property
    def is_complete(self) -> bool:
        return all(field.is_complete for field in self.fields)

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.fields))}{',' if len(self.fields) == 1 else ''})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TypeVar(Type):
    """A type parameter of a `FuncType`; the same only if it is the same object."""

    type_key: ClassVar[str] = "TypeVar"
    name: str

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IncompleteType(Type):
    """A type that is not known yet; the same only if it is the same object. Prints as `?name`."""

    type_key: ClassVar[str] = "IncompleteType"
    name: str = ""

    @property
    def is_complete(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"?{self.name}"


@dataclass(frozen=True, slots=True, repr=False)
class TypeRelation(Type):
    """A constraint: `function(args, num_inputs, attrs, reporter)` holds; `args` are inputs, then the output."""

    type_key: ClassVar[str] = "TypeRelation"
    name: str
    function: RelationFunction
    args: tuple[Type, ...]
    num_inputs: int
    attrs: Any = None

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


def _tensor_dtype(dtype: object) -> DType:
    try:
        return DType(dtype)  # type: ignore[arg-type]  # whatever is no dtype name raises
    except ValueError as error:
        raise DTypeError(str(error)) from None
