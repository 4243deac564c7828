"""Compiling one segment to a kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ... import codegen, ir
from ...base.contract import verifying
from ...base.errors import CodegenError
from ...base.target import Target
from ...codegen import load as jit
from ...codegen.objects.cache import default_cache
from ...compute import te
from ...compute.te.tensor import Extern, Tensor
from ...lower import tir
from ...lower.library import schedules
from ...lower.schedule import Schedule, schedule_by
from ...lower.tir.stmt import PrimFunc
from ...operator.types import TensorType
from .extern import ExternKernel
from .kept import Kept
from .kernel import EmptyKernel, Kernel, NativeKernel, Slot
from .key import front_key
from .segment import (
    ChosenCall,
    Segment,
    constant_arrays,
    flat_types,
    is_empty,
    kernel_name,
    segment_of,
    static_shape,
)

Trace = Callable[[str, str], None]
"""`(stage name, text)`: told of every stage; the text is made only if someone listens."""

_KEPT: Final = 4096


_kernels: Final[Kept[Kernel]] = Kept(_KEPT)  # by front key


def forget_kernels() -> None:
    """Drop the kernels that this process remembers; those on disk stay."""
    _kernels.clear()


def compile_segment(function: ir.Function, target: Target | str | None = None) -> Kernel:
    """The kernel of a segment: parameters to the body's tensors, tuples spread.

    Looks in this process, then in the object cache, by a key that is computed before anything is lowered; else
    compiles.  Raises CodegenError for types that are not known or not static, and what schedules, lowering and
    LLVM raise.
    """
    target = Target.host() if target is None else Target.parse(target)
    key = front_key(function, target)
    if key is None:
        return _compile(function, target, None)
    kernel = _kernels.get(key)
    if kernel is None:
        kernel = _from_disk(function, key) or _compile(function, target, key)
        _kernels.put(key, kernel)
    return kernel


@dataclass(frozen=True, slots=True)
class _Interface:
    """What a kernel takes and gives, from the types alone; data-dependent dims of outputs are None."""

    name: str
    inputs: tuple[Slot, ...]
    outputs: tuple[TensorType, ...]


def _interface(function: ir.Function) -> _Interface:
    inputs: list[Slot] = []
    for param in function.params:
        what = f"parameter {param.name_hint}"
        types = flat_types(param.checked_type, what)
        for k, type_ in enumerate(types):
            name = param.name_hint if len(types) == 1 else f"{param.name_hint}.{k}"
            inputs.append(Slot(name, static_shape(type_, what), type_.dtype.numpy))
    outputs = flat_types(function.body.checked_type, "the result")
    return _Interface(kernel_name(function), tuple(inputs), outputs)


def _output_slots(outputs: Sequence[TensorType], storage: Sequence[Sequence[int]]) -> tuple[Slot, ...]:
    return tuple(
        Slot(f"output {k}", tuple(shape), type_.dtype.numpy)
        for k, (type_, shape) in enumerate(zip(outputs, storage, strict=True))
    )


def _from_disk(function: ir.Function, key: str) -> Kernel | None:
    """The kernel in the object cache; an entry of a form that this version does not write counts as absent."""
    entry = default_cache().get(key)
    if entry is None:
        return None
    facts = entry.metadata
    symbol, imports, storage, lengths = (facts.get(k) for k in ("symbol", "imports", "storage", "lengths"))
    if not (isinstance(symbol, str) and isinstance(imports, list)):
        return None
    if not (isinstance(storage, list) and isinstance(lengths, list)):
        return None
    interface = _interface(function)
    loaded = jit.load(entry.object_code, symbol, imports)
    outputs = _output_slots(interface.outputs, storage)
    counts = [(output, axis, position) for output, axis, position in lengths]
    return NativeKernel(symbol, interface.inputs, outputs, loaded, constant_arrays(function), counts)


def _compile(function: ir.Function, target: Target, key: str | None) -> Kernel:
    interface = _interface(function)
    shapes = [_static_or_none(type_) for type_ in interface.outputs]
    known = [shape for shape in shapes if shape is not None]
    if len(known) == len(shapes) and is_empty(known):
        return EmptyKernel(interface.name, interface.inputs, _output_slots(interface.outputs, known))
    segment = segment_of(function, target)
    storage = [_shape_of(tensor) for tensor in segment.outputs[: segment.results]]
    outputs = _output_slots(interface.outputs, storage)
    if any(isinstance(tensor.op, Extern) for tensor in te.tensor_order(segment.outputs)):
        results = segment.outputs[: segment.results]
        return ExternKernel(interface.name, interface.inputs, outputs, segment.inputs, results)
    if not target.is_host:
        raise CodegenError(f"a kernel for {target.cpu} on {target.triple} cannot run on this machine")
    func = lower_segment(segment, target)
    compiled = codegen.optimise_and_compile(codegen.emit(func, target), target, codegen.choose_pipeline(func))
    imports = jit.imports_of(compiled.object_code)
    loaded = jit.load(compiled.object_code, func.name, imports)
    lengths = [(c.result, c.axis, c.source - segment.results) for c in segment.counts]
    if key is not None:
        facts: dict[str, object] = {
            "symbol": func.name,
            "imports": list(imports),
            "storage": [list(shape) for shape in storage],
            "lengths": [list(length) for length in lengths],
        }
        default_cache().put(key, compiled.object_code, facts)
    return NativeKernel(func.name, interface.inputs, outputs, loaded, constant_arrays(function), lengths)


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


def lower_segment(
    segment: Segment, target: Target, trace: Callable[[str, PrimFunc], None] | None = None
) -> PrimFunc:
    """Schedule a segment and lower it through all phases; `trace` sees the loop IR after each."""
    outputs = te.normalize(segment.outputs)
    func = tir.lower(schedule_of(segment, outputs, target), segment.inputs, outputs, segment.name)
    by_users = verifying() or not all(call.is_own for call in segment.calls)
    if by_users:
        tir.verify_lowered(func, "lower")
    if trace is not None:
        trace("lower", func)
    func = tir.run_phases(func, trace)
    if by_users:
        tir.verify_final(func, "all phases")
    return func


def schedule_of(segment: Segment, outputs: Sequence[Tensor], target: Target) -> Schedule:
    """The anchor's schedule if its strategy chose a special one, else the library's for the whole pattern."""
    anchor = anchor_of(segment.calls)
    if anchor is not None and anchor.selection.implementation.plevel > 0:
        chosen = anchor.selection.implementation
        named = getattr(chosen.schedule, "__qualname__", type(chosen.schedule).__name__)
        what = f"{anchor.op.name}: schedule {named} of {chosen.name}"
        return schedule_by(chosen.schedule, what, outputs, target)
    pattern, _ = te.derive_pattern(outputs, segment.inputs)
    return schedule_by(schedules.for_pattern(pattern), f"the schedule for {pattern.name}", outputs, target)


def anchor_of(calls: Sequence[ChosenCall]) -> ChosenCall | None:
    """The call whose schedule the segment follows: the last of the most restrictive pattern."""
    best: ChosenCall | None = None
    for call in calls:
        if best is None or call.pattern >= best.pattern:
            best = call
    return best
