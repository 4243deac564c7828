"""A schedule of tensor expressions as loop IR, `lower`; it and loop IR as functions of arrays, `build_...`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...base import Target
from ...base.errors import ExecutorError, LoweringError, ScheduleError
from ...base.garbage import rare_collections
from ...codegen import imports_of
from ...compute.te import Placeholder, Tensor
from ...lower import tir
from ...lower.schedule import Schedule, te
from ...lower.schedule.contract import SCHEDULE, Made
from ...lower.tir.nodes.visit import children
from ...transform import PassContext
from .function import LazilyLoaded, Slots, TensorFunction
from .function_code import Argument, FunctionCode
from .kernel.disk_cache import compile_cached
from .kernel.extern import ExternKernel
from .kernel.kernel import Kernel, NativeKernel
from .kernel.records import Compiled, Emitted, Lowered
from .kernel.steps import runs_in_python
from .kernel.written import Program, Written
from .pipeline import after, between, check_hooks, check_runs_here, through_kernel

PrimFunc = tir.PrimFunc
__all__ = [
    "PrimFunc",
    "Schedule",
    "Tensor",
    "TensorFunction",
    "build_loop_ir",
    "build_schedule",
    "create_prim_func",
    "lower",
    "workspace_bytes",
]


def lower(
    schedule: Schedule,
    args: Sequence[Tensor],
    name: str | None = None,
    binds: Mapping[Tensor, tir.Buffer] | None = None,
    simple_mode: bool = True,
) -> tir.PrimFunc:
    """The loop IR of a schedule, which prints as text; `args` as for `build`.

    `binds`: buffers that stand for arguments, of their shapes and dtypes, one each.  Without `simple_mode` the loop IR
    after all phases, for the current target, which is what code is generated from.

    Calls of Python functions are statements (`tir.CallPacked`), in `simple_mode` alone.

    Raises ScheduleError for arguments that are not the program's inputs and results, and for buffers that do not fit;
    and what lowering raises.
    """
    if not simple_mode and _is_in_python(schedule):
        raise LoweringError(
            "the schedule calls Python functions, and no machine code is made of it: use simple_mode"
        )
    written = _written(schedule, args, Target.current(), name, binds or {})
    *_, (_, lowered) = through_kernel(
        written, between("split", "lower" if simple_mode else tir.PHASES[-1].name)
    )
    assert isinstance(lowered, Lowered)
    return lowered.func


def create_prim_func(args: Sequence[Tensor], name: str = "main") -> tir.PrimFunc:
    """The loop IR of tensors as they are computed without a schedule of one's own, placeholders and results.

    `args`: the parameters, in their order; what is computed between them is storage of the kernel's own.  Raises
    ScheduleError for what is no tensor, for placeholders that are not given, and where no result is among them; and
    what lowering raises.
    """
    outputs = [each for each in args if not (isinstance(each, Tensor) and isinstance(each.op, Placeholder))]
    if not outputs:
        raise ScheduleError(
            "create_prim_func takes placeholders and what is computed of them, found no result"
        )
    return lower(te.create_schedule(outputs), args, name)


def workspace_bytes(schedule: Schedule, args: Sequence[Tensor]) -> int:
    """The most bytes that the kernel of a schedule has allocated at a time, beside its arguments, of static dims.

    Raises what `lower` raises.
    """
    return _allocated(lower(schedule, args, simple_mode=False).body)


def _allocated(s: tir.Stmt) -> int:
    inner = max([_allocated(each) for each in children(s)], default=0)
    if not isinstance(s, tir.Allocate):
        return inner
    count = math.prod([extent for extent in s.buffer.shape if isinstance(extent, int)])
    return inner + count * int(s.buffer.dtype.numpy.itemsize)


@rare_collections()
def build_schedule(
    schedule: Schedule, args: Sequence[Tensor], target: Target | str | None = None, name: str | None = None
) -> TensorFunction:
    """A function of arrays, one for each of `args`: the program's placeholders and all its results, in any order.

    Compiled for `target`, the current one by default.  A program with extern tensors runs without machine code: its
    functions in Python, the other tensors by numpy.  Raises what `lower` and the compiler raise.
    """
    chosen = Target.current() if target is None else Target.parse(target)
    written = _written(schedule, args, chosen, name)
    program = written.program
    arguments = [_argument(each, each in program.outputs) for each in args]
    if _is_in_python(schedule):
        return _in_python(program, arguments)
    made = {stage.name: record for stage, record in through_kernel(written, between("split", "emit"))}
    return _function(written, arguments, made["emit"], made["lower"].func)


@rare_collections()
def build_loop_ir(
    func: tir.PrimFunc, target: Target | str | None = None, name: str | None = None
) -> TensorFunction:
    """A function of arrays, one for each input and then each output of a kernel of loop IR, before its phases.

    Compiled for `target`, the current one by default.  Raises LoweringError for what is no loop IR of this kind, naming
    the rule, and what the compiler raises.
    """
    chosen = Target.current() if target is None else Target.parse(target)
    context = PassContext.current()
    check_hooks(context)
    options = tir.Options.of(context.config)
    inputs, outputs = (
        tuple([Tensor(each.name, each.shape, each.dtype, Placeholder()) for each in part])
        for part in (func.inputs, func.outputs)
    )
    program = Program(name or _symbol(func.name), chosen, inputs, outputs, options=options)
    unbound = [dim.name for dim in func.dims if dim not in program.variables]
    if unbound:
        raise LoweringError(f"{func.name}: the dim {unbound[0]} stands in no shape of a parameter")
    made = replace(
        func,
        name=program.name,
        dims=program.variables,
        vectors=chosen.vectors,
        machine=chosen.machine,
        options=options,
    )
    lowered = Lowered(program, made)
    tir.check(tir.LOWERED, made, "what was given", own=False)
    written = Written(program, None, context.hooks, context.instruments)
    *_, (_, emitted) = through_kernel(written, between("lower", "emit"), lowered)
    arguments = [_argument(each, each in outputs) for each in (*inputs, *outputs)]
    return _function(written, arguments, emitted, func)


def _symbol(name: str) -> str:
    """A name as one of a function in machine code."""
    made = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{made}" if made[:1].isdigit() else made


def _argument(tensor: Tensor, is_output: bool) -> Argument:
    return Argument(tensor.name, tensor.shape, tensor.dtype, is_output)


def _function(
    written: Written, arguments: Sequence[Argument], emitted: Emitted, func: tir.PrimFunc
) -> TensorFunction:
    """The function of a kernel as LLVM IR; `func`: as it was lowered."""
    program, compiled = written.program, _compiled(written, emitted)
    dims = program.variables

    def load(inputs: Slots, outputs: Slots, values: tuple[int, ...]) -> Kernel:
        known = replace(program, dims=dict(zip(dims, values, strict=True)))
        return _load_written(written, replace(compiled, segment=known))

    def code() -> FunctionCode:
        object_code = compiled.code.object_code
        return FunctionCode(
            program.name,
            str(program.target),
            tuple(arguments),
            compiled.symbol,
            object_code,
            tuple(imports_of(object_code)),
        )

    return TensorFunction(program.name, str(program.target), arguments, LazilyLoaded(load), code, func)


def _in_python(program: Program, arguments: Sequence[Argument]) -> TensorFunction:
    """A function whose externs are Python's, and the rest numpy's."""

    def make(inputs: Slots, outputs: Slots, values: tuple[int, ...]) -> Kernel:
        return ExternKernel(program.name, inputs, outputs, program.inputs, program.outputs)

    def code() -> FunctionCode:
        raise ExecutorError(f"{program.name} calls Python functions, which no artifact can hold")

    return TensorFunction(program.name, str(program.target), arguments, make, code)


def _written(
    schedule: Schedule,
    args: Sequence[Tensor],
    target: Target,
    name: str | None,
    binds: Mapping[Tensor, tir.Buffer] | None = None,
) -> Written:
    """What is to be compiled, under the current PassContext. Raises PassError for hooks after no stage."""
    inputs, outputs = _parameters(schedule, args)
    _check_binds(args, binds or {})
    context = PassContext.current()
    options = tir.Options.of(context.config)
    program = Program(name or outputs[0].name, target, inputs, outputs, binds=binds or {}, options=options)
    check_hooks(context)
    return Written(program, schedule, context.hooks, context.instruments)


def _parameters(schedule: Schedule, args: Sequence[Tensor]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The inputs and the results among the arguments.

    Raises ScheduleError for what is neither, what is named twice, and what the program needs that is not there.
    """
    SCHEDULE.check(Made(schedule, schedule.outputs), "the schedule", own=False)
    known = {tensor for stage in schedule.stages for tensor in stage.tensors}
    for position, each in enumerate(args):
        if not isinstance(each, Tensor):
            raise ScheduleError(f"argument {position} is {each!r:.80}, expected a tensor")
        if not isinstance(each.op, Placeholder) and each not in schedule.outputs:
            raise ScheduleError(
                f"argument {position}, {each.name}, is neither an input nor a result of the schedule"
            )
    if len(set(args)) != len(args):
        twice = next(tensor.name for k, tensor in enumerate(args) if tensor in args[:k])
        raise ScheduleError(f"the tensor {twice} is an argument twice")
    needed = [*(tensor for tensor in known if isinstance(tensor.op, Placeholder)), *schedule.outputs]
    missing = [tensor.name for tensor in needed if tensor not in args]
    if missing:
        raise ScheduleError(f"the program needs {missing[0]}, which is not among its arguments")
    outputs = tuple(tensor for tensor in args if tensor in schedule.outputs)
    return tuple(tensor for tensor in args if tensor not in outputs), outputs


