"""`LateKernel`: a segment whose dims are not known before it runs, such as what follows `argwhere`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Final

import numpy as np

from ...base.arith import AnyDim, dim
from ...base.errors import OpgenError
from ...base.kept import Kept
from ...declaration import array_type
from ...ir import Expr, Function, Var, substitute
from ...lower.library.segment import flat_types, kernel_name
from ...operator import TensorType, TupleType, Type
from ...transform import InferType
from .kernel import Kernel
from .parts import Parts
from .symbolic import are_told
from .variants import why_no_variants

_KEPT: Final = 64  # combinations of dims a segment; the least recently used go


def is_late(segment: Function) -> bool:
    """Whether a segment has no symbolic kernel: its operands' shapes do not tell all its dims, or too many meet."""
    return not are_told(segment) or why_no_variants(segment) is not None


def late_parts(segment: Function, compiled: Callable[[Function], Kernel]) -> Parts:
    """The segment as one kernel of all its operands; `compiled` makes it for types that are known."""
    operands = sum([len(flat_types(param.checked_type, param.name_hint)) for param in segment.params])
    return Parts(LateKernel(kernel_name(segment), segment, compiled), tuple(range(operands)))


class LateKernel(Kernel):
    """Compiles a segment when it is run first: for all sizes where its operands tell them, else for the shapes at hand.

    What it compiled is kept.  It has no slots: neither the shapes of what it takes nor of what it gives are known.
    """

    def __init__(self, name: str, segment: Function, compiled: Callable[[Function], Kernel]) -> None:
        super().__init__(name, (), ())
        self._segment = segment
        self._compiled = compiled
        self._kept: Kept[Kernel] = Kept(_KEPT)
        self._is_tried = False
        self._symbolic: Kernel | None = None

    def run(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        key = tuple([array.shape for array in inputs])
        kernel = self._kept.get(key) or self._kept.put(key, self._kernel(inputs))
        return kernel.run(inputs, outputs)

    def _kernel(self, inputs: Sequence[np.ndarray]) -> Kernel:
        rest = iter(inputs)
        narrowed = self._on(lambda kind: array_type(next(rest)))  # raises where the shapes do not fit
        if not self._is_tried:
            self._symbolic = self._for_all_sizes()
            self._is_tried = True
        return self._symbolic or self._compiled(narrowed)

    def _for_all_sizes(self) -> Kernel | None:
        """The kernel with a dim for each that is not known; None where there is none."""
        numbers = count()
        try:
            segment = self._on(
                lambda kind: TensorType(
                    [dim(f"n{next(numbers)}") if isinstance(each, AnyDim) else each for each in kind.shape],
                    kind.dtype,
                )
            )
            return self._compiled(segment) if are_told(segment) else None
        except OpgenError:  # an op that needs to know a size
            return None

    def _on(self, typed: Callable[[TensorType], Type]) -> Function:
        """The segment on operands of other types, which are given for each tensor in order."""
        segment = self._segment
        params = tuple([Var(p.name_hint, _mapped(p.checked_type, typed)) for p in segment.params])
        renamed: dict[Var, Expr] = dict(zip(segment.params, params, strict=True))
        found = InferType()(Function(params, substitute(segment.body, renamed), attrs=segment.attrs))
        assert isinstance(found, Function)
        return found


def _mapped(kind: Type, typed: Callable[[TensorType], Type]) -> Type:
    if isinstance(kind, TupleType):
        return TupleType(tuple([_mapped(field, typed) for field in kind.fields]))
    assert isinstance(kind, TensorType)
    return typed(kind)
