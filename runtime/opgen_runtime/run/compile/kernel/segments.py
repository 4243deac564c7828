"""The segments of a program: which of them are one kernel, and what each is called with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeGuard

import numpy as np

from ....base.vocabulary import dataclass
from ....ir import Call, Constant, Expr, Function, Tuple, post_order, structural_digest
from ....operator import TupleType, Type


def is_segment(node: object) -> TypeGuard[Function]:
    """Whether a function is compiled to a kernel."""
    return isinstance(node, Function) and "Primitive" in node.attrs


Constants: TypeAlias = "tuple[Constant | None, ...]"
"""The operands of a segment, tuples spread: those that are constants, None for the others."""


@dataclass(frozen=True, slots=True)
class Segments:
    """The segments of a partitioned program in the order in which they are called first.

    Those of equal structure with constants in equal places are one kernel, whatever the constants' values.
    `digests`: their structural digests; `constant`: the places of their constants.  By the id of a segment's function,
    `numbers` is its place here, and `operands` its constants.
    """

    functions: tuple[Function, ...]
    digests: tuple[str, ...]
    constant: tuple[frozenset[int], ...]
    numbers: Mapping[int, int]
    operands: Mapping[int, Constants]

    def served(self, kernels: Sequence[int]) -> Segments:
        """Where some are one kernel, by its number for each; the first of those stands for all of them."""
        first: dict[int, int] = {}
        for number, kernel in enumerate(kernels):
            first.setdefault(kernel, number)
        chosen = [first[kernel] for kernel in sorted(first)]
        return Segments(
            tuple([self.functions[number] for number in chosen]),
            tuple([self.digests[number] for number in chosen]),
            tuple([self.constant[number] for number in chosen]),
            {segment: kernels[number] for segment, number in self.numbers.items()},
            self.operands,
        )


@dataclass(frozen=True, slots=True)
class Site:
    """How a segment is called: the number of its kernel, which of the operands that takes, and what follows them."""

    kernel: int
    operands: tuple[int, ...]
    precomputed: tuple[np.ndarray, ...]


def segments_of(*functions: Function) -> Segments:
    """The segments that functions call."""
    called: dict[int, Function] = {}
    operands: dict[int, Constants] = {}
    for node in [node for function in functions for node in post_order(function.body)]:
        if isinstance(node, Call) and is_segment(node.op):
            given = flat_constants(node)
            before = operands.get(id(node.op), given)
            called[id(node.op)] = node.op
            operands[id(node.op)] = tuple([a if a is b else None for a, b in zip(given, before, strict=True)])
    known: dict[tuple[str, frozenset[int]], int] = {}
    found: list[Function] = []
    numbers: dict[int, int] = {}
    for identity, segment in called.items():
        places = frozenset([k for k, each in enumerate(operands[identity]) if each is not None])
        numbers[identity] = known.setdefault((structural_digest(segment), places), len(found))
        if len(known) > len(found):
            found.append(segment)
    digests, constant = tuple([digest for digest, _ in known]), tuple([places for _, places in known])
    return Segments(tuple(found), digests, constant, numbers, operands)


def flat_constants(call: Call) -> Constants:
    """The operands of a call that are constants."""
    found: list[Constant | None] = []
    stack: list[tuple[Expr | None, Type]] = [(arg, arg.checked_type) for arg in reversed(call.args)]
    while stack:
        expr, kind = stack.pop()
        if isinstance(kind, TupleType):
            parts = expr.fields if isinstance(expr, Tuple) else [None] * len(kind.fields)
            stack.extend(reversed(list(zip(parts, kind.fields, strict=True))))
        else:
            found.append(expr if isinstance(expr, Constant) else None)
    return tuple(found)
