"""`LateKernel`: a segment whose dims are not known before it runs, such as what follows `argwhere`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from ...base.kept import Kept
from ...declaration import array_type
from ...ir import Expr, Function, Var, substitute
from ...lower.library.segment import flat_types, kernel_name
from ...operator import TupleType, Type
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
    count = sum([len(flat_types(param.checked_type, param.name_hint)) for param in segment.params])
    return Parts(LateKernel(kernel_name(segment), segment, compiled), tuple(range(count)))


class LateKernel(Kernel):
    """Compiles a segment for the shapes at hand when it is run with them first; what it compiled is kept.

    It has no slots: neither the shapes of what it takes nor of what it gives are known.
    """

    def __init__(self, name: str, segment: Function, compiled: Callable[[Function], Kernel]) -> None:
        super().__init__(name, (), ())
        self._segment = segment
        self._compiled = compiled
        self._kept: Kept[Kernel] = Kept(_KEPT)

    def run(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        key = tuple([array.shape for array in inputs])
        kernel = self._kept.get(key) or self._kept.put(key, self._compiled(self._narrowed(inputs)))
        return kernel.run(inputs, outputs)

    def _narrowed(self, inputs: Sequence[np.ndarray]) -> Function:
        """The segment on operands of the arrays' types."""
        segment = self._segment
        rest = iter(inputs)
        params = tuple([Var(p.name_hint, _type_of(p.checked_type, rest)) for p in segment.params])
        renamed: dict[Var, Expr] = dict(zip(segment.params, params, strict=True))
        narrowed = Function(params, substitute(segment.body, renamed), attrs=segment.attrs)
        found = InferType()(narrowed)
        assert isinstance(found, Function)
        return found


def _type_of(kind: Type, arrays: Iterator[np.ndarray]) -> Type:
    if isinstance(kind, TupleType):
        return TupleType(tuple([_type_of(field, arrays) for field in kind.fields]))
    return array_type(next(arrays))
