"""Functions of extern tensors that give loop IR: what `lower` makes statements of, instead of calls of Python.

Loop IR is defined storeys above tensor expressions, so its buffers and statements are opaque here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.errors import ExecutorError, LanguageError


class LoopIRFunction(ABC):
    """What extern tensors compute, written as loop IR: machine code in a kernel, and a function of arrays."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages call it."""

    @abstractmethod
    def __call__(self, *arrays: np.ndarray) -> np.ndarray | tuple[np.ndarray, ...]:
        """The result for arrays, of several a tuple.  Raises ExecutorError where it runs in machine code alone."""

    def scratch(self, ins: Sequence[Any], output: int) -> Any:
        """A buffer (`tir.Buffer`) for a result that a program does not have.

        Raises LanguageError for what can only fill the buffers of all its results.
        """
        raise LanguageError(
            f"the function {self.name} fills all its results, of which number {output} is not used"
        )

    @abstractmethod
    def loop_ir(self, ins: Sequence[Any], outs: Sequence[Any]) -> Any:
        """The statement (`tir.Stmt`) that fills the buffers `outs` (`tir.Buffer`) from the buffers `ins`."""

    @abstractmethod
    def by_rows(self, wide: Sequence[bool]) -> LoopIRFunction:
        """What it gives for each row of those operands that are `wide`, which have one more axis, the first.

        Raises LanguageError for what is written for buffers without one.
        """


class FunctionOfBuffers(LoopIRFunction):
    """A user's `function(ins, outs)`, which writes the statement for the buffers that it is given."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    @property
    def name(self) -> str:
        return qualified_name(self.function)

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        raise ExecutorError(
            f"the function {self.name} gives loop IR, which runs in machine code, not beside Python functions"
        )

    def loop_ir(self, ins: Sequence[Any], outs: Sequence[Any]) -> Any:
        return self.function(list(ins), list(outs))

    def by_rows(self, wide: Sequence[bool]) -> LoopIRFunction:
        raise LanguageError(
            f"the function {self.name} gives loop IR, which is that of one element of a batch"
        )


def qualified_name(function: Callable[..., Any]) -> str:
    """`module:name` of a function."""
    return (
        f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', None) or repr(function)}"
    )
