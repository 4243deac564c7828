"""A stage: how one operation is computed (its loops, their kinds, and where it stands), and the primitives for it."""

from __future__ import annotations

from typing import Final, final

from ....base.arith import Expr, Var
from ....base.errors import ScheduleError
from ....base.vocabulary import INDEX
from ....compute.te.tensor import IterVar, Reduce, Tensor, tensors_read
from .domain import whole
from .extents import ceil_div, product
from .intrinsic import Intrinsic
from .kind import ForKind
from .line_prefetch import LinePrefetch
from .matching import match
from .relations import Fuse, Split
from .stage_base import Attach, StageBase, Tile
from .trace import primitive

AUTO_UNROLL: Final = "auto_unroll_max_step"


@final
class Stage(StageBase):
    """The primitives for one stage: each states the loops before and after it, and what it refuses."""

    # ------------------------------------------------------------------ loops

    @primitive
    def split(
        self,
        axis: IterVar,
        factor: int | None = None,
        nparts: int | None = None,
        *,
        overlapping: bool = False,
    ) -> tuple[IterVar, IterVar]:
        """for i in range(n)  -->  for i_o in range(ceil(n / factor)): for i_i in range(factor): if i < n

        `nparts` gives the extent of the outer loop instead; it needs a constant extent.  Returns (outer, inner).
        `overlapping`: where the extent is a constant, the last of the inner loops begins earlier, i = min(i_o * factor,
        n - factor) + i_i, and computes again what it overlaps, so that none is in part and nothing is guarded.
        Refuses a factor below 1, an axis that is not a loop of the stage, and overlapping tiles of a stage that
        reduces.
        """
        self.require_loops("split")
        position = self.leaf(axis, "split")
        if (factor is None) == (nparts is None):
            raise ScheduleError(
                f"split of {axis.var.name} on stage {self.name}: give either factor or nparts"
            )
        given = factor if factor is not None else nparts
        if not isinstance(given, int) or given < 1:
            what = "factor" if factor is not None else "nparts"
            raise ScheduleError(
                f"split of {axis.var.name} on stage {self.name}: {what} must be at least 1, found {given}"
            )
        if overlapping and self.reduce_axes:
            raise ScheduleError(
                f"split of {axis.var.name} on stage {self.name}: it reduces; what is computed twice would count twice"
            )
        if factor is None:
            if not isinstance(axis.extent, int):
                raise ScheduleError(
                    f"split of {axis.var.name} on stage {self.name}: nparts needs a constant extent, "
                    f"found {axis.extent}"
                )
            factor = max(1, -(-axis.extent // given))
        outer = self._axis(f"{axis.var.name}_o", ceil_div(axis.extent, factor), axis.kind)
        inner = self._axis(f"{axis.var.name}_i", factor, axis.kind)
        self.relations.append(Split(axis, outer, inner, factor, overlapping))
        self.leaves[position : position + 1] = [outer, inner]
        return outer, inner

    @primitive
    def fuse(self, *axes: IterVar) -> IterVar:
        """for i in range(n): for j in range(m)  -->  for f in range(n * m): i = f // m, j = f % m

        Refuses loops that do not follow one another directly in the order given, and a mix of data and reduce
        axes.  Returns the fused axis; one axis alone is returned as it is.
        """
        self.require_loops("fuse")
        if not axes:
            raise ScheduleError(f"fuse on stage {self.name}: expected at least one axis")
        fused = axes[0]
        self.leaf(fused, "fuse")
        for axis in axes[1:]:
            outer, inner = self.leaf(fused, "fuse"), self.leaf(axis, "fuse")
            names = f"{fused.var.name} and {axis.var.name}"
            if inner != outer + 1:
                raise ScheduleError(
                    f"fuse of {names} on stage {self.name}: they do not follow one another directly"
                )
            if fused.kind != axis.kind:
                raise ScheduleError(
                    f"fuse of {names} on stage {self.name}: one is a data axis, the other reduces"
                )
            made = self._axis(
                f"{fused.var.name}_{axis.var.name}", product(fused.extent, axis.extent), axis.kind
            )
            self.relations.append(Fuse(fused, axis, made))
            self.leaves[outer : inner + 1] = [made]
            fused = made
        return fused

    @primitive
    def reorder(self, *axes: IterVar) -> None:
        """for i: for j: for k  -->  (reorder(k, i))  for k: for j: for i

        The given loops take the places that they hold together, in the order given; the others stay.
        Refuses an axis that is named twice.
        """
        self.require_loops("reorder")
        positions = [self.leaf(axis, "reorder") for axis in axes]
        if len(set(positions)) != len(positions):
            names = ", ".join(axis.var.name for axis in axes)
            raise ScheduleError(f"reorder on stage {self.name}: an axis is named twice in {names}")
        for place, axis in zip(sorted(positions), axes, strict=True):
            self.leaves[place] = axis

    @primitive
    def tile(
        self, i: IterVar, j: IterVar, i_factor: int, j_factor: int
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """for i: for j  -->  for i_o: for j_o: for i_i in range(i_factor): for j_i in range(j_factor)"""
        i_outer, i_inner = self.split(i, i_factor)
        j_outer, j_inner = self.split(j, j_factor)
        self.reorder(i_outer, j_outer, i_inner, j_inner)
        return i_outer, j_outer, i_inner, j_inner

    @primitive
    def vectorize(self, axis: IterVar) -> None:
        """for i in range(8): x[i] = e  -->  x[ramp(0, 1, 8)] = e of vectors

        Needs a constant extent.  A reduce axis gets a vector of accumulators, reduced at the end.
        """
        self._mark(axis, ForKind.VECTORIZED, "vectorize")
        if any(
            kind is ForKind.VECTORIZED
            for other, kind in self.kinds.items()
            if other is not axis and other in self.leaves
        ):
            del self.kinds[axis]
            raise ScheduleError(
                f"vectorize of {axis.var.name} on stage {self.name}: another loop of it is vectorized"
            )

    @primitive
    def unroll(self, axis: IterVar) -> None:
        """for i in range(2): f(i)  -->  f(0); f(1)

        Needs a constant extent.  A reduce axis inside all others gets one accumulator for each step.
        """
        self._mark(axis, ForKind.UNROLLED, "unroll")

    @primitive
    def parallel(self, axis: IterVar) -> None:
        """for i: f(i)  -->  the iterations shared among threads.  Refuses a reduce axis (they would race)."""
        if axis.kind == "reduce":
            raise ScheduleError(
                f"parallel of {axis.var.name} on stage {self.name}: its iterations would race; use rfactor first"
            )
        self._mark(axis, ForKind.PARALLEL, "parallel")

    @primitive
    def virtual_thread(self, axis: IterVar) -> None:
        """for i in range(2): f(i); g(i)  -->  f(0); f(1); g(0); g(1)

        Statements of all iterations interleaved; buffers of stages inside get a copy for each.  Refuses a reduce axis.
        """
        if axis.kind == "reduce":
            raise ScheduleError(
                f"virtual_thread of {axis.var.name} on stage {self.name}: "
                "iterations of a reduce axis depend on one another"
            )
        self._mark(axis, ForKind.VIRTUAL, "virtual_thread")

    @primitive
    def tensorize(self, axis: IterVar, intrinsic: Intrinsic) -> None:
        """for i_i in range(4): for k in range(8): f(i_i, k)  -->  the intrinsic's own loop IR on the tile

        The loops from `axis` inwards stand as they are from now on.  Refuses loops that are vectorized or the like, and
        tiles that are not what the intrinsic computes, up to names, strides and the order of operands that commute; of
        a stage that is computed inside another, lowering does, which knows its tiles.
        """
        use = f"tensorize of {axis.var.name} by {intrinsic.name} on stage {self.name}"
        self.require_loops("tensorize")
        self.require_whole("tensorize")
        self.leaf(axis, "tensorize")
        if self.tile_of is not None:
            raise ScheduleError(f"{use}: {self.tile_of.intrinsic.name} computes tiles of it already")
        if self.attach is None:
            found = match(self, axis, intrinsic, whole(self))
            if isinstance(found, str):
                raise ScheduleError(f"{use}: {found}")
        self.tile_of = Tile(axis, intrinsic)

    def _mark(self, axis: IterVar, kind: ForKind, use: str) -> None:
        self.require_loops(use)
        self.leaf(axis, use)
        if kind in (ForKind.VECTORIZED, ForKind.UNROLLED, ForKind.VIRTUAL) and not isinstance(
            axis.extent, int
        ):
            raise ScheduleError(
                f"{use} of {axis.var.name} on stage {self.name}: needs a constant extent, found {axis.extent}; "
                "split it first"
            )
        self.kinds[axis] = kind

    @staticmethod
    def _axis(name: str, extent: int | Expr, kind: str) -> IterVar:
        return IterVar(Var(INDEX, name), extent, kind)

    # ------------------------------------------------------------------ place

    @primitive
    def compute_at(self, stage: Stage, axis: IterVar) -> None:
        """P whole, then C  -->  inside C's loop over `axis`, the part of P that one iteration needs

        Refuses an output (its whole content must be computed), itself, a stage without loops, and an axis that is
        not a loop of `stage`.
        """
        self.require_loops("compute_at")
        stage.require_loops("compute_at")
        for each in (self, stage):
            each.require_whole("compute_at")
        stage.leaf(axis, "compute_at")
        if self.is_output:
            raise ScheduleError(f"compute_at on stage {self.name}: an output is computed whole, at the root")
        above: Stage | None = stage
        while above is not None:
            if above is self:
                raise ScheduleError(f"compute_at on stage {self.name}: it would be computed inside itself")
            above = above.attach.stage if above.attach else None
        self.attach = Attach(stage, axis)  # type: ignore[arg-type]  # Self of a final class is the class

    @primitive
    def compute_root(self) -> None:
        """inside another stage, or inlined  -->  whole, before the stages that read it"""
        self.attach, self.inlined = None, False

    @primitive
    def compute_inline(self) -> None:
        """P[i] = f(i); C[i] = g(P[i])  -->  C[i] = g(f(i))

        Refuses an output, a reduction, and stages that are no computes.
        """
        if self.body is None:
            kind = type(self.op).__name__.lower()
            raise ScheduleError(f"compute_inline on stage {self.name}: a {kind} stage cannot be inlined")
        self.require_whole("compute_inline")
        if self.is_output:
            raise ScheduleError(f"compute_inline on stage {self.name}: it is an output")
        if isinstance(self.body, Reduce):
            raise ScheduleError(
                f"compute_inline on stage {self.name}: a reduction is not inlined; use compute_at"
            )
        if len(self.leaves) != len(self.axes) or self.relations or self.tile_of:
            raise ScheduleError(f"compute_inline on stage {self.name}: its loops are scheduled already")
        self.attach, self.inlined = None, True

    @primitive
    def set_scope(self, scope: str) -> None:
        """Where the stage's buffer lives: "global" (heap, all threads) or "local" (one iteration's, on the stack)."""
        if scope not in ("global", "local"):
            raise ScheduleError(
                f"set_scope on stage {self.name}: expected 'global' or 'local', found {scope!r}"
            )
        if self.is_output or self.is_placeholder:
            raise ScheduleError(f"set_scope on stage {self.name}: parameters of the kernel are global")
        self.scope = scope

    @primitive
    def double_buffer(self) -> None:
        """for i: fill b(i); read b  -->  for i: fill b(i + 1) in one half; read b(i) in the other

        For a stage that is attached to a serial loop.  Refuses outputs.
        """
        self.require_loops("double_buffer")
        if self.attach is None:
            raise ScheduleError(
                f"double_buffer on stage {self.name}: it is not computed inside a loop; use compute_at first"
            )
        self.scope = "double"

    @primitive
    def pragma(self, axis: IterVar, name: str, value: int) -> None:
        """for i: for j in range(4): f(i, j)  -->  for i: unrolled for j in range(4): f(i, j), with ("..._step", 4)

        There is one, `auto_unroll_max_step`: serial loops inside the axis are unrolled, innermost first, as long as one
        becomes `value` statements at most.  Refuses other names, a value below 0, and an axis that is not a loop.
        """
        self.require_loops("pragma")
        self.leaf(axis, "pragma")
        if name != AUTO_UNROLL:
            raise ScheduleError(
                f"pragma on stage {self.name}: there is no {name!r}; there is {AUTO_UNROLL!r}"
            )
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ScheduleError(
                f"pragma {name} on stage {self.name}: expected a number of statements, found {value!r:.80}"
            )
        self.unroll_steps[axis] = value

    @primitive
    def prefetch(self, tensor: Tensor, axis: IterVar, offset: int) -> None:
        """for i: f(a, i)  -->  for i: prefetch what f(a, i + offset) reads; f(a, i)

        Refuses a tensor that the stage does not read, an axis that is not a loop, and an offset below 1.
        """
        self.require_loops("prefetch")
        self.leaf(axis, "prefetch")
        assert self.body is not None
        if tensor not in tensors_read(self.body):
            raise ScheduleError(f"prefetch on stage {self.name}: it does not read {tensor.name}")
        if offset < 1:
            raise ScheduleError(
                f"prefetch of {tensor.name} on stage {self.name}: offset must be at least 1, found {offset}"
            )
        self.prefetches.append((tensor, axis, offset))

    @primitive
    def prefetch_lines(
        self,
        tensor: Tensor,
        axis: IterVar,
        column: IterVar,
        row: IterVar,
        rows: int,
        offset: int,
        step: int,
        lines: int,
        each: int = 1,
    ) -> None:
        """for i_o: for k: f(P[k, j])  -->  for i_o: for k: prefetch P[k, j + offset + i_o * step]; f(P[k, j])

        `axis` is the loop over k, `column` the axis of j and `row` that of i, in tiles of `rows`.  Where P is computed
        inside loops around, hints are for what it reads.  The first `lines // each` tiles share the lines out, `each` a
        step of k.  Refuses a tensor that the stage does not read, axes that are not its own, a loop that is gone, and
        lines that cannot be shared out.
        """
        self.require_loops("prefetch_lines")
        self.leaf(axis, "prefetch_lines")
        assert self.body is not None
        if tensor not in tensors_read(self.body):
            raise ScheduleError(f"prefetch_lines on stage {self.name}: it does not read {tensor.name}")
        for one in (column, row):
            if one not in self.axes:
                raise ScheduleError(f"prefetch_lines on stage {self.name}: it has no axis {one.var.name}")
        if min(rows, offset, step, lines, each) < 1 or lines % each:
            raise ScheduleError(
                f"prefetch_lines of {tensor.name} on stage {self.name}: "
                f"{lines} lines of {step} columns, {offset} ahead, are not shared out by {each} to tiles of {rows} rows"
            )
        self.line_prefetches.append(LinePrefetch(tensor, axis, column, row, rows, offset, step, lines, each))

    @primitive
    def storage_align(self, axis: IterVar, factor: int, offset: int = 0) -> None:
        """stride of `axis` in the buffer, s  -->  the least s' >= s with s' % factor == offset

        Needs a data axis of the tensor, not a loop that was split off it.  Refuses an output.
        """
        position = next((d for d, own in enumerate(self.axes) if own is axis), None)
        if position is None or self.is_output:
            why = "it is an output" if self.is_output else f"{axis.var.name} is not a data axis of its tensor"
            raise ScheduleError(f"storage_align on stage {self.name}: {why}")
        if factor < 1 or not 0 <= offset < factor:
            raise ScheduleError(
                f"storage_align of {axis.var.name} on stage {self.name}: needs 0 <= offset < factor, "
                f"found offset {offset}, factor {factor}"
            )
        self.alignment[position] = (factor, offset)
