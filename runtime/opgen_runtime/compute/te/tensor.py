"""Tensor expressions: a `Tensor` is a name, a shape, a dtype and the operation that defines it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import ClassVar, Final

import numpy as np

from ...base.arith.expr import Const, Expr, Shape, Var
from ...base.vocabulary import DType, dataclass
from .loop_ir import LoopIRFunction

_NO_ATTRS: Final[Mapping[str, object]] = MappingProxyType({})


@dataclass(frozen=True, eq=False, slots=True)
class IterVar:
    """An axis: `var` runs over 0 <= var < extent.  `kind` is "data" or "reduce"."""

    var: Var
    extent: int | Expr
    kind: str = "data"


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Tensor:
    """A tensor.  Every index of a read of it has been proved in bounds: by `lang` when the read was made, by
    `compute` when what it computes was, and for what users make of the nodes themselves before it is lowered."""

    name: str
    shape: Shape
    dtype: DType
    op: Operation

    # Elements are made in `dsl/axes.py`, and attached here; a tensor is no sequence of them.
    __getitem__: ClassVar[Callable[[Tensor, object], Read]]
    __call__: ClassVar[Callable[..., Read]]
    __iter__: ClassVar[None] = None

    @property
    def ndim(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, eq=False, slots=True)
class Operation:
    """What defines one or more tensors; `tag` is a note of users for schedules of their own."""

    tag: str = field(default="", kw_only=True)

    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors read, each once, in order of first use."""
        return ()


@dataclass(frozen=True, eq=False, slots=True)
class Placeholder(Operation):
    """An input of the kernel; where it `is_constant`, it has one value in all runs of the program."""

    is_constant: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Compute(Operation):
    """`body` over the `axes`, which have the extents of the tensor's shape.

    `body` may hold `Reduce` nodes anywhere.  A body whose root is a `Reduce` is a reduction stage
    (`te.normalize` hoists other reductions into stages of their own where it can).  `attrs` are notes of users, as
    `tag` is.
    """

    axes: tuple[IterVar, ...]
    body: Expr
    attrs: Mapping[str, object] = field(default_factory=lambda: _NO_ATTRS, kw_only=True)
    _inputs: tuple[Tensor, ...] | None = field(default=None, init=False, repr=False)

    @property
    def axis(self) -> tuple[IterVar, ...]:
        """The data axes."""
        return self.axes

    @property
    def reduce_axis(self) -> tuple[IterVar, ...]:
        """The axes of a body that is a reduction."""
        return self.body.axes if isinstance(self.body, Reduce) else ()

    def inputs(self) -> tuple[Tensor, ...]:
        if self._inputs is None:
            object.__setattr__(self, "_inputs", tensors_read(self.body))
        assert self._inputs is not None
        return self._inputs


@dataclass(eq=False, slots=True)
class State:
    """One tensor of a scan.  `tensor` is set once, when the scan is complete; bodies read it.

    `rule` is the tensor that it was written as, where that is another one: its stage is that of the state's rows.
    """

    axes: tuple[IterVar, ...]
    scan_axis: int
    body: Expr | None = None
    tensor: Tensor | None = None
    rule: Tensor | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Scan(Operation):
    """Tensors that refer to themselves or each other along one axis.

    The states are computed row by row of the scan axis (`direction` +1 upwards, -1 downwards), in the
    given order within a row; a body may read earlier rows of any state and this row of earlier states.
    """

    states: tuple[State, ...]
    extent: int | Expr
    direction: int

    def inputs(self) -> tuple[Tensor, ...]:
        own = {id(state.tensor) for state in self.states}
        found = (t for state in self.states if state.body is not None for t in tensors_read(state.body))
        return tuple(dict.fromkeys(t for t in found if id(t) not in own))


@dataclass(frozen=True, eq=False, slots=True)
class Put:
    """`target[indices] op= value`; op: "=" or one of add mul and or xor min max."""

    indices: tuple[Expr, ...]
    op: str
    value: Expr


