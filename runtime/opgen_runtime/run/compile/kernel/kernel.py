"""What a segment is compiled to: something that computes output arrays from input arrays."""

from __future__ import annotations

import ctypes
import math
from abc import ABC, abstractmethod
from array import array as packed
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from ....base.errors import CallError, ExecutorError
from ....base.forks import importing
from ....base.lazy import lazy
from ....base.lru_cache import Footprint
from ....base.vocabulary import dataclass
from ....codegen import Elsewhere, Loaded, load
from ..native.buffers import POOL
from ..native.entry import Entry, make_entry
from ..native.pointers import address_of
from .footprint import OBJECT_BYTES, footprint_of


@dataclass(frozen=True, slots=True)
class Slot:
    """One operand: its name for messages, its shape and its element type."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether an array of this shape may fit; dims that are -1 are known when the kernel runs."""
        same = len(shape) == len(self.shape)
        return same and all([own in (-1, extent) for own, extent in zip(self.shape, shape, strict=True)])

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


class Kernel(ABC):
    """A compiled segment.  `inputs` and `outputs` say what `run` takes and gives.

    An output whose size depends on data has its greatest size in `outputs`; `run` gives it cut to what is used.
    Kernels may be run by several threads at once.
    """

    def __init__(self, name: str, inputs: Sequence[Slot], outputs: Sequence[Slot]) -> None:
        self.name = name
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)

    @property
    def constants(self) -> tuple[np.ndarray, ...]:
        """Operands that belong to the kernel; machine code takes them after the inputs."""
        return ()

    @property
    def lengths(self) -> tuple[tuple[int, int, int], ...]:
        """(output, axis, position among the lengths) of each dim of an output that depends on data."""
        return ()

    @property
    def operations(self) -> int | None:
        """How many operations on floats it is (`compute.te.operations`), None where that is not known."""
        return None

    def footprint(self) -> Footprint:
        """The memory that lives as long as the kernel does."""
        yield id(self), OBJECT_BYTES

    @property
    def why_of_python(self) -> str | None:
        """Why it cannot leave this process; None where it can."""
        return None

    @property
    def why_not_native(self) -> str | None:
        """Why machine code cannot call the kernel at its `code_address`; None where it can."""
        return None

    @property
    def code_address(self) -> int:
        """The address of a function as `codegen` emits kernels, 0 where there is nothing to do."""
        return 0

    def entry(self, in_tuple: bool = False) -> Entry | None:
        """Built-in functions that run the kernel without Python in between; None where there are none.

        They give several outputs in a tuple, and one `in_tuple`.
        """
        return None

    @abstractmethod
    def run(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        """Compute the outputs, into new arrays or into `outputs`.

        Inputs may be arrays of other libraries (`ir.admit`) and have any layout; those that are not C-contiguous and
        aligned are copied.  Outputs may overlap inputs, and have the other byte order.  Raises ExecutorError for
        a wrong number of arrays, shape or dtype, and MemoryError.
        """

    def _checked_inputs(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        if len(inputs) != len(self.inputs):
            raise ExecutorError(f"{self.name}: expected {len(self.inputs)} inputs, found {len(inputs)}")
        return [self._fitting(slot, given) for slot, given in zip(self.inputs, inputs, strict=True)]

    def _checked_outputs(self, outputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        if len(outputs) != len(self.outputs):
            raise ExecutorError(f"{self.name}: expected {len(self.outputs)} outputs, found {len(outputs)}")
        for slot, given in zip(self.outputs, outputs, strict=True):
            self._check(slot, given, slot.name)
            if not given.flags.writeable:
                raise ExecutorError(f"{self.name}: {slot.name} is read-only")
        return list(outputs)

    def _check(self, slot: Slot, given: np.ndarray, what: str) -> None:
        if not isinstance(given, np.ndarray):
            raise ExecutorError(f"{self.name}: {what} must be an array, found {type(given).__name__}")
        if given.shape != slot.shape or given.dtype.newbyteorder("=") != slot.dtype:
            found = Slot(slot.name, given.shape, given.dtype)
            raise ExecutorError(f"{self.name}: {what} must be {slot}, found {found}")

    def _fitting(self, slot: Slot, given: object) -> np.ndarray:
        """The array of an input, or a contiguous, aligned copy in this machine's byte order."""
        if type(given) is np.ndarray and given.dtype.isnative:
            array = given
        else:
            with importing:  # programs that were loaded run on plain arrays without the graph
                from ....ir import admit
            try:
                array = admit(given, f"input {slot.name}")
            except CallError as error:
                raise ExecutorError(f"{self.name}: {error}") from error
        self._check(slot, array, f"input {slot.name}")
        flags = array.flags
        return array if flags.c_contiguous and flags.aligned else np.array(array, order="C", copy=True)


@dataclass(frozen=True, slots=True)
class Image:
    """A compiled segment as it can be stored: object code, and what must be known to call it.

    `imports`: the names that the code needs from outside.  `constants`: operands that belong to the kernel; they follow
    the inputs.  `lengths` of data-dependent dims follow the outputs: (output, axis, position of the length).  `dims`:
    the values of the symbolic dims that the code was compiled for all of.
    `operations`: on floats, None where they are not known.  `versions`: the conditions on the dims of which the first
    that holds decides what runs.  `elsewhere`: the target, where it is a machine that this one is not.
    """

    name: str
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    code: bytes
    imports: tuple[str, ...]
    constants: tuple[np.ndarray, ...] = ()
    lengths: tuple[tuple[int, int, int], ...] = ()
    operations: int | None = None
    dims: tuple[int, ...] = ()
    versions: tuple[str, ...] = ()
    elsewhere: str = ""


def in_memory(image: Image) -> Loaded | Elsewhere:
    """The code of an image in this process, unless it is another machine's.

    Raises CodegenError where it cannot be linked.
    """
    if image.elsewhere:
        return Elsewhere(image.name, image.elsewhere, len(image.code))
    return load(image.code, image.name, image.imports)


SIGNATURE: Final = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)


class NativeKernel(Kernel):
    """Machine code, called through ctypes, which releases the interpreter lock meanwhile."""

    def __init__(self, image: Image, loaded: Loaded | Elsewhere | None = None) -> None:
        """`loaded`: the code, if it is in memory already.  Raises CodegenError where it cannot be linked."""
        super().__init__(image.name, image.inputs, image.outputs)
        constants, lengths = image.constants, image.lengths
        self.image = image
        self._loaded = loaded or in_memory(image)  # keeps the code in memory
        self._constants = tuple(constants)
        self.constant_addresses = [address_of(constant) for constant in constants]
        self._lengths = tuple(lengths)
        self._entries: dict[bool, Entry | None] = {}  # that were asked for, by `in_tuple`
        self._is_warm = False  # an entry costs more than a first call through ctypes
        self._length_count = 1 + max((position for _, _, position in lengths), default=-1)
        self._input_kinds = tuple((slot.shape, slot.dtype) for slot in self.inputs)
        self._output_kinds = tuple((slot.shape, slot.dtype) for slot in self.outputs)
        shapes = (
            [s.shape for s in self.inputs] + [c.shape for c in constants] + [s.shape for s in self.outputs]
        )
        shapes += [()] * self._length_count
        self._dims = packed("q", image.dims)
        self._strides = packed("q", [stride for shape in shapes for stride in contiguous_strides(shape)])
        self.dims_address = self._dims.buffer_info()[0]
        self.strides_address = self._strides.buffer_info()[0]

    def at(self, inputs: Sequence[Slot], outputs: Sequence[Slot], dims: tuple[int, ...]) -> NativeKernel:
        """The same code for operands of other dims, where these are variables in it."""
        image = replace(self.image, inputs=tuple(inputs), outputs=tuple(outputs), dims=dims)
        return NativeKernel(image, self._loaded)

    @lazy
    def _function(self) -> Callable[..., int]:
        return SIGNATURE(self._loaded.address)

    @property
    def code_address(self) -> int:
        return self._loaded.address

    def footprint(self) -> Footprint:
        yield from super().footprint()
        yield id(self._loaded), self._loaded.nbytes
        yield from footprint_of(self._constants)

    @property
    def memory(self) -> tuple[object, ...]:
        """What must live while the code can be called: the code itself, the constants, the operands' dims."""
        return self._loaded, self._constants, self._dims, self._strides

    @property
    def constants(self) -> tuple[np.ndarray, ...]:
        return self._constants

    @property
    def lengths(self) -> tuple[tuple[int, int, int], ...]:
        return self._lengths

    @property
    def operations(self) -> int | None:
        return self.image.operations

    @property
    def has_lengths(self) -> bool:
        """Whether the size of an output depends on data."""
        return bool(self._lengths)

    @property
    def is_one(self) -> bool:
        """Whether it is one kernel, whose time its operands decide, and not a program."""
        return True

    def entry(self, in_tuple: bool = False) -> Entry | None:
        if in_tuple not in self._entries:
            self._entries[in_tuple] = make_entry(self, in_tuple)
        return self._entries[in_tuple]

    def run(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        if self._is_warm and (outputs is None or len(outputs) == 1):
            entry = self.entry()
            if entry is not None:
                found = entry.new(*inputs) if outputs is None else entry.into(*inputs, *outputs)
                if found is not NotImplemented:
                    return [found] if len(self.outputs) == 1 else list(found)
        self._is_warm = True
        if len(inputs) != len(self._input_kinds):
            inputs = self._checked_inputs(inputs)
        addresses: list[int] = []
        kept: list[np.ndarray] = []  # copies must live until the call is over
        for position, (given, (shape, dtype)) in enumerate(zip(inputs, self._input_kinds, strict=True)):
            fits = type(given) is np.ndarray and given.dtype is dtype and given.shape == shape
            if not (fits and (flags := given.flags).c_contiguous and flags.aligned):
                given = self._fitting(self.inputs[position], given)
                kept.append(given)
            addresses.append(address_of(given))
        if outputs is None:
            return self._launch(addresses, self._new_results(inputs))
        wanted = self._checked_outputs(outputs)
        results = self._places(wanted, addresses)
        cut = self._launch(addresses, results)
        for array, result in zip(wanted, results, strict=True):
            if array is not result:
                array[...] = result
        return cut if self._lengths else wanted

    def _new_results(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Arrays for the results of a call."""
        return [POOL.empty(shape, dtype) for shape, dtype in self._output_kinds]

    def _launch(self, addresses: list[int], results: list[np.ndarray]) -> list[np.ndarray]:
        """Run the code; gives the results, those of data-dependent size cut."""
        pointers = addresses + self.constant_addresses
        for result in results:
            pointers.append(address_of(result))
        lengths = packed("q", bytes(8 * self._length_count)) if self._lengths else None
        if lengths is not None:
            first = lengths.buffer_info()[0]
            pointers += [first + 8 * position for position in range(self._length_count)]
        data = packed("Q", pointers)
        status = self._function(
            data.buffer_info()[0], self.dims_address, self.strides_address, self.context()
        )
        if status:
            raise self.failure(status)
        return results if lengths is None else self._cut(results, lengths)

    def context(self) -> int | None:
        """What the code is given beside its operands."""
        return None

    def failure(self, status: int) -> BaseException:
        """What to raise where the code gave up with a status that is not 0."""
        return MemoryError(f"{self.name}: no memory for temporaries")

    def _cut(self, results: list[np.ndarray], lengths: Sequence[int]) -> list[np.ndarray]:
        """Views of the part of each result that the data filled."""
        cut = list(results)
        for output, axis, position in self._lengths:
            length, bound = lengths[position], self.outputs[output].shape[axis]
            if not 0 <= length <= bound:
                name = self.outputs[output].name
                raise ExecutorError(
                    f"{self.name}: dim {axis} of {name} came out as {length}; expected 0 to {bound}"
                )
            cut[output] = cut[output][(slice(None),) * axis + (slice(length),)]
        return cut

    def _places(self, outputs: Sequence[np.ndarray], addresses: Sequence[int]) -> list[np.ndarray]:
        """The given arrays themselves where they are contiguous and overlap no other operand, else new ones."""
        taken = [
            (first, first + slot.dtype.itemsize * math.prod(slot.shape))
            for first, slot in zip(addresses, self.inputs, strict=True)
        ]
        places: list[np.ndarray] = []
        for array in outputs:
            flags = array.flags
            first = address_of(array)
            last = first + array.nbytes
            clear = all(last <= begin or end <= first for begin, end in taken)
            if flags.c_contiguous and flags.aligned and array.dtype.isnative and clear:
                taken.append((first, last))
                places.append(array)
            else:
                places.append(np.empty(array.shape, array.dtype.newbyteorder("=")))
        return places


class EmptyKernel(Kernel):
    """A segment whose outputs have no elements: there is nothing to compute."""

    def run(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        self._checked_inputs(inputs)
        if outputs is not None:
            return self._checked_outputs(outputs)
        return [np.empty(slot.shape, slot.dtype) for slot in self.outputs]


def contiguous_strides(shape: tuple[int, ...]) -> list[int]:
    """Strides in elements of a C-contiguous array."""
    strides, step = [], 1
    for dim in reversed(shape):
        strides.append(step)
        step *= dim
    return strides[::-1]
