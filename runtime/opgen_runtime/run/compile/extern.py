"""Segments that call hand-written Python functions (externs)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...compute import te
from ...compute.te.extern import call_extern, fitting_result, function_name
from ...compute.te.tensor import Extern, Tensor
from .kernel import Kernel, Slot


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
