"""Artifacts: a compiled program in one file, of the form of `pieces.py`; the header has inputs, plan and kernels.

Digests authenticate nothing: an artifact holds machine code, so load only what you trust.  Nothing is unpickled.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any, Final

import numpy as np

from ....base import Target
from ....base.errors import ExecutorError
from ....base.forks import importing
from ....base.version import VERSION
from ....base.vocabulary import DTYPES, DType, dataclass
from ....codegen import compiled, key_of, modules_of, provide
from ..kernel.kernel import EmptyKernel, Image, Kernel, NativeKernel, Slot
from ..kernel.shape_preconditions import ShapePrecondition
from ..kernel.sizes import SizesIn, SizesOut
from ..kernel.symbolic import SymbolicKernel, SymbolicNativeKernel, SymbolicSlot, symbolic_slot
from ..native.entry import ENTRY_LEVEL, ENTRY_MODULE
from ..native.entry_text import entry_text
from ..program.plan import (
    Again,
    Copy,
    Donation,
    Else,
    End,
    Held,
    If,
    Instruction,
    Leave,
    Loop,
    Plan,
    Put,
    PutSlice,
    Run,
    Slots,
)
from .files import aligned_memory, read_whole
from .pieces import Blobs, Head, Piece, blobs_of, head_in, head_of_file, in_pieces, write_pieces


@dataclass(frozen=True, slots=True)
class Contents:
    """What an artifact holds.  Without a plan, and a `driver` for it, it is one kernel.

    `result`: positions of the outputs as the program's value nests them.
    """

    target: str
    inputs: tuple[str, ...]
    kernels: tuple[Kernel, ...]
    plan: Plan | None
    driver: bytes
    result: Slots


@dataclass(frozen=True, slots=True)
class Chained:
    """A program in parts: each with the numbers of what it takes, of the inputs and then of the parts' results."""

    inputs: tuple[str, ...]
    parts: tuple[tuple[Contents, tuple[int, ...]], ...]
    result: Slots


def write(path: str | os.PathLike[str], contents: Contents | Chained) -> None:
    """Write an artifact, whole or not at all.  Raises ExecutorError for kernels that are functions of Python."""
    write_pieces(path, encoded(contents))


def encode(contents: Contents | Chained) -> bytes:
    """The bytes of an artifact.  Raises ExecutorError for kernels that are functions of Python."""
    return b"".join(encoded(contents))


def encoded(contents: Contents | Chained, facts: Mapping[str, object] | None = None) -> list[Piece]:
    """The bytes of an artifact in pieces, which are those of arrays where these are.

    `facts`: kept with it, for `read_kept`; the runtime's own modules are left out then: the cache of objects has them.
    """
    blobs = Blobs()
    header = _whole(contents, blobs, facts) if isinstance(contents, Contents) else _chained(contents, blobs)
    header["facts"] = facts
    return in_pieces(header, blobs)


def _chained(contents: Chained, blobs: Blobs) -> dict[str, object]:
    """The header of a program in parts, each of which is an artifact itself."""
    return {
        "opgen": VERSION,
        "target": contents.parts[0][0].target,
        "inputs": list(contents.inputs),
        "result": contents.result,
        "parts": [[blobs.add(encode(part)), takes] for part, takes in contents.parts],
    }


def _whole(contents: Contents, blobs: Blobs, facts: Mapping[str, object] | None = None) -> dict[str, object]:
    sizes = SizesOut()
    header: dict[str, object] = {
        "opgen": VERSION,
        "target": contents.target,
        "inputs": list(contents.inputs),
        "result": contents.result,
        "kernels": [_kernel(kernel, blobs, sizes) for kernel in contents.kernels],
        "plan": None if contents.plan is None else _plan(contents.plan, blobs, sizes),
        "driver": blobs.add(contents.driver),
        "runtime": [[key, blobs.add(code)] for key, code in (() if facts else _runtime_objects(contents))],
    }
    header["dims"] = sizes.table
    return header


def read(path: str | os.PathLike[str]) -> Contents | Chained:
    """What an artifact holds, its kernels linked into this process.

    Raises ExecutorError for a file that is none, is damaged, or was saved by another version or for another machine.
    """
    head = head_of_file(path)
    return _decoded(read_whole(path), str(path), head)


def read_kept(path: str | os.PathLike[str]) -> tuple[Contents | Chained, Mapping[str, Any]]:
    """Like `read`, with the facts that were kept with it."""
    head = head_of_file(path)
    return _decoded(read_whole(path), str(path), head), head.header["facts"] or {}


