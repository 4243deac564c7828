"""Calls of ops that are kept apart: their results are placeholders, and what they are given are results of the build.

    y = ops.softplus(z)    -->    y is a placeholder, and z a tensor that is built beside the outputs

A derivative goes through such a call by what the called op states of its own derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final, TypeAlias

from ...base.vocabulary import FLOAT32, DType, dataclass
from ...operator import Attrs, Binding
from ..te.construct import data_axes, placeholder
from ..te.tensor import Compute, Read, Tensor
from ..te.widen import Unrounded
from .tensors import Defined, Operand

_Given: TypeAlias = "Defined | tuple[Defined, ...] | None"

_Held: TypeAlias = "Tensor | tuple[Tensor, ...]"


@dataclass(frozen=True, slots=True)
class SeparateCall:
    """`callee` with `attrs` on `operands`, an entry an input, gives the placeholders `results`, an entry an output.

    Halves among them are float32: between the ops of one computation nothing is rounded.
    """

    callee: Any
    attrs: Attrs | None
    operands: tuple[Tensor | tuple[Tensor, ...] | None, ...]
    results: tuple[Tensor | tuple[Tensor, ...], ...]


class SeparateCalls:
    """The calls of one build that `is_separate`, given a declaration, keeps apart; `made` once it is done."""

    def __init__(self, is_separate: Callable[[Any], bool]) -> None:
        self.is_separate: Final = is_separate
        self.made: tuple[SeparateCall, ...] = ()
        self._noted: list[tuple[Any, Attrs | None, tuple[_Given, ...], tuple[_Held, ...]]] = []

    def note(
        self, callee: Any, attrs: Attrs | None, given: Sequence[_Given], binding: Binding
    ) -> tuple[Operand, ...]:
        """What stands for the results of a call, in line."""
        types = binding.outputs
        names = [f"{callee.full_name}{len(self._noted)}_{k}" for k in range(len(types))]
        held = tuple(
            [placeholder(name, t.shape, wide(t.dtype)) for name, t in zip(names, types, strict=True)]
        )
        rest = iter(held)
        results = tuple(
            [
                next(rest) if output.variadic is None else tuple(islice(rest, count))
                for output, count in zip(callee.signature.outputs, binding.counts, strict=True)
            ]
        )
        self._noted.append((callee, attrs, tuple(given), results))
        return tuple([Operand(_as(each, t.dtype), each.name) for each, t in zip(held, types, strict=True)])

    def handles(self) -> Iterator[Defined]:
        """What the calls are given, in line."""
        for _, _, given, _ in self._noted:
            for each in given:
                yield from each if isinstance(each, tuple) else () if each is None else (each,)

    def finish(self, tensors: Sequence[Tensor]) -> None:
        """`tensors`: what `handles` were built to."""
        rest = iter(tensors)
        self.made = tuple(
            [
                SeparateCall(callee, attrs, tuple([_taken(each, rest) for each in given]), results)
                for callee, attrs, given, results in self._noted
            ]
        )
        self._noted.clear()


def wide(dtype: DType) -> DType:
    """The dtype in which values of `dtype` are computed."""
    return FLOAT32 if dtype.is_storage else dtype


def _taken(given: _Given, rest: Iterator[Tensor]) -> Tensor | tuple[Tensor, ...] | None:
    if isinstance(given, tuple):
        return tuple([next(rest) for _ in given])
    return None if given is None else next(rest)


def _as(held: Tensor, dtype: DType) -> Tensor:
    """The placeholder as the caller sees it: of its own dtype, and not rounded to that."""
    if held.dtype is dtype:
        return held
    axes = data_axes(held.shape)
    body = Unrounded(dtype, Read(held.dtype, held, tuple([axis.var for axis in axes])))
    return replace(held, dtype=dtype, op=Compute(axes, body))
