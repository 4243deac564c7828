"""A schedule: the stages of a program, producers first, and the primitives that change more than one of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Self

from ...base.arith import Expr, Var, rewrite, substitute
from ...base.errors import ScheduleError
from ...base.vocabulary import INDEX
from ...compute.te.tensor import Compute, IterVar, Read, Reduce, Tensor
from .replaying import Replay
from .rewriting.dot_product import dotted
from .rewriting.gemm_col2im import gemm_and_col2im
from .rewriting.operand_staging import staged_operand
from .rewriting.partials import partials
from .rewriting.repack import divided, flattened, packed, padded, permuted, rounded_up
from .rewriting.residues import pushed, simplified, solved
from .rewriting.rolling_buffers import RollingBuffers
from .rewriting.separable_reduction import separated_reduction
from .schedule_base import ScheduleBase, reads_of
from .stages.group import Group
from .stages.intrinsic import Intrinsic
from .stages.relations import Split
from .stages.stage import Stage
from .stages.trace import primitive


class Schedule(ScheduleBase):
    """The primitives for several stages: each states the program before and after it, and what it refuses."""

    @primitive
    def normalize(self) -> Self:
        """Fold the inlined stages into those that read them.  Lowering does this first; twice is harmless.

        Returns the schedule.  Raises ScheduleError where a scan, update or extern reads an inlined stage.
        """
        self.fold_inlined()
        return self

    # ------------------------------------------------------------------ caches

    @primitive
    def cache_write(self, tensor: Tensor, scope: str = "local") -> Tensor:
        """C[i] = f(i)  -->  C_local[i] = f(i); C[i] = C_local[i]

        Returns the new tensor; its stage takes over the body, so do this before scheduling loops.  Refuses stages
        that are no computes and stages with scheduled loops.
        """
        stage = self._fresh(tensor, "cache_write")
        body = stage.body
        assert body is not None
        axes = tuple(IterVar(Var(INDEX, axis.var.name), axis.extent) for axis in stage.axes)
        renamed = substitute(body, {a.var: b.var for a, b in zip(stage.axes, axes, strict=True)})
        cached = Tensor(f"{tensor.name}_{scope}", tensor.shape, body.dtype, Compute(axes, renamed))
        self._insert(cached, scope, self.stages.index(stage), f"cache_write of {tensor.name}")
        stage.set_compute(stage.axes, Read(body.dtype, cached, tuple(axis.var for axis in stage.axes)))
        return cached

    @primitive
    def cache_read(self, tensor: Tensor, scope: str, readers: Sequence[Tensor]) -> Tensor:
        """C[i] = f(A[i])  -->  A_local[i] = A[i]; C[i] = f(A_local[i])

        Only `readers` read the cache.  Refuses a reader that does not read the tensor.
        """
        source = self[tensor]
        axes = tuple(IterVar(Var(INDEX, f"a{d}"), extent) for d, extent in enumerate(tensor.shape))
        body = Read(tensor.dtype, tensor, tuple(axis.var for axis in axes))
        cached = Tensor(f"{tensor.name}_{scope}", tensor.shape, tensor.dtype, Compute(axes, body))
        for reader in readers:
            stage = self[reader]
            stage.require_loops("cache_read")
            stage.require_whole("cache_read")
            assert stage.body is not None
            changed = rewrite(stage.body, lambda node: _redirect(node, tensor, cached))
            if changed is stage.body:
                raise ScheduleError(f"cache_read of {tensor.name}: stage {stage.name} does not read it")
            stage.body = changed
        self._insert(cached, scope, self.stages.index(source) + 1, f"cache_read of {tensor.name}")
        return cached

    @primitive
    def flatten(self, tensor: Tensor, count: int, multiple: int = 1) -> Tensor:
        """C[i, y, x] = f(i, y, x)  -->  C_flat[i, j] = f(i, j // X, j % X); C[i, y, x] = C_flat[i, y * X + x]

        The last `count` axes become one of a multiple of `multiple` elements; those beyond the tensor's are not
        defined.  Returns the new tensor; its stage takes over the body.  Refuses stages with scheduled loops.
        """
        stage = self._fresh(tensor, "flatten")
        return self._repacked(stage, *flattened(stage, count, multiple), "flatten")

    @primitive
    def permute(self, tensor: Tensor, order: Sequence[IterVar]) -> Tensor:
        """C[i, j] = f(i, j)  -->  C_permuted[j, i] = f(i, j); C[i, j] = C_permuted[j, i]

        `order` has the data axes of the stage as they lie in the new tensor, which is returned; its stage takes over
        the body.  Refuses other axes, and stages with scheduled loops.
        """
        stage = self._fresh(tensor, "permute")
        return self._repacked(stage, *permuted(stage, order), "permute")

    @primitive
    def pad(self, tensor: Tensor, axis: IterVar, multiple: int) -> Tensor:
        """C[i] = f(i)  -->  C_padded[i] = f(min(i, n - 1)) for a multiple of `multiple`; C[i] = C_padded[i]

        Returns the new tensor; its stage takes over the body.  Refuses stages with scheduled loops.
        """
        stage = self._fresh(tensor, "pad")
        return self._repacked(stage, *padded(stage, axis, multiple), "pad")

    @primitive
    def round_up(self, tensor: Tensor, multiples: Mapping[IterVar, int]) -> Tensor:
        """C[i] = f(A[i])  -->  C_whole[i] = f(A[i] if i < n else 0) for a multiple of elements; C[i] = C_whole[i]

        Each axis in `multiples` becomes a multiple of its number long; elements beyond the tensor's are not defined.
        Returns the new tensor; its stage takes over the body.  Refuses stages with scheduled loops.
        """
        stage = self._fresh(tensor, "round_up")
        return self._repacked(stage, *rounded_up(stage, multiples), "round_up")

    @primitive
    def divide(self, tensor: Tensor, factors: Mapping[IterVar, int], first: bool = False) -> Tensor:
        """C[i, y] = f(i, y)  -->  C_divided[i, q, r] = f(i, q * s + r); C[i, y] = C_divided[i, y // s, y % s]

        Each axis in `factors` becomes two, a quotient and a remainder by its factor s; the remainders come before
        all axes if `first`.  Returns the new tensor; its stage takes over the body.  Refuses stages with scheduled
        loops.
        """
        stage = self._fresh(tensor, "divide")
        return self._repacked(stage, *divided(stage, factors, first), "divide")

    @primitive
    def solve(self, tensor: Tensor) -> None:
        """C[i] = sum(f(i, k) for k in range(K) if (i - k) % s == 0)  -->  C[i] = sum(f(i, i % s + k * s) for k in ..)

        The first condition of the reduction that is a residue condition is solved for one of its axes, which has then
        ceil(K / s) steps.  Refuses stages without such a condition, results that are positions, and scheduled loops.
        """
        stage = self._fresh(tensor, "solve")
        stage.set_compute(stage.axes, solved(stage))

    @primitive
    def separate_reduction(self, tensor: Tensor, data: IterVar, window: IterVar) -> Tensor:
        """C[y, x] = max(f(y + r, x + s) for r, s)  -->  V[y, u] = max(f(y + r, u) for r); C[y, x] = max(V[y, x + s] ..)

        `window` is a reduce axis that slides along the axis `data`.  Returns the new tensor, which is reduced over the
        other reduce axes.  Refuses what depends on the two otherwise than by their sum, combiners but sum, min and max,
        floats of which parts would be rounded, and scheduled loops.
        """
        stage = self._fresh(tensor, "separate_reduction")
        made, body = separated_reduction(stage, data, window)
        self._add(Stage((made,), made.op, f"separate_reduction of {tensor.name}"), self.stages.index(stage))
        stage.set_compute(stage.axes, body)
        return made

    @primitive
    def gemm_col2im(self, tensor: Tensor) -> Tensor:
        """C[y] = sum((X[c, y - r] if y >= r else 0) * W[c, r] ..)  -->  V[r, i] = sum(X[c, i] * W[c, r] ..); C[y] = ..

        The products of each position of X come first, summed over the axes along which no window moves; their tensor is
        returned.  All that moves W alone is one axis r of it.  C sums them over its windows.  Refuses what is no sum of
        products over windows of a tensor with what is around it, floats of which parts would be rounded, symbolic
        extents, and scheduled loops.
        """
        stage = self._fresh(tensor, "gemm_col2im")
        made, body = gemm_and_col2im(stage)
        for each in made:
            self._add(Stage((each,), each.op, f"gemm_col2im of {tensor.name}"), self.stages.index(stage))
        stage.set_compute(stage.axes, body)
        return made[-2]

    @primitive
    def dot(
        self, tensor: Tensor, axis: IterVar, steps: int, sign_flipped: int = 0, before: int | None = None
    ) -> Tensor:
        """C[i, j] = sum((a[i, k] - z) * b[k, j] for k)  -->  D[i, j] = sum(dot4(A[i, k], B[k, j]) for k // 4); C = D ..

        Words A and B hold so many `steps` of the reduce axis `axis` each: two ints that fit into int16, or four of 8
        bits, less what does not move with the sum; that is taken out of it, by sums of the other factor.  Of two
        factors that have a sign both or both none, the one of number `sign_flipped` is brought to the other kind,
        its sign bits flipped.  Words of the one of number `before` are made of all that it reads, once.  Returns
        the new tensor.  Refuses what is no sum of products of such ints in int32, and scheduled loops.
        """
        stage = self._fresh(tensor, "dot")
        made, beside, body = dotted(stage, axis, steps, sign_flipped, before)
        for each in (*beside, made):
            self._add(Stage((each,), each.op, f"dot of {tensor.name}"), self.stages.index(stage))
        stage.set_compute(stage.axes, body)
        return made

    @primitive
    def simplify(self, tensor: Tensor) -> None:
        """C[i] = sum(f(k) for k if k < 8)  -->  C[i] = sum(f(k) for k), where k has 8 values

        What follows from the extents of all axes.  Refuses stages that are no reductions, and scheduled loops.
        """
        stage = self._fresh(tensor, "simplify")
        if not isinstance(stage.body, Reduce):
            raise ScheduleError(f"simplify on stage {stage.name}: it is no reduction")
        stage.set_compute(stage.axes, simplified(stage.axes, stage.body))

    @primitive
    def push_conditions(self, tensor: Tensor, axes: Collection[IterVar] | None = None) -> None:
        """C[i] = sum(f(k) * g(k) for k if c)  -->  C[i] = sum((f(k) if c else 0) * (g(k) if c else 0) for k)

        With `axes` the conditions that move with none of them remain beside: their steps are left out.  Refuses
        stages that are no sums of products under a condition, and scheduled loops.
        """
        stage = self._fresh(tensor, "push_conditions")
        if not isinstance(stage.body, Reduce):
            raise ScheduleError(f"push_conditions on stage {stage.name}: it is no reduction")
        stage.set_compute(stage.axes, pushed(stage.body, axes))

    @primitive
    def pack(
        self, of: Tensor | Stage, operand: Expr, axes: Sequence[IterVar], panel: int | None = None
    ) -> Tensor:
        """C[i, j] = sum(f(i, k) * g(j, k))  -->  P[k, j] = g(j, k); C[i, j] = sum(f(i, k) * P[k, j])

        `of` is a stage, or the tensor that it computes; `operand` is a part of its body, `axes` those of the stage that
        the operand moves with, in the order in which they lie in the new tensor, which is returned.  With `panel` the
        last axis lies in panels of so many elements, one after the other: P[j // panel, k, j % panel]; where it does
        not fill the last one, the rest is 0.  What is packed for a stage in the steps of a scan is computed before the
        scan.  Refuses an operand that moves with other axes of the stage or, there, with the scan, and stages with
        scheduled loops.
        """
        stage = of if isinstance(of, Stage) else self[of]
        self._require_unscheduled(stage, "pack")
        made, body = packed(stage, operand, axes, panel)
        rows = stage.follows
        before = stage
        if rows is not None:
            moved = [read.name for read in Compute((), operand).inputs() if read in rows.lines]
            if moved:
                raise ScheduleError(f"pack on stage {stage.name}: the scan computes {moved[0]} in its steps")
            before = next(each for each in self.stages if each.rows is rows)
        self._add(Stage((made,), made.op, f"pack for {stage.name}"), self.stages.index(before))
        stage.set_compute(stage.axes, body)
        if rows is not None:
            stage.follow(rows)
        return made

    @primitive
    def stage_operand(self, tensor: Tensor, operand: Expr) -> Tensor:
        """C[i] = sum(f(i + k) * g(k) for k)  -->  P[p] = f(p); C[i] = sum(P[i + k] * g(k) for k)

        `operand` is a part of the stage's body that reads one tensor; the new one, which is returned, holds it once for
        each position that is read: what overlapping windows share, with the padding around.  Refuses positions
        that do not move evenly, an operand that depends on more than them, and scheduled loops.
        """
        stage = self._fresh(tensor, "stage_operand")
        made, body = staged_operand(stage, operand)
        self._add(Stage((made,), made.op, f"stage_operand for {tensor.name}"), self.stages.index(stage))
        stage.set_compute(stage.axes, body)
        return made

    # ------------------------------------------------------------------ scans

    @primitive
    def use_rolling_buffers(self, tensor: Tensor) -> None:
        """h: every row, then out[t] = f(h[t])  -->  for each step: h: the rows still needed; out[t] = f(h[t])

        `tensor` is a state of a scan.  The stages that read one row of the scan for each of their own run in its
        steps, those that read the last rows after them; tensors all of whose readers do so keep so few rows.  The
        stages that the scan needs, and those that do not depend on it, come before it.  Do this before placing stages
        and before scheduling loops; stages that are scheduled already count as readers of every row.  Refuses
        tensors that are no states.
        """
        self.normalize()
        scan = self[tensor]
        rows = scan.rows
        if rows is None:
            raise ScheduleError(f"use_rolling_buffers of {tensor.name}: it is no state of a scan")
        dependants = {scan}
        rolling = RollingBuffers(rows)
        position = self.stages.index(scan)
        for stage in self.stages[position + 1 :]:
            reads = reads_of(stage)
            of_scan = {t for t in reads if self[t] in dependants}
            if of_scan:
                dependants.add(stage)
                if not stage.inlined:  # it was folded into its readers
                    rolling.add(stage, reads, of_scan <= rolling.lines.keys())
            elif stage.rows is not None and any(
                self[t] in dependants
                for own in (*stage.rows.members, *stage.rows.closing)
                for t in reads_of(own)
            ):
                dependants.add(stage)  # another scan, in whose steps something runs that needs this one
        rolling.apply(set(self.outputs))
        free = [s for s in self.stages[position:] if s not in dependants]
        self.stages[position:] = [*free, *(s for s in self.stages[position:] if s in dependants)]

    # ------------------------------------------------------------------ rfactor

    @primitive
    def rfactor(self, tensor: Tensor, axis: IterVar) -> Tensor:
        """B[i] = sum(A[i, k] for k)  -->  B_rf[p, i] = sum(A[i, k] for k in part p); B[i] = sum(B_rf[p, i] for p)

        `axis` is a reduce axis of the stage or one that splits and fusions made of them; it becomes the first data axis
        of the new tensor, which is returned.  Refuses combiners that depend on the order (argmax, argmin, first) and
        stages whose data axes are scheduled.
        """
        stage = self[tensor]
        stage.require_loops("rfactor")
        stage.require_whole("rfactor")
        body = stage.body
        stage.leaf(axis, "rfactor")
        if not isinstance(body, Reduce) or axis.kind != "reduce":
            raise ScheduleError(f"rfactor of {axis.var.name} on stage {stage.name}: it is not a reduce axis")
        if body.combiner in ("argmax", "argmin", "first"):
            raise ScheduleError(
                f"rfactor of {axis.var.name} on stage {stage.name}: {body.combiner} depends on the order"
            )
        if any((r.parent if isinstance(r, Split) else r.fused).kind != "reduce" for r in stage.relations):
            raise ScheduleError(
                f"rfactor on stage {stage.name}: only splits and fusions of reduce axes may come before it"
            )
        made = partials(stage, body, axis)
        origin = f"rfactor of {stage.name} over {axis.var.name}"
        self._add(Stage((made,), made.op, origin), self.stages.index(stage))
        part = IterVar(Var(INDEX, axis.var.name), axis.extent, "reduce")
        read = Read(body.dtype, made, (part.var, *(own.var for own in stage.axes)))
        stage.set_compute(stage.axes, Reduce(body.dtype, body.combiner, (part,), read))
        return made

    # ------------------------------------------------------------------ groups

    def create_group(self, outputs: Tensor | Sequence[Tensor], inputs: Tensor | Sequence[Tensor]) -> Group:
        """The stages between `inputs` (not included) and `outputs` (included), to be placed together.

        One tensor stands for a sequence of one.

        Refuses outputs of which no path comes from an input.
        """
        members: dict[Stage, None] = {}
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        stop = {inputs} if isinstance(inputs, Tensor) else set(inputs)
        stack = [t for t in outputs if t not in stop]
        while stack:
            stage = self[stack.pop()]
            if stage.is_placeholder or stage in members:
                continue
            members[stage] = None
            stack.extend(t for t in reads_of(stage) if t not in stop)
        if not members:
            raise ScheduleError(f"create_group: nothing lies before {', '.join(t.name for t in outputs)}")
        return Group(tuple(s for s in self.stages if s in members))


def create_schedule(outputs: Sequence[Tensor]) -> Schedule:
    """The default schedule of a program: every tensor whole, one after the other."""
    return Schedule(outputs)


def replay(trace: str, outputs: Sequence[Tensor], intrinsics: Sequence[Intrinsic] = ()) -> Schedule:
    """The schedule of `outputs` that the text of a trace describes; `intrinsics` are those that it names.

    `replay(str(schedule.trace), schedule.outputs)` lowers to the same loop IR as `schedule`.  Raises ScheduleError with
    the line for what is no step of this program, or is refused.
    """
    schedule = create_schedule(outputs)
    Replay(schedule, intrinsics).run(trace)
    return schedule


def _redirect(node: Expr, old: Tensor, new: Tensor) -> Expr | None:
    return Read(new.dtype, new, node.indices) if isinstance(node, Read) and node.tensor is old else None