def decode(whole: bytes, what: str) -> Contents | Chained:
    """Like `read`, of the bytes; `what` names them in errors."""
    memory = aligned_memory(len(whole))
    memory[:] = whole
    return _decoded(memory, what, head_in(memory, what))


def _decoded(memory: memoryview, what: str, head: Head) -> Contents | Chained:
    whole, header = memory.toreadonly(), head.header
    check_usable(header, what)
    if "function" in header:
        raise ExecutorError(f"{what} holds a function of arrays; rt.load_function loads it")
    blobs = list(blobs_of(whole, head, what))
    inputs, result = tuple(header["inputs"]), _read_slots(header["result"])
    if "parts" in header:
        parts: list[tuple[Contents, tuple[int, ...]]] = []
        for number, takes in header["parts"]:
            part = _decoded(blobs[number], what, head_in(blobs[number], what))
            assert isinstance(part, Contents)
            parts.append((part, tuple(takes)))
        return Chained(inputs, tuple(parts), result)
    for key, code in header["runtime"]:
        provide(key, bytes(blobs[code]))
    sizes = SizesIn(header["dims"])
    kernels = tuple([_read_kernel(each, blobs, sizes) for each in header["kernels"]])
    plan = None if header["plan"] is None else _read_plan(header["plan"], blobs, sizes)
    if plan is not None:
        with importing:
            from ..program.plan_contract import PLAN, View
        PLAN.check(View(plan, tuple(kernels)), what, own=False)
    driver = bytes(blobs[header["driver"]])
    return Contents(header["target"], inputs, kernels, plan, driver, result)


def check_usable(header: Mapping[str, Any], what: str) -> None:
    """Raises ExecutorError for what another version saved, or was compiled for what this machine is not."""
    if header["opgen"] != VERSION:
        raise ExecutorError(f"{what} was saved by opgen {header['opgen']}, this is {VERSION}; save it again")
    if header["target"] != str(Target.host()) and not Target.of_code(header["target"]).is_host:
        raise ExecutorError(f"{what} was compiled for {header['target']}, which this machine is not")