@dataclass(frozen=True, eq=False, slots=True)
class Loop:
    """A sequential loop of an update."""

    axis: IterVar
    body: tuple[Loop | Guard | Put, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Guard:
    """A condition of an update."""

    condition: Expr
    body: tuple[Loop | Guard | Put, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Update(Operation):
    """The tensor starts as a copy of `base`; then the statements run in row-major order (scatter)."""

    base: Tensor
    body: tuple[Loop | Guard | Put, ...]
    reads: tuple[Tensor, ...]  # tensors that the statements read, without the target

    def inputs(self) -> tuple[Tensor, ...]:
        return (self.base, *(t for t in self.reads if t is not self.base))


@dataclass(frozen=True, eq=False, slots=True)
class Sort(Operation):
    """The first elements of each line of `source` along `axis`, in order; of a sort by `positions`, where they stand.

    As many as the tensor's extent there.  The least comes first, or, `descending`, the greatest; NaN counts as the
    greatest.  Of positions (of an int dtype) those of equal elements are in their order, and -0.0 equals 0.0.  Of
    elements alone -0.0 counts as less than 0.0, and one NaN is like another.
    """

    source: Tensor
    axis: int
    descending: bool
    positions: bool

    def inputs(self) -> tuple[Tensor, ...]:
        return (self.source,)


@dataclass(frozen=True, eq=False, slots=True)
class Extern(Operation):
    """A Python function `function(*arrays, **attrs) -> array or tuple of arrays` (an extern).

    `outputs`: how many arrays it gives; 0 where that is not said.  `free`: the axes of this tensor whose length the
    function decides; its shape holds their bounds.
    """

    operands: tuple[Tensor, ...]
    function: Callable[..., np.ndarray | tuple[np.ndarray, ...]]
    attrs: tuple[tuple[str, object], ...]
    output: int = 0  # which of the function's results this tensor is
    outputs: int = 0
    free: frozenset[int] = frozenset()

    @property
    def gives_loop_ir(self) -> bool:
        """Whether a kernel computes it by statements of its own, and not by a call of Python."""
        return isinstance(self.function, LoopIRFunction)

    def inputs(self) -> tuple[Tensor, ...]:
        return self.operands


@dataclass(frozen=True, eq=False, slots=True)
class Read(Expr):
    """`tensor[indices]`; indices are integer expressions (dtype `index` or an int dtype)."""

    tensor: Tensor
    indices: tuple[Expr, ...]

    def children(self) -> tuple[Expr, ...]:
        return self.indices

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        return Read(self.dtype, self.tensor, tuple(children))


@dataclass(frozen=True, eq=False, slots=True)
class Reduce(Expr):
    """`combiner(value for axes if condition)`, the last axis fastest.

    combiner: one of `vocabulary.REDUCTIONS`.  argmax/argmin give the row-major position (int64 of type
    `index`) of the first greatest/least value, NaN greatest for argmax and least for argmin, -1 if empty.
    `first` gives the first value whose condition holds, else `default`.  An axis' extent may depend on
    earlier axes and on elements.
    """

    combiner: str
    axes: tuple[IterVar, ...]
    value: Expr
    condition: Expr | None = None
    default: Expr | None = field(default=None)

    def children(self) -> tuple[Expr, ...]:
        """Value, condition, default (where there), then the extents that are expressions."""
        extra = tuple(e for e in (self.condition, self.default) if e is not None)
        return (self.value, *extra, *(a.extent for a in self.axes if isinstance(a.extent, Expr)))

    def rebuild(self, children: Sequence[Expr]) -> Expr:
        rest = list(children[1:])
        condition = rest.pop(0) if self.condition is not None else None
        default = rest.pop(0) if self.default is not None else None
        axes = tuple(_over(a, rest.pop(0)) if isinstance(a.extent, Expr) else a for a in self.axes)
        return Reduce(self.dtype, self.combiner, axes, children[0], condition, default)


def _over(axis: IterVar, extent: Expr) -> IterVar:
    """The axis over another extent; the same object where that is the same."""
    if extent is axis.extent:
        return axis
    return IterVar(axis.var, int(extent.value) if isinstance(extent, Const) else extent, axis.kind)


def tensors_read(expr: Expr) -> tuple[Tensor, ...]:
    """The tensors that `expr` reads, each once, in order of first use (children before parents)."""
    found: dict[Tensor, None] = {}
    seen: set[int] = set()
    stack: list[Expr] = [expr]
    while stack:
        node = stack.pop()
        children = node.children()
        if isinstance(node, Read):
            if id(node) in seen:
                continue
            found.setdefault(node.tensor)
        elif not children or id(node) in seen:
            continue
        seen.add(id(node))
        stack += children[::-1]
    return tuple(found)
