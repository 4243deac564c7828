"""`Executable`: a compiled program, ready to be run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from ...base.errors import ExecutorError
from ..compile import Entry, Kernel
from ..compile.plan import Plan, Slots
from ..interpret import Arrays
from .artifact import Contents, decode, encode, write


class Executable:
    """A compiled program: `run(arrays)` gives new arrays.  It may be run by several threads at once.

    `inputs`: the names of what `run` takes, in order.  `kernels`: the names of the kernels that a run calls, in order;
    of a program with control flow, of those that it may call.  `prepare_kernels`: the names of those that ran while
    the program was built, on its constants; one that was loaded has what they computed.
    """

    def __init__(self, inputs: Sequence[str], kernels: Sequence[Kernel], prepare: Sequence[str] = ()) -> None:
        self.inputs = tuple(inputs)
        self.prepare_kernels = tuple(prepare)
        self.compiled = tuple(kernels)

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple([kernel.name for kernel in self.compiled])

    @property
    def plan(self) -> Plan | None:
        """How it runs; None where that is decided while it runs."""
        return None

    def entry(self) -> Entry | None:
        """Built-in functions of the inputs, if it is one kernel of one result; see `run.compile.entry`."""
        return None

    def run(
        self,
        arrays: Sequence[np.ndarray] | Mapping[str, np.ndarray],
        outputs: Sequence[np.ndarray] | None = None,
    ) -> Arrays:
        """The value for the inputs' arrays, in order or by name, which must fit the inputs' types exactly.

        `outputs`: arrays to hold the result, one a tensor of it in order, of its shapes and dtypes.  Raises
        ExecutorError for arrays that do not fit.
        """
        if isinstance(arrays, dict):
            arrays = self._in_order(arrays)
        elif len(arrays) != len(self.inputs):
            raise ExecutorError(f"the program takes {len(self.inputs)} arrays, found {len(arrays)}")
        return self._run(arrays, outputs)  # type: ignore[arg-type]  # a sequence

    def _run(self, arrays: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None) -> Arrays:
        raise NotImplementedError

    def _in_order(self, arrays: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        if sorted(arrays) != sorted(self.inputs):
            raise ExecutorError(
                f"the program takes {', '.join(self.inputs) or 'nothing'}; found {', '.join(arrays) or 'nothing'}"
            )
        return [arrays[name] for name in self.inputs]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the program with its kernels into one file, for `opgen_runtime.load`.

        Raises ExecutorError for a program that cannot be saved: with control flow, with shapes that depend on data
        between kernels, or with hand-written functions.
        """
        write(path, self._contents())

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as what `save` writes."""
        return _unpickled, (encode(self._contents()),)

    def _contents(self) -> Contents:
        raise ExecutorError(
            "a program with control flow, or with shapes that depend on data, cannot be saved"
        )


class OneKernel(Executable):
    """A program that is one kernel on its inputs."""

    def __init__(self, inputs: Sequence[str], kernel: Kernel, target: str, single: bool) -> None:
        super().__init__(inputs, [kernel])
        self._kernel = kernel
        self._target = target
        self._single = single

    def entry(self) -> Entry | None:
        return self._kernel.entry() if self._single else None

    def run(self, arrays: Any, outputs: Sequence[np.ndarray] | None = None) -> Arrays:
        if isinstance(arrays, dict):
            arrays = self._in_order(arrays)
        found = self._kernel.run(arrays, outputs)
        return found[0] if self._single else tuple(found)

    def _contents(self) -> Contents:
        return Contents(self._target, self.inputs, self.compiled, None, self._single)


class Planned(Executable):
    """A program whose kernels run in a fixed order."""

    def __init__(
        self,
        inputs: Sequence[str],
        kernels: Sequence[Kernel],
        plan: Plan,
        target: str,
        prepare: Sequence[str] = (),
    ) -> None:
        super().__init__(inputs, kernels, prepare)
        self._plan = plan
        self._target = target
        self._steps = [self.compiled[step.kernel] for step in plan.steps]
        self._spare: list[list[np.ndarray]] = []  # sets of buffers that no run is using

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple([kernel.name for kernel in self._steps])

    @property
    def plan(self) -> Plan:
        return self._plan

    def _run(self, arrays: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None) -> Arrays:
        plan = self._plan
        values: dict[int, np.ndarray] = dict(enumerate(arrays))
        values.update(plan.constants)
        try:
            buffers = self._spare.pop()
        except IndexError:
            buffers = [np.empty(size, np.uint8) for size in plan.buffers]
        for slot, place in plan.buffered.items():
            values[slot] = np.ndarray(place.shape, place.dtype, buffers[place.buffer])
        for kernel, step in zip(self._steps, plan.steps, strict=True):
            inputs = [values[slot] for slot in step.inputs]
            into = [values[slot] for slot in step.outputs if slot in values]
            if len(into) < len(step.outputs):
                # the result's tensors are new; a step's tensors are kept all or none
                into = [self._new(values, slot) for slot in step.outputs]
            kernel.run(inputs, into)
        self._spare.append(buffers)
        given = frozenset(range(plan.num_params)).union(plan.constants)
        return copy_into(_collect(plan.result, values, given), outputs)

    def _new(self, values: dict[int, np.ndarray], slot: int) -> np.ndarray:
        if slot not in values:
            shape, dtype = self._plan.results[slot]
            values[slot] = np.empty(shape, dtype)
        return values[slot]

    def _contents(self) -> Contents:
        return Contents(self._target, self.inputs, self.compiled, self._plan, False)


def executable_of(contents: Contents) -> Executable:
    """The program of an artifact."""
    if contents.plan is None:
        return OneKernel(contents.inputs, contents.kernels[0], contents.target, contents.single)
    return Planned(contents.inputs, contents.kernels, contents.plan, contents.target)


def _unpickled(artifact: bytes) -> Executable:
    return executable_of(decode(artifact, "a pickled program"))


def _collect(result: Slots, values: Mapping[int, np.ndarray], given: frozenset[int]) -> Arrays:
    """The arrays of the result; what is an argument or a constant is copied."""
    if isinstance(result, int):
        return values[result].copy() if result in given else values[result]
    return tuple([_collect(part, values, given) for part in result])


def copy_into(result: Arrays, outputs: Sequence[np.ndarray] | None) -> Arrays:
    """The result, or `outputs` filled with it.  Raises ExecutorError for arrays that cannot hold it."""
    if outputs is None:
        return result
    flat = list(_flat(result))
    if len(flat) != len(outputs):
        raise ExecutorError(f"the program has {len(flat)} results, found {len(outputs)} arrays for them")
    for position, (source, target) in enumerate(zip(flat, outputs, strict=True)):
        why = _why_not_into(source, target)
        if why:
            raise ExecutorError(f"the array for result {position} {why}")
    for source, target in zip(flat, outputs, strict=True):
        np.copyto(target, source, casting="equiv")
    return outputs[0] if isinstance(result, np.ndarray) else tuple(outputs)


def _why_not_into(source: np.ndarray, target: object) -> str | None:
    """Why `target` cannot hold the result; it may have any layout and byte order."""
    if not isinstance(target, np.ndarray):
        return f"must be an array, found {type(target).__name__}"
    if target.shape != source.shape or target.dtype.newbyteorder("=") != source.dtype:
        return f"must be {source.dtype}{list(source.shape)}, found {target.dtype}{list(target.shape)}"
    return None if target.flags.writeable else "is read-only"


def _flat(arrays: Arrays) -> Iterator[np.ndarray]:
    if isinstance(arrays, tuple):
        for part in arrays:
            yield from _flat(part)
    else:
        yield arrays