def _runtime_objects(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """Key and object code of the runtime's own modules that the program and its calls need."""
    native = [
        kernel for kernel in contents.kernels if isinstance(kernel, NativeKernel | SymbolicNativeKernel)
    ]
    return runtime_objects([name for kernel in native for name in kernel.image.imports], contents.target)


def runtime_objects(names: Sequence[str], code: str) -> Iterator[tuple[str, bytes]]:
    """Key and object code of the runtime's own modules that code with these imports, and its calls, need.

    `code`: what it is compiled for.  What calls from Python need of this Python is not there for another machine.
    """
    compiled_for = Target.of_code(code)
    target = Target.host() if compiled_for.is_host else compiled_for
    for name, text in modules_of(names, target).items():
        yield key_of(text, target), compiled(name, text, target)
    if compiled_for.is_host:
        entries = entry_text()
        yield (
            key_of(entries, target, ENTRY_LEVEL),
            compiled(ENTRY_MODULE, entries, target, level=ENTRY_LEVEL),
        )


def _kernel(kernel: Kernel, blobs: Blobs, sizes: SizesOut) -> dict[str, object]:
    if kernel.why_of_python is not None:
        raise ExecutorError(f"{kernel.why_of_python}, which no artifact can hold")
    made: dict[str, object] = {
        "name": kernel.name,
        "inputs": [_slot(slot, sizes) for slot in kernel.inputs],
        "outputs": [_slot(slot, sizes) for slot in kernel.outputs],
    }
    if isinstance(kernel, SymbolicKernel):
        made["symbolic"] = [sizes.var(dim) for dim in kernel.dims]
        made["broadcast_guards"] = [[sizes.dim(a), sizes.dim(b)] for a, b in kernel.broadcast_guards]
        made["shape_preconditions"] = [
            [each.op, each.text, sizes.dim(each.condition), each.error] for each in kernel.shape_preconditions
        ]
    if isinstance(kernel, NativeKernel | SymbolicNativeKernel):
        image = kernel.image
        made |= {
            "code": blobs.add(image.code),
            "imports": list(image.imports),
            "constants": [blobs.array(constant) for constant in image.constants],
            "lengths": [list(length) for length in image.lengths],
            "operations": image.operations,
            "dims": list(image.dims),
            "versions": list(image.versions),
        }
    return made


def _read_kernel(made: Mapping[str, Any], blobs: Sequence[memoryview], sizes: SizesIn) -> Kernel:
    inputs = tuple([_read_slot(slot, sizes) for slot in made["inputs"]])
    outputs = tuple([_read_slot(slot, sizes) for slot in made["outputs"]])
    if "code" not in made:
        return EmptyKernel(made["name"], tuple(map(_static, inputs)), tuple(map(_static, outputs)))
    constants = tuple([_read_array(constant, blobs) for constant in made["constants"]])
    lengths = tuple([(result, axis, position) for result, axis, position in made["lengths"]])
    code = bytes(blobs[made["code"]])
    known = (made["operations"], tuple(made["dims"]), tuple(made["versions"]))
    rest = (code, tuple(made["imports"]), constants, lengths, *known)
    if "symbolic" in made:
        image = Image(made["name"], (), (), *rest)
        dims = [sizes.vars[k] for k in made["symbolic"]]
        broadcast_guards = [(sizes.expr(a), sizes.expr(b)) for a, b in made["broadcast_guards"]]
        shape_preconditions = [
            ShapePrecondition(op, text, sizes.expr(condition), error)
            for op, text, condition, error in made["shape_preconditions"]
        ]
        return SymbolicNativeKernel(image, inputs, outputs, dims, broadcast_guards, shape_preconditions)
    return NativeKernel(Image(made["name"], tuple(map(_static, inputs)), tuple(map(_static, outputs)), *rest))


_INSTRUCTIONS: Final[dict[str, Callable[..., Instruction]]] = {
    each.__name__: each for each in (Run, Copy, Put, If, Else, Loop, Again, Leave, End)
}


def _plan(plan: Plan, blobs: Blobs, sizes: SizesOut) -> dict[str, object]:
    return {
        "inputs": plan.num_params,
        "constants": {str(slot): blobs.array(array) for slot, array in plan.constants.items()},
        "held": [[sizes.shape(held.shape), held.dtype.name] for held in plan.held],
        "code": [[type(each).__name__, *_fields(each, sizes)] for each in plan.code],
        "outputs": plan.outputs,
        "result": plan.result,
        "lengths": plan.lengths,
        "offsets": {str(slot): sizes.dim(offset) for slot, offset in plan.offsets.items()},
        "space": sizes.dim(plan.space),
        "dims": [sizes.var(dim) for dim in plan.dims],
        "donations": [astuple(each) for each in plan.donations],
    }


def _fields(each: Instruction, sizes: SizesOut) -> list[Any]:
    if isinstance(each, PutSlice):
        return [each.whole, each.part, each.axis, sizes.dim(each.start)]
    return list(astuple(each))


def _instruction(name: str, fields: Sequence[Any], sizes: SizesIn) -> Instruction:
    if name == PutSlice.__name__:
        whole, part, axis, start = fields
        return PutSlice(whole, part, axis, sizes.dim(start))
    return _INSTRUCTIONS[name](*map(_read_slots, fields))


def _read_plan(made: Mapping[str, Any], blobs: Sequence[memoryview], sizes: SizesIn) -> Plan:
    return Plan(
        made["inputs"],
        {int(slot): _read_array(array, blobs) for slot, array in made["constants"].items()},
        tuple([Held(sizes.shape(shape), _dtype(dtype)) for shape, dtype in made["held"]]),
        tuple([_instruction(name, fields, sizes) for name, *fields in made["code"]]),
        tuple(made["outputs"]),
        _read_slots(made["result"]),
        tuple([(output, axis, slot) for output, axis, slot in made["lengths"]]),
        {int(slot): sizes.dim(offset) for slot, offset in made["offsets"].items()},
        sizes.dim(made["space"]),
        tuple([sizes.vars[k] for k in made["dims"]]),
        tuple([Donation(param, result, grows) for param, result, grows in made["donations"]]),
    )


def _read_slots(made: Any) -> Slots:
    return made if isinstance(made, int) else tuple([_read_slots(part) for part in made])


def _slot(slot: Slot, sizes: SizesOut) -> list[object]:
    shape = slot.dims if isinstance(slot, SymbolicSlot) else slot.shape
    return [slot.name, sizes.shape(shape), slot.dtype.name]


def _read_slot(made: Sequence[Any], sizes: SizesIn) -> SymbolicSlot:
    name, shape, dtype = made
    return symbolic_slot(name, sizes.shape(shape), _dtype(dtype))


def _static(slot: SymbolicSlot) -> Slot:
    return slot.at({})


def _read_array(made: Mapping[str, Any], blobs: Sequence[memoryview]) -> np.ndarray:
    return np.frombuffer(blobs[made["blob"]], _dtype(made["dtype"])).reshape(made["shape"])


def _dtype(name: str) -> np.dtype[Any]:
    assert name in DTYPES, name
    return DType(name).numpy
