"""Segments that call hand-written Python functions (externs)."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Final
from weakref import WeakMethod

import numpy as np

from ....base.arith import Expr, Var
from ....compute import te
from ....compute.te.extern import call_extern, fitting_result, function_name
from ....compute.te.tensor import Extern, Tensor
from ..specialisations import Specialisations
from .footprint import footprint_of_call
from .kernel import SIGNATURE, Kernel, Slot
from .shape_preconditions import ShapePrecondition
from .symbolic import SymbolicKernel, SymbolicSlot

_RAISED: Final = 2  # the status of a function that raised
_Call = Callable[[int, int], None]
"""`(operands, dims)`: the addresses of an array of the operands' addresses, and of the values of the dims."""


class PythonCode:
    """A method that machine code calls as it calls kernels, at `address`."""

    def __init__(self, method: _Call) -> None:
        self._raised: dict[int, BaseException] = {}  # by thread
        own = WeakMethod(method)  # else the kernel would hold itself; what calls the machine code holds it
        self._callback = SIGNATURE(lambda data, dims, strides, context: self._run(own, data, dims))

    @property
    def address(self) -> int:
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def raised(self) -> BaseException | None:
        """What the method raised when machine code called it in this thread, once."""
        return self._raised.pop(get_ident(), None)

    def _run(self, own: WeakMethod[_Call], data: int, dims: int) -> int:
        """A status as of kernels."""
        try:
            method = own()
            assert method is not None, "a kernel was called that nobody holds"
            method(data, dims)
        except BaseException as error:  # goes on in the caller of the machine code, KeyboardInterrupt as well
            self._raised[get_ident()] = error
            return _RAISED
        return 0


class ExternKernel(Kernel):
    """A Python function of arrays, and what lies around it evaluated by numpy."""

    def __init__(
        self,
        name: str,
        inputs: Sequence[Slot],
        outputs: Sequence[Slot],
        placeholders: Sequence[Tensor],
        results: Sequence[Tensor],
    ) -> None:
        super().__init__(name, inputs, outputs)
        self._placeholders = tuple(placeholders)
        self._results = tuple(results)
        self.code = PythonCode(self._call)

    @property
    def why_of_python(self) -> str:
        return f"{self.name} calls the hand-written function {', '.join(self.functions)}"

    @property
    def why_not_native(self) -> str | None:
        if all(isinstance(dim, int) for tensor in self._results for dim in tensor.shape):
            return None
        return f"{self.name} gives a tensor whose size depends on data"

    @property
    def code_address(self) -> int:
        return self.code.address

    def _call(self, data: int, dims: int) -> None:
        """The function on the operands whose addresses lie at `data`."""
        slots = (*self.inputs, *self.outputs)
        addresses = (ctypes.c_void_p * len(slots)).from_address(data)
        arrays = [array_at(slot, address or 0) for slot, address in zip(slots, addresses, strict=True)]
        for array in arrays[: len(self.inputs)]:
            array.flags.writeable = False
        self.run(arrays[: len(self.inputs)], arrays[len(self.inputs) :])

    @property
    def functions(self) -> tuple[str, ...]:
        """The hand-written functions, as `module:name`."""
        ops = [tensor.op for tensor in te.tensor_order(self._results)]
        names = [function_name(op) for op in ops if isinstance(op, Extern)]
        return tuple(dict.fromkeys(names))

    def run(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        feeds = dict(zip(self._placeholders, self._checked_inputs(inputs), strict=True))
        if all(self._is_direct(tensor) for tensor in self._results):
            arrays = self._call_directly(feeds)
        else:
            arrays = [np.array(array) for array in te.evaluate(self._results, feeds)]  # some may be operands
        if outputs is None:
            return arrays
        wanted = self._checked_outputs(outputs)
        for array, result in zip(wanted, arrays, strict=True):
            array[tuple(slice(length) for length in result.shape)] = result
        return wanted

    def _is_direct(self, tensor: Tensor) -> bool:
        return isinstance(tensor.op, Extern) and all(t in self._placeholders for t in tensor.op.operands)

    def _call_directly(self, feeds: dict[Tensor, np.ndarray]) -> list[np.ndarray]:
        """Each function once, although each of its results is a tensor."""
        called: dict[tuple[object, ...], tuple[np.ndarray, ...]] = {}
        arrays: list[np.ndarray] = []
        for tensor in self._results:
            op = tensor.op
            assert isinstance(op, Extern)
            key = (op.function, op.operands, op.attrs)
            results = called.get(key)
            if results is None:
                results = called[key] = call_extern(op, feeds)
            arrays.append(fitting_result(tensor, results[op.output]))
        return arrays


class SymbolicExternKernel(SymbolicKernel):
    """A Python function of arrays for all values of its dims: `at` makes the kernel for some of them."""

    def __init__(
        self,
        name: str,
        inputs: Sequence[SymbolicSlot],
        outputs: Sequence[SymbolicSlot],
        dims: Sequence[Var],
        broadcast_guards: Sequence[tuple[Expr, Expr]],
        shape_preconditions: Sequence[ShapePrecondition],
        at: Callable[[tuple[int, ...]], Kernel],
    ) -> None:
        super().__init__(name, inputs, outputs, dims, broadcast_guards, shape_preconditions)
        self._made_at = at
        self._at_dims_kept: Specialisations[Kernel] = Specialisations(
            footprint_of_call
        )  # by values of the dims
        self.code = PythonCode(self._call)

    @property
    def why_of_python(self) -> str:
        return f"{self.name} calls a hand-written function"

    @property
    def code_address(self) -> int:
        return self.code.address

    def _at_dims(self, dims: tuple[int, ...], inputs: tuple[Slot, ...], outputs: tuple[Slot, ...]) -> Kernel:
        return self._at_dims_kept.made(dims, lambda: self._made_at(dims))

    def _call(self, data: int, dims: int) -> None:
        values = tuple((ctypes.c_int64 * len(self.dims)).from_address(dims))
        kernel = self._at_dims(values, (), ())
        if isinstance(kernel, ExternKernel):  # else it has nothing to give
            kernel._call(data, dims)


def array_at(slot: Slot, address: int) -> np.ndarray:
    """The array of a slot in memory that is somebody else's."""
    size = slot.dtype.itemsize * math.prod(slot.shape)
    memory = (ctypes.c_uint8 * size).from_address(address)
    return np.ndarray(slot.shape, slot.dtype, memoryview(memory))
