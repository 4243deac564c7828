"""The sizes of an entry as LLVM IR text: what its program asks of the operands' shapes, and the shapes of its results.

    i64 NAME(ptr extents, ptr results, ptr dims)

`extents`: those of all operands, one after the other, of ranks that are right; `results`: where those of the results
go; `dims`: where the values of the dims go, as the program takes them.  Gives 0, or the number of the rule, from 1 on,
that the operands break.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...base import Target
from ...base.arith import Expr, Var
from ...base.vocabulary import dataclass
from ...codegen import FunctionText, ModuleText
from ...operator import Dim
from ...run.compile.kernel.kernel import Kernel, Slot
from ...run.compile.kernel.sizes import SizeText
from ...run.compile.kernel.symbolic import SymbolicKernel, SymbolicSlot


@dataclass(frozen=True, slots=True)
class Sizes:
    """The module with the function, and what its rules say."""

    text: str
    rules: tuple[str, ...]


def sizes_of(name: str, kernel: Kernel, dims: Sequence[Var], target: Target) -> Sizes:
    """The sizes of a program that is one kernel; `dims`: those that it takes, in order."""
    return _Sizes(kernel, target).made(name, dims)


class _Sizes:
    def __init__(self, kernel: Kernel, target: Target) -> None:
        self._kernel = kernel
        self._target = target
        self._module = ModuleText(target)
        self._f = FunctionText(self._module)
        self._rules: list[str] = []
        self._following: list[
            tuple[str, Expr, str]
        ] = []  # extents that follow from dims: where they are, and what

    def made(self, name: str, dims: Sequence[Var]) -> Sizes:
        f, kernel = self._f, self._kernel
        sizes = SizeText(f, self._bound())
        for given, extent, where in self._following:
            self._check(f.emit(f"icmp eq i64 {given}, {sizes.of(extent)}"), f"{where} must be {extent}")
        if isinstance(kernel, SymbolicKernel):
            for a, b in kernel.broadcast_guards:
                self._check_meeting(sizes.of(a), sizes.of(b), f"{a} and {b} must be equal, or one of them 1")
            for each in kernel.shape_preconditions:
                said = "" if each.error is None else f"{each.error}; "
                self._check(sizes.of(each.condition), f"{said}{each.condition} must hold ({each.text})")
        results = [extent for slot in kernel.outputs for extent in _dims(slot)]
        self._store("results", [sizes.of(extent) for extent in results])
        self._store("dims", [sizes.of(each) for each in dims])
        f.do("ret i64 0")
        for number in range(1, len(self._rules) + 1):
            f.start(f"broken{number}")
            f.do(f"ret i64 {number}")
        f.define(name, "i64", "ptr %extents, ptr %results, ptr %dims", "nounwind", exported=True)
        return Sizes(f'target triple = "{self._target.triple}"\n{self._module.render()}', tuple(self._rules))

    def _bound(self) -> dict[Var, str]:
        """The values of the dims, once it is checked that the operands agree on them."""
        f = self._f
        found: dict[Var, str] = {}
        position = 0
        for slot in self._kernel.inputs:
            for axis, extent in enumerate(_dims(slot)):
                at = f.emit(f"getelementptr i64, ptr %extents, i64 {position}")
                given = f.emit(f"load i64, ptr {at}, align 8")
                position += 1
                if isinstance(extent, Expr) and not isinstance(extent, Var):
                    self._following.append((given, extent, f"axis {axis} of {slot.name}"))
                    continue
                if isinstance(extent, Var) and extent not in found:
                    found[extent] = given
                    continue
                wanted = found[extent] if isinstance(extent, Var) else str(extent)
                self._check(
                    f.emit(f"icmp eq i64 {given}, {wanted}"), f"axis {axis} of {slot.name} must be {extent}"
                )
        return found

    def _check_meeting(self, a: str, b: str, rule: str) -> None:
        f = self._f
        same = f.emit(f"icmp eq i64 {a}, {b}")
        ones = f.emit(f"or i1 {f.emit(f'icmp eq i64 {a}, 1')}, {f.emit(f'icmp eq i64 {b}, 1')}")
        self._check(f.emit(f"or i1 {same}, {ones}"), rule)

    def _check(self, holds: str, rule: str) -> None:
        f = self._f
        self._rules.append(rule)
        through = f.label("through")
        f.branch_if(holds, through, f"broken{len(self._rules)}")
        f.start(through)

    def _store(self, to: str, values: Sequence[str]) -> None:
        f = self._f
        for position, value in enumerate(values):
            at = f.emit(f"getelementptr i64, ptr %{to}, i64 {position}")
            f.do(f"store i64 {value}, ptr {at}, align 8")


def _dims(slot: Slot) -> Sequence[Dim]:
    return slot.dims if isinstance(slot, SymbolicSlot) else slot.shape
