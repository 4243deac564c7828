"""The types of values. All are immutable; `==` is equality of value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from ...base.arith.expr import Dim, Shape, Var
from ...base.errors import DTypeError, ShapeError
from ...base.vocabulary import DType, dataclass
from ..attrs import AttrObject, AttrVisitor
from .shapes import dim_text, dims_equal, normalise_dim, says_more, shape_key, shape_text


class Type(AttrObject):
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
        _set_shape(
            self,
            tuple([d if type(d) is Var or (type(d) is int and d >= 0) else normalise_dim(d) for d in shape]),
        )
        _set_dtype(self, dtype if type(dtype) is DType else _tensor_dtype(dtype))
        _set_hash(self, None)
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

    @property
    def is_value(self) -> bool:
        return self.is_static

    @property
    def short_text(self) -> str:
        return repr(self)

    def visit_fields(self, visitor: AttrVisitor) -> None:
        visitor.visit("shape", "shape", self.shape)
        visitor.visit("dtype", "dtype", self.dtype)

    def with_shape(self, shape: Iterable[Dim]) -> TensorType:
        return TensorType(shape, self.dtype)

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


# In two thirds of the time that `object.__setattr__` takes.
_set_shape, _set_dtype, _set_hash = (vars(TensorType)[name].__set__ for name in ("shape", "dtype", "_hash"))


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

    @property
    def is_value(self) -> bool:
        return all(field.is_value for field in self.fields)

    def visit_fields(self, visitor: AttrVisitor) -> None:
        visitor.visit("fields", "array", self.fields)

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.fields))}{',' if len(self.fields) == 1 else ''})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TypeVar(Type):
    """A type parameter of a `FuncType`; the same only if it is the same object."""

    type_key: ClassVar[str] = "TypeVar"
    name: str

    def visit_fields(self, visitor: AttrVisitor) -> None:
        visitor.visit("name", "str", self.name)

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

    def visit_fields(self, visitor: AttrVisitor) -> None:
        visitor.visit("name", "str", self.name)

    def __repr__(self) -> str:
        return f"?{self.name}"


def is_narrower(a: Type, b: Type) -> bool:
    """Whether a type that a value is declared to have says more of its dims than the type that it was found to have."""
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return any([says_more(m, n) for m, n in zip(a.shape, b.shape, strict=True)])
    if isinstance(a, TupleType) and isinstance(b, TupleType):
        return any([is_narrower(m, n) for m, n in zip(a.fields, b.fields, strict=True)])
    return False


def _tensor_dtype(dtype: object) -> DType:
    try:
        return DType(dtype)  # type: ignore[arg-type]  # whatever is no dtype name raises
    except ValueError as error:
        raise DTypeError(str(error)) from None
