"""`Tracer`: what a traced function computes with; its operators and methods are attached by `tracer_methods.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NoReturn

import numpy as np

from .... import ops
from ....base.errors import CallError
from ....base.vocabulary import FLOAT64, DType
from ....ir import Expr, Traced, TupleGetItem, literal_array
from ....operator import TensorType, TupleType


class Tracer(Traced):
    """A tensor of the program that is being traced, with the face of a numpy array.

    Operators, methods and numpy's functions on it give further tracers, of the dtype and shape that numpy gives for
    arrays.  Its elements are not known: what needs them (`if`, `int`, an axis) raises CallError and says what to write.
    Like an array it has no hash, and `==` compares elements.

    A Python float that a compiled function is called with is a weak tracer: a number of rank 0 that takes the dtype
    of what it meets; what Python's operators make of it and of Python's complex numbers is one, too.
    """

    __slots__ = ("_expr", "_name", "_typed", "kind")
    __hash__: ClassVar[None]  # type: ignore[assignment]  # as numpy's arrays

    def __init__(
        self,
        expr: Expr | None,
        typed: Callable[[DType], Expr] | None = None,
        name: str = "",
        kind: type[float] | type[complex] = float,
    ) -> None:
        """`typed` makes the expression of a weak value in a dtype; `expr` may then be left out.  `kind`: which of
        Python's numbers a weak value is."""
        self.kind = kind
        self._expr = expr
        self._typed = typed
        self._name = name

    @property
    def expr(self) -> Expr:
        if self._expr is None:
            assert self._typed is not None
            self._expr = self._typed(FLOAT64)
        return self._expr

    @property
    def weak(self) -> bool:
        return self._typed is not None

    def typed(self, dtype: DType) -> Expr:
        assert self._typed is not None
        return self._typed(dtype)

    def wrapped(self, expr: Expr) -> Any:
        return wrap(expr)

    def needed(self, what: str) -> NoReturn:
        how = (
            "write opgen_runtime.ops.where(condition, a, b) for a choice, & | ~ for and, or, not; "
            "an argument that decides the program is named in jit(..., static_argnames=...)"
        )
        if self.weak:
            how = "name its parameter in jit(..., static_argnames=...), which compiles anew for each value"
        raise CallError(
            f"{what} needs the value of {self!r}, which is not known while the function is traced; {how}"
        )

    @property
    def type(self) -> TensorType:
        """Shape and dtype. Raises CallError where the shape depends on data."""
        found = self.expr.checked_type
        assert isinstance(found, TensorType)
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents. Raises CallError where one depends on data."""
        dims = self.type.shape
        known = tuple([dim for dim in dims if isinstance(dim, int)])
        if len(known) < len(dims):
            raise CallError(
                f"the shape of {self!r} depends on data and is not known while the function is traced"
            )
        return known

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.type.dtype.numpy

    @property
    def ndim(self) -> int:
        return len(self.type.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=object))

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a tensor without axes")
        return self.shape[0]

    # Attached by `tracer_methods.py`.
    __getitem__: ClassVar[Callable[[Tracer, Any], Any]]
    __iter__: ClassVar[Callable[[Tracer], Iterator[Any]]]

    def __repr__(self) -> str:
        if self.weak:
            return f"<traced Python float{f' {self._name!r}' if self._name else ''}>"
        type_ = self.expr.checked_type
        return f"<traced {type_!r}>"

    # What needs elements.
    def __bool__(self) -> bool:
        self.needed("a bool (`if`, `while`, `assert`, `and`, `or`, `not`, `in`)")

    def __contains__(self, item: object) -> bool:
        self.needed("`in`, for which (tensor == item).any() gives a tensor,")

    def __int__(self) -> int:
        self.needed("int()")

    def __float__(self) -> float:
        self.needed("float(), which the functions of math call (numpy's take traced values),")

    def __complex__(self) -> complex:
        self.needed("complex()")

    def __index__(self) -> int:
        self.needed("a Python index, shape or axis")

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise CallError(
            f"{self!r} holds no elements while the function is traced, so that no numpy array can be made of it; "
            "numpy's functions take it as it is, np.stack makes one tensor of several, or return it and use the result"
        )

    def __setitem__(self, index: object, value: object) -> NoReturn:
        raise CallError(
            "tensors cannot be written to while a function is traced; "
            "np.where, np.concatenate or opgen_runtime.ops.strided_set give a new one"
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name in _REFUSED:
            self.needed(f"`.{name}()`")
        if not name.startswith("__") and hasattr(np.ndarray, name):
            raise AttributeError(
                f"`.{name}` of arrays is not there while a function is traced", name=name, obj=self
            )
        raise AttributeError(f"a traced tensor has no attribute {name!r}", name=name, obj=self)


_REFUSED = frozenset({"item", "tolist", "tobytes", "tofile", "dump", "dumps"})
Tracer.__hash__ = None


def wrap(expr: Expr) -> Any:
    """A tracer of an expression; of tuple type: a tuple of tracers."""
    type_ = expr.checked_type
    if isinstance(type_, TupleType):
        return tuple([wrap(TupleGetItem(expr, k)) for k in range(len(type_.fields))])
    return Tracer(expr)


def weak_result(expr: Expr) -> Tracer:
    """A weak tracer of a float64 or complex128 of rank 0, which is converted to what it meets."""
    own = expr.checked_type
    assert isinstance(own, TensorType)
    kind = complex if own.dtype.is_complex else float
    return Tracer(expr, lambda dtype: expr if dtype == own.dtype else _cast(expr, dtype, kind), kind=kind)


def _cast(expr: Expr, dtype: DType, kind: type[float] | type[complex]) -> Expr:
    literal_array(kind(1.5), dtype)  # refuses what such a Python number does not suit
    return ops.cast(expr, dtype=dtype)
