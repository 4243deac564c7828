"""Kernels in the object cache on disk: the object code of each part of a segment, and the metadata to call it by."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .... import codegen, ir
from ....base import Target
from ....base.arith import Const, Expr, Var, const, free_vars
from ....base.vocabulary import INDEX, DType
from ....codegen import LLVM_VERSION, LLVMLITE_VERSION, default_cache, imports_of
from ....compute.te.operations import operations
from ....lower import tir
from ....lower.library.segment import Segment, constant_arrays
from .dims import dims_in
from .interface import interface_of, static_shape
from .kernel import Image, NativeKernel
from .multiversioning import broadcast_guards
from .parts import Parts
from .records import Compiled, Emitted
from .shape_preconditions import ShapePrecondition, shape_preconditions
from .symbolic import SymbolicNativeKernel, SymbolicSlot, symbolic_slot


def store(compiled: Sequence[Compiled], key: str) -> None:
    """Put the object code of a segment, main part first, into the cache on disk, with what must be known beside."""
    segments = [each.segment for each in compiled if isinstance(each.segment, Segment)]
    if any([segment.counts and metadata_of(segment)["outputs"] is None for segment in segments]):
        return  # shapes in storage that no type says
    for part, each in reversed(list(enumerate(compiled))):
        assert isinstance(each.segment, Segment)
        code = each.code.object_code
        metadata: dict[str, object] = {
            "symbol": each.symbol,
            "imports": list(imports_of(code)),
            "parts": len(compiled) - part,
            "versions": each.versions,
            **metadata_of(each.segment),
        }
        default_cache().put(_part_key(key, part), code, metadata)


def load(function: ir.Function, key: str, target: Target) -> Parts | None:
    """The kernels in the cache on disk; an entry of a form that this version does not write counts as absent."""
    main = _load_part(function, key, 0, target)
    if main is None or main[2] == 1:
        return None if main is None else Parts(main[0], main[1])
    precompute = _load_part(function, key, 1, target.evaluating)
    return None if precompute is None else Parts(main[0], main[1], precompute[0], precompute[1])


def _load_part(
    function: ir.Function, key: str, part: int, target: Target
) -> tuple[NativeKernel | SymbolicNativeKernel, tuple[int, ...], int] | None:
    """A part of a segment, the operands that it takes, and how many parts there are from it on."""
    entry = default_cache().get(_part_key(key, part))
    metadata = {} if entry is None else entry.metadata
    symbol, imports, operands, parts = (metadata.get(k) for k in ("symbol", "imports", "operands", "parts"))
    if entry is None or not (isinstance(symbol, str) and isinstance(parts, int)):
        return None
    if not (isinstance(imports, list) and isinstance(operands, list)):
        return None
    if not all(
        [
            isinstance(metadata.get(name), list)
            for name in ("precomputed", "lengths", "dims", "versions", "numbers")
        ]
    ):
        return None
    kernel = kernel_of(function, entry.object_code, symbol, imports, metadata, target)
    return kernel, tuple(operands), parts


def _part_key(key: str, part: int) -> str:
    return key if part == 0 else f"{key}-prepare"


def kernel_of(
    function: ir.Function,
    code: bytes,
    symbol: str,
    imports: Sequence[str],
    metadata: Mapping[str, Any],
    target: Target,
) -> NativeKernel | SymbolicNativeKernel:
    """The kernel of object code in this process; `metadata`: that of `metadata_of`, with the `versions` in the code."""
    interface = interface_of(function)
    inputs = [interface.inputs[k] for k in metadata["operands"]]
    inputs += [
        symbolic_slot(name, tuple(shape), DType(dtype).numpy)
        for name, shape, dtype in metadata["precomputed"]
    ]
    kinds = metadata["outputs"]
    if kinds is None:
        kinds = [(type_.shape, type_.dtype) for type_ in interface.outputs]
    outputs = [symbolic_slot(f"output {k}", tuple(n), DType(d).numpy) for k, (n, d) in enumerate(kinds)]
    lengths = tuple([(output, axis, position) for output, axis, position in metadata["lengths"]])
    image = Image(
        symbol,
        (),
        (),
        code,
        tuple(imports),
        tuple(constant_arrays(function)),
        lengths,
        metadata["operations"],
        versions=tuple(metadata["versions"]),
        elsewhere=target.elsewhere,
    )
    known = dims_in(function)
    if any(isinstance(dim, Expr) for slot in (*inputs, *outputs) for dim in slot.dims):
        dims = [known[k] for k in metadata["dims"]]
        numbers = [(known[k], const(n, INDEX)) for k, n in metadata["numbers"]]
        pairs = [*broadcast_guards(function), *numbers]
        return SymbolicNativeKernel(
            image, inputs, outputs, dims, pairs, checkable_preconditions(function, inputs)
        )
    static = replace(
        image, inputs=tuple([s.at({}) for s in inputs]), outputs=tuple([s.at({}) for s in outputs])
    )
    return NativeKernel(static)


def checkable_preconditions(function: ir.Function, inputs: Sequence[SymbolicSlot]) -> list[ShapePrecondition]:
    """What must hold of the dims that a part of the segment takes."""
    bound = {dim for slot in inputs for dim in slot.dims if isinstance(dim, Var)}
    return [each for each in shape_preconditions(function) if bound.issuperset(free_vars(each.condition))]


def metadata_of(segment: Segment) -> dict[str, Any]:
    """What must be known of a part of a segment to call it.

    `operands` of the segment, tuples spread, that it takes, and name, shape and dtype of what was `precomputed`; shape
    in storage and dtype of its `outputs`, None where the types of the results say it; its `operations`; (result, axis,
    position of its length) of dims that depend on data; which `dims` of the segment the code takes; (dim, number) of
    those that meet in a broadcast.
    """
    results = segment.stored()
    static = all(isinstance(dim, int) for shape, _ in results for dim in shape)
    known = dims_in(segment.function)
    return {
        "operands": list(segment.operands),
        "precomputed": [
            [t.name, list(static_shape(t.shape, t.name)), str(t.dtype)] for t in segment.precomputed
        ],
        "outputs": [[list(shape), str(dtype)] for shape, dtype in results] if static else None,
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
