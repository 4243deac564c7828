"""Tensorized stages: loops around tiles that intrinsics compute.

    for i_o in range(16): for i_i in range(4): for k in range(8): c[i_o * 4 + i_i] += a[k] * b[i_o * 4 + i_i, k]
-->
    for i_o in range(16): the intrinsic's loop IR, its operands at a and b[i_o * 4 .., ..], its result at c[i_o * 4 ..]

A tile inside reduce loops is stored to before the outermost of them, and added to in each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from ....base.arith import Expr, Var, const
from ....base.contract import handed_in
from ....base.errors import LoweringError
from ....base.lru_cache import LRUCache
from ....base.vocabulary import INDEX, dataclass
from ....compute.te import evaluate
from ....compute.te.tensor import IterVar, Reduce, Tensor
from ...schedule import Domain, Intrinsic, Match, Place, Stage, match
from ..interpretation.interpret import interpret
from ..nodes.combine import accumulator_dtype, identity, join
from ..nodes.contract import LOWERED, View
from ..nodes.nest import guarded, loop
from ..nodes.relocate import Relocator
from ..nodes.stmt import Buffer, For, ForKind, Load, PrimFunc, Stmt, Store
from ..nodes.visit import block
from .values import ValueLowering

WithAttached = Callable[[IterVar, Stmt], Stmt]
_LIKE: Final = (
    1e-3  # how near the parts of an intrinsic must come to its expression, relative to the greatest value
)


@dataclass(frozen=True, slots=True)
class _Pieces:
    """The loop IR of an intrinsic over buffers of its own; what it does not have is None."""

    inputs: tuple[Buffer, ...]
    output: Buffer
    body: Stmt | None
    reset: Stmt | None
    update: Stmt | None


def lower_tensorized(stage: Stage, domain: Domain, values: ValueLowering, around: WithAttached) -> Stmt:
    """The loops of a tensorized stage.

    Raises LoweringError for tiles that are not what the intrinsic computes, and for loop IR of the intrinsic that is
    wrong.
    """
    assert stage.tile_of is not None
    axis, intrinsic = stage.tile_of.axis, stage.tile_of.intrinsic
    where = f"stage {stage.name}, tensorized at {axis.var.name} by {intrinsic.name}"
    found = match(stage, axis, intrinsic, domain)
    if isinstance(found, str):
        raise LoweringError(f"{where}: {found}")
    for leaf in stage.leaves[len(found.outer) :]:
        if around(leaf, _NOTHING) is not _NOTHING:
            raise LoweringError(f"{where}: another stage is computed inside the tile, at {leaf.var.name}")
    pieces = _pieces(intrinsic)
    move = _mover(pieces, found, values)
    extents = domain.extents
    reduces = [n for n, leaf in enumerate(found.outer) if leaf.kind == "reduce" and extents[leaf] != 1]
    if not reduces:
        return _nest(stage, domain, found.outer, guarded(found.guards, move(_whole(pieces, where))), around)
    if pieces.update is None:
        names = ", ".join(found.outer[n].var.name for n in reduces)
        raise LoweringError(
            f"{where}: the tile stands inside the reduce loop {names}, which needs an `update`"
        )
    assert isinstance(stage.body, Reduce)
    wider = accumulator_dtype(stage.body.combiner, stage.body.value.dtype)
    if wider != stage.tensor.dtype:
        raise LoweringError(
            f"{where}: parts of the result are {wider}, its buffer holds {stage.tensor.dtype}"
        )
    outer, inner = found.outer[: reduces[0]], found.outer[reduces[0] :]
    data = [leaf for leaf in inner if leaf.kind == "data"]
    edges = [guard for guard in found.guards if any(guard is each for each in domain.data_guards)]
    start = guarded(edges, move(pieces.reset if pieces.reset is not None else _identity(pieces, stage.body)))
    for leaf in reversed(data):
        start = loop(leaf, extents[leaf], stage.kind(leaf), start)
    step = _nest(stage, domain, inner, guarded(found.guards, move(pieces.update)), around)
    return _nest(stage, domain, outer, block(start, step), around)


_NOTHING: Final = block()


def _nest(stage: Stage, domain: Domain, loops: tuple[IterVar, ...], body: Stmt, around: WithAttached) -> Stmt:
    for leaf in reversed(loops):
        body = loop(leaf, domain.extents[leaf], stage.kind(leaf), around(leaf, body))
    return body


def _mover(pieces: _Pieces, found: Match, values: ValueLowering) -> Callable[[Stmt], Stmt]:
    """What puts pieces of an intrinsic in their place: its buffers become parts of the stage's."""
    places: Mapping[Buffer, Place] = {
        pieces.output: found.result,
        **{b: found.operands[t] for b, t in zip(pieces.inputs, found.intrinsic.operands, strict=True)},
    }
    moved = {buffer: values.buffer(place.tensor) for buffer, place in places.items()}

    def at(buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        place = places[buffer]
        return values.position(place.tensor, place.at(indices))

    return Relocator(moved, at).stmt


# ------------------------------------------------------------------ what an intrinsic writes


_checked: Final[LRUCache[bool]] = LRUCache(
    256
)  # intrinsics whose pieces were compared with their expressions


def _pieces(intrinsic: Intrinsic) -> _Pieces:
    """What an intrinsic writes, for buffers of its own that are made anew for each stage."""
    what = f"the intrinsic {intrinsic.name}"
    inputs, output = tuple(map(_buffer, intrinsic.operands)), _buffer(intrinsic.tensor)
    with handed_in(what, LoweringError):
        given = intrinsic.write(list(inputs), [output])
    parts = given if isinstance(given, tuple) else (given, None, None)
    if len(parts) != 3 or any(not isinstance(part, Stmt | None) for part in parts):
        raise LoweringError(f"{what} gave {given!r:.80}, expected loop IR, or (body, reset, update)")
    pieces = _Pieces(inputs, output, *parts)
    for part in parts:
        if part is not None:
            LOWERED.check(View(PrimFunc(intrinsic.name, inputs, (output,), part)), what, own=False)
    if _checked.get(intrinsic) is None:
        with handed_in(what, LoweringError):
            _compare(intrinsic, pieces, what)
        _checked.put(intrinsic, True)
    return pieces


def _buffer(tensor: Tensor) -> Buffer:
    return Buffer(tensor.name, tensor.shape, tensor.dtype)


def _whole(pieces: _Pieces, where: str) -> Stmt:
    """What computes a whole result."""
    if pieces.body is not None:
        return pieces.body
    if pieces.reset is None or pieces.update is None:
        raise LoweringError(f"{where}: it has no `body`, nor both `reset` and `update`")
    return block(pieces.reset, pieces.update)


def _identity(pieces: _Pieces, reduce: Reduce) -> Stmt:
    """Stores what the reduction starts from to the whole result."""
    return _each(pieces.output, lambda at: identity(reduce.combiner, pieces.output.dtype))


def _each(buffer: Buffer, value: Callable[[tuple[Expr, ...]], Expr]) -> Stmt:
    """Stores a value to each element of a buffer."""
    loops = [Var(INDEX, f"e{d}") for d in range(len(buffer.shape))]
    body: Stmt = Store(buffer, tuple(loops), value(tuple(loops)))
    for var, extent in zip(reversed(loops), reversed(buffer.shape), strict=True):
        assert isinstance(extent, int)
        body = For(var, const(0, INDEX), const(extent, INDEX), ForKind.SERIAL, body)
    return body


def _small_numbers(tensor: Tensor, seed: int) -> np.ndarray:
    """Numbers of 1 to 4 in no order (multiples of the golden ratio), of which sums and products are exact."""
    places = np.arange(1, 1 + math.prod([int(extent) for extent in tensor.shape]))
    return (1 + places * seed * 2654435769 // 2**13 % 4).reshape(tensor.shape).astype(tensor.dtype.numpy)


def _compare(intrinsic: Intrinsic, pieces: _Pieces, what: str) -> None:
    """Hold the pieces to the expression on numbers.  Raises LoweringError with the first element that differs."""
    arrays = [_small_numbers(tensor, seed) for seed, tensor in enumerate(intrinsic.operands, 1)]
    feeds = dict(zip(intrinsic.operands, arrays, strict=True))
    (expected,) = evaluate([intrinsic.tensor], feeds)
    reduce = intrinsic.op.body
    if pieces.body is not None or pieces.reset is not None:
        whole = _whole(pieces, what)
        func = PrimFunc(intrinsic.name, pieces.inputs, (pieces.output,), whole)
        _same(interpret(func, arrays), expected, f"{what}: its body")
    if pieces.update is None:
        return
    if not isinstance(reduce, Reduce):
        raise LoweringError(f"{what}: it has an `update`, but computes no reduction")
    before = Buffer("before", pieces.output.shape, pieces.output.dtype)
    start = _each(pieces.output, lambda at: Load(before.dtype, before, at))
    func = PrimFunc(intrinsic.name, (*pieces.inputs, before), (pieces.output,), block(start, pieces.update))
    found = interpret(func, [*arrays, expected])

    def doubled(at: tuple[Expr, ...]) -> Expr:
        old = Load(before.dtype, before, at)
        return join(reduce.combiner, old, old)

    twice = PrimFunc("twice", (before,), (pieces.output,), _each(pieces.output, doubled))
    _same(found, interpret(twice, [expected])[0], f"{what}: its update")


def _same(found: list[np.ndarray], expected: np.ndarray, what: str) -> None:
    got, want = found[0].reshape(-1).astype(np.float64), np.asarray(expected).reshape(-1).astype(np.float64)
    wrong = np.flatnonzero(~(np.abs(got - want) <= _LIKE * max(1.0, float(np.max(np.abs(want))))))
    if wrong.size:
        at = np.unravel_index(int(wrong[0]), np.shape(expected))
        place = ", ".join(str(int(n)) for n in at)
        raise LoweringError(
            f"{what} gives {got[wrong[0]]:g} at [{place}], where its expression gives {want[wrong[0]]:g}"
        )
