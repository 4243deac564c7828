"""MergeCompilerRegions: regions of one compiler that read each other become one.

    %0 = fn (%x, Compiler="mylib") { exp(%x) }(%a)
    fn (%y, Compiler="mylib") { tanh(%y) }(%0)             fn (%x, Compiler="mylib") { tanh(exp(%x)) }(%a)

Two regions stay apart where something between them is computed elsewhere, which would have to run in the midst of their
function, and where one stands in a branch and the other does not.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir import Call, Expr, Function, IRModule, TupleGetItem, post_order
from ..ir.scopes import blocks_of
from .context import PassContext
from .define import function_pass
from .infer_type import InferType
from .regions import COMPILER, Region, is_closed, is_region_call, operands_of, outlined


@function_pass(opt_level=0, required=(InferType,), preserves=("InferType",))
def MergeCompilerRegions(function: Function, module: IRModule, context: PassContext) -> Function:
    """Each region is joined with those of its compiler whose results it reads, where that can be."""
    order = post_order(function, is_closed)
    calls = [node for node in order if is_region_call(node)]
    if len(calls) < 2:
        return function
    units = _Units(order)
    blocks = blocks_of(function, order)
    for call in calls:
        for each in _producers(call):
            same = _compiler(each) == _compiler(call) and blocks.at[id(each)] is blocks.at[id(call)]
            if same and units.may_join(each, call):
                units.join(each, call)
    return outlined(function, list(_regions(order, units)))


class _Units:
    """Which nodes belong together; each by itself at first, but for fields, which belong to their region."""

    def __init__(self, order: list[Expr]) -> None:
        self._of: dict[int, list[Expr]] = {id(node): [node] for node in order}
        for node in order:
            if isinstance(node, TupleGetItem) and is_region_call(node.tuple_value):
                self.join(node.tuple_value, node)

    def members(self, node: Expr) -> list[Expr]:
        return self._of[id(node)]

    def join(self, a: Expr, b: Expr) -> None:
        first, second = self._of[id(a)], self._of[id(b)]
        if first is second:
            return
        small, large = sorted((first, second), key=len)
        large.extend(small)
        for node in small:
            self._of[id(node)] = large

    def may_join(self, producer: Expr, reader: Expr) -> bool:
        """Whether no way from one to the other leads through a third."""
        own = [self._of[id(producer)], self._of[id(reader)]]
        if own[0] is own[1]:
            return False
        ids = {id(each) for each in own}
        seen: set[int] = set()
        stack = [each for unit in own for each in self._read(unit) if id(each) not in ids]
        while stack:
            unit = stack.pop()
            if id(unit) in seen:
                continue
            seen.add(id(unit))
            for each in self._read(unit):
                if id(each) in ids:
                    return False
                stack.append(each)
        return True

    def _read(self, unit: list[Expr]) -> Iterator[list[Expr]]:
        for node in unit:
            for child in node.children():
                found = self._of.get(id(child))
                if found is not None and found is not unit:
                    yield found


def _producers(call: Call) -> list[Expr]:
    """The calls of regions whose results a call reads."""
    found: list[Expr] = []
    for each in operands_of(call):
        source = each.tuple_value if isinstance(each, TupleGetItem) else each
        if is_region_call(source):
            found.append(source)
    return found


def _compiler(call: Expr) -> object:
    assert isinstance(call, Call)
    assert isinstance(call.op, Function)
    return call.op.attrs[COMPILER]


def _regions(order: list[Expr], units: _Units) -> Iterator[Region]:
    """What several regions have become; each that stands alone stays as it is."""
    place = {id(node): k for k, node in enumerate(order)}
    readers: dict[int, list[int]] = {}
    for node in order:
        for child in node.children():
            readers.setdefault(id(child), []).append(id(node))
    done: set[int] = set()
    for node in order:
        unit = units.members(node)
        if not is_region_call(node) or id(unit) in done:
            continue
        done.add(id(unit))
        if sum(map(is_region_call, unit)) > 1:
            inside = {id(member) for member in unit}
            members = sorted(unit, key=lambda member: place[id(member)])
            outputs = [each for each in members if not inside.issuperset(readers[id(each)])]
            assert isinstance(node.op, Function)
            yield Region(members, outputs, node.op.attrs)