def _check_binds(args: Sequence[Tensor], binds: Mapping[Tensor, tir.Buffer]) -> None:
    """Raises ScheduleError for buffers of no argument, of other types than theirs, and for one of two arguments."""
    for tensor, buffer in binds.items():
        if tensor not in args:
            raise ScheduleError(f"binds: {getattr(tensor, 'name', tensor)!s:.80} is not among the arguments")
        if not isinstance(buffer, tir.Buffer):
            raise ScheduleError(f"binds: {tensor.name} is bound to {buffer!r:.80}, expected a buffer")
        if (buffer.dtype, buffer.shape) != (tensor.dtype, tensor.shape):
            raise ScheduleError(f"binds: buffer {_shown(buffer)} cannot hold {_shown(tensor)}")
    if len(set(binds.values())) != len(binds):
        raise ScheduleError("binds: a buffer is bound to two arguments")


def _is_in_python(schedule: Schedule) -> bool:
    """Whether it calls functions of arrays."""
    return any(runs_in_python(each.op) for each in schedule.stages)


def _shown(tensor: Tensor | tir.Buffer) -> str:
    return f"{tensor.name}: {tensor.dtype}[{', '.join(map(str, tensor.shape))}]"


def _compiled(written: Written, emitted: Emitted) -> Compiled:
    """Object code of a kernel that a user wrote, from the cache by the LLVM IR that it gives."""

    def compiled() -> Compiled:
        ((_, record),) = through_kernel(written, between("emit", "compile"), emitted)
        assert isinstance(record, Compiled)
        return record

    return compile_cached(emitted, compiled)


def _load_written(written: Written, compiled: Compiled) -> NativeKernel:
    """The kernel of a schedule that a user wrote, for operands of the dims that `compiled.segment` has.

    Raises CodegenError for a target that this machine is not.
    """
    check_runs_here(written.program.target)
    ((_, kernel),) = through_kernel(written, after("compile"), compiled)
    assert isinstance(kernel, NativeKernel)
    return kernel
