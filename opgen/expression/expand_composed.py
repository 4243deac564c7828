"""Lines of a composition as statements of `compute:`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from ..diagnostics import Place
from . import syntax as s

_PART: Final = "part"  # what a tensor without a name is called, and an index tuple
_INDICES: Final = "i"


def expanded(
    lines: Sequence[s.Assign], tensors: frozenset[str], outputs: frozenset[str], taken: Collection[str]
) -> s.Block:
    """The statements that define what the lines bind; `taken`: names that no part may have."""
    expander = _Expander(tensors, outputs, taken)
    for line in lines:
        expander.line(line)
    return tuple(expander.block)


class _Expander:
    def __init__(self, tensors: frozenset[str], outputs: frozenset[str], taken: Collection[str]) -> None:
        self.tensors = tensors
        self.outputs = outputs
        self.taken = set(taken)
        self.parts: set[str] = set()  # names that stand for parts of expressions
        self.indices = self._fresh(_INDICES)
        self.block: list[s.Statement] = []

    def line(self, line: s.Assign) -> None:
        value = line.value
        if not self._is_tensor(value):
            self.block.append(line)
        elif len(line.targets) > 1:
            assert isinstance(value, s.OpCall)
            made = [
                s.Name(each.place, self._part()) if each.name in self.outputs else each
                for each in line.targets
            ]
            self.block.append(s.Assign(line.place, tuple(made), self._call(value)))
            for target, part in zip(line.targets, made, strict=True):
                if part is not target:
                    self._define(target, part)
        else:
            self._bind(line.targets[0], value)

    def _bind(self, target: s.Name, value: s.Expression) -> None:
        """Define a tensor of this name as the value."""
        is_output = target.name in self.outputs
        if isinstance(value, s.OpCall) and not is_output:
            self.block.append(s.Assign(value.place, (target,), self._call(value)))
        elif isinstance(value, s.Conditional):
            then, otherwise = self._branch(target, value.then), self._branch(target, value.otherwise)
            self.block.append(s.If(value.condition.place, value.condition, then, otherwise))
        elif self._is_tensor(value):
            self._define(target, value)
        else:
            self.block.append(s.Define(value.place, target, None, (), s.Tuple(value.place, ()), value))

    def _branch(self, target: s.Name, value: s.Expression) -> s.Block:
        outer, self.block = self.block, []
        if isinstance(value, s.OpCall):  # another branch may define the tensor, as this one does then
            value = self._named(value)
        self._bind(target, value)
        made, self.block = tuple(self.block), outer
        return made

    def _define(self, target: s.Name, value: s.Expression) -> None:
        """`target[*i]: shape = value` with what the value is made of read at the broadcast indices."""
        leaves: dict[str, s.Name] = {}
        self._state(target, self._leaves(value, leaves), list(leaves.values()))

    def _state(self, target: s.Name, value: s.Expression, leaves: Sequence[s.Name]) -> None:
        place = value.place
        shapes = [s.Attribute(place, leaf, "shape") for leaf in leaves]
        is_alone = len(shapes) == 1
        shape = shapes[0] if is_alone else s.Call(place, s.Name(place, "broadcast"), tuple(shapes))
        stated = None if target.name in self.outputs else shape
        index = s.Star(place, s.Name(place, self.indices))
        element = self._element(value, is_alone)
        self.block.append(s.Define(place, target, None, (index,), stated, element))

    def _leaves(self, node: s.Expression, found: dict[str, s.Name]) -> s.Expression:
        """The tree of operators with names for what ops give; the names are collected."""
        if not self._is_tensor(node):
            return node
        match node:
            case s.Name():
                found[node.name] = node
                return node
            case s.Unary(place, op, operand):
                return s.Unary(place, op, self._leaves(operand, found))
            case s.Binary(place, op, left, right):
                return s.Binary(place, op, self._leaves(left, found), self._leaves(right, found))
            case s.Compare(place, first, rest):
                links = tuple((op, None if each is None else self._leaves(each, found)) for op, each in rest)
                return s.Compare(place, self._leaves(first, found), links)
            case s.Logic(place, op, operands):
                return s.Logic(place, op, tuple(self._leaves(each, found) for each in operands))
        named = self._named(node)
        found[named.name] = named
        return named

    def _element(self, node: s.Expression, is_alone: bool) -> s.Expression:
        """The tree of operators on elements."""
        match node:
            case s.Name(place) if self._is_tensor(node):
                return self._read(place, node, is_alone)
            case s.Unary(place, op, operand):
                return s.Unary(place, op, self._element(operand, is_alone))
            case s.Binary(place, op, left, right):
                return s.Binary(place, op, self._element(left, is_alone), self._element(right, is_alone))
            case s.Compare(place, first, rest):
                links = tuple(
                    (op, None if each is None else self._element(each, is_alone)) for op, each in rest
                )
                return s.Compare(place, self._element(first, is_alone), links)
            case s.Logic(place, op, operands):
                return s.Logic(place, op, tuple(self._element(each, is_alone) for each in operands))
        return node

    def _read(self, place: Place, tensor: s.Name, is_alone: bool) -> s.Expression:
        index: s.Expression = s.Name(place, self.indices)
        if not is_alone:
            shape = s.Attribute(place, tensor, "shape")
            index = s.Call(place, s.Name(place, "bcast"), (index, shape))
        return s.Subscript(place, tensor, (s.Star(place, index),))

    def _named(self, node: s.Expression) -> s.Name:
        """The name of a tensor that is defined as the value."""
        if isinstance(node, s.Name):
            return node
        if isinstance(node, s.OpCall):
            call = self._call(node)
            name = s.Name(node.place, self._part())
            self.block.append(s.Assign(node.place, (name,), call))
        elif isinstance(node, s.Conditional):
            name = s.Name(node.place, self._part())
            self._bind(name, node)
        else:
            leaves: dict[str, s.Name] = {}
            value = self._leaves(node, leaves)
            name = s.Name(node.place, self._part())
            self._state(name, value, list(leaves.values()))
        return name

    def _part(self) -> str:
        name = self._fresh(_PART)
        self.parts.add(name)
        return name

    def _call(self, node: s.OpCall) -> s.OpCall:
        return s.OpCall(node.place, node.op, tuple(map(self._operand, node.operands)), node.attrs)

    def _operand(self, node: s.Expression) -> s.Expression:
        if isinstance(node, s.OpCall):
            return self._call(node)
        if isinstance(node, s.Tuple):
            items = [each if isinstance(each, s.Star) else self._operand(each) for each in node.items]
            return s.Tuple(node.place, tuple(items))
        return self._named(node) if self._is_tensor(node) else node

    def _is_tensor(self, node: s.Expression) -> bool:
        return s.is_tensor(node, self.tensors | self.parts)

    def _fresh(self, word: str) -> str:
        name, number = word, 1
        while name in self.taken:
            number += 1
            name = f"{word}{number}"
        self.taken.add(name)
        return name
