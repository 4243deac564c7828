"""A schedule of tensor expressions as loop IR, `lower`, and as a function of arrays, `build_schedule`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from ... import codegen
from ...base.arith import Expr, Var, evaluate_scalar, free_vars
from ...base.errors import ExecutorError, ScheduleError
from ...base.kept import Kept
from ...base.target import Target
from ...codegen.objects import load as loading
from ...codegen.objects.cache import default_cache
from ...codegen.objects.compile import LLVM_VERSION, LLVMLITE_VERSION
from ...compute.te import Extern, Placeholder, Tensor
from ...ir import admit
from ...lower import tir
from ...lower.schedule import Schedule
from ...lower.schedule.contract import SCHEDULE, Made
from .extern import ExternKernel
from .kernel import EmptyKernel, Image, Kernel, NativeKernel, Slot

_KEPT: Final = 256  # values of the dims that are variables


def lower(schedule: Schedule, args: Sequence[Tensor], name: str | None = None) -> tir.PrimFunc:
    """The loop IR of a schedule, which prints as text; `args` as for `build`.

    Raises ScheduleError for arguments that are not the program's inputs and results, and what lowering raises.
    """
    inputs, outputs = _parameters(schedule, args)
    func = tir.lower(schedule, inputs, outputs, name or outputs[0].name)
    tir.check(tir.LOWERED, func, "lower", own=False)
    return func


def build_schedule(
    schedule: Schedule, args: Sequence[Tensor], target: Target | str | None = None, name: str | None = None
) -> TensorFunction:
    """A function of arrays, one for each of `args`: the program's placeholders and all its results, in any order.

    Compiled for `target`, the host by default.  A program with extern tensors runs without machine code: its functions
    in Python, the other tensors by numpy.  Raises what `lower` and the compiler raise.
    """
    return TensorFunction(schedule, args, Target.host() if target is None else Target.parse(target), name)


class TensorFunction:
    """A compiled schedule: `f(a, b, out)` computes into `out`, `f(a, b)` into a new array; both give the result.

    Arrays must have the dtypes and shapes of the tensors; dims that are variables take the values of the first arrays
    that have them, and are compiled for all values.  Several results are a tuple.  Several threads may run it at once.
    """

    def __init__(self, schedule: Schedule, args: Sequence[Tensor], target: Target, name: str | None) -> None:
        """Raises as `build_schedule` does."""
        self.args = tuple(args)
        self.inputs, self.outputs = _parameters(schedule, args)
        self.name = name or self.outputs[0].name
        self.target = target
        self._kernels: Kept[Kernel] = Kept(_KEPT)  # by the values of dims
        self._dims = tuple(dict.fromkeys(v for t in (*self.inputs, *self.outputs) for v in _variables(t)))
        self._code: tuple[str, bytes, loading.Loaded] | None = None
        if not any(isinstance(stage.op, Extern) for stage in schedule.stages):
            self._code = _compiled(lower(schedule, args, name), target)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(_shown(tensor) for tensor in self.args)})"

    def __call__(self, *arrays: object) -> np.ndarray | tuple[np.ndarray, ...]:
        """Raises ExecutorError for arrays that do not fit, and MemoryError."""
        given = self._given(arrays)
        dims = self._values(given)
        kernel = self._kernels.get(dims)
        if kernel is None:
            kernel = self._kernels.put(dims, self._kernel(dict(zip(self._dims, dims, strict=True))))
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
            raise ExecutorError(f"{self!r}: no array tells the dim {missing[0]}; give the result, too")
        return tuple(values[var] for var in self._dims)

    def _kernel(self, dims: dict[Var, int]) -> Kernel:
        inputs, outputs = ([_slot(tensor, dims) for tensor in part] for part in (self.inputs, self.outputs))
        if self._code is None:
            return ExternKernel(self.name, inputs, outputs, self.inputs, self.outputs)
        if all(0 in slot.shape for slot in outputs):
            return EmptyKernel(self.name, inputs, outputs)
        symbol, code, loaded = self._code
        imports = loading.imports_of(code)
        return NativeKernel(Image(symbol, tuple(inputs), tuple(outputs), code, imports), loaded)


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


def _compiled(lowered: tir.PrimFunc, target: Target) -> tuple[str, bytes, loading.Loaded]:
    """The kernel's symbol, its object code, and that in memory; object code is kept by what LLVM is given."""
    positions: dict[Var, int] = {}
    for position, dim in enumerate(d for b in (*lowered.inputs, *lowered.outputs) for d in b.shape):
        if isinstance(dim, Var):
            positions.setdefault(dim, position)
    func = tir.run_phases(lowered)
    text = codegen.emit(func, target, positions)
    passes = codegen.choose_pipeline(func)
    parts = (text, str(target), passes.name, LLVM_VERSION, LLVMLITE_VERSION)
    key = hashlib.blake2b("\n".join(parts).encode(), digest_size=20).hexdigest()
    kept = default_cache().get(key)
    if kept is not None:
        code = kept.object_code
    else:
        code = codegen.optimise_and_compile(text, target, passes).object_code
        default_cache().put(key, code, {"symbol": func.name})
    return func.name, code, loading.load(code, func.name, loading.imports_of(code))


def _variables(tensor: Tensor) -> tuple[Var, ...]:
    return tuple(v for dim in tensor.shape if isinstance(dim, Expr) for v in free_vars(dim))


def _slot(tensor: Tensor, dims: dict[Var, int]) -> Slot:
    shape = tuple(dim if isinstance(dim, int) else int(evaluate_scalar(dim, dims)) for dim in tensor.shape)
    return Slot(tensor.name, shape, tensor.dtype.numpy)


def _shown(tensor: Tensor) -> str:
    return f"{tensor.name}: {tensor.dtype}[{', '.join(map(str, tensor.shape))}]"
