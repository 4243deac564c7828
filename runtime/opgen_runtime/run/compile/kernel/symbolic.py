"""Kernels of symbolic dims: compiled once for all values of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from ....base.arith import (
    Analyzer,
    Const,
    Expr,
    Var,
    closure,
    const,
    evaluate_scalar,
    free_vars,
    hinted,
    substitute,
)
from ....base.arith.closures import Closure
from ....base.arith.expr import Dim, Shape
from ....base.errors import CodegenError, ExecutorError
from ....base.lazy import lazy
from ....base.lru_cache import Footprint
from ....base.vocabulary import INDEX, dataclass
from ....codegen import Elsewhere, Loaded
from ..native.entry import Entry
from ..specialisations import Specialisations
from .footprint import footprint_of, footprint_of_call
from .kernel import EmptyKernel, Image, Kernel, NativeKernel, Slot, in_memory
from .shape_preconditions import ShapePrecondition

Values = Mapping[Var, int]


@dataclass(frozen=True, slots=True)
class SymbolicSlot(Slot):
    """An operand whose dims may be expressions; `shape` has -1 for those."""

    dims: Shape = ()

    def at(self, values: Values) -> Slot:
        """The operand for values of the dims."""
        return Slot(self.name, concrete(self.dims, values), self.dtype)

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.dims))}]"

    @property
    def nbytes(self) -> int:
        """The bytes for the hints of the dims."""
        return math.prod([hinted(dim) for dim in self.dims]) * self.dtype.itemsize


def symbolic_slot(name: str, dims: Shape, dtype: np.dtype[np.generic]) -> SymbolicSlot:
    """An operand of these dims."""
    return SymbolicSlot(name, tuple([dim if isinstance(dim, int) else -1 for dim in dims]), dtype, dims)


class SymbolicKernel(Kernel):
    """A kernel for all values of its dims, which it takes from the shapes of its inputs.

    `dims`: those whose values its code takes.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[SymbolicSlot],
        outputs: Sequence[SymbolicSlot],
        dims: Sequence[Var],
        broadcast_guards: Sequence[tuple[Expr, Expr]] = (),
        shape_preconditions: Sequence[ShapePrecondition] = (),
    ) -> None:
        """`broadcast_guards`: dims that are equal, or one of them 1.  `shape_preconditions`: what else the dims
        must satisfy.

        Raises CodegenError for a dim that no shape of an input binds.
        """
        super().__init__(name, inputs, outputs)
        self.operands = tuple(inputs), tuple(outputs)
        self.dims = tuple(dims)
        self.broadcast_guards = tuple(broadcast_guards)
        self.shape_preconditions = tuple(shape_preconditions)
        self._kernels: Specialisations[Kernel] = Specialisations(
            footprint_of_call
        )  # by the shapes of the inputs
        self._last: Entry | None = None  # of shapes that came twice running
        self._before: Kernel | None = None  # what ran last
        self._repeats = False  # whether it ran before that, too
        known_dims = dict.fromkeys([dim for slot in inputs for dim in slot.dims if isinstance(dim, Var)])
        needed = [
            v for slot in (*inputs, *outputs) for d in slot.dims if isinstance(d, Expr) for v in free_vars(d)
        ]
        self._told = tuple(known_dims)
        for var in (*dims, *needed):
            if var not in known_dims:
                raise CodegenError(
                    f"{self.name}: no operand has the dim {var.name} itself, of which its shapes are made"
                )

    def run(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        entry = self._last
        if entry is not None and outputs is None:  # it gives back arrays of other shapes
            found = entry.new(*inputs)
            if found is not NotImplemented:
                return [found] if len(self.outputs) == 1 else list(found)
        shapes = tuple([np.shape(array) for array in inputs])
        kernel = self.at(shapes)
        self._repeats = kernel is self._before
        if self._repeats:
            self._last = kernel.entry()
        self._before = kernel
        return kernel.run(inputs, outputs)

    def entry(self, in_tuple: bool = False) -> Entry | None:
        """Those of the shapes that came last, if they came twice running."""
        return self._before.entry(in_tuple) if self._before is not None and self._repeats else None

    def at(self, shapes: tuple[tuple[int, ...], ...]) -> Kernel:
        """The kernel for inputs of these shapes, kept for those that follow.  Raises ExecutorError as `run`."""
        return self._kernels.get(shapes) or self._kernels.put(shapes, self._at(shapes))

    def _at(self, shapes: Sequence[tuple[int, ...]]) -> Kernel:
        """The kernel for inputs of these shapes; one that does not fit is refused when it runs."""
        inputs, outputs = self.operands
        values: dict[Var, int] = {}
        for slot, shape in zip(inputs, shapes, strict=False):
            if len(shape) != len(slot.dims) or any(
                isinstance(dim, int) and dim != extent for dim, extent in zip(slot.dims, shape, strict=True)
            ):
                raise ExecutorError(
                    f"{self.name}: input {slot.name} must be {slot}, found shape {list(shape)}"
                )
            for axis, (dim, extent) in enumerate(zip(slot.dims, shape, strict=True)):
                if isinstance(dim, Var) and values.setdefault(dim, extent) != extent:
                    raise ExecutorError(
                        f"{self.name}: axis {axis} of input {slot.name} has extent {extent}, "
                        f"but dim {dim.name!r} is {values[dim]}"
                    )
        missing = [var.name for var in self._told if var not in values]
        if missing:
            raise ExecutorError(
                f"{self.name}: no input binds the dim {missing[0]}; shapes are {list(shapes)}"
            )
        sizes = iter(self._sizes(*[values[var] for var in self._told]))
        for a, b in self.broadcast_guards:
            x, y = next(sizes), next(sizes)
            if x != y and 1 not in (x, y):
                raise ExecutorError(
                    f"{self.name}: dims {str(a)!r} and {str(b)!r} meet in a broadcast, "
                    f"but are {x} and {y}: they must be equal, or one of them 1"
                )
        for precondition in self.shape_preconditions:
            if not next(sizes):
                raise ExecutorError(f"{self.name}: {precondition.why_not(values)}")
        own, made = (
            tuple([Slot(slot.name, tuple(islice(sizes, len(slot.dims))), slot.dtype) for slot in part])
            for part in (inputs, outputs)
        )
        if all([0 in slot.shape for slot in made]) and not self.has_effects:
            return EmptyKernel(self.name, own, made)
        return self._at_dims(tuple([values[var] for var in self.dims]), own, made)

    @abstractmethod
    def _at_dims(self, dims: tuple[int, ...], inputs: tuple[Slot, ...], outputs: tuple[Slot, ...]) -> Kernel:
        """The kernel for values of the dims, and so of its operands."""

    @lazy
    def _sizes(self) -> Closure:
        """For dims that the inputs tell: broadcast guards, whether the shape preconditions hold, the operands' dims."""
        inputs, outputs = self.operands
        found: list[Dim] = [dim for pair in self.broadcast_guards for dim in pair]
        found += [precondition.condition for precondition in self.shape_preconditions]
        found += [dim for slot in (*inputs, *outputs) for dim in slot.dims]
        return closure(found, self._told)

    @property
    def has_effects(self) -> bool:
        """Whether it writes elsewhere than into its results."""
        return False

    def memory(self, shapes: Sequence[tuple[int, ...]]) -> int:
        """Bytes that a run on inputs of these shapes takes at a time: its results.  Raises ExecutorError as `run`."""
        return sum([slot.nbytes for slot in self.at(tuple(shapes)).outputs])

    def dims_text(self) -> list[str]:
        """A line on each dim."""
        return [f"dim {dim.name}: any size, scheduled for {hinted(dim)}" for dim in self.dims]

    def versions_text(self) -> list[str]:
        """A line on the versions of the kernel, of which it chooses one when it runs; none where there is one."""
        return []

    def bound(self, shapes: Sequence[Shape]) -> dict[Var, Expr]:
        """The values of the dims for inputs of these shapes, which may be symbolic themselves."""
        found: dict[Var, Expr] = {}
        for slot, shape in zip(self.operands[0], shapes, strict=True):
            for dim, extent in zip(slot.dims, shape, strict=True):
                if isinstance(dim, Var):
                    found.setdefault(dim, const(extent, INDEX) if isinstance(extent, int) else extent)
        return found

    def given(self, shapes: Sequence[Shape]) -> list[Shape]:
        """The shapes of the outputs, in storage, for inputs of these shapes."""
        return self.shapes(self.operands[1], self.bound(shapes))

    @staticmethod
    def shapes(slots: Sequence[SymbolicSlot], values: Mapping[Var, Expr]) -> list[Shape]:
        """The shapes of operands where dims have other values, which may be symbolic themselves."""
        return [tuple([_value(dim, values) for dim in slot.dims]) for slot in slots]


class SymbolicNativeKernel(SymbolicKernel):
    """Machine code for all values of the dims that it takes.  `image` has no operands and no dims yet."""

    def __init__(
        self,
        image: Image,
        inputs: Sequence[SymbolicSlot],
        outputs: Sequence[SymbolicSlot],
        dims: Sequence[Var],
        broadcast_guards: Sequence[tuple[Expr, Expr]] = (),
        shape_preconditions: Sequence[ShapePrecondition] = (),
        loaded: Loaded | Elsewhere | None = None,
    ) -> None:
        """`loaded`: the code, if it is in memory already; the rest as of `SymbolicKernel`."""
        super().__init__(image.name, inputs, outputs, dims, broadcast_guards, shape_preconditions)
        self.image = image
        self._loaded = loaded or in_memory(image)

    def _at_dims(self, dims: tuple[int, ...], inputs: tuple[Slot, ...], outputs: tuple[Slot, ...]) -> Kernel:
        return self._native(replace(self.image, inputs=inputs, outputs=outputs, dims=dims), self._loaded)

    def _native(self, image: Image, loaded: Loaded | Elsewhere) -> Kernel:
        """The code for values of the dims."""
        return NativeKernel(image, loaded)

    def footprint(self) -> Footprint:
        yield from super().footprint()
        yield id(self._loaded), self._loaded.nbytes
        yield from footprint_of(self.image.constants)

    @property
    def code_address(self) -> int:
        return self._loaded.address

    @property
    def constants(self) -> tuple[np.ndarray, ...]:
        return self.image.constants

    @property
    def lengths(self) -> tuple[tuple[int, int, int], ...]:
        return self.image.lengths

    def versions_text(self) -> list[str]:
        listed = self.image.versions
        return [f"{self.name} has versions for {', '.join(listed)} and the rest"] if listed else []


def _value(dim: Dim, values: Mapping[Var, Expr]) -> Dim:
    if isinstance(dim, int):
        return dim
    found = Analyzer().simplify(substitute(dim, values))
    return int(found.value) if isinstance(found, Const) else found


def concrete(shape: Shape, values: Values) -> tuple[int, ...]:
    """A shape for values of its dims."""
    return tuple([dim if isinstance(dim, int) else int(evaluate_scalar(dim, dict(values))) for dim in shape])
