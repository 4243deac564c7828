"""Shapes of results from shapes of operands, which may be symbols of torch's: the type relation on them.

A symbol of torch becomes a dim of ours, and sizes made of dims become sums, products, quotients and rounded multiples
of symbols again.  A choice between sizes (`Select`) asks torch, which remembers the answer as a guard; a size that
depends on data is a new symbol.  Where the relation cannot decide for all sizes, it may for those of at least 2 (which
axes `squeeze` drops); where it must know a dim (a rank that a dim decides), that symbol alone is taken at its value.
Both become guards.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import torch
from torch.fx.experimental.symbolic_shapes import guard_or_false

from ...base.arith import AnyDim, Binary, Call, Cast, Compare, Const, Dim, Expr, Not, Select, Var, dim
from ...base.errors import CallError, LoweringError, OpgenError
from ...operator import TensorType
from ...run.op_programs.programs import OperandType, Program
from .schema import Schema
from .tensors import DTYPE_OF, type_of

_ARITHMETIC: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "min": torch.sym_min,
    "max": torch.sym_max,
}
_DIVISIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "floordiv": operator.floordiv,
    "floormod": operator.mod,
}
_COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}


class Symbols:
    """Dims of ours for symbols of torch, and back."""

    def __init__(
        self, known: Collection[object] = (), guarded: bool = True, are_several: bool = False
    ) -> None:
        """`known`: symbols that are taken at their values; `are_several`: others are at least 2 where they are so now.

        Both with guards, unless it is only tried what follows.
        """
        self._known = known
        self._guarded = guarded
        self._are_several = are_several
        self._dims: dict[object, Dim] = {}
        self._symbols: dict[Var, Any] = {}

    @property
    def open(self) -> list[object]:
        """The symbols that became dims."""
        return list(self._dims)

    def dim(self, extent: Any) -> Dim:
        """The dim of an extent: one for each expression of torch's symbols."""
        if not isinstance(extent, torch.SymInt):
            return int(extent)
        expr = extent.node.expr
        if expr.is_number:
            return int(expr)
        if expr in self._known:
            return int(extent if self._guarded else extent.node.hint)
        found = self._dims.get(expr)
        if found is None:
            own = dim(f"d{len(self._dims)}")
            if self._are_several and self._is_several(extent):
                found = self._dims[expr] = own + 2
                self._symbols[own] = extent - 2
            else:
                found = self._dims[expr] = own
                self._symbols[own] = extent
        return found

    def _is_several(self, extent: Any) -> bool:
        if self._guarded:
            return bool(guard_or_false(extent >= 2))
        hint = extent.node.hint
        return hint is not None and bool(hint >= 2)

    def extent(self, e: Dim) -> Any:
        """The extent of a dim, an int or a symbol.  Raises LoweringError for what sizes are not made of."""
        if isinstance(e, int):
            return e
        if isinstance(e, Const):
            return e.value if e.dtype.is_float else int(e.value)
        if isinstance(e, Var):
            return self._symbols[e]
        if isinstance(e, AnyDim):
            return torch.library.get_ctx().new_dynamic_size()
        if isinstance(e, Cast):
            return torch.sym_float(self.extent(e.a)) if e.dtype.is_float else self.extent(e.a)
        if isinstance(e, Call) and e.name == "round":  # to even, as torch's symbols
            return round(self.extent(e.args[0]))
        if isinstance(e, Select):
            return self.extent(e.then if self.holds(e.condition) else e.otherwise)
        if isinstance(e, Binary) and e.op in _ARITHMETIC:
            return _ARITHMETIC[e.op](self.extent(e.a), self.extent(e.b))
        if isinstance(e, Binary) and e.op in _DIVISIONS:
            divisor = self.extent(e.b)
            return 0 if divisor == 0 else _DIVISIONS[e.op](self.extent(e.a), divisor)
        raise LoweringError(
            f"the size {e} is not made of sums, products, quotients and rounded multiples of dims"
        )

    def holds(self, e: Expr) -> bool:
        """Whether a condition on dims holds, which becomes a guard of torch's."""
        if isinstance(e, Const):
            return bool(e.value)
        if isinstance(e, Compare):
            return bool(_COMPARISONS[e.op](self.extent(e.a), self.extent(e.b)))
        if isinstance(e, Not):
            return not self.holds(e.a)
        if isinstance(e, Binary) and e.op in ("and", "or"):
            first = self.holds(e.a)
            return (first and self.holds(e.b)) if e.op == "and" else (first or self.holds(e.b))
        raise LoweringError(f"the condition {e} is not made of comparisons of dims")


