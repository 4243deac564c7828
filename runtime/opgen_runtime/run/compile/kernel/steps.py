"""The work of each stage of a kernel: from one record to the next (`records.py`).

A step that gives a Kernel ends the way: there is nothing to compute, or what there is runs in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from .... import codegen
from ....base import Target
from ....base.arith import Expr, const
from ....base.contract import Contract
from ....base.errors import AccessError, OpgenError
from ....base.vocabulary import INDEX
from ....codegen import imports_of
from ....compute import te
from ....compute.te.contract import TENSORS
from ....compute.te.extern import RESULTS
from ....compute.te.tensor import Extern, Placeholder, Tensor
from ....declaration.contract import COMPUTED
from ....lower import tir
from ....lower.library import schedules
from ....lower.library.segment import (
    Segment,
    is_empty,
    segment_of,
)
from ....lower.schedule import SCHEDULE, Schedule, Specialisation, parts_of, schedule_by
from ....operator import TensorType
from .dim_bounds import with_least_dims
from .dims import dims_in
from .disk_cache import checkable_preconditions, kernel_of, metadata_of
from .extern import ExternKernel, SymbolicExternKernel
from .interface import interface_of, output_slots, slots_of, storage_shapes
from .kernel import EmptyKernel, Image, Kernel, NativeKernel
from .multiversioning import (
    Version,
    apart,
    broadcast_guards,
    broadcast_pairs,
    distinct,
    find_broadcast_number,
    specialise_broadcast_number,
    specialised,
)
from .records import Compiled, Emitted, Lowered, Normal, Request, Scheduled
from .symbolic import SymbolicNativeKernel, symbolic_slot
from .written import Program, Written

Contracts = tuple[Contract[Any], ...]
# What users' functions give, checked where they are called: computes, hand-written functions, schedules.
COMPUTES: Final[Contracts] = (COMPUTED, *TENSORS)
FUNCTIONS: Final[Contracts] = (RESULTS,)
SCHEDULES: Final[Contracts] = (SCHEDULE,)


def translate(request: Request) -> Segment | EmptyKernel:
    """The tensor expressions of a segment; a kernel at once where no result has an element."""
    function = with_least_dims(request.function)
    interface = interface_of(function)
    shapes = [_static_or_none(type_) for type_ in interface.outputs]
    known = [shape for shape in shapes if shape is not None]
    if len(known) == len(shapes) and is_empty(known) and not dims_in(function):
        return EmptyKernel(interface.name, interface.slots, output_slots(interface.outputs, known))
    pairs, number = broadcast_pairs(function), None
    if pairs:
        specialisations = apart(pairs)
    else:
        try:
            made = segment_of(function, request.target, request.constant)
            return replace(made, requested=request.function, options=request.options)
        except AccessError:  # it is inside for some sizes only, as where a dim meets a number in a broadcast
            number = find_broadcast_number(function)
            if number is None:
                raise
            pairs, specialisations = (number,), specialise_broadcast_number(number[1])
    equal = {dim: size for size, dim in pairs}
    made = segment_of(specialised(function, equal), request.target, request.constant)
    return replace(
        made,
        function=function,
        requested=request.function,
        specialisations=specialisations,
        broadcast_number=number,
        options=request.options,
    )


def runs_in_python(op: te.Operation) -> bool:
    """Whether an operation is a hand-written function of arrays."""
    return isinstance(op, Extern) and not op.gives_loop_ir


def normalize(segment: Segment) -> Normal | ExternKernel | SymbolicExternKernel:
    """The normal form; a kernel at once where a part is a hand-written function, which runs in Python."""
    if not any(runs_in_python(tensor.op) for tensor in te.tensor_order(segment.outputs)):
        return Normal(segment, tuple(te.normalize(segment.outputs)))
    return _symbolic_extern(segment) if dims_in(segment.function) else _extern(segment)


def _extern(segment: Segment) -> ExternKernel:
    interface = interface_of(segment.function)
    outputs = output_slots(interface.outputs, storage_shapes(segment))
    results = segment.outputs[: segment.results]
    return ExternKernel(interface.name, interface.slots, outputs, segment.inputs, results)


def _symbolic_extern(segment: Segment) -> SymbolicExternKernel:
    function, dims = segment.function, tuple(dims_in(segment.function))
    interface = interface_of(function)
    outputs = [
        symbolic_slot(f"output {k}", shape, dtype.numpy) for k, (shape, dtype) in enumerate(segment.stored())
    ]

    def at(values: tuple[int, ...]) -> Kernel:
        known = {dim: const(n, INDEX) for dim, n in zip(dims, values, strict=True)}
        made = translate(Request(specialised(function, known), segment.target))
        return _extern(made) if isinstance(made, Segment) else made

    guards, required = broadcast_guards(function), segment.original
    same = dict(zip(dims_in(required), dims, strict=True))
    preconditions = [
        each.on(same) for each in checkable_preconditions(required, interface_of(required).inputs)
    ]
    return SymbolicExternKernel(interface.name, interface.inputs, outputs, dims, guards, preconditions, at)


def schedule(normal: Normal) -> Scheduled:
    """The anchor's schedule if its strategy chose a special one, else the library's; with the versions it asks for."""
    made = _scheduled(normal)
    versions: list[Version[Scheduled]] = []
    needed = normal.segment.specialisations
    for specialisation in distinct([*needed, *made.schedule.specialisations]):
        special = _specialised(normal, specialisation)
        assert special is not None or specialisation not in needed, specialisation
        if special is not None:
            versions.append(Version(specialisation, _scheduled(special)))
    return replace(made, versions=tuple(versions))


def _specialised(normal: Normal, specialisation: Specialisation) -> Normal | None:
    """The segment for dims of which more is known; None where its ops refuse them, so that no call has them."""
    segment = normal.segment
    count = len(segment.operands)
    constant = [k for k, tensor in enumerate(segment.inputs[:count]) if _is_constant(tensor)]
    try:
        made = segment_of(specialised(segment.function, specialisation.values), segment.target, constant)
    except OpgenError:
        return None
    return Normal(replace(made, options=segment.options), tuple(te.normalize(made.outputs)))


def _scheduled(normal: Normal) -> Scheduled:
    segment, anchor = normal.segment, normal.segment.anchor
    if anchor is not None and not anchor.selection.implementation.is_default:
        chosen = anchor.selection.implementation
        named = getattr(chosen.schedule, "__qualname__", type(chosen.schedule).__name__)
        what = f"{anchor.op.name}: schedule {named} of {chosen.name}"
        return Scheduled(normal, schedule_by(chosen.schedule, what, normal.outputs, segment.target))
    trials: list[schedules.Trial] = []

    def generic(outputs: Sequence[Tensor], target: Target) -> object:
        return schedules.generic(outputs, target, trials=trials)

    made = schedule_by(generic, "the schedule of the library", normal.outputs, segment.target)
    return Scheduled(normal, made, trials=tuple(trials))


def split(scheduled: Scheduled) -> Scheduled:
    """The part that runs each time, with the part that depends on constants alone beside it."""
    normal, segment = scheduled.normal, scheduled.normal.segment
    parts = parts_of(scheduled.schedule)
    if parts.precompute is None:
        return scheduled
    precompute = Scheduled(
        Normal(_part(segment, parts.precompute, parts.precomputed), parts.precomputed), parts.precompute
    )
    main = replace(normal, segment=_part(segment, parts.main, segment.outputs, parts.precomputed))
    versions = [replace(each, what=split(each.what)) for each in scheduled.versions]
    same = [each for each in versions if _precomputes_the_same(each.what, main.segment, precompute)]
    if not {str(each) for each in segment.specialisations} <= {str(each.specialisation) for each in same}:
        return scheduled  # each run computes what could be precomputed, as its dims are
    return Scheduled(main, parts.main, precompute, tuple(same))


def on_this_machine(precompute: Scheduled) -> Scheduled:
    """What precomputes constants, as the schedule of the target wants them, with a target whose code runs here."""
    normal = precompute.normal
    target = normal.segment.target.evaluating
    return replace(precompute, normal=replace(normal, segment=replace(normal.segment, target=target)))


def _precomputes_the_same(version: Scheduled, main: Segment, precompute: Scheduled) -> bool:
    """Whether a version takes what is precomputed for the whole segment, and the same operands beside it."""
    if version.precompute is None or version.normal.segment.operands != main.operands:
        return False
    return tir.alike(lower(version.precompute).func, lower(precompute).func)


def _part(
    segment: Segment, schedule: Schedule, outputs: tuple[Tensor, ...], precomputed: tuple[Tensor, ...] = ()
) -> Segment:
    """The part of a segment that a schedule computes: it takes the constants that the schedule reads.

    What varies is taken by the main part, which keeps the segment's outputs, read or not.
    """
    read = {stage.tensor for stage in schedule.stages if stage.is_placeholder}
    is_main = outputs is segment.outputs
    count = len(segment.operands)
    own, rest = segment.inputs[:count], segment.inputs[count:]
    kept = [k for k, tensor in enumerate(own) if tensor in read or (is_main and not _is_constant(tensor))]
    inputs = (*[own[k] for k in kept], *precomputed, *rest)
    made = replace(segment, inputs=inputs, operands=tuple(kept), precomputed=precomputed)
    if is_main:
        return made
    name = f"{segment.name}_precompute"
    return replace(
        made, name=name, outputs=outputs, results=len(outputs), counts=(), specialisations=(), runs_once=True
    )


def _is_constant(tensor: Tensor) -> bool:
    return isinstance(tensor.op, Placeholder) and tensor.op.is_constant


def lower(scheduled: Scheduled | Written) -> Lowered:
    """Loop IR, as deep as the schedule says."""
    if isinstance(scheduled, Written):
        program = scheduled.program
        assert scheduled.schedule is not None, program.name
        written = tir.lower(scheduled.schedule, program.inputs, program.outputs, program.name, program.binds)
        target = program.target
        written = replace(written, vectors=target.vectors, machine=target.machine, options=program.options)
        return Lowered(program, written)
    normal, segment = scheduled.normal, scheduled.normal.segment
    func = tir.lower(scheduled.schedule, segment.inputs, normal.outputs, segment.name)
    func = replace(
        func,
        seen=tuple(_seen(segment)),
        vectors=segment.target.vectors,
        machine=segment.target.machine,
        options=segment.options,
    )
    versions = [Version(each.specialisation, lower(each.what).func) for each in scheduled.versions]
    return Lowered(segment, func, tuple(versions))


def _seen(segment: Segment) -> Iterator[tir.Seen]:
    """Which rows of the outputs are seen: of those whose first dim depends on data."""
    for count in segment.counts:
        if count.axis == 0:
            width: int | Expr = 1
            for dim in segment.outputs[count.result].shape[1:]:
                width = width * dim
            yield tir.Seen(count.result, count.source, width)


def phase(run: tir.Phase) -> Callable[[Lowered], Lowered]:
    """The step of a phase over loop IR."""
    return lambda lowered: lowered.mapped(run)


def hooked(lowered: Lowered, stage: str, hook: tir.Phase, contract: Contract[tir.View]) -> Lowered:
    """What a user's function makes of loop IR. Raises LoweringError where it gives what is none."""
    return lowered.mapped(lambda func: tir.hooked(stage, hook, func, contract))


