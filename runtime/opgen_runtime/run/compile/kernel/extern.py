"""Segments that call hand-written Python functions (externs)."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Final
from weakref import WeakMethod

import numpy as np

from ....compute import te
from ....compute.te.extern import call_extern, fitting_result, function_name
from ....compute.te.tensor import Extern, Tensor
from .kernel import SIGNATURE, Kernel, Slot

_RAISED: Final = 2  # the status of a function that raised


class ExternKernel(Kernel):
    """A Python function of arrays, and what lies around it evaluated by numpy.

    Machine code calls it as it calls kernels, at `code_address`; what it raises waits in `raised` for the thread.
    """

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
        self._raised: dict[int, BaseException] = {}  # by thread
        own = WeakMethod(
            self._call
        )  # else the kernel would hold itself; what calls the machine code holds it
        self._callback = SIGNATURE(lambda *operands: _held(own)(*operands))

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
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def raised(self) -> BaseException | None:
        """What the function raised when machine code called it in this thread, once."""
        return self._raised.pop(get_ident(), None)

    def _call(self, data: int, dims: int, strides: int, context: int) -> int:
        """The function on the operands whose addresses lie at `data`; a status as of kernels."""
        count = len(self.inputs) + len(self.outputs)
        addresses = (ctypes.c_void_p * count).from_address(data)
        slots = (*self.inputs, *self.outputs)
        try:
            arrays = [_array(slot, address or 0) for slot, address in zip(slots, addresses, strict=True)]
            for array in arrays[: len(self.inputs)]:
                array.flags.writeable = False
            self.run(arrays[: len(self.inputs)], arrays[len(self.inputs) :])
        except BaseException as error:  # goes on in the caller of the machine code, KeyboardInterrupt as well
            self._raised[get_ident()] = error
            return _RAISED
        return 0

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


def _array(slot: Slot, address: int) -> np.ndarray:
    """The array of a slot in memory that is somebody else's."""
    size = slot.dtype.itemsize * math.prod(slot.shape)
    memory = (ctypes.c_uint8 * size).from_address(address)
    return np.ndarray(slot.shape, slot.dtype, memoryview(memory))


def _held(method: WeakMethod[Callable[..., int]]) -> Callable[..., int]:
    found = method()
    assert found is not None, "a kernel was called that nobody holds"
    return found
