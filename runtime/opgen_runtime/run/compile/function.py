"""`TensorFunction`: a compiled kernel as a function of arrays, of which calls tell the dims that are variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypeAlias

import numpy as np

from ...base.arith import Var
from ...base.errors import ExecutorError
from ...base.forks import importing
from ...base.lru_cache import Footprint
from .function_code import Argument, FunctionCode
from .kernel.footprint import OBJECT_BYTES
from .kernel.kernel import EmptyKernel, Image, Kernel, NativeKernel, Slot
from .kernel.sizes import vars_of
from .specialisations import Specialisations

Slots: TypeAlias = "tuple[Slot, ...]"
Make: TypeAlias = Callable[[Slots, Slots, "tuple[int, ...]"], Kernel]
"""A kernel for inputs and outputs, where the dims that are variables have these values."""


class TensorFunction:
    """A compiled kernel: `f(a, b, out)` computes into `out`, `f(a, b)` into a new array; both give the result.

    Arrays must have the dtypes and shapes of the arguments; dims that are variables take the values of the first arrays
    that have them, and are compiled for all values.  Several results are a tuple.  Several threads may run it at once.
    `save` writes it into a file, for `load_function`; it is pickled as what that has.
    """

    def __init__(
        self,
        name: str,
        target: str,
        arguments: Sequence[Argument],
        make: Make,
        code: Callable[[], FunctionCode],
        op: Callable[..., Any] | None = None,
    ) -> None:
        """`target`: the text of what it is compiled for.

        `make`: gives kernels; `code`: what is saved, raises ExecutorError where nothing can be.  `op`: the call of its
        loop IR in a program; None where that is not known.
        """
        self.name = name
        self.target = target
        self.args = tuple(arguments)
        self.inputs = tuple([each for each in self.args if not each.is_output])
        self.outputs = tuple([each for each in self.args if each.is_output])
        self._dims = vars_of([each.shape for each in (*self.inputs, *self.outputs)])
        self._make = make
        self._code = code
        self._op = op
        self._kernels: Specialisations[Kernel] = Specialisations()  # by the values of dims

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.args))})"

    def __call__(self, *arrays: object) -> Any:
        """The result, as an array or a tuple of them; of inputs that are values of a program a call in that program.

        Raises ExecutorError for arrays that do not fit, CallError for what is none, and MemoryError.  In a program
        raises as kernels do, and ExecutorError for a function that was loaded, or calls Python functions.
        """
        if any([type(each) is not np.ndarray for each in arrays]) and _is_of_program(arrays):
            return self._traced(arrays)
        given = self._given(arrays)
        dims = self._values(given)
        kernel = self._kernels.made(dims, lambda: self._kernel(dims))
        inputs = [array for each, array in given if not each.is_output]
        into = [array for each, array in given if each.is_output] if len(arrays) == len(self.args) else None
        made = kernel.run(inputs, into)
        return made[0] if len(made) == 1 else tuple(made)

    def footprint(self) -> Footprint:
        """The memory of its code, about."""
        return ((id(self), OBJECT_BYTES),)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the function into a file.  Raises ExecutorError for one that calls Python functions."""
        with importing:
            from .store.function_file import write
        write(path, self._code())

    def __reduce__(self) -> tuple[object, ...]:
        with importing:
            from .store.function_file import encode
        return unpickled, (encode(self._code()),)

    def _traced(self, values: Sequence[object]) -> Any:
        if self._op is None:
            raise ExecutorError(
                f"{self!r} has no loop IR, of which programs are made: it was loaded, or calls Python functions"
            )
        return self._op(*values)

    def _given(self, arrays: Sequence[object]) -> list[tuple[Argument, np.ndarray]]:
        """The arguments that have arrays, with these; results are the caller's own arrays."""
        if len(arrays) == len(self.args):
            arguments: Sequence[Argument] = self.args
        elif len(arrays) == len(self.inputs):
            arguments = self.inputs
        else:
            raise ExecutorError(
                f"{self!r}: expected {len(self.args)} arrays, or the {len(self.inputs)} inputs, found {len(arrays)}"
            )
        found: list[tuple[Argument, np.ndarray]] = []
        for each, array in zip(arguments, arrays, strict=True):
            what = f"{self.name}: {each.name}"
            if type(array) is not np.ndarray and not each.is_output:
                array = _admitted(array, what)
            if not isinstance(array, np.ndarray):
                raise ExecutorError(f"{what} must be an array, found {type(array).__name__}")
            found.append((each, array))
        return found

    def _values(self, given: Sequence[tuple[Argument, np.ndarray]]) -> tuple[int, ...]:
        """The values of the dims that are variables."""
        if not self._dims:
            return ()
        values: dict[Var, int] = {}
        for each, array in given:
            for extent, found in zip(each.shape, array.shape, strict=False):
                if isinstance(extent, Var):
                    values.setdefault(extent, found)
        missing = [var.name for var in self._dims if var not in values]
        if missing:
            raise ExecutorError(f"{self!r}: no array binds the dim {missing[0]}; give the result, too")
        return tuple([values[var] for var in self._dims])

    def _kernel(self, dims: tuple[int, ...]) -> Kernel:
        values = dict(zip(self._dims, dims, strict=True))
        inputs, outputs = (
            tuple([each.slot(values) for each in part]) for part in (self.inputs, self.outputs)
        )
        if all(0 in slot.shape for slot in outputs):
            return EmptyKernel(self.name, inputs, outputs)
        return self._make(inputs, outputs, dims)


def _is_of_program(values: Sequence[object]) -> bool:
    """Whether there is a value of a program that is being built among them."""
    with importing:  # as below
        from ...ir import Expr, Traced
    return any(isinstance(each, Expr | Traced) for each in values)


def _admitted(value: object, what: str) -> np.ndarray:
    """An array of others as numpy's."""
    with importing:  # functions that were loaded run on plain arrays without the graph
        from ...ir import admit
    return admit(value, what)


class LazilyLoaded:
    """Kernels of one piece of object code, which is loaded with the first of them."""

    def __init__(self, load: Make) -> None:
        self._load = load
        self._loaded: NativeKernel | None = None

    def __call__(self, inputs: Slots, outputs: Slots, dims: tuple[int, ...]) -> Kernel:
        if self._loaded is not None:
            return self._loaded.at(inputs, outputs, dims)
        kernel = self._load(inputs, outputs, dims)
        assert isinstance(kernel, NativeKernel)
        self._loaded = kernel
        return kernel


def function_of(code: FunctionCode) -> TensorFunction:
    """The function of object code."""

    def load(inputs: Slots, outputs: Slots, dims: tuple[int, ...]) -> Kernel:
        return NativeKernel(Image(code.symbol, inputs, outputs, code.code, code.imports, dims=dims))

    return TensorFunction(code.name, code.target, code.arguments, LazilyLoaded(load), lambda: code)


def unpickled(artifact: bytes) -> TensorFunction:
    """The function that was pickled as the bytes of its file."""
    with importing:
        from .store.function_file import decode
    return function_of(decode(artifact, "a pickled function"))
