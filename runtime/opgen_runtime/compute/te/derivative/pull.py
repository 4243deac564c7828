"""The adjoint of an input: from the adjoints of the outputs, tensor by tensor backwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....base.arith import Const, Expr, cast, literal
from ....base.errors import LanguageError
from ....base.vocabulary import DType
from ..construct import data_axes
from ..extern import extern_kind
from ..graph import tensor_order
from ..tensor import Compute, Extern, Operation, Placeholder, Read, Reduce, Scan, Tensor, Update
from .local import adjoint_dtype
from .place import placed
from .products import by_lines
from .reductions import Seed, seeds_of
from .scans import pull_scan
from .shared import shared
from .stages import rebuilt, staged
from .term import Term, terms_of
from .updates import seeds_of_update
from .windows import separated


def pullback(
    outputs: Sequence[Tensor],
    cotangents: Sequence[Tensor | None],
    wrt: Tensor,
    saved: Sequence[Tensor | None] = (),
    first: bool = False,
) -> Tensor | None:
    """The adjoint of the input `wrt`, of its shape and dtype, from those of the outputs; None where it is zero.

    `cotangents`: one an output, of its shape and dtype; None is zero.  `saved`: tensors that hold the outputs already;
    `first`: of equal extrema the first one gets everything, else all get the same.

    Raises LanguageError for what has no derivative: Python functions, updates that are neither sums nor assignments.
    """
    made = by_lines(shared(staged(outputs)))
    made = separated(made) if first else made
    ops = operations(made)
    active = _active(ops, wrt)
    reverse = _Reverse(active, first)
    for output, cotangent in zip(made, cotangents, strict=True):
        if cotangent is not None and output in active:
            reverse.starts.setdefault(output, []).append(_wide(cotangent))
    for op, tensors in reversed(ops):
        reverse.pull(op, [t for t in tensors if t in active])
    if not reverse.reaches(wrt):
        return None
    adjoint = reverse.adjoint(wrt)
    known = {
        output: holder
        for output, holder in zip(made, saved, strict=False)
        if holder is not None and _is_exact(output)
    }
    (found,) = rebuilt([_as(adjoint, wrt.dtype, f"d_{wrt.name}")], {**known})
    return found


def kind_of(adjoint: Tensor | None) -> str:
    """How an adjoint is computed: `zero`, `gather`, or `update` where data decides what is added where."""
    if adjoint is None or _is_zero(adjoint):
        return "zero"
    own = [tensor for tensor in tensor_order([adjoint]) if tensor.name.startswith("d_")]
    return "update" if any(isinstance(tensor.op, Update) for tensor in own) else "gather"


def _is_zero(tensor: Tensor) -> bool:
    """Whether all elements are the constant 0, or copies of it."""
    if not isinstance(tensor.op, Compute):
        return False
    body = tensor.op.body
    return _is_zero(body.tensor) if isinstance(body, Read) else isinstance(body, Const) and body.value == 0


def operations(outputs: Sequence[Tensor]) -> list[tuple[Operation, list[Tensor]]]:
    """Every operation that the outputs need with the tensors that it defines, producers first."""
    order: list[tuple[Operation, list[Tensor]]] = []
    seen: set[int] = set()
    stack: list[tuple[Tensor, bool]] = [(t, False) for t in reversed(outputs)]
    while stack:
        tensor, ready = stack.pop()
        if ready:
            order.append((tensor.op, defined(tensor)))
            continue
        key = id(tensor) if isinstance(tensor.op, Placeholder) else id(tensor.op)
        if key in seen:
            continue
        seen.add(key)
        stack.append((tensor, True))
        stack.extend((source, False) for source in reversed(tensor.op.inputs()))
    return order


def defined(tensor: Tensor) -> list[Tensor]:
    """The tensors that the operation of a tensor defines."""
    if isinstance(tensor.op, Scan):
        return [state.tensor for state in tensor.op.states if state.tensor is not None]
    return [tensor]


def _active(ops: Iterable[tuple[Operation, Sequence[Tensor]]], wrt: Tensor) -> set[Tensor]:
    """The tensors of floats and complex numbers that depend on `wrt`."""
    found = {wrt}
    for op, tensors in ops:
        if any(source in found for source in op.inputs()):
            found.update(t for t in tensors if t.dtype.is_inexact)
    return found


class _Reverse:
    """The adjoints that are known so far."""

    def __init__(self, active: set[Tensor], first: bool) -> None:
        self.active = active
        self.first = first
        self.starts: dict[Tensor, list[Tensor]] = {}
        self.terms: dict[Tensor, list[Term]] = {}
        self.made: dict[Tensor, Tensor] = {}

    def reaches(self, tensor: Tensor) -> bool:
        return bool(self.starts.get(tensor) or self.terms.get(tensor))

    def adjoint(self, tensor: Tensor) -> Tensor:
        if tensor not in self.made:
            self.made[tensor] = placed(tensor, self.terms.get(tensor, ()), self.starts.get(tensor, ()))
        return self.made[tensor]

    def pull(self, op: Operation, tensors: Sequence[Tensor]) -> None:
        """Adds what the tensors of an operation mean for what it reads."""
        reached = [t for t in tensors if self.reaches(t)]
        if not reached or isinstance(op, Placeholder):
            return
        if isinstance(op, Compute):
            self._compute(op, reached[0])
        elif isinstance(op, Extern):
            raise LanguageError(
                f"{reached[0].name} is {extern_kind(op)}, which has no derived gradient; rt.custom_vjp gives it one"
            )
        elif isinstance(op, Update):
            seeds, base = seeds_of_update(reached[0], self.adjoint(reached[0]))
            if op.base in self.active:
                self.starts.setdefault(op.base, []).append(base)
            for seed in seeds:
                self.seed(seed)
        else:
            assert isinstance(op, Scan)
            own = [state.tensor for state in op.states if state.tensor is not None]
            given = [self.adjoint(t) if t in self.active and self.reaches(t) else None for t in own]
            pull_scan(op, given, self.active, self.add)

    def add(self, terms: Iterable[Term]) -> None:
        for term in terms:
            self.terms.setdefault(term.tensor, []).append(term)

    def _compute(self, op: Compute, tensor: Tensor) -> None:
        adjoint = self.adjoint(tensor)
        at = tuple([axis.var for axis in op.axes])
        value: Expr = Read(adjoint.dtype, adjoint, at)
        if isinstance(op.body, Reduce):
            for seed in seeds_of(tensor, value, self.first):
                self.seed(seed)
        else:
            whole = None if tensor.dtype.is_storage else Read(tensor.dtype, tensor, at)
            self.add(terms_of(op.body, op.axes, None, value, self.active, whole))

    def seed(self, seed: Seed) -> None:
        self.add(terms_of(seed.body, seed.domain, seed.condition, seed.adjoint, self.active))


def _is_exact(output: Tensor) -> bool:
    """Whether what was stored serves as the output: no half, and no extremum that elements are compared with."""
    op = output.op
    compared = isinstance(op, Compute) and isinstance(op.body, Reduce) and op.body.combiner in ("min", "max")
    return not output.dtype.is_storage and not compared and not isinstance(op, Placeholder)


def _wide(tensor: Tensor) -> Tensor:
    return _as(tensor, adjoint_dtype(tensor.dtype), f"{tensor.name}_wide")


def _as(tensor: Tensor, dtype: DType, name: str) -> Tensor:
    if tensor.dtype is dtype:
        return tensor
    axes = data_axes(tensor.shape)
    body = cast(Read(tensor.dtype, tensor, tuple([axis.var for axis in axes])), dtype)
    return Tensor(name, tensor.shape, dtype, Compute(axes, body))


def zeros(like: Tensor) -> Tensor:
    """A tensor of zeros of the same shape and dtype."""
    return Tensor(
        f"d_{like.name}",
        like.shape,
        like.dtype,
        Compute(data_axes(like.shape), literal(0.0 if like.dtype.is_inexact else 0, like.dtype)),
    )