def emit(lowered: Lowered) -> Emitted:
    """LLVM IR; a branch for each version."""
    segment = lowered.segment
    cases = [(each.specialisation.guard, each.specialisation.values, each.what) for each in lowered.versions]
    func = tir.chosen(lowered.func, cases)
    text = codegen.emit(func, segment.target)
    versions = tuple([str(each.specialisation) for each in lowered.versions])
    passes = codegen.choose_pipeline(func, isinstance(segment, Segment) and segment.runs_once)
    return Emitted(segment, func.name, text, passes, versions)


def compile_(emitted: Emitted) -> Compiled:
    """Object code, optimised by LLVM."""
    segment = emitted.segment
    code = codegen.optimise_and_compile(emitted.text, segment.target, emitted.passes)
    return Compiled(segment, emitted.symbol, code, emitted.versions)


def load(compiled: Compiled) -> NativeKernel | SymbolicNativeKernel:
    """The kernel in this process."""
    segment, code = compiled.segment, compiled.code.object_code
    imports = imports_of(code)
    if isinstance(segment, Program):
        inputs, outputs = slots_of(segment)
        dims = tuple([segment.dims[var] for var in segment.variables])
        return NativeKernel(Image(compiled.symbol, inputs, outputs, code, imports, dims=dims))
    metadata = {**metadata_of(segment), "versions": compiled.versions}
    return kernel_of(segment.original, code, compiled.symbol, imports, metadata, segment.target)


def _static_or_none(type_: TensorType) -> tuple[int, ...] | None:
    dims = [dim for dim in type_.shape if isinstance(dim, int)]
    return tuple(dims) if len(dims) == len(type_.shape) else None
