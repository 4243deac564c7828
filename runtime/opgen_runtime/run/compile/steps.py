"""The work of each stage of a kernel: from one record to the next (`records.py`).

A step that gives a Kernel ends the way: there is nothing to compute, or what there is runs in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ... import codegen, ir
from ...base.contract import Contract
from ...base.errors import CodegenError
from ...codegen.objects import load as loading
from ...codegen.objects.cache import default_cache
from ...compute import te
from ...compute.te.contract import TENSORS
from ...compute.te.extern import RESULTS
from ...compute.te.tensor import Extern, Tensor
from ...declaration.contract import COMPUTED
from ...lower import tir
from ...lower.library import schedules
from ...lower.library.segment import (
    Segment,
    constant_arrays,
    flat_types,
    is_empty,
    kernel_name,
    segment_of,
    static_shape,
)
from ...lower.schedule import SCHEDULE, schedule_by
from ...operator import TensorType
from .extern import ExternKernel
from .kernel import EmptyKernel, Image, Kernel, NativeKernel, Slot
from .records import Compiled, Emitted, Lowered, Normal, Request, Scheduled

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
    if len(known) == len(shapes) and is_empty(known):
        return EmptyKernel(interface.name, interface.inputs, _output_slots(interface.outputs, known))
    return segment_of(request.function, request.target)


def normalize(segment: Segment) -> Normal | ExternKernel:
    """The normal form; a kernel at once where a part is a hand-written function, which runs in Python."""
    if any(isinstance(tensor.op, Extern) for tensor in te.tensor_order(segment.outputs)):
        interface = _interface(segment.function)
        outputs = _output_slots(interface.outputs, _storage(segment))
        results = segment.outputs[: segment.results]
        return ExternKernel(interface.name, interface.inputs, outputs, segment.inputs, results)
    return Normal(segment, tuple(te.normalize(segment.outputs)))


def schedule(normal: Normal) -> Scheduled:
    """The anchor's schedule if its strategy chose a special one, else the library's."""
    segment, anchor = normal.segment, normal.segment.anchor
    function: Callable[..., object] = schedules.generic
    what = "the schedule of the library"
    if anchor is not None and not anchor.selection.implementation.is_default:
        chosen = anchor.selection.implementation
        function = chosen.schedule
        named = getattr(function, "__qualname__", type(function).__name__)
        what = f"{anchor.op.name}: schedule {named} of {chosen.name}"
    return Scheduled(normal, schedule_by(function, what, normal.outputs, segment.target))


def lower(scheduled: Scheduled) -> Lowered:
    """Loop IR, as deep as the schedule says."""
    normal, segment = scheduled.normal, scheduled.normal.segment
    func = tir.lower(scheduled.schedule, segment.inputs, normal.outputs, segment.name)
    return Lowered(segment, func)


def phase(run: tir.Phase) -> Callable[[Lowered], Lowered]:
    """The step of a phase over loop IR."""
    return lambda lowered: replace(lowered, func=run(lowered.func))


def hooked(lowered: Lowered, stage: str, hook: tir.Phase, contract: Contract[tir.View]) -> Lowered:
    """What a user's function makes of loop IR. Raises LoweringError where it gives what is none."""
    return replace(lowered, func=tir.hooked(stage, hook, lowered.func, contract))


def emit(lowered: Lowered) -> Emitted:
    """LLVM IR."""
    func, segment = lowered.func, lowered.segment
    text = codegen.emit(func, segment.target)
    return Emitted(segment, func.name, text, codegen.choose_pipeline(func))


def compile_(emitted: Emitted) -> Compiled:
    """Object code, optimised by LLVM."""
    segment = emitted.segment
    code = codegen.optimise_and_compile(emitted.text, segment.target, emitted.passes)
    return Compiled(segment, emitted.symbol, code)


def load(compiled: Compiled) -> NativeKernel:
    """The kernel in this process."""
    segment, code = compiled.segment, compiled.code.object_code
    imports = loading.imports_of(code)
    return NativeKernel(_image(segment.function, code, compiled.symbol, imports, *_facts(segment)))


# ------------------------------------------------------------------ the object cache


def keep(compiled: Compiled, key: str) -> None:
    """Put object code into the cache on disk, with what a kernel needs to know beside."""
    storage, lengths = _facts(compiled.segment)
    code = compiled.code.object_code
    facts: dict[str, object] = {
        "symbol": compiled.symbol,
        "imports": list(loading.imports_of(code)),
        "storage": [list(shape) for shape in storage],
        "lengths": [list(length) for length in lengths],
    }
    default_cache().put(key, code, facts)


def kept(function: ir.Function, key: str) -> Kernel | None:
    """The kernel in the cache on disk; an entry of a form that this version does not write counts as absent."""
    entry = default_cache().get(key)
    if entry is None:
        return None
    facts = entry.metadata
    symbol, imports, storage, lengths = (facts.get(k) for k in ("symbol", "imports", "storage", "lengths"))
    if not (isinstance(symbol, str) and isinstance(imports, list)):
        return None
    if not (isinstance(storage, list) and isinstance(lengths, list)):
        return None
    counts = [(output, axis, position) for output, axis, position in lengths]
    return NativeKernel(_image(function, entry.object_code, symbol, imports, storage, counts))


def _image(
    function: ir.Function,
    code: bytes,
    symbol: str,
    imports: Sequence[str],
    storage: Sequence[Sequence[int]],
    lengths: Sequence[tuple[int, int, int]],
) -> Image:
    interface = _interface(function)
    outputs = _output_slots(interface.outputs, storage)
    constants = tuple(constant_arrays(function))
    return Image(symbol, interface.inputs, outputs, code, tuple(imports), constants, tuple(lengths))


# ------------------------------------------------------------------ what a kernel takes and gives


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


def _facts(segment: Segment) -> tuple[list[tuple[int, ...]], list[tuple[int, int, int]]]:
    """The shapes of the results in storage; (result, axis, position of its length) of data-dependent dims."""
    lengths = [(count.result, count.axis, count.source - segment.results) for count in segment.counts]
    return _storage(segment), lengths


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
