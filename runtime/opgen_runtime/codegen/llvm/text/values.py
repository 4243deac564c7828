"""Values of emitted code: a register, a uniform vector kept as a scalar, or an arithmetic sequence of indices."""

from __future__ import annotations

from ....base.vocabulary import DType, dataclass


@dataclass(frozen=True, slots=True)
class Jumps:
    """What is added to a sequence: `jump` times (first + lane) // every, with a scalar 0 <= first < every."""

    first: Value
    every: int
    jump: int

    def pieces(self, lanes: int) -> int:
        """Into how many sequences without jumps a vector falls at most."""
        return 1 + (self.every + lanes - 2) // self.every


@dataclass(frozen=True, slots=True)
class Shuffled:
    """Lanes of vectors of one width by number, those of the second after those of the first."""

    vectors: tuple[Value, ...]
    order: tuple[int, ...]


@dataclass(slots=True)
class Value:
    """An operand of LLVM instructions.

    `text` is the operand's spelling (a register or a literal) without its type.  A vector may be lazy, with
    `text` None until `FunctionText.vector` needs it: uniform (`scalar` repeated), a ramp (`scalar`,
    scalar + `stride`, ...; it may have `jumps`), or lanes of other vectors (`shuffled`).  `literal` is a scalar's
    Python value when it is a constant.  `clean` says that the value is an index made of loop variables, dims and
    constants only, whose arithmetic cannot overflow; `nonnegative`, that it is known to be at least 0.
    """

    dtype: DType
    lanes: int
    text: str | None
    scalar: Value | None = None
    stride: int = 0
    literal: bool | int | float | None = None
    clean: bool = False
    nonnegative: bool = False
    jumps: Jumps | None = None
    shuffled: Shuffled | None = None

    @property
    def uniform(self) -> Value | None:
        """The one scalar that all lanes hold, where that is known."""
        if self.lanes == 1:
            return self
        return self.scalar if self.stride == 0 and self.jumps is None else None

    @property
    def ramp(self) -> tuple[Value, int] | None:
        """(first element, stride) of a vector that is known to be an arithmetic sequence, uniform included."""
        return None if self.scalar is None or self.jumps is not None else (self.scalar, self.stride)


def register(dtype: DType, lanes: int, text: str, *, clean: bool = False, nonnegative: bool = False) -> Value:
    """A value that is in a register."""
    return Value(dtype, lanes, text, clean=clean, nonnegative=nonnegative)


def splat(scalar: Value, lanes: int) -> Value:
    """`lanes` copies of a scalar, made when a vector is needed."""
    if lanes == 1:
        return scalar
    return Value(scalar.dtype, lanes, None, scalar, 0, None, scalar.clean, scalar.nonnegative)


def ramp(first: Value, stride: int, lanes: int, jumps: Jumps | None = None) -> Value:
    """first, first + stride, ... of `lanes` indices, made when a vector is needed."""
    nonnegative = first.nonnegative and stride >= 0 and (jumps is None or jumps.jump >= 0)
    return Value(first.dtype, lanes, None, first, stride, None, first.clean, nonnegative, jumps)


def shuffle(vectors: tuple[Value, ...], order: tuple[int, ...]) -> Value:
    """Lanes of vectors by number, in vectors of a width that their use tells."""
    return Value(vectors[0].dtype, len(order), None, shuffled=Shuffled(vectors, order))
