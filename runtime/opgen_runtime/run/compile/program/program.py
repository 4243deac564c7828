"""A program with a plan as one kernel: its driver in memory, with the kernels that it calls."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from threading import get_ident
from typing import TYPE_CHECKING, Final

import numpy as np

from ....base import Target
from ....base.arith import Expr, Var, closure, eq, le, substitute
from ....base.arith.closures import Closure
from ....base.arith.expr import Shape
from ....base.errors import ExecutorError
from ....base.forks import importing
from ....base.lazy import lazy
from ....base.lru_cache import Footprint
from ....codegen import Elsewhere, Loaded, compiled, imports_of, load
from ..kernel.footprint import footprint_of
from ..kernel.kernel import Image, Kernel, NativeKernel, Slot
from ..kernel.shape_preconditions import ShapePrecondition
from ..kernel.symbolic import SymbolicKernel, SymbolicNativeKernel, symbolic_slot
from ..native.entry import Entry
from ..native.pointers import address_of
from .donated import check_donated
from .driver import ARENA, SYMBOL, TOO_MANY_STEPS, constant_symbols, driver_text, kernel_symbols
from .plan import Copy, Instruction, Loop, Plan, PutSlice, Run

if TYPE_CHECKING:
    from ..kernel.extern import PythonCode

NAME: Final = "the program"


class Linked:
    """The driver of a plan in memory, with the kernels that it calls, and what it keeps between calls."""

    def __init__(self, plan: Plan, kernels: Sequence[Kernel], image: Image) -> None:
        """`image`: of the driver, see `driver_image`.  Raises CodegenError where it cannot be linked."""
        self.arena = _Arena()
        self.events: dict[int, np.ndarray] = {}  # by thread, while it is measured
        self.loaded = self._in_memory(plan, kernels, image)
        self.plan = plan
        self.kernels = tuple(kernels)
        self.limits = sorted({each.limit for each in plan.code if isinstance(each, Loop) and each.limit >= 0})
        self.externs = _externs(kernels)

    def _in_memory(self, plan: Plan, kernels: Sequence[Kernel], image: Image) -> Loaded | Elsewhere:
        """The driver's code with what it imports, unless it is another machine's."""
        if image.elsewhere:
            return Elsewhere(image.name, image.elsewhere, len(image.code))
        addresses = dict(kernel_symbols(plan, kernels))
        constants = list(constant_symbols(plan, kernels))
        addresses.update([(name, address_of(array)) for name, array in constants])
        addresses[ARENA] = self.arena.address
        return load(image.code, SYMBOL, image.imports, addresses)

    def footprint(self) -> Footprint:
        """The memory of what the driver calls and keeps; that of its arena for the hints of symbolic dims."""
        for kernel in self.kernels:
            yield from kernel.footprint()
        yield from footprint_of(self.plan.constants.values())
        yield self.arena.address, self.plan.arena

    def timed(self, run: Callable[[], object]) -> np.ndarray:
        """Run once; rows (step, begin, end in nanoseconds) of the kernels that ran, in order.

        A loop may run more kernels than there is room for: the program runs again with more room then.
        """
        room = 2 * len(self.plan.runs) + 64
        while True:
            events = np.zeros(2 + 3 * room, np.int64)
            events[0] = room
            thread = get_ident()
            self.events[thread] = events
            try:
                run()
            finally:
                del self.events[thread]
            if events[1] <= room:
                return events[2 : 2 + 3 * events[1]].reshape(-1, 3)
            room = int(events[1])


def _externs(kernels: Sequence[Kernel]) -> list[PythonCode]:
    """The kernels that are functions of Python; a program without them does not wait for what calls them."""
    if all([kernel.why_of_python is None for kernel in kernels]):
        return []
    with importing:
        from ..kernel.extern import ExternKernel, SymbolicExternKernel

    return [kernel.code for kernel in kernels if isinstance(kernel, ExternKernel | SymbolicExternKernel)]


class ProgramKernel(NativeKernel):
    """The driver of a plan, called like a kernel."""

    def __init__(self, image: Image, linked: Linked) -> None:
        """`image`: of the driver, see `driver_image`."""
        super().__init__(image, linked.loaded)
        self.linked = linked

    def footprint(self) -> Footprint:
        yield from super().footprint()
        yield from self.linked.footprint()

    @property
    def memory(self) -> tuple[object, ...]:
        return (*super().memory, self.linked)

    @property
    def is_one(self) -> bool:
        return False

    def entry(self, in_tuple: bool = False) -> Entry | None:
        # entries tell no events, and not why a program failed: a function of Python raised, a loop went too far;
        # and they make arrays for all results
        linked = self.linked
        observed = linked.externs or linked.limits or linked.events or linked.plan.donations
        return None if observed else super().entry(in_tuple)

    def run(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        donations = self.linked.plan.donations
        if donations:
            if outputs is not None:
                raise ExecutorError(
                    f"{self.name} has results in the memory of inputs, and takes no arrays for them"
                )
            if len(inputs) == len(self.inputs):
                check_donated(self.name, self.inputs, donations, inputs)
        return super().run(inputs, outputs)

    def _new_results(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        results = super()._new_results(inputs)
        for each in self.linked.plan.donations:
            results[each.result] = inputs[each.param]
        return results

    def context(self) -> int | None:
        events = self.linked.events.get(get_ident())
        return None if events is None else address_of(events)

    def failure(self, status: int) -> BaseException:
        if status == TOO_MANY_STEPS:
            with importing:
                from ....ir.loops import beyond
            return ExecutorError(beyond(self.linked.limits))
        for code in self.linked.externs:
            raised = code.raised()
            if raised is not None:
                return raised
        return super().failure(status)


class SymbolicProgram(SymbolicNativeKernel):
    """The driver of a plan with symbolic dims, which takes their values from the shapes of its inputs."""

    def __init__(self, image: Image, linked: Linked) -> None:
        inputs, outputs = (
            [symbolic_slot(slot.name, dims, slot.dtype) for slot, dims in zip(slots, shapes, strict=True)]
            for slots, shapes in (
                (image.inputs, [linked.plan.held[k].shape for k in range(linked.plan.num_params)]),
                (image.outputs, [linked.plan.held[slot].shape for slot in linked.plan.outputs]),
            )
        )
        self.linked = linked
        broadcast_guards = [pair for run in linked.plan.runs for pair in self._broadcast_guards(run)]
        shape_preconditions = [each for step in linked.plan.code for each in self._shape_preconditions(step)]
        super().__init__(
            image, inputs, outputs, linked.plan.dims, broadcast_guards, shape_preconditions, linked.loaded
        )

    def footprint(self) -> Footprint:
        yield from super().footprint()
        yield from self.linked.footprint()

    def _broadcast_guards(self, run: Run) -> list[tuple[Expr, Expr]]:
        """The dims of the program that meet in a run of a kernel."""
        kernel = self.linked.kernels[run.kernel]
        if not isinstance(kernel, SymbolicKernel) or not kernel.broadcast_guards:
            return []
        values = kernel.bound([self.linked.plan.held[slot].shape for slot in run.inputs])
        return [(substitute(a, values), substitute(b, values)) for a, b in kernel.broadcast_guards]

    def _shape_preconditions(self, step: Instruction) -> Iterator[ShapePrecondition]:
        """What a step requires of the dims of the program: what its kernel does, and that shapes are those of slots."""
        held = self.linked.plan.held
        if isinstance(step, Copy):
            yield from _same(held[step.target].shape, held[step.source].shape)
        if isinstance(step, PutSlice):
            end = step.start + held[step.part].shape[step.axis]
            room = held[step.whole].shape[step.axis]
            if not (isinstance(end, int) and isinstance(room, int)):
                yield ShapePrecondition("what is appended", "as much room as it takes", le(end, room))
        if not isinstance(step, Run):
            return
        kernel = self.linked.kernels[step.kernel]
        slots = kernel.inputs, kernel.outputs[: len(step.outputs)]
        given: list[list[Shape]] = [[slot.shape for slot in part] for part in slots]
        if isinstance(kernel, SymbolicKernel):
            values = kernel.bound([held[slot].shape for slot in step.inputs])
            yield from [each.on(values) for each in kernel.shape_preconditions]
            given = [kernel.shapes(part, values) for part in kernel.operands]
        for positions, shapes in zip((step.inputs, step.outputs), given, strict=True):
            for position, shape in zip(positions, shapes, strict=True):
                yield from _same(held[position].shape, shape)

    def run(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        if self.linked.events:
            self._last = None  # entries tell no events
        return super().run(inputs, outputs)

    def memory(self, shapes: Sequence[tuple[int, ...]]) -> int:
        found = super().memory(shapes)
        values: dict[Var, int] = {}
        for slot, shape in zip(self.operands[0], shapes, strict=True):
            values.update({dim: n for dim, n in zip(slot.dims, shape, strict=True) if isinstance(dim, Var)})
        (space,) = self._space(*[values[var] for var in self._told])
        return found + space

    @lazy
    def _space(self) -> Closure:
        """The bytes between kernels, for values of the dims that the inputs tell."""
        return closure([self.linked.plan.space], self._told)

    @property
    def has_effects(self) -> bool:
        return bool(self.linked.plan.donations)

    def _native(self, image: Image, loaded: Loaded | Elsewhere) -> Kernel:
        return ProgramKernel(image, self.linked)


def _same(a: Shape, b: Shape) -> Iterator[ShapePrecondition]:
    """That two shapes are one, where they do not show it: branches of `if` may be of different dims."""
    with importing:  # who loads a program of known sizes needs no types
        from ....operator import dims_equal
    whose = f"a value of shape ({', '.join(map(str, a))})"
    for x, y in zip(a, b, strict=True):
        if not dims_equal(x, y) and not (isinstance(x, int) and isinstance(y, int)):
            yield ShapePrecondition(whose, "one shape on all ways to it", eq(x, y))


def program_of(plan: Plan, kernels: Sequence[Kernel], image: Image) -> ProgramKernel | SymbolicProgram:
    """The program of a driver's image.  Raises CodegenError where it cannot be linked."""
    linked = Linked(plan, kernels, image)
    return SymbolicProgram(image, linked) if plan.dims else ProgramKernel(image, linked)


