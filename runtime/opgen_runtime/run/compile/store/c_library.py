"""A compiled program as a C header and objects, which a C compiler links into a library without Python.

NAME.h             the functions, with the shapes of what they take
NAME.o             the functions, NAME_driver.o the driver of the program, NAME_kernel_K.o its kernels
NAME_constants.o   its constants, what was precomputed of them included
opgen_*.o          the runtime's own code, the same for all programs: threads, functions of rare arguments
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from ....base import Target
from ....base.arith import Var
from ....base.errors import ExecutorError
from ....codegen import ModuleText, compiled, data_object, modules_of, renamed
from ..kernel.kernel import Kernel, NativeKernel
from ..kernel.sizes import vars_of
from ..kernel.symbolic import SymbolicNativeKernel, SymbolicSlot
from ..program.driver import ARENA, SYMBOL, constant_symbols, driver_text, kernel_name
from ..program.plan import Held, Plan, Run

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TYPES: Final = {"float32": "float", "float64": "double", "bool": "uint8_t"}
_THREADS: Final = "opgen_pool_limit"


def write(
    folder: Path, name: str, kernels: Sequence[Kernel], plan: Plan | None, target: Target
) -> list[Path]:
    """Write the files; gives their paths, the header first.

    Raises ExecutorError for a name that C does not allow, and for hand-written functions of Python.
    """
    if not _NAME.fullmatch(name):
        raise ExecutorError(f"{name!r} is no name of C")
    for kernel in kernels:
        if kernel.why_of_python is not None:
            raise ExecutorError(f"{kernel.why_of_python}, which needs Python")
    plan = plan or plan_of(kernels[0])
    driver = compiled("driver", driver_text(plan, kernels, target), target)
    names = {SYMBOL: f"{name}_driver", ARENA: f"{name}_arena"}
    objects: dict[str, bytes] = {}
    needed = [_THREADS]
    for number, kernel in enumerate(kernels):
        if isinstance(kernel, NativeKernel | SymbolicNativeKernel):
            names[kernel_name(number)] = own = f"{name}_kernel_{number}"
            objects[own] = renamed(kernel.image.code, {kernel.name: own})
            needed += kernel.image.imports
    arrays: dict[str, bytes] = {}
    for symbol, array in constant_symbols(plan, kernels):
        names[symbol] = f"{name}_{symbol.removeprefix('opgen_')}"
        arrays[names[symbol]] = np.ascontiguousarray(array).tobytes()
    objects[f"{name}_driver"] = renamed(driver, names)
    inputs, outputs, lengths = _slots(plan)
    entry = _entry(name, len(inputs) + len(outputs) + lengths, len(plan.dims), target)
    objects[name] = compiled("entry", entry, target)
    if arrays:
        objects[f"{name}_constants"] = data_object(driver, arrays)
    for module, text in modules_of(needed, target).items():
        objects[f"opgen_{module.removeprefix('opgen_').replace(' ', '_')}"] = compiled(module, text, target)
    folder.mkdir(parents=True, exist_ok=True)
    header = folder / f"{name}.h"
    header.write_text(_header(name, plan))
    written = [header]
    for title, code in objects.items():
        written.append(folder / f"{title}.o")
        written[-1].write_bytes(code)
    return written


def plan_of(kernel: Kernel) -> Plan:
    """The plan of a program that is one kernel."""
    slots = [*kernel.inputs, *kernel.outputs]
    shapes = [slot.dims if isinstance(slot, SymbolicSlot) else slot.shape for slot in slots]
    held = [Held(shape, slot.dtype) for shape, slot in zip(shapes, slots, strict=True)]
    inputs = tuple(range(len(kernel.inputs)))
    outputs = tuple(range(len(inputs), len(slots)))
    count = 1 + max([position for _, _, position in kernel.lengths], default=-1)
    counts = tuple(range(len(slots), len(slots) + count))
    held += [Held((), np.dtype(np.int64))] * count
    lengths = tuple([(output, axis, counts[position]) for output, axis, position in kernel.lengths])
    run = Run(0, inputs, outputs, counts)
    dims = vars_of(shapes[: len(inputs)])
    return Plan(len(inputs), {}, tuple(held), (run,), outputs, outputs, lengths, {}, 0, dims)


def _slots(plan: Plan) -> tuple[list[Held], list[Held], int]:
    """Inputs, outputs, and how many lengths there are."""
    lengths = {slot for _, _, slot in plan.lengths}
    return list(plan.held[: plan.num_params]), [plan.held[slot] for slot in plan.outputs], len(lengths)


_ENTRY: Final = """
@$NAME_arena = hidden global ptr null, align 8
declare void @free(ptr)
declare i32 @$NAME_driver(ptr, ptr, ptr, ptr)
define i32 @$NAME($PARAMETERS) nounwind {
  %data = alloca [$COUNT x ptr], align 8
  %dims = alloca [$DIMS x i64], align 8
$STORES
  %status = call i32 @$NAME_driver(ptr %data, ptr %dims, ptr null, ptr null)
  ret i32 %status
}
define void @$NAME_release() nounwind {
  %kept = atomicrmw xchg ptr @$NAME_arena, ptr null acq_rel
  call void @free(ptr %kept)
  ret void
}
"""


def _entry(name: str, count: int, dims: int, target: Target) -> str:
    """The function that C calls: one argument an array, as the driver takes them, then one a symbolic dim."""
    stores = []
    for k in range(count):
        stores += [
            f"  %at{k} = getelementptr ptr, ptr %data, i64 {k}",
            f"  store ptr %a{k}, ptr %at{k}",
        ]
    for k in range(dims):
        stores += [
            f"  %dim_at{k} = getelementptr i64, ptr %dims, i64 {k}",
            f"  store i64 %d{k}, ptr %dim_at{k}",
        ]
    text = (
        _ENTRY.replace("$NAME", name)
        .replace("$COUNT", str(max(count, 1)))
        .replace("$DIMS", str(max(dims, 1)))
    )
    parameters = [*[f"ptr %a{k}" for k in range(count)], *[f"i64 %d{k}" for k in range(dims)]]
    text = text.replace("$PARAMETERS", ", ".join(parameters))
    module = ModuleText(target)
    module.source(text.replace("$STORES", "\n".join(stores)))
    return f'target triple = "{target.triple}"\n{module.render()}'


def _header(name: str, plan: Plan) -> str:
    inputs, outputs, lengths = _slots(plan)
    parameters = [f"const {_c_type(held)} *input{k}" for k, held in enumerate(inputs)]
    parameters += [f"{_c_type(held)} *output{k}" for k, held in enumerate(outputs)]
    parameters += [f"int64_t *length{k}" for k in range(lengths)]
    parameters += [f"int64_t {_dim_name(k, var)}" for k, var in enumerate(plan.dims)]
    counts = {slot: k for k, slot in enumerate(dict.fromkeys(slot for _, _, slot in plan.lengths))}
    lines = [
        "/* A program compiled by opgen.  Arrays are contiguous, the last axis fastest, and results overlap nothing:",
        *[f"     input{k}: {held}" for k, held in enumerate(inputs)],
        *[f"     output{k}: {held}" for k, held in enumerate(outputs)],
        *[f"     {_dim_name(k, var)}: the dim {var.name}" for k, var in enumerate(plan.dims)],
        *[
            f"     length{counts[slot]}: how long axis {axis} of output{output} came out, at most as its shape says"
            for output, axis, slot in plan.lengths
        ],
        "   float16 and bfloat16 are given as their bits, bool as a byte.  The result is 0, or 1 where memory ran out.",
        "   Several threads may call it at once. */",
        f"#ifndef {name.upper()}_H",
        f"#define {name.upper()}_H",
        "#include <stdint.h>",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        f"int32_t {name}({', '.join(parameters) or 'void'});",
        "/* Frees the memory that is kept between calls; no call may be under way. */",
        f"void {name}_release(void);",
        "/* How many threads a call may use (1 at first), and their end; of all programs of the process. */",
        f"void {_THREADS}(int32_t threads);",
        "void opgen_pool_stop(void);",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def _dim_name(k: int, var: Var) -> str:
    """What C calls a symbolic dim."""
    return f"dim{k}_{re.sub(r'[^A-Za-z0-9_]', '_', var.name)}"


def _c_type(held: Held) -> str:
    name = held.dtype.name
    if name in _TYPES:
        return _TYPES[name]
    signed = "" if held.dtype.kind == "i" else "u"
    return f"{signed}int{8 * held.dtype.itemsize}_t"