def fake_results(schema: Schema, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[torch.Tensor]:
    """Tensors without memory of the types of the results.  Raises what the type relation raises."""
    bound = schema.bound(args, kwargs)
    operands, attrs = schema.operands(bound), schema.attrs(bound)

    def inferred(symbols: Symbols) -> list[TensorType]:
        values = schema.values({name: _with_dims(value, symbols) for name, value in attrs.items()})
        return schema.program.infer(types_of(operands, symbols.dim), values)

    symbols, found = _first_that_decides(inferred)
    device, *others = dict.fromkeys(devices_of(operands)) or (torch.device("cpu"),)
    if others:
        raise CallError(f"operands are on {device} and {others[0]}; expected all on one device")
    return [
        torch.empty([symbols.extent(d) for d in type_.shape], dtype=DTYPE_OF[type_.dtype], device=device)
        for type_ in found
    ]


def _first_that_decides(
    inferred: Callable[[Symbols], list[TensorType]],
) -> tuple[Symbols, list[TensorType]]:
    """What the relation says with as few symbols taken at their values as it needs.  Raises what it raises."""
    symbols = Symbols()
    try:
        return symbols, inferred(symbols)
    except OpgenError:
        several = Symbols(guarded=False, are_several=True)
    if _is_decided(several, inferred):
        several = Symbols(are_several=True)
        return several, inferred(several)
    symbols = Symbols(_needed(symbols.open, inferred))
    return symbols, inferred(symbols)


def _is_decided(symbols: Symbols, inferred: Callable[[Symbols], object]) -> bool:
    """Whether the relation says what the results are."""
    try:
        inferred(symbols)
    except (OpgenError, TypeError):  # TypeError: a symbol whose value depends on data
        return False
    return True


def _needed(symbols: Sequence[object], inferred: Callable[[Symbols], object]) -> list[object]:
    """Few symbols whose values the relation must know; all of them where that is not enough, so that it says why."""

    def suffice(known: Sequence[object]) -> bool:
        return _is_decided(Symbols(known, guarded=False), inferred)

    for count in range(1, len(symbols) + 1):
        if suffice(symbols[:count]):
            break
    else:
        return list(symbols)
    found = list(symbols[:count])
    for each in symbols[: count - 1]:
        fewer = [other for other in found if other is not each]
        if suffice(fewer):
            found = fewer
    return found


def types_of(
    operands: Sequence[torch.Tensor | tuple[torch.Tensor, ...] | None], dim: Callable[[Any], Dim] = int
) -> list[OperandType]:
    """The type of each operand.  Raises TypeError for an element type that no declared op has."""
    return [
        None
        if each is None
        else tuple([type_of(item, dim) for item in each])
        if isinstance(each, tuple)
        else type_of(each, dim)
        for each in operands
    ]


def likely(extent: Any) -> int:
    """The extent, of a symbol the value that it has where it is traced."""
    if not isinstance(extent, torch.SymInt):
        return int(extent)
    hint = extent.node.hint
    return 2 if hint is None else int(hint)


def devices_of(operands: Sequence[torch.Tensor | tuple[torch.Tensor, ...] | None]) -> list[torch.device]:
    """The devices of the leaves, in order."""
    found: list[torch.device] = []
    for each in operands:
        if each is not None:
            found.extend([item.device for item in (each if isinstance(each, tuple) else (each,))])
    return found


def _with_dims(value: Any, symbols: Symbols) -> Any:
    """A shape that may hold symbols, with dims in their places."""
    if isinstance(value, list | tuple):
        return [symbols.dim(item) if isinstance(item, torch.SymInt) else item for item in value]
    return symbols.dim(value) if isinstance(value, torch.SymInt) else value


def is_shapeless(program: Program) -> bool:
    """Whether a call may have no tensor, so that it says no device."""
    return all(operand.kind != "one" for operand in program.operands)