class _Arena:
    """Where a driver keeps its arena between calls; frees it at the end."""

    _kept: ctypes.c_void_p | None = (
        None  # until it is made, last of all: a constructor may be interrupted anywhere
    )

    def __init__(self) -> None:
        self._free = _free()
        kept = ctypes.c_void_p()
        self.address = ctypes.addressof(kept)
        self._kept = kept

    def __del__(self) -> None:
        if self._kept is not None:
            self._free(self._kept)


@lru_cache(maxsize=1)
def _free() -> Callable[[ctypes.c_void_p], None]:
    function = ctypes.CDLL(None).free
    function.argtypes, function.restype = (ctypes.c_void_p,), None
    return function


def driver_image(plan: Plan, kernels: Sequence[Kernel], inputs: Sequence[str], target: Target) -> Image:
    """The driver compiled, or found in the cache of objects."""
    code = compiled("driver", driver_text(plan, kernels, target), target)
    return image_of(plan, code, inputs, target.elsewhere)


def image_of(plan: Plan, code: bytes, inputs: Sequence[str], elsewhere: str = "") -> Image:
    """What must be known to call a driver's code; `elsewhere`: as in an Image."""
    slots: list[Slot] = [
        symbolic_slot(name, plan.held[slot].shape, plan.held[slot].dtype) for slot, name in enumerate(inputs)
    ]
    outputs: list[Slot] = [
        symbolic_slot(f"output {k}", plan.held[slot].shape, plan.held[slot].dtype)
        for k, slot in enumerate(plan.outputs)
    ]
    if not plan.dims:
        slots, outputs = ([Slot(s.name, s.shape, s.dtype) for s in part] for part in (slots, outputs))
    positions = {slot: k for k, slot in enumerate(dict.fromkeys(slot for _, _, slot in plan.lengths))}
    lengths = tuple([(output, axis, positions[slot]) for output, axis, slot in plan.lengths])
    return Image(NAME, tuple(slots), tuple(outputs), code, imports_of(code), (), lengths, elsewhere=elsewhere)
