"""The work of each stage of a kernel: from one record to the next (`records.py`).

A step that gives a Kernel ends the way: there is nothing to compute, or what there is runs in Python.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from .... import codegen, ir
from ....base import Target
from ....base.arith import Const, Expr, Var, const, free_vars
from ....base.contract import Contract
from ....base.errors import AccessError, CodegenError, OpgenError
from ....base.vocabulary import INDEX, DType, dataclass
from ....codegen import LLVM_VERSION, LLVMLITE_VERSION, default_cache, imports_of
from ....compute import te
from ....compute.te.contract import TENSORS
from ....compute.te.extern import RESULTS
from ....compute.te.operations import operations
from ....compute.te.tensor import Extern, Placeholder, Tensor
from ....declaration.contract import COMPUTED
from ....lower import tir
from ....lower.library import schedules
from ....lower.library.segment import (
    Segment,
    constant_arrays,
    flat_types,
    is_empty,
    kernel_name,
    known_shape,
    segment_of,
)
from ....lower.schedule import SCHEDULE, Schedule, Specialisation, parts_of, schedule_by
from ....operator import TensorType
from .dims import dims_in
from .extern import ExternKernel, SymbolicExternKernel
from .kernel import EmptyKernel, Image, Kernel, NativeKernel, Slot
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
from .parts import Parts
from .records import Compiled, Emitted, Lowered, Normal, Request, Scheduled
from .shape_preconditions import ShapePrecondition, shape_preconditions
from .symbolic import SymbolicNativeKernel, SymbolicSlot, symbolic_slot
from .written import Program, Written

Contracts = tuple[Contract[Any], ...]
# What users' functions give, checked where they are called: computes, hand-written functions, schedules.
COMPUTES: Final[Contracts] = (COMPUTED, *TENSORS)
FUNCTIONS: Final[Contracts] = (RESULTS,)
SCHEDULES: Final[Contracts] = (SCHEDULE,)


def translate(request: Request) -> Segment | EmptyKernel:
    """The tensor expressions of a segment; a kernel at once where no result has an element."""
    interface = _interface(request.function)
    shapes = [_static_or_none(type_) for type_ in interface.outputs]
    known = [shape for shape in shapes if shape is not None]
    if len(known) == len(shapes) and is_empty(known) and not dims_in(request.function):
        return EmptyKernel(interface.name, interface.slots, _output_slots(interface.outputs, known))
    pairs, number = broadcast_pairs(request.function), None
    if pairs:
        specialisations = apart(pairs)
    else:
        try:
            made = segment_of(request.function, request.target, request.constant)
            return replace(made, options=request.options)
        except AccessError:  # it is inside for some sizes only, as where a dim meets a number in a broadcast
            number = find_broadcast_number(request.function)
            if number is None:
                raise
            pairs, specialisations = (number,), specialise_broadcast_number(number[1])
    equal = {dim: size for size, dim in pairs}
    made = segment_of(specialised(request.function, equal), request.target, request.constant)
    return replace(
        made,
        function=request.function,
        specialisations=specialisations,
        broadcast_number=number,
        options=request.options,
    )


def normalize(segment: Segment) -> Normal | ExternKernel | SymbolicExternKernel:
    """The normal form; a kernel at once where a part is a hand-written function, which runs in Python."""
    if not any(isinstance(tensor.op, Extern) for tensor in te.tensor_order(segment.outputs)):
        return Normal(segment, tuple(te.normalize(segment.outputs)))
    return _symbolic_extern(segment) if dims_in(segment.function) else _extern(segment)


def _extern(segment: Segment) -> ExternKernel:
    interface = _interface(segment.function)
    outputs = _output_slots(interface.outputs, _storage(segment))
    results = segment.outputs[: segment.results]
    return ExternKernel(interface.name, interface.slots, outputs, segment.inputs, results)


def _symbolic_extern(segment: Segment) -> SymbolicExternKernel:
    function, dims = segment.function, tuple(dims_in(segment.function))
    inputs = _interface(function).inputs
    outputs = [
        symbolic_slot(f"output {k}", tensor.shape, tensor.dtype.numpy)
        for k, tensor in enumerate(segment.outputs[: segment.results])
    ]

    def at(values: tuple[int, ...]) -> Kernel:
        known = {dim: const(n, INDEX) for dim, n in zip(dims, values, strict=True)}
        made = translate(Request(specialised(function, known), segment.target))
        return _extern(made) if isinstance(made, Segment) else made

    guards, preconditions = broadcast_guards(function), _shape_preconditions(function, inputs)
    return SymbolicExternKernel(kernel_name(function), inputs, outputs, dims, guards, preconditions, at)


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
        program, given = scheduled.program, scheduled.schedule
        if isinstance(given, tir.PrimFunc):
            written = replace(given, name=program.name, dims=program.variables)
        else:
            written = tir.lower(given, program.inputs, program.outputs, program.name, program.binds)
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
        inputs, outputs = slots(segment)
        dims = tuple([segment.dims[var] for var in segment.variables])
        return NativeKernel(Image(compiled.symbol, inputs, outputs, code, imports, dims=dims))
    facts = {**_facts(segment), "versions": compiled.versions}
    return _kernel(segment.function, code, compiled.symbol, imports, facts, segment.target)


# ------------------------------------------------------------------ the object cache


def keep(compiled: Sequence[Compiled], key: str) -> None:
    """Put the object code of a segment, main part first, into the cache on disk, with what must be known beside."""
    segments = [each.segment for each in compiled if isinstance(each.segment, Segment)]
    if any([segment.counts and _facts(segment)["outputs"] is None for segment in segments]):
        return  # shapes in storage that no type says
    for part, each in reversed(list(enumerate(compiled))):
        assert isinstance(each.segment, Segment)
        code = each.code.object_code
        facts: dict[str, object] = {
            "symbol": each.symbol,
            "imports": list(imports_of(code)),
            "parts": len(compiled) - part,
            "versions": each.versions,
            **_facts(each.segment),
        }
        default_cache().put(_part_key(key, part), code, facts)


def kept(function: ir.Function, key: str, target: Target) -> Parts | None:
    """The kernels in the cache on disk; an entry of a form that this version does not write counts as absent."""
    main = _kept_part(function, key, 0, target)
    if main is None or main[2] == 1:
        return None if main is None else Parts(main[0], main[1])
    precompute = _kept_part(function, key, 1, target.evaluating)
    return None if precompute is None else Parts(main[0], main[1], precompute[0], precompute[1])


def _kept_part(
    function: ir.Function, key: str, part: int, target: Target
) -> tuple[NativeKernel | SymbolicNativeKernel, tuple[int, ...], int] | None:
    """A part of a segment, the operands that it takes, and how many parts there are from it on."""
    entry = default_cache().get(_part_key(key, part))
    facts = {} if entry is None else entry.metadata
    symbol, imports, operands, parts = (facts.get(k) for k in ("symbol", "imports", "operands", "parts"))
    if entry is None or not (isinstance(symbol, str) and isinstance(parts, int)):
        return None
    if not (isinstance(imports, list) and isinstance(operands, list)):
        return None
    if not all(
        [
            isinstance(facts.get(name), list)
            for name in ("precomputed", "lengths", "dims", "versions", "numbers")
        ]
    ):
        return None
    kernel = _kernel(function, entry.object_code, symbol, imports, facts, target)
    return kernel, tuple(operands), parts


def compile_cached(emitted: Emitted, compile_it: Callable[[], Compiled]) -> Compiled:
    """Object code from the cache on disk, by the LLVM IR that it is made of; else compiled, and kept there."""
    target, passes = emitted.segment.target, emitted.passes
    parts = (emitted.text, target.kernel_key, passes.name, LLVM_VERSION, LLVMLITE_VERSION)
    key = hashlib.blake2b("\n".join(parts).encode(), digest_size=20).hexdigest()
    found = default_cache().get(key)
    if found is not None:
        code = codegen.Compiled(found.object_code, emitted.text, target, passes)
        return Compiled(emitted.segment, emitted.symbol, code)
    made = compile_it()
    default_cache().put(key, made.code.object_code, {"symbol": made.symbol})
    return made


def _part_key(key: str, part: int) -> str:
    return key if part == 0 else f"{key}-prepare"


def _kernel(
    function: ir.Function,
    code: bytes,
    symbol: str,
    imports: Sequence[str],
    facts: Mapping[str, Any],
    target: Target,
) -> NativeKernel | SymbolicNativeKernel:
    interface = _interface(function)
    inputs = [interface.inputs[k] for k in facts["operands"]]
    inputs += [
        symbolic_slot(name, tuple(shape), DType(dtype).numpy) for name, shape, dtype in facts["precomputed"]
    ]
    kinds = facts["outputs"]
    if kinds is None:
        kinds = [(type_.shape, type_.dtype) for type_ in interface.outputs]
    outputs = [symbolic_slot(f"output {k}", tuple(n), DType(d).numpy) for k, (n, d) in enumerate(kinds)]
    lengths = tuple([(output, axis, position) for output, axis, position in facts["lengths"]])
    image = Image(
        symbol,
        (),
        (),
        code,
        tuple(imports),
        tuple(constant_arrays(function)),
        lengths,
        facts["operations"],
        versions=tuple(facts["versions"]),
        elsewhere=target.elsewhere,
    )
    known = dims_in(function)
    if any(isinstance(dim, Expr) for slot in (*inputs, *outputs) for dim in slot.dims):
        dims = [known[k] for k in facts["dims"]]
        numbers = [(known[k], const(n, INDEX)) for k, n in facts["numbers"]]
        pairs = [*broadcast_guards(function), *numbers]
        return SymbolicNativeKernel(
            image, inputs, outputs, dims, pairs, _shape_preconditions(function, inputs)
        )
    static = replace(
        image, inputs=tuple([s.at({}) for s in inputs]), outputs=tuple([s.at({}) for s in outputs])
    )
    return NativeKernel(static)


def _shape_preconditions(function: ir.Function, inputs: Sequence[SymbolicSlot]) -> list[ShapePrecondition]:
    """What must hold of the dims that a part of the segment takes."""
    bound = {dim for slot in inputs for dim in slot.dims if isinstance(dim, Var)}
    return [each for each in shape_preconditions(function) if bound.issuperset(free_vars(each.condition))]


def _facts(segment: Segment) -> dict[str, Any]:
    """What must be known of a part of a segment to call it.

    `operands` of the segment, tuples spread, that it takes, and name, shape and dtype of what was `precomputed`; shape
    in storage and dtype of its `outputs`, None where the types of the results say it; its `operations`; (result, axis,
    position of its length) of dims that depend on data; which `dims` of the segment the code takes; (dim, number) of
    those that meet in a broadcast.
    """
    results = segment.outputs[: segment.results]
    static = all(isinstance(dim, int) for tensor in results for dim in tensor.shape)
    known = dims_in(segment.function)
    return {
        "operands": list(segment.operands),
        "precomputed": [[t.name, list(_shape_of(t)), str(t.dtype)] for t in segment.precomputed],
        "outputs": [[list(_shape_of(t)), str(t.dtype)] for t in results] if static else None,
        "operations": operations(segment.outputs) if static else None,
        "lengths": [[count.result, count.axis, count.source - segment.results] for count in segment.counts],
        "dims": [known.index(var) for var in _dims_of(segment)],
        "numbers": [
            [known.index(dim), int(n.value)]
            for n, dim in ([segment.broadcast_number] if segment.broadcast_number else ())
            if isinstance(n, Const)  # a number
        ],
    }


def _dims_of(segment: Segment) -> tuple[Var, ...]:
    """The dims that the code takes: those of its operands, and those by which it chooses a version."""
    guards = [var for each in segment.specialisations for var in free_vars(each.guard)]
    return tuple(dict.fromkeys([*tir.dims_of(segment.inputs, segment.outputs), *guards]))


# ------------------------------------------------------------------ what a kernel takes and gives


@dataclass(frozen=True, slots=True)
class _Interface:
    """What a kernel takes and gives, from the types alone; data-dependent dims of outputs are None."""

    name: str
    inputs: tuple[SymbolicSlot, ...]
    outputs: tuple[TensorType, ...]

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The inputs of what can run for one shape only.  Raises CodegenError for symbolic dims."""
        if any(isinstance(dim, Expr) for slot in self.inputs for dim in slot.dims):
            raise CodegenError(f"{self.name} calls hand-written functions; its dims must be bound to values")
        return tuple([slot.at({}) for slot in self.inputs])


