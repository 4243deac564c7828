"""A schedule of tensor expressions as loop IR, `lower`; a schedule, `build_schedule`, or loop IR, `build_loops`, as a
function of arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...base import Target
from ...base.arith import Var
from ...base.errors import ExecutorError, LoweringError, ScheduleError
from ...base.garbage import rare_collections
from ...compute.te import Extern, Placeholder, Tensor, placeholder
from ...ir import admit
from ...lower import tir
from ...lower.schedule import Schedule
from ...lower.schedule.contract import SCHEDULE, Made
from ...lower.tir import PrimFunc
from ...transform import PassContext
from .kernel.disk_cache import compile_cached
from .kernel.extern import ExternKernel
from .kernel.interface import slots_of
from .kernel.kernel import EmptyKernel, Kernel, NativeKernel
from .kernel.records import Compiled, Lowered
from .kernel.written import Program, Written
from .pipeline import after, between, check_hooks, check_runs_here, through_kernel
from .specialisations import Specialisations

__all__ = ["PrimFunc", "Schedule", "Tensor", "TensorFunction", "build_loops", "build_schedule", "lower"]


def lower(
    schedule: Schedule,
    args: Sequence[Tensor],
    name: str | None = None,
    binds: Mapping[Tensor, tir.Buffer] | None = None,
    simple_mode: bool = True,
) -> PrimFunc:
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


@rare_collections()
def build_schedule(
    schedule: Schedule, args: Sequence[Tensor], target: Target | str | None = None, name: str | None = None
) -> TensorFunction:
    """A function of arrays, one for each of `args`: the program's placeholders and all its results, in any order.

    Compiled for `target`, the current one by default.  A program with extern tensors runs without machine code: its
    functions in Python, the other tensors by numpy.  Raises what `lower` and the compiler raise.
    """
    written = _written(schedule, args, Target.current() if target is None else Target.parse(target), name)
    return TensorFunction(written, args, name, _is_in_python(schedule))


@rare_collections()
def build_loops(
    func: PrimFunc, target: Target | str | None = None, name: str | None = None
) -> TensorFunction:
    """A function of arrays, one for each parameter of a kernel: its inputs, then its outputs.

    Compiled for `target`, the current one by default.  Raises LoweringError for what is no loop IR, and for a dim that
    no shape has, and what the compiler raises.
    """
    chosen = Target.current() if target is None else Target.parse(target)
    inputs, outputs = (
        tuple([placeholder(b.name, b.shape, b.dtype) for b in part]) for part in (func.inputs, func.outputs)
    )
    context = PassContext.current()
    options = tir.Options.of(context.config)
    program = Program(name or _symbol(func.name), chosen, inputs, outputs, options=options)
    unbound = [dim.name for dim in func.dims if dim not in program.variables]
    if unbound:
        raise LoweringError(f"{func.name}: the dim {unbound[0]} stands in no shape of a parameter")
    check_hooks(context)
    written = Written(program, func, context.hooks, context.instruments)
    return TensorFunction(written, (*inputs, *outputs), name)


def _symbol(name: str) -> str:
    """A name as one of a function in machine code."""
    made = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{made}" if made[:1].isdigit() else made


class TensorFunction:
    """A compiled schedule: `f(a, b, out)` computes into `out`, `f(a, b)` into a new array; both give the result.

    Arrays must have the dtypes and shapes of the tensors; dims that are variables take the values of the first arrays
    that have them, and are compiled for all values.  Several results are a tuple.  Several threads may run it at once.
    """

    def __init__(
        self, written: Written, args: Sequence[Tensor], name: str | None, in_python: bool = False
    ) -> None:
        """`in_python`: hand-written functions are among it, so that it has no machine code.

        Raises as `build_schedule` does.
        """
        self.args = tuple(args)
        self._written = written
        program = written.program
        self.name, self.target, self.inputs, self.outputs = (
            name or program.name,
            program.target,
            program.inputs,
            program.outputs,
        )
        self._kernels: Specialisations[Kernel] = Specialisations()  # by the values of dims
        self._dims = program.variables
        self._compiled = None if in_python else _compile_written(self._written)
        self._loaded: NativeKernel | None = None  # its code serves all values of the dims

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(_shown(tensor) for tensor in self.args)})"

    def __call__(self, *arrays: object) -> np.ndarray | tuple[np.ndarray, ...]:
        """Raises ExecutorError for arrays that do not fit, and MemoryError."""
        given = self._given(arrays)
        dims = self._values(given)
        kernel = self._kernels.made(dims, lambda: self._kernel(dict(zip(self._dims, dims, strict=True))))
        into = [given[tensor] for tensor in self.outputs] if len(arrays) == len(self.args) else None
        made = kernel.run([given[tensor] for tensor in self.inputs], into)
        return made[0] if len(made) == 1 else tuple(made)

    def _given(self, arrays: Sequence[object]) -> dict[Tensor, np.ndarray]:
        """The array of each tensor that has one; results are the caller's own arrays."""
        if len(arrays) == len(self.args):
            tensors: Sequence[Tensor] = self.args
        elif len(arrays) == len(self.inputs):
            tensors = [tensor for tensor in self.args if tensor not in self.outputs]
        else:
            raise ExecutorError(
                f"{self!r}: expected {len(self.args)} arrays, or the {len(self.inputs)} inputs, found {len(arrays)}"
            )
        found: dict[Tensor, np.ndarray] = {}
        for tensor, array in zip(tensors, arrays, strict=True):
            if tensor not in self.outputs:
                array = admit(array, f"{self.name}: {tensor.name}")
            if not isinstance(array, np.ndarray):
                raise ExecutorError(
                    f"{self.name}: {tensor.name} must be an array, found {type(array).__name__}"
                )
            found[tensor] = array
        return found

    def _values(self, given: dict[Tensor, np.ndarray]) -> tuple[int, ...]:
        """The values of the dims that are variables."""
        if not self._dims:
            return ()
        values: dict[Var, int] = {}
        for tensor, array in given.items():
            for dim, extent in zip(tensor.shape, array.shape, strict=False):
                if isinstance(dim, Var):
                    values.setdefault(dim, extent)
        missing = [var.name for var in self._dims if var not in values]
        if missing:
            raise ExecutorError(f"{self!r}: no array binds the dim {missing[0]}; give the result, too")
        return tuple(values[var] for var in self._dims)

    def _kernel(self, dims: dict[Var, int]) -> Kernel:
        program = replace(self._written.program, dims=dims)
        inputs, outputs = slots_of(program)
        if self._compiled is None:
            return ExternKernel(self.name, inputs, outputs, self.inputs, self.outputs)
        if all(0 in slot.shape for slot in outputs):
            return EmptyKernel(self.name, inputs, outputs)
        if self._loaded is not None:
            return self._loaded.at(inputs, outputs, tuple(dims.values()))
        self._loaded = _load_written(self._written, replace(self._compiled, segment=program))
        return self._loaded


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
    return any(isinstance(each.op, Extern) and not each.op.gives_loop_ir for each in schedule.stages)


def _shown(tensor: Tensor | tir.Buffer) -> str:
    return f"{tensor.name}: {tensor.dtype}[{', '.join(map(str, tensor.shape))}]"


def _compile_written(written: Written) -> Compiled:
    """Object code of a schedule that a user wrote, through the rows of KERNEL after "split".

    Kept in the object cache, by the LLVM IR that it gives.  Raises what lowering, hooks and LLVM raise.
    """
    *_, (_, emitted) = through_kernel(written, between("split", "emit"))

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
