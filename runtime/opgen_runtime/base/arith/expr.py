"""Scalar expressions: the one expression language of dims, compute bodies and loop IR.

Nodes are immutable and compare by identity, so that a `Var` can be a dictionary key; structural equality is a
function (`structural.py`).  Nodes of higher layers (tensor reads, reductions, buffer loads, vectors) subclass
`Expr` there.  Construct through the functions of `build.py`, which fold constants; the classes check nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from ..errors import UndecidedError
from ..vocabulary import BOOL, INDEX, DType, dataclass


@dataclass(frozen=True, eq=False, slots=True)
class Expr:
    """A scalar expression with an element type."""

    dtype: DType

    def children(self) -> tuple[Expr, ...]:
        return ()

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        """The same node over other children, given in the order of `children()`."""
        return self

    # Operators are defined in `build.py` and attached here, so that this module holds the nodes alone.
    __add__: ClassVar[Callable[[Expr, object], Expr]]
    __radd__: ClassVar[Callable[[Expr, object], Expr]]
    __sub__: ClassVar[Callable[[Expr, object], Expr]]
    __rsub__: ClassVar[Callable[[Expr, object], Expr]]
    __mul__: ClassVar[Callable[[Expr, object], Expr]]
    __rmul__: ClassVar[Callable[[Expr, object], Expr]]
    __floordiv__: ClassVar[Callable[[Expr, object], Expr]]
    __rfloordiv__: ClassVar[Callable[[Expr, object], Expr]]
    __mod__: ClassVar[Callable[[Expr, object], Expr]]
    __rmod__: ClassVar[Callable[[Expr, object], Expr]]
    __truediv__: ClassVar[Callable[[Expr, object], Expr]]
    __rtruediv__: ClassVar[Callable[[Expr, object], Expr]]
    __and__: ClassVar[Callable[[Expr, object], Expr]]
    __rand__: ClassVar[Callable[[Expr, object], Expr]]
    __or__: ClassVar[Callable[[Expr, object], Expr]]
    __ror__: ClassVar[Callable[[Expr, object], Expr]]
    __xor__: ClassVar[Callable[[Expr, object], Expr]]
    __rxor__: ClassVar[Callable[[Expr, object], Expr]]
    __lshift__: ClassVar[Callable[[Expr, object], Expr]]
    __rlshift__: ClassVar[Callable[[Expr, object], Expr]]
    __rshift__: ClassVar[Callable[[Expr, object], Expr]]
    __rrshift__: ClassVar[Callable[[Expr, object], Expr]]
    __pow__: ClassVar[Callable[[Expr, object], Expr]]
    __rpow__: ClassVar[Callable[[Expr, object], Expr]]
    __neg__: ClassVar[Callable[[Expr], Expr]]
    __invert__: ClassVar[Callable[[Expr], Expr]]
    __abs__: ClassVar[Callable[[Expr], Expr]]
    astype: ClassVar[Callable[[Expr, str], Expr]]
    __lt__: ClassVar[Callable[[Expr, object], Expr]]
    __le__: ClassVar[Callable[[Expr, object], Expr]]
    __gt__: ClassVar[Callable[[Expr, object], Expr]]
    __ge__: ClassVar[Callable[[Expr, object], Expr]]

    def __bool__(self) -> bool:
        raise UndecidedError(
            f"the value of {self} is not known when the kernel is built, so Python cannot decide by it; "
            "if_then_else chooses, & | ~ join conditions"
        )

    def __index__(self) -> int:
        raise UndecidedError(
            f"the value of {self} is not known when the kernel is built, so it cannot be a position or a count"
        )

    def __str__(self) -> str:
        from .printer import to_text

        return to_text(self)


@dataclass(frozen=True, eq=False, slots=True)
class Const(Expr):
    """A literal.  `value` is a Python bool, int or float that fits `dtype`."""

    value: bool | int | float


@dataclass(frozen=True, eq=False, slots=True)
class Var(Expr):
    """A named scalar; two vars are the same only if they are one object.

    `size=True` marks a dim of a shape: it is known to be at least `least`, and at most `most` where that is given.
    `hint`: a value that it may well have, by which schedules decide; they are right for all.
    """

    name: str
    size: bool = False
    hint: int | None = None
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Binary(Expr):
    """`a op b`, both of one dtype, which is the result's.

    op: add sub mul div(float) floordiv floormod truncdiv truncmod min max and or xor shl shr.
    Integer division by zero gives 0; shifts at or beyond the width give 0 or the sign; ints wrap;
    min and max propagate NaN.  `and or xor` are bitwise on ints, logical (and eager) on bools.
    """

    op: str
    a: Expr
    b: Expr

    def children(self) -> tuple[Expr, ...]:
        return (self.a, self.b)

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        return Binary(self.dtype, self.op, children[0], children[1])


@dataclass(frozen=True, eq=False, slots=True)
class Compare(Expr):
    """`a op b` as bool; op: lt le gt ge eq ne.  Both operands have one dtype."""

    op: str
    a: Expr
    b: Expr

    def children(self) -> tuple[Expr, ...]:
        return (self.a, self.b)

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        return Compare(BOOL, self.op, children[0], children[1])


@dataclass(frozen=True, eq=False, slots=True)
class Not(Expr):
    """Bitwise complement of an int, negation of a bool."""

    a: Expr

    def children(self) -> tuple[Expr, ...]:
        return (self.a,)

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        return Not(self.dtype, children[0])


@dataclass(frozen=True, eq=False, slots=True)
class Select(Expr):
    """`then if condition else otherwise`; what is not chosen is not read."""

    condition: Expr
    then: Expr
    otherwise: Expr

    def children(self) -> tuple[Expr, ...]:
        return (self.condition, self.then, self.otherwise)

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        return Select(self.dtype, children[0], children[1], children[2])


@dataclass(frozen=True, eq=False, slots=True)
class Cast(Expr):
    """Conversion to `dtype`: int to int wraps; float to int truncates, saturates, NaN gives 0; to bool is != 0."""

    a: Expr

    def children(self) -> tuple[Expr, ...]:
        return (self.a,)

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        return Cast(self.dtype, children[0])


@dataclass(frozen=True, eq=False, slots=True)
class Bitcast(Expr):
    """The same bits read as `dtype`, which has the width of the operand."""

    a: Expr

    def children(self) -> tuple[Expr, ...]:
        return (self.a,)

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        return Bitcast(self.dtype, children[0])


@dataclass(frozen=True, eq=False, slots=True)
class Complex(Expr):
    """The complex number `real + imag * 1j`; both parts are of `dtype.part`.  Arithmetic is done on parts alone."""

    real: Expr
    imag: Expr

    def children(self) -> tuple[Expr, ...]:
        return (self.real, self.imag)

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        return Complex(self.dtype, children[0], children[1])


@dataclass(frozen=True, eq=False, slots=True)
class Part(Expr):
    """A part of a complex number: the real one (0) or the imaginary one (1), of the operand's `dtype.part`."""

    a: Expr
    which: int

    def children(self) -> tuple[Expr, ...]:
        return (self.a,)

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        return Part(self.dtype, children[0], self.which)


@dataclass(frozen=True, eq=False, slots=True)
class Call(Expr):
    """An element function, a row of `intrinsics.INTRINSICS` (exp, tanh, abs, ...)."""

    name: str
    args: tuple[Expr, ...]

    def children(self) -> tuple[Expr, ...]:
        return self.args

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        return Call(self.dtype, self.name, tuple(children))


@dataclass(frozen=True, eq=False, slots=True)
class Table(Expr):
    """A constant table read at an integer position in 0 <= index < len(values)."""

    values: tuple[bool | int | float, ...]
    index: Expr

    def children(self) -> tuple[Expr, ...]:
        return (self.index,)

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        return Table(self.dtype, self.values, children[0])


@dataclass(frozen=True, eq=False, slots=True)
class AnyDim(Expr):
    """A dim of which nothing is known; unlike a `Var` it is not even known to equal itself elsewhere."""


Dim = int | Expr
Shape = tuple[Dim, ...]


def dim(name: str, hint: int | None = None) -> Var:
    """A symbolic dim: a fresh name for an int that is at least 0.  `hint`: a value to schedule for."""
    return Var(INDEX, name, size=True, hint=hint)


def Any() -> AnyDim:
    """A fresh dim of which nothing is known."""
    return AnyDim(INDEX)