def _interface(function: ir.Function) -> _Interface:
    inputs: list[SymbolicSlot] = []
    for param in function.params:
        what = f"parameter {param.name_hint}"
        types = flat_types(param.checked_type, what)
        for k, type_ in enumerate(types):
            name = param.name_hint if len(types) == 1 else f"{param.name_hint}.{k}"
            inputs.append(symbolic_slot(name, known_shape(type_, what), type_.dtype.numpy))
    outputs = flat_types(function.body.checked_type, "the result")
    return _Interface(kernel_name(function), tuple(inputs), outputs)


def slots(program: Program) -> tuple[tuple[Slot, ...], tuple[Slot, ...]]:
    """What a schedule's kernel takes and gives where the variables of its dims have values."""
    inputs, outputs = (
        tuple([Slot(tensor.name, program.shape(tensor), tensor.dtype.numpy) for tensor in part])
        for part in (program.inputs, program.outputs)
    )
    return inputs, outputs


def _output_slots(outputs: Sequence[TensorType], storage: Sequence[Sequence[int]]) -> tuple[Slot, ...]:
    return tuple(
        Slot(f"output {k}", tuple(shape), type_.dtype.numpy)
        for k, (type_, shape) in enumerate(zip(outputs, storage, strict=True))
    )


def _storage(segment: Segment) -> list[tuple[int, ...]]:
    return [_shape_of(tensor) for tensor in segment.outputs[: segment.results]]


def _static_or_none(type_: TensorType) -> tuple[int, ...] | None:
    dims = [dim for dim in type_.shape if isinstance(dim, int)]
    return tuple(dims) if len(dims) == len(type_.shape) else None


def _shape_of(tensor: Tensor) -> tuple[int, ...]:
    dims = [int(dim) for dim in tensor.shape if isinstance(dim, int)]
    if len(dims) != len(tensor.shape):
        raise CodegenError(
            f"{tensor.name} has a symbolic shape; its dims must be bound to values before compilation"
        )
    return tuple(dims)
