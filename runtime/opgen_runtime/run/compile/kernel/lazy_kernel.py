"""`LazyKernel`: a segment whose dims are not known before it runs, such as what follows `argwhere`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from ....base.arith import AnyDim, const, dim
from ....base.arith import Expr as DimExpr
from ....base.arith import Var as DimVar
from ....base.contract import raise_defect
from ....base.errors import OpgenError
from ....base.vocabulary import INDEX
from ....declaration import array_type
from ....ir import Call, Expr, Function, Var, substitute
from ....lower.library.segment import flat_types, kernel_name
from ....operator import Op, TensorType, TupleType, Type
from ....transform import InferType
from ..specialisations import Specialisations
from .dims import are_bound, dims_in, sizes_of
from .kernel import Kernel
from .multiversioning import specialised, why_not_versions
from .parts import Parts
from .shape_preconditions import why_not_checkable

_FRESH: Final = "n"
_TRIED: Final = ((0,), (1,), (7, 11, 13, 17, 19, 23), (29, 31, 37, 41, 43, 47))


def is_dynamic(node: Expr) -> bool:
    """Whether a call itself decides a size, as its op declares."""
    declaration = (
        node.op.get_attr("declaration") if isinstance(node, Call) and isinstance(node.op, Op) else None
    )
    return declaration is not None and bool(declaration.signature.dynamic)


def is_lazy(segment: Function) -> bool:
    """Whether a segment has no symbolic kernel.

    Its operands' shapes do not bind all its dims, too many meet in broadcasts, or preconditions of its ops cannot
    be checked.
    """
    if not are_bound(segment) or why_not_versions(segment) is not None:
        return True
    if not dims_in(segment):
        return False
    # of a result whose size depends on data the type has no bound, which symbolic kernels would compute
    return (
        any([isinstance(dim, AnyDim) for dim in sizes_of([segment.body])])
        or why_not_checkable(segment) is not None
    )


def for_any_size(kind: Type) -> Type:
    """The type with a dim for each that is not known."""
    assert isinstance(kind, TensorType)
    dims = [dim(_FRESH) if isinstance(each, AnyDim) else each for each in kind.shape]
    return TensorType(tuple(dims), kind.dtype)


def check_any_sizes(function: Function) -> None:
    """Raises OpgenError for a part that does not suit some sizes, which machine code would not see.

    Tried are none, one, and sizes without a common factor, which differ from each other.
    """
    for sizes in _TRIED:
        rest = iter(sizes)
        given: dict[DimVar, int] = {}
        params: list[Var] = []
        for param in function.params:
            kind = param.checked_type
            if isinstance(kind, TensorType):
                for each in kind.shape:
                    if isinstance(each, DimVar) and each.name == _FRESH and each not in given:
                        given[each] = next(rest, sizes[-1])
                dims = [given[d] if isinstance(d, DimVar) and d in given else d for d in kind.shape]
                kind = TensorType(tuple(dims), kind.dtype)
            params.append(Var(param.name_hint, kind))
        if given:
            renamed: dict[Var, Expr] = dict(zip(function.params, params, strict=True))
            InferType()(Function(tuple(params), substitute(function.body, renamed)))


def lazy_parts(segment: Function, compiled: Callable[[Function], Kernel]) -> Parts:
    """The segment as one kernel of all its operands; `compiled` makes it for types that are known."""
    operands = sum([len(flat_types(param.checked_type, param.name_hint)) for param in segment.params])
    return Parts(LazyKernel(kernel_name(segment), segment, compiled), tuple(range(operands)))


class LazyKernel(Kernel):
    """Compiles a segment when it is run first: for all sizes where its operands bind them, else for the shapes at hand.

    What it compiled is kept.  It has no slots: neither the shapes of what it takes nor of what it gives are known.
    """

    def __init__(self, name: str, segment: Function, compiled: Callable[[Function], Kernel]) -> None:
        super().__init__(name, (), ())
        self._segment = segment
        self._compiled = compiled
        self._kept: Specialisations[Kernel] = Specialisations()  # by the shapes of the operands
        self._is_tried = False
        self._symbolic: Kernel | None = None

    def run(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        key = tuple([array.shape for array in inputs])
        kernel = self._kept.made(key, lambda: self._kernel(inputs))
        return kernel.run(inputs, outputs)

    def _kernel(self, inputs: Sequence[np.ndarray]) -> Kernel:
        rest = iter(inputs)
        specialised = self._on(lambda kind: array_type(next(rest)))  # raises where the shapes do not fit
        if not self._is_tried:
            self._symbolic = self._for_all_sizes()
            self._is_tried = True
        return self._symbolic or self._compiled(specialised)

    def _for_all_sizes(self) -> Kernel | None:
        """The kernel with a dim for each that is not known; None where there is none."""
        try:
            segment = self._on(for_any_size)
            return None if is_lazy(segment) else self._compiled(segment)
        except OpgenError as error:  # an op that needs to know a size
            raise_defect(error)
            return None

    def _on(self, typed: Callable[[TensorType], Type]) -> Function:
        """The segment on operands of other types, which are given for each tensor in order."""
        segment = self._segment
        params = tuple([Var(p.name_hint, _mapped(p.checked_type, typed)) for p in segment.params])
        segment = specialised(segment, _told(segment.params, params))  # attrs are made of dims as types are
        renamed: dict[Var, Expr] = dict(zip(segment.params, params, strict=True))
        found = InferType()(Function(params, substitute(segment.body, renamed), attrs=segment.attrs))
        assert isinstance(found, Function)
        return found


def _told(params: Sequence[Var], known: Sequence[Var]) -> dict[DimVar, DimExpr]:
    """The dims that parameters of known types tell."""
    found: dict[DimVar, DimExpr] = {}
    for param, same in zip(params, known, strict=True):
        kinds = zip(flat_types(param.checked_type, ""), flat_types(same.checked_type, ""), strict=True)
        for kind, told in kinds:
            for own, size in zip(kind.shape, told.shape, strict=False):
                if isinstance(own, DimVar) and isinstance(size, int):
                    found[own] = const(size, INDEX)
    return found


def _mapped(kind: Type, typed: Callable[[TensorType], Type]) -> Type:
    if isinstance(kind, TupleType):
        return TupleType(tuple([_mapped(field, typed) for field in kind.fields]))
    assert isinstance(kind, TensorType)
    return typed(kind)
