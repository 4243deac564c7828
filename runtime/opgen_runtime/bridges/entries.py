"""Programs compiled for the operands and attrs of calls, kept for those that follow; as machine code calls them, too.

What is compiled is found again by exactly the types of the operands and the normalised attrs; how much of it is kept,
and what goes first, the runtime's own ledger decides (`run.executor.Specialisations`).  Where one program is asked for
more and more sizes, one is compiled for all of them, with dims in the place of what differs: equal extents are one dim.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import compress
from typing import Any, Final

import numpy as np

from ..base.arith import dim
from ..base.errors import ExecutorError, OpgenError
from ..base.forks import lock
from ..base.vocabulary import dataclass
from ..operator import Dim, TensorType, same_value_key
from ..run.compile.kernel.extern import ExternKernel, PythonCode, array_at
from ..run.compile.kernel.kernel import EmptyKernel, Kernel, NativeKernel, Slot
from ..run.compile.kernel.symbolic import SymbolicKernel
from ..run.executor import Executable, Specialisations, build_program
from ..run.op_programs.batched import BATCH
from ..run.op_programs.programs import OperandType, Program, Values, leaves

FEW: Final = 8
"""Sizes of operands for which a program is compiled by itself, before one is for all that differ like them."""
FEW_BATCHES: Final = 2
"""The same for programs of batches, of sizes that differ in leading axes alone."""
_SYMBOLIC: Final = 4  # programs of dims a family, each for sizes that those before do not fit

_compiled: Final[Specialisations[Executable]] = Specialisations()
_families: Final[dict[Hashable, _Family]] = {}
_lock: Final = lock()


def key_of(program: Program, types: Sequence[OperandType], values: Values) -> Hashable:
    """What calls must share to be one program: the operands' types, and attrs of the same values."""
    return program, tuple(types), tuple([same_value_key(values[field.name]) for field in program.fields])


def executable(program: Program, types: Sequence[OperandType], values: Values) -> Executable:
    """The program compiled for these types and attrs, by the first who asks.

    Raises what `Program.results` raises, and what the compilation raises.
    """
    key = key_of(program, types, values)
    return _compiled.made(key, lambda: build_program(program.function(types, values)))


