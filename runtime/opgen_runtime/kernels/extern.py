"""Segments that call hand-written Python functions (seams)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import te
from ..errors import ExecutorError
from ..te.tensor import Extern, Tensor
from .kernel import Kernel, Slot


class ExternKernel(Kernel):
    """A Python function of arrays, and what lies around it evaluated by numpy.

    `free_dims[k]` are the axes of output k whose length the function decides.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Slot],
        outputs: Sequence[Slot],
        placeholders: Sequence[Tensor],
        results: Sequence[Tensor],
        free_dims: Sequence[frozenset[int]],
    ) -> None:
        super().__init__(name, inputs, outputs)
        self._placeholders = tuple(placeholders)
        self._results = tuple(results)
        self._free_dims = tuple(free_dims)

    def run(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        feeds = dict(zip(self._placeholders, self._checked_inputs(inputs), strict=True))
        if all(self._is_direct(tensor) for tensor in self._results):
            arrays = self._call_directly(feeds)
        else:
            arrays = te.evaluate(self._results, feeds)
        checked = [self._checked(k, result) for k, result in enumerate(arrays)]
        if outputs is None:
            return checked
        wanted = self._checked_outputs(outputs)
        for array, result in zip(wanted, checked, strict=True):
            array[tuple(slice(length) for length in result.shape)] = result
        return wanted

    def _is_direct(self, tensor: Tensor) -> bool:
        return isinstance(tensor.op, Extern) and all(t in self._placeholders for t in tensor.op.operands)

    def _call_directly(self, feeds: dict[Tensor, np.ndarray]) -> list[np.ndarray]:
        """Each function once, although each of its results is a tensor."""
        called: dict[tuple[object, ...], tuple[object, ...]] = {}
        arrays: list[np.ndarray] = []
        for tensor in self._results:
            op = tensor.op
            assert isinstance(op, Extern)
            key = (op.function, op.operands, op.attrs)
            results = called.get(key)
            if results is None:
                made = op.function(*(feeds[operand] for operand in op.operands), **dict(op.attrs))
                results = called[key] = made if isinstance(made, tuple) else (made,)
            if op.output >= len(results):
                function = op.function.__qualname__
                raise ExecutorError(
                    f"{self.name}: {function} gave {len(results)} arrays, expected {op.output + 1} or more"
                )
            arrays.append(np.asarray(results[op.output]))
        return arrays

    def _checked(self, position: int, result: np.ndarray) -> np.ndarray:
        """The result of a function that anyone may have written."""
        slot, free = self.outputs[position], self._free_dims[position]
        fits = (
            result.dtype == slot.dtype
            and result.ndim == len(slot.shape)
            and all(
                found == wanted or (axis in free and found <= wanted)
                for axis, (found, wanted) in enumerate(zip(result.shape, slot.shape, strict=True))
            )
        )
        if not fits:
            found = Slot(slot.name, result.shape, result.dtype)
            raise ExecutorError(
                f"{self.name}: the hand-written function gave {found} for {slot.name}, expected {slot}"
            )
        return np.ascontiguousarray(result)
