"""lower: a schedule becomes loop IR (TVM's schedule_ops)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from ....base.arith import Expr, Var, cast, free_vars, holds, minimum, substitute
from ....base.errors import LoweringError
from ....base.vocabulary import INDEX
from ....compute.te.tensor import Compute, Extern, IterVar, Placeholder, Read, Scan, Sort, Tensor, Update
from ...schedule import Domain, ForKind, Schedule, Stage, reads_of
from ..nodes.nest import ZERO, as_index, guarded, loop
from ..nodes.stmt import Allocate, Buffer, For, Load, Prefetch, PrimFunc, Stmt, Store
from ..nodes.visit import block
from .auto_unroll import auto_unrolled
from .bound import infer_bound, is_certainly_read, read_region
from .extern import lower_extern
from .line_prefetch import line_prefetches
from .reduction import ReductionStage
from .scan import lower_scan, window_place
from .sort import lower_sort
from .tensorize import lower_tensorized
from .update import lower_update
from .values import ValueLowering


def lower(
    schedule: Schedule,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    name: str,
    binds: Mapping[Tensor, Buffer] | None = None,
) -> PrimFunc:
    """The loop IR of a schedule; buffers have their tensors' shapes (storage_flatten makes them flat).

    `inputs` and `outputs` are the parameters in order, `binds` buffers for some of them.  An output that is an input,
    or that is given twice, is copied.  Raises LoweringError for an input that is missing, and for a stage that is
    attached to a loop that is gone.
    """
    schedule.fold_inlined()
    made = _Lowering(schedule, inputs, outputs, infer_bound(schedule), binds or {})
    dims = dims_of(made.inputs, made.outputs)
    return PrimFunc(name, tuple(made.inputs), tuple(made.outputs), made.body(name), dims)


def schedule_ops(
    schedule: Schedule, bounds: Mapping[Stage, Domain], binds: Mapping[Tensor, Buffer] | None = None
) -> Stmt:
    """The statement of a schedule whose stages compute what `bounds` says of them (`infer_bound`).

    Placeholders and results are buffers of their names, or those that `binds` has.  Raises as `lower` does;
    LoweringError for a stage without bounds.
    """
    schedule.fold_inlined()
    inputs = [stage.tensor for stage in schedule.stages if stage.is_placeholder]
    unknown = [
        s.name for s in schedule.stages if isinstance(s.op, Compute) and not s.inlined and s not in bounds
    ]
    if unknown:
        raise LoweringError(
            f"schedule_ops: stage {unknown[0]} has no bounds; tir.infer_bound(schedule) has all"
        )
    return _Lowering(schedule, inputs, schedule.outputs, bounds, binds or {}).body("schedule_ops")


class _Lowering:
    def __init__(
        self,
        schedule: Schedule,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        domains: Mapping[Stage, Domain],
        binds: Mapping[Tensor, Buffer],
    ) -> None:
        """`schedule`: normalised."""
        self.schedule = schedule
        self.inputs, self.outputs = _parameters(inputs, binds), _parameters(outputs, binds)
        self.buffers: dict[Tensor, Buffer] = dict(zip(inputs, self.inputs, strict=True))
        self.copies: list[tuple[Tensor, Buffer]] = []
        for tensor, buffer in zip(outputs, self.outputs, strict=True):
            if tensor in self.buffers:
                self.copies.append((tensor, buffer))
            else:
                self.buffers[tensor] = buffer
        self.origins: dict[Tensor, tuple[Expr, ...]] = {}
        self.values = ValueLowering(self.buffers, self.origins)
        self.domains = domains
        self.readers: dict[Tensor, list[Stage]] = {}
        for stage in [s for s in schedule.stages if not s.inlined]:
            for tensor in reads_of(stage):
                self.readers.setdefault(tensor, []).append(stage)
        self.externs: dict[object, list[Stage]] = {}
        for stage in schedule.stages:
            if isinstance(stage.op, Extern) and stage.op.gives_loop_ir:
                self.externs.setdefault(_function_key(stage), []).append(stage)
        self.attached: dict[IterVar, list[Stage]] = {}
        for stage in schedule.stages:
            if stage.attach is not None and not stage.inlined:
                self.attached.setdefault(stage.attach.axis, []).append(stage)
                self._allocate(stage, stage.tensor)

    def body(self, name: str) -> Stmt:
        """The statement of the program, which is called `name`."""
        roots = [s for s in self.schedule.stages if not s.inlined and s.attach is None]
        led = {
            follower
            for stage in roots
            if stage.rows
            for follower in (*stage.rows.members, *stage.rows.closing)
        }
        led.update([other for stages in self.externs.values() for other in stages[1:]])
        for stage in roots:
            if isinstance(stage.op, Placeholder) and stage.tensor not in self.buffers:
                raise LoweringError(f"{name}: placeholder {stage.name} is read but is not among the inputs")
        made: list[tuple[list[Buffer], Stmt]] = []
        for stage in roots:
            if not stage.is_placeholder and stage not in led:
                own = self._buffers_of(stage)
                made.append((own, self._stage(stage)))
        body = block(*(_copy(self.buffers[tensor], buffer) for tensor, buffer in self.copies))
        for own, stmt in reversed(made):
            body = block(stmt, body)
            for buffer in own:
                body = Allocate(buffer, body)
        return body

    def _buffers_of(self, stage: Stage) -> list[Buffer]:
        """The new buffers that a root stage writes.

        The base of an update that nothing else reads is computed right in the update's buffer.
        """
        made: list[Buffer] = []
        if stage.rows is not None:
            for member in (*stage.rows.members, *stage.rows.closing):
                if member.tensor not in self.buffers and member.tensor not in stage.rows.local:
                    made.append(self._allocate(member, member.tensor))
            return made
        for each in self._filled_with(stage)[1:]:
            if each.tensor not in self.buffers:
                made.append(self._allocate(each, each.tensor))
        for tensor in stage.tensors:
            if tensor in self.buffers:
                continue
            update = self._only_update_of(stage)
            if update is None:
                made.append(self._allocate(stage, tensor))
                continue
            if update.tensor not in self.buffers:
                made.append(self._allocate(update, update.tensor))
            self.buffers[tensor] = self.buffers[update.tensor]
        return made

    def _filled_with(self, stage: Stage) -> list[Stage]:
        """The stages whose buffers one statement fills: this one, and the other results of its loop IR."""
        return self.externs.get(_function_key(stage), [stage])

    def _only_update_of(self, stage: Stage) -> Stage | None:
        readers = self.readers.get(stage.tensor, ())
        if stage.body is None or len(readers) != 1 or not isinstance(readers[0].op, Update):
            return None
        op = readers[0].op
        return readers[0] if op.base is stage.tensor and stage.tensor not in op.reads else None

    def _allocate(self, stage: Stage, tensor: Tensor) -> Buffer:
        """The buffer of an intermediate tensor."""
        shape = tensor.shape
        if stage.attach is not None:
            domain = self.domains[stage]
            shape = tuple(domain.shape)
            self.origins[tensor] = tuple(domain.minimums)
        if stage.follows is not None and tensor in stage.follows.windows:
            dim = stage.follows.lines[tensor].dim
            shape = (*shape[:dim], stage.follows.windows[tensor], *shape[dim + 1 :])
            self.values.places[tensor] = window_place(stage, tensor)
        scope = stage.scope or ("global" if stage.attach is None else "local")
        buffer = Buffer(tensor.name, _aligned(shape, stage), tensor.dtype, scope)
        self.buffers[tensor] = buffer
        return buffer

    def _stage(self, stage: Stage) -> Stmt:
        if isinstance(stage.op, Compute):
            domain = self.domains[stage]
            around = partial(self._with_attached, stage)
            if stage.tile_of is not None:
                return lower_tensorized(stage, domain, self.values, around)
            if stage.reduce_axes:
                return ReductionStage(stage, domain, self.values, around).lower()
            return self._data(stage, domain)
        if isinstance(stage.op, Scan):
            return lower_scan(stage, self.values, self._stage)
        if isinstance(stage.op, Update):
            return lower_update(stage.tensor, stage.op, self.values)
        if isinstance(stage.op, Sort):
            return lower_sort(stage.op, self.values.buffer(stage.op.source), self.buffers[stage.tensor])
        assert isinstance(stage.op, Extern)
        operands = [self.buffers[tensor] for tensor in stage.op.operands]
        filled = [each for each in self._filled_with(stage) if isinstance(each.op, Extern)]
        return lower_extern(stage.op, operands, {_output(each): self.buffers[each.tensor] for each in filled})

    def _data(self, stage: Stage, domain: Domain) -> Stmt:
        """A stage without reduce axes."""
        assert stage.body is not None
        tensor = stage.tensor
        lanes = ForKind.VECTORIZED not in stage.kinds.values()  # there are no vectors of vectors
        prelude, value = self.values.lower(domain.simplified(stage.body), domain.values, lanes=lanes)
        buffer = self.buffers[tensor]
        indices = self.values.position(tensor, [domain.values[axis.var] for axis in stage.axes])
        body = guarded(domain.data_guards, prelude.around(Store(buffer, indices, cast(value, buffer.dtype))))
        for leaf in reversed(stage.leaves):
            body = loop(leaf, domain.extents[leaf], stage.kind(leaf), self._with_attached(stage, leaf, body))
        return body

    def _with_attached(self, stage: Stage, leaf: IterVar, body: Stmt) -> Stmt:
        """What runs inside the loop over `leaf` of a stage: hints, the stages computed there, then `body`.

        Its loops are unrolled where the schedule says so.
        """
        hints = [
            hint
            for tensor, axis, offset in stage.prefetches
            if axis is leaf
            for hint in self._prefetch(stage, tensor, axis, offset)
        ]
        for prefetch in stage.line_prefetches:
            if prefetch.axis is leaf:
                hints += line_prefetches(self.schedule, stage, prefetch, self.domains[stage], self.values)
        body = block(*hints, body) if hints else body
        stages = self.attached.get(leaf, ())
        made = [(self.buffers[stage.tensor], self._stage(stage)) for stage in stages]
        for buffer, stmt in reversed(made):
            body = Allocate(buffer, block(stmt, body))
        steps = stage.unroll_steps.get(leaf)
        return body if steps is None else auto_unrolled(body, steps)

    def _prefetch(self, stage: Stage, tensor: Tensor, axis: IterVar, offset: int) -> list[Stmt]:
        """A hint for what the stage reads of a tensor `offset` iterations later, where its region is known.

        What is computed inside another stage's loops is not there before its iteration.  Elements that tell where to
        read must exist: those of the last iteration do, where nothing guards them.
        """
        if self.schedule[tensor].attach is not None:
            return []
        domain = self.domains[stage]
        region = read_region(stage, domain, tensor, axis)
        if region is None or tensor not in self.buffers:
            return []
        later = axis.var + offset
        if any(holds(start, Read) for start, _ in region):
            if domain.data_guards or not is_certainly_read(stage, tensor):
                return []
            later = minimum(later, domain.extents[axis] - 1)
        starts = [self.values.lower(substitute(start, {axis.var: later}), {})[1] for start, _ in region]
        return [
            Prefetch(self.buffers[tensor], self.values.position(tensor, starts), tuple(n for _, n in region))
        ]


def _function_key(stage: Stage) -> object:
    """What extern tensors have in common that are results of one call."""
    op = stage.op
    return (id(op.function), op.operands) if isinstance(op, Extern) else None


def _output(stage: Stage) -> int:
    assert isinstance(stage.op, Extern)
    return stage.op.output


def dims_of(*parameters: Sequence[Buffer | Tensor]) -> tuple[Var, ...]:
    """The symbolic dims in the shapes of parameters, in the order in which they occur."""
    dims = [dim for part in parameters for each in part for dim in each.shape]
    return tuple(dict.fromkeys(var for dim in dims if isinstance(dim, Expr) for var in free_vars(dim)))


def _parameters(tensors: Sequence[Tensor], binds: Mapping[Tensor, Buffer]) -> list[Buffer]:
    """Buffers that are bound, else by the tensors' names; numbered where another of their kind has the name too."""
    count = Counter(tensor.name for tensor in tensors)
    return [
        binds.get(t) or Buffer(t.name if count[t.name] == 1 else f"{t.name}_{position}", t.shape, t.dtype)
        for position, t in enumerate(tensors)
    ]


def _aligned(shape: tuple[int | Expr, ...], stage: Stage) -> tuple[int | Expr, ...]:
    """The shape with inner dims padded so that the strides that storage_align asks for hold.

    The stride of a dim grows by padding the dim after it, which works where that dim's own stride divides.
    """
    padded = list(shape)
    stride: int | Expr = 1
    for position in reversed(range(len(shape))):
        inner = padded[position + 1] if position + 1 < len(shape) else None
        if position in stage.alignment and isinstance(inner, int) and isinstance(stride, int) and inner:
            factor, offset = stage.alignment[position]
            step = stride // inner
            wanted = next((n for n in range(inner, inner + factor) if n * step % factor == offset), inner)
            padded[position + 1], stride = wanted, wanted * step
        stride = stride * padded[position]
    return tuple(padded)


def _copy(source: Buffer, target: Buffer) -> Stmt:
    loops = [Var(INDEX, f"c{d}") for d in range(len(target.shape))]
    body: Stmt = Store(target, tuple(loops), Load(source.dtype, source, tuple(loops)))
    for var, extent in zip(reversed(loops), reversed(target.shape), strict=True):
        body = For(var, ZERO, as_index(extent), ForKind.SERIAL, body)
    return body