def run(
    program: Program, types: Sequence[OperandType], values: Values, arrays: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """The results of one call, as new arrays, from the arrays of its leaves."""
    found: Any = executable(program, types, values).run(arrays)
    return list(found) if isinstance(found, tuple) else [found]


@dataclass(frozen=True, slots=True)
class NativeCall:
    """A program for one call as machine code: `i32 code(data, dims, strides, null)`, as `codegen` emits kernels.

    `data`: the addresses of the leaves, C-contiguous, of `constants`, and of the `results`, which the caller makes.
    A status other than 0 is what `failure` tells the reason of.  `memory` must live while the code can be
    called; `code` is 0 where there is nothing to compute.
    """

    code: int
    dims: int
    strides: int
    constants: tuple[int, ...]
    results: tuple[TensorType, ...]
    failure: Callable[[int], BaseException]
    memory: object


def native_call(program: Program, types: Sequence[OperandType], values: Values) -> NativeCall:
    """A program as machine code for operands of known sizes, of a size that was not met before.

    Raises what the type relation and the compilation raise.
    """
    results = tuple(program.infer(types, values))
    family = _family(program, types, values)
    kernel = family.kernel(types)
    if kernel is None:
        made = executable(program, types, values)
        kernel = made.whole
        if not isinstance(kernel, NativeKernel | EmptyKernel | ExternKernel):
            kernel = _Called(made, [each for each in leaves(types)], results)
    return _call_of(kernel, results)


def _call_of(kernel: Kernel, results: tuple[TensorType, ...]) -> NativeCall:
    if isinstance(kernel, NativeKernel):
        return NativeCall(
            kernel.code_address, kernel.dims_address, kernel.strides_address, tuple(kernel.constant_addresses),
            results, kernel.failure, kernel,
        )  # fmt: skip
    if isinstance(kernel, ExternKernel | _Called):
        raised = kernel.code.raised

        def failure(status: int) -> BaseException:
            return raised() or ExecutorError(f"a function of Python gave up with status {status}")

        return NativeCall(kernel.code_address, 0, 0, (), results, failure, kernel)
    return NativeCall(0, 0, 0, (), results, lambda status: ExecutorError(f"status {status}"), kernel)


class _Called(Kernel):
    """A program that is no single native function, called by machine code through Python."""

    def __init__(self, made: Executable, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> None:
        super().__init__(repr(made), (), ())
        self._made = made
        types = (*inputs, *outputs)
        self._slots = [Slot(f"operand {k}", t.concrete_shape, t.dtype.numpy) for k, t in enumerate(types)]
        self._inputs = len(inputs)
        self.code = PythonCode(self._call)

    @property
    def code_address(self) -> int:
        return self.code.address

    def _call(self, data: int, dims: int) -> None:
        addresses = (ctypes.c_void_p * len(self._slots)).from_address(data)
        arrays = [array_at(slot, at or 0) for slot, at in zip(self._slots, addresses, strict=True)]
        self._made.run(arrays[: self._inputs], arrays[self._inputs :])

    def run(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        found: Any = self._made.run(inputs, outputs)
        return list(found) if isinstance(found, tuple) else [found]


class _Family:
    """A program for operands that differ in their sizes alone."""

    def __init__(self, program: Program, values: Values) -> None:
        self._program = program
        self._values = values
        self._seen: list[tuple[int, ...]] = []  # the extents of all leaves
        self._symbolic: list[SymbolicKernel] = []
        self._tries = 0

    def kernel(self, types: Sequence[OperandType]) -> Kernel | None:
        """What a program of dims is for these sizes; None where each has a program of its own."""
        extents = tuple(_extents(types))
        shapes = tuple([leaf.concrete_shape for leaf in leaves(types)])
        with _lock:
            if extents in self._seen:
                return None
        found = self._fitting(shapes)
        if found is not None:
            return found
        with _compiled.making(self):  # what another thread makes now may serve these sizes, too
            found = self._fitting(shapes)
            if found is not None:
                return found
            made = self._made(types, extents)
        return None if made is None else made.at(shapes)

    def _fitting(self, shapes: tuple[tuple[int, ...], ...]) -> Kernel | None:
        with _lock:
            known = list(self._symbolic)
        for kernel in known:
            try:
                return kernel.at(shapes)
            except ExecutorError:  # these sizes are of another kind
                continue
        return None

    def _made(self, types: Sequence[OperandType], extents: tuple[int, ...]) -> SymbolicKernel | None:
        with _lock:
            seen = self._alike(types, extents)
            if not seen:
                if extents not in self._seen and len(self._seen) < FEW:
                    self._seen.append(extents)
                return None
            self._tries += 1
        columns = list(zip(*seen, strict=True))
        dims: dict[tuple[int, ...], Dim] = {}
        for column in columns:
            dims[column] = column[0] if len(set(column)) == 1 else dim(f"n{len(dims)}", hint=column[-1])
        rest = iter([dims[column] for column in columns])
        open_types = [
            tuple([_with(each, rest) for each in type_])
            if isinstance(type_, tuple)
            else None
            if type_ is None
            else _with(type_, rest)
            for type_ in types
        ]
        try:
            made = build_program(self._program.function(open_types, self._values)).whole
        except OpgenError:  # it must know a size
            return None
        if not isinstance(made, SymbolicKernel) or made.lengths:
            return None
        with _lock:
            self._symbolic.append(made)
        return made

    def _alike(self, types: Sequence[OperandType], extents: tuple[int, ...]) -> list[tuple[int, ...]]:
        """The sizes that one program is to be for, these among them; none where these have one of their own."""
        if BATCH in self._program.path:
            is_inner = [axis > 0 for leaf in leaves(types) for axis in range(leaf.ndim)]
            inner = list(compress(extents, is_inner))
            batches = [each for each in self._seen if list(compress(each, is_inner)) == inner]
            if len(batches) >= FEW_BATCHES and self._tries < _SYMBOLIC - 1:
                return [*batches, extents]
        return [*self._seen, extents] if len(self._seen) >= FEW and self._tries < _SYMBOLIC else []


def _family(program: Program, types: Sequence[OperandType], values: Values) -> _Family:
    form = tuple([None if each is None else len(each) if isinstance(each, tuple) else -1 for each in types])
    ranks = tuple([(leaf.ndim, leaf.dtype) for leaf in leaves(types)])
    attrs = tuple([same_value_key(values[field.name]) for field in program.fields])
    key = program, form, ranks, attrs
    with _lock:
        found = _families.get(key)
        if found is None:
            found = _families[key] = _Family(program, values)
        return found


def _extents(types: Sequence[OperandType]) -> Iterator[int]:
    for leaf in leaves(types):
        yield from leaf.concrete_shape


def _with(type_: TensorType, rest: Iterator[Dim]) -> TensorType:
    return TensorType([next(rest) for _ in type_.shape], type_.dtype)
