"""An IR builder: statements of loop IR made by functions, as for the bodies of tensor intrinsics.

def body(ins, outs):
    (a, b), (c,) = ins, outs
    return tir.block(
        tir.store(c, (), 0.0),
        tir.loop("k", 4, lambda k: tir.store(c, (), tir.load(c) + tir.load(a, k) * tir.load(b, k))),
    )
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....base.arith import Expr, Var, const
from ....base.errors import LoweringError
from ....base.vocabulary import INDEX, DType
from .stmt import Allocate, Buffer, For, ForKind, Load, Stmt, Store


def decl_buffer(
    shape: Sequence[int | Expr] | int | Expr, dtype: DType | str = "float32", name: str = "buffer"
) -> Buffer:
    """A buffer for an argument of a kernel, or one to write loop IR with."""
    return Buffer(name, tuple(shape) if isinstance(shape, Sequence) else (shape,), DType(dtype))


def load(buffer: Buffer, *indices: Expr | int) -> Expr:
    """`buffer[indices]`.  Raises LoweringError for another number of indices than the buffer has dims."""
    return Load(buffer.dtype, buffer, _indices(buffer, indices))


def store(buffer: Buffer, indices: Sequence[Expr | int], value: Expr | float) -> Stmt:
    """`buffer[indices] = value`; a number becomes one of the buffer's dtype.  Raises as `load` does."""
    made = value if isinstance(value, Expr) else const(value, buffer.dtype)
    return Store(buffer, _indices(buffer, indices), made)


def loop(name: str, extent: Expr | int, body: Callable[[Var], Stmt], kind: str = "serial") -> Stmt:
    """`for name in range(extent): body(name)`; kind: serial, vectorized or unrolled.

    Raises LoweringError for another kind.
    """
    kinds = {each.value: each for each in (ForKind.SERIAL, ForKind.VECTORIZED, ForKind.UNROLLED)}
    if kind not in kinds:
        raise LoweringError(f"a loop of kind {kind!r}; expected one of {', '.join(kinds)}")
    var = Var(INDEX, name)
    count = extent if isinstance(extent, Expr) else const(extent, INDEX)
    return For(var, const(0, INDEX), count, kinds[kind], body(var))


def local(name: str, shape: Sequence[int | Expr], dtype: DType | str, body: Callable[[Buffer], Stmt]) -> Stmt:
    """Storage of one iteration's own while `body(buffer)` runs; its content is undefined at first."""
    buffer = Buffer(name, tuple(shape), DType(dtype), "local")
    return Allocate(buffer, body(buffer))


def _indices(buffer: Buffer, indices: Sequence[Expr | int]) -> tuple[Expr, ...]:
    if len(indices) != len(buffer.shape):
        raise LoweringError(
            f"buffer {buffer.name} of {len(buffer.shape)} dims is used with {len(indices)} indices"
        )
    return tuple(index if isinstance(index, Expr) else const(index, INDEX) for index in indices)
