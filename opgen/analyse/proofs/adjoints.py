"""The adjoints of the operands of one call, each derived once, whoever asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opgen_runtime.base.errors import OpgenError, without_frames
from opgen_runtime.compute import te
from opgen_runtime.compute.te.derivative import pullback


class Adjoints:
    """`operands`: one an operand, None where it is absent, a tuple of a variadic one; `results`: what is made of them.

    The cotangents are called as formulas show them: `grad`, of several results `grad_` and the name of each.
    """

    def __init__(self, operands: Sequence[Any], results: Sequence[te.Tensor], first: bool) -> None:
        self.operands = operands
        self.results = results
        self._first = first
        names = ["grad"] if len(results) == 1 else [f"grad_{each.name}" for each in results]
        self._cotangents = [
            te.placeholder(name, each.shape, str(each.dtype)) if each.dtype.is_float else None
            for name, each in zip(names, results, strict=True)
        ]
        self._found: dict[te.Tensor, te.Tensor | OpgenError | None] = {}

    def of(self, operand: te.Tensor) -> te.Tensor | None:
        """The adjoint of an operand, None where it is zero.  Raises what `pullback` raises."""
        if operand not in self._found:
            try:
                found = pullback(self.results, self._cotangents, operand, first=self._first)
            except OpgenError as error:
                self._found[operand] = without_frames(error)
            else:
                self._found[operand] = found
        known = self._found[operand]
        if isinstance(known, OpgenError):
            raise known
        return known
