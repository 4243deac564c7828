"""`Executable`: a compiled program, ready to be run.

What only files, C and pictures need is imported with the first of them: a first call does not wait for it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...base import Target
from ...base.errors import ExecutorError
from ...base.forks import importing
from ...base.lru_cache import Footprint
from ...base.vocabulary import dataclass
from ..compile import Entry, Kernel, Slot
from ..compile.kernel.footprint import OBJECT_BYTES
from ..compile.kernel.symbolic import SymbolicKernel
from ..compile.program.plan import Plan, Slots, nested
from ..compile.program.program import ProgramKernel, SymbolicProgram, image_of, program_of
from .arrays.nesting import copy_into, flat_arrays
from .arrays.params import HasParams

if TYPE_CHECKING:
    from ...ir.drawing import Drawing
    from ..compile.interpret import Arrays
    from ..compile.store.artifact import Chained, Contents
    from .inspection.plan_drawing import Drawn
    from .inspection.profiling import Profile


class Executable(HasParams):
    """A compiled program: `run(arrays)` gives new arrays.  It may be run by several threads at once.

    `inputs`: the names of what `run` takes, in order.  `kernels`: the names of the kernels that a run calls, in order;
    of a program with control flow, of those that it may call.  `precompute_kernels`: the names of those that ran while
    the program was built, on its constants; one that was loaded has what they computed.
    """

    def __init__(
        self, inputs: Sequence[str], kernels: Sequence[Kernel], precompute: Sequence[str] = ()
    ) -> None:
        self.inputs = tuple(inputs)
        self.precompute_kernels = tuple(precompute)
        self.compiled = tuple(kernels)

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple([kernel.name for kernel in self.compiled])

    def footprint(self) -> Footprint:
        """The memory that lives as long as the program does: code, constants, what its driver keeps between calls."""
        yield id(self), OBJECT_BYTES
        for kernel in self.compiled:
            yield from kernel.footprint()

    @property
    def plan(self) -> Plan | None:
        """How it runs; None for a program of one kernel, and where that is decided while it runs."""
        return None

    @property
    def whole(self) -> Kernel | None:
        """The native function that it is, whose outputs are the flat results in order; None where it is none."""
        return None

    @property
    def why_interpreted(self) -> str | None:
        """Why it has no machine code of its own, so that its kernels are called from Python; None where it has."""
        return None

    def entry(self) -> Entry | None:
        """Built-in functions of the inputs, if it is native code of flat results; see `run.compile.entry`."""
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

    @property
    def takes(self) -> tuple[Slot, ...]:
        """Shape and dtype of each input. Raises ExecutorError where they are not known before a run."""
        raise ExecutorError("the shapes of the inputs are not known")

    def export_c(self, folder: str | PathLike[str], name: str = "model") -> list[Path]:
        """Write the program as a C header and objects, from which a C compiler links a library without Python:

            cc -shared -o libmodel.so folder/*.o -lm -lpthread

        Gives the paths, `NAME.h` first, which says how it is called.  Raises ExecutorError for a program without a
        plan, and for hand-written functions, by name.
        """
        raise ExecutorError(f"the program cannot be exported: {self.why_interpreted}")

    def explain(self) -> str:
        """What the program is and how it runs: its inputs, its kernels in their order, its memory."""
        lines = [f"input {name}" for name in self.inputs]
        lines.append(f"interpreted: {self.why_interpreted}")
        return "\n".join([*lines, *[f"kernel {name}" for name in self.kernels]])

    def profile(self, arrays: Sequence[np.ndarray] | Mapping[str, np.ndarray], runs: int = 10) -> Profile:
        """What each kernel costs in `runs` runs, after one that is not counted.

        Raises ExecutorError for a program without a plan, and for arrays that do not fit.
        """
        steps = self._steps()
        given = self._in_order(arrays) if isinstance(arrays, Mapping) else list(arrays)
        self.run(given)
        events = [np.zeros((0, 3), np.int64), *[self._measured(given)[1] for _ in range(runs)]]
        with importing:
            from .inspection.profiling import profile_of
        return profile_of(runs, self.compiled, steps, np.concatenate(events))

    def _steps(self) -> list[int]:
        """Which of the kernels each step of a run is."""
        raise ExecutorError(f"the program cannot be profiled: {self.why_interpreted}")

    def _measured(self, arrays: Sequence[np.ndarray]) -> tuple[Arrays, np.ndarray]:
        """The value, and rows (step, begin, end in nanoseconds) of the kernels that ran, in order."""
        raise NotImplementedError

    def drawing(self) -> Drawing:
        """What there is to see of it."""
        raise NotImplementedError

    @property
    def graph(self) -> str:
        """The program as JSON: nodes by number, their inputs, attrs, shapes and dtypes (`graph_json.py`).

        Raises ExecutorError for a program without a plan, and for one in parts.
        """
        raise ExecutorError(f"the program has no graph: {self.why_interpreted or 'it is in parts'}")

    def to_dot(self) -> str:
        """The program as a graph in DOT, the language of Graphviz: kernels are nodes, values are edges."""
        return self._drawn().to_dot()

    def to_svg(self) -> str:
        """The same graph as SVG, laid out in layers; the same text for the same program."""
        return self._drawn().to_svg()

    def _repr_svg_(self) -> str | None:
        return self._drawn()._repr_svg_()

    def _drawn(self) -> Drawn:
        with importing:
            from .inspection.plan_drawing import Drawn
        return Drawn(self.drawing())

    def memory(self, shapes: Sequence[tuple[int, ...]]) -> int | None:
        """Bytes that a run on inputs of these shapes takes at a time; None where that is not known before."""
        return None

    def save(self, path: str | PathLike[str]) -> None:
        """Write the program with its kernels into one file, for `opgen_runtime.load`.

        Raises ExecutorError for a program that cannot be saved: with hand-written functions, or without a plan.
        """
        with importing:
            from ..compile.store.artifact import write

        write(path, self._contents())

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as what `save` writes."""
        with importing:
            from ..compile.store.artifact import encode

        return unpickled, (encode(self._contents()),)

    def _contents(self) -> Contents | Chained:
        raise NotImplementedError


class Native(Executable):
    """A program that is one native function: its only kernel, or the driver of its plan."""

    def __init__(
        self,
        inputs: Sequence[str],
        kernels: Sequence[Kernel],
        whole: Kernel,
        result: Slots,
        target: str,
        precompute: Sequence[str] = (),
    ) -> None:
        """`result`: positions of `whole`'s outputs as the program's value nests them."""
        super().__init__(inputs, kernels, precompute)
        self._whole = whole
        self._result = result
        self._target = target

    @property
    def kernels(self) -> tuple[str, ...]:
        plan = self.plan
        order = self.compiled if plan is None else [self.compiled[run.kernel] for run in plan.runs]
        return tuple([kernel.name for kernel in order])

    @property
    def whole(self) -> Kernel | None:
        in_order = self._result in (0, tuple(range(len(self._whole.outputs))))
        return self._whole if in_order else None

    def footprint(self) -> Footprint:
        yield from super().footprint()
        yield from self._whole.footprint()

    @property
    def takes(self) -> tuple[Slot, ...]:
        return self._whole.inputs

    def export_c(self, folder: str | PathLike[str], name: str = "model") -> list[Path]:
        with importing:
            from ..compile.store import c_library

        return c_library.write(Path(folder), name, self.compiled, self.plan, Target.of_code(self._target))

    @property
    def plan(self) -> Plan | None:
        return self._whole.linked.plan if isinstance(self._whole, ProgramKernel | SymbolicProgram) else None

    def memory(self, shapes: Sequence[tuple[int, ...]]) -> int | None:
        if isinstance(self._whole, SymbolicKernel):
            return self._whole.memory(shapes)
        results = sum([slot.nbytes for slot in self._whole.outputs])
        return results if self.plan is None else self.plan.memory

    def explain(self) -> str:
        lines = [f"input {slot.name}: {slot}" for slot in self.takes]
        if isinstance(self._whole, SymbolicKernel):
            lines += self._whole.dims_text()
        lines += [f"precomputed by {name}" for name in self.precompute_kernels]
        plan = self.plan
        symbolic = [kernel for kernel in self.compiled if isinstance(kernel, SymbolicKernel)]
        versions = dict.fromkeys([line for kernel in symbolic for line in kernel.versions_text()])
        if plan is None:
            return "\n".join([*lines, f"one kernel: {self.compiled[0].name}", *versions])
        with importing:
            from ..compile.program.plan_text import memory_line, plan_lines

        lines += plan_lines(plan, self.inputs, self.compiled)
        return "\n".join([*lines, *versions, memory_line(plan)])

    def _steps(self) -> list[int]:
        return [0] if self.plan is None else [run.kernel for run in self.plan.runs]

    def _measured(self, arrays: Sequence[np.ndarray]) -> tuple[Arrays, np.ndarray]:
        whole, found = self._whole, list[list[np.ndarray]]()
        if isinstance(whole, ProgramKernel | SymbolicProgram):
            events = whole.linked.timed(lambda: found.append(whole.run(arrays)))
        else:
            begin = time.perf_counter_ns()
            found.append(whole.run(arrays))
            events = np.array([[0, begin, time.perf_counter_ns()]])
        return nested(found[-1], self._result), events

    def entry(self) -> Entry | None:
        if self._result == 0:
            return self._whole.entry()
        in_order = self._result == tuple(range(len(self._whole.outputs)))
        return self._whole.entry(in_tuple=True) if in_order else None

    def _run(self, arrays: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None) -> Arrays:
        return nested(self._whole.run(arrays, outputs), self._result)

    def drawing(self) -> Drawing:
        with importing:
            from .inspection.plan_drawing import drawing_of_kernel, drawing_of_plan

        plan = self.plan
        if plan is None:
            return drawing_of_kernel(self.compiled[0])
        return drawing_of_plan(plan, self.compiled, self.takes)

    @property
    def graph(self) -> str:
        with importing:
            from .inspection.graph_json import graph_of_kernel, graph_of_plan

        plan = self.plan
        if plan is None:
            return graph_of_kernel(self.compiled[0])
        return graph_of_plan(plan, self.compiled, self.inputs, self.params)

    def _contents(self) -> Contents:
        with importing:
            from ..compile.store.artifact import Contents

        driver = b""
        if isinstance(self._whole, ProgramKernel | SymbolicProgram):
            driver = self._whole.image.code
        return Contents(self._target, self.inputs, self.compiled, self.plan, driver, self._result)


@dataclass(frozen=True, slots=True)
class Part:
    """A program and the numbers of what it takes: of the whole's inputs, then the parts' results, in order."""

    executable: Native
    takes: tuple[int, ...]


class Chain(Executable):
    """Parts that run one after the other; what sizes they have, the arrays between them say.

    `result`: the numbers of its values as the result nests them.  The first part takes all inputs.
    """

    def __init__(self, inputs: Sequence[str], parts: Sequence[Part], result: Slots) -> None:
        kernels = [kernel for part in parts for kernel in part.executable.compiled]
        precompute = [name for part in parts for name in part.executable.precompute_kernels]
        super().__init__(inputs, kernels, precompute)
        self.parts = tuple(parts)
        self._result = result

    def footprint(self) -> Footprint:
        yield from super().footprint()
        for part in self.parts:
            yield from part.executable.footprint()

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple([name for part in self.parts for name in part.executable.kernels])

    @property
    def takes(self) -> tuple[Slot, ...]:
        return self.parts[0].executable.takes

    def _run(self, arrays: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None) -> Arrays:
        values = list(arrays)
        for part in self.parts:
            values.extend(flat_arrays(part.executable.run([values[k] for k in part.takes])))
        return copy_into(nested(values, self._result), outputs)

    def explain(self) -> str:
        texts = [f"part {number}\n{part.executable.explain()}" for number, part in enumerate(self.parts)]
        return "\n".join(["in parts, for sizes that depend on data", *texts])

    def export_c(self, folder: str | PathLike[str], name: str = "model") -> list[Path]:
        raise ExecutorError("the program cannot be exported: it is in parts, for sizes that depend on data")

    def _steps(self) -> list[int]:
        steps: list[int] = []
        before = 0
        for part in self.parts:
            steps += [before + kernel for kernel in part.executable._steps()]
            before += len(part.executable.compiled)
        return steps

    def _measured(self, arrays: Sequence[np.ndarray]) -> tuple[Arrays, np.ndarray]:
        values, found = list(arrays), [np.zeros((0, 3), np.int64)]
        before = 0
        for part in self.parts:
            value, events = part.executable._measured([values[k] for k in part.takes])
            values.extend(flat_arrays(value))
            found.append(events + np.array([before, 0, 0]))
            before += len(part.executable._steps())
        return nested(values, self._result), np.concatenate(found)

    def drawing(self) -> Drawing:
        with importing:
            from ...ir.drawing import Drawing
        whole = Drawing()
        for part in self.parts:
            whole = whole.beside(part.executable.drawing())
        return whole

    def _contents(self) -> Chained:
        with importing:
            from ..compile.store.artifact import Chained

        parts = tuple([(part.executable._contents(), part.takes) for part in self.parts])
        return Chained(self.inputs, parts, self._result)


def executable_of(contents: Contents | Chained) -> Executable:
    """The program of an artifact."""
    with importing:
        from ..compile.store.artifact import Contents

    if isinstance(contents, Contents):
        return _native(contents)
    parts = [Part(_native(part), takes) for part, takes in contents.parts]
    return Chain(contents.inputs, parts, contents.result)


def unpickled(artifact: bytes) -> Executable:
    """The program that was pickled as an artifact's bytes."""
    with importing:
        from ..compile.store.artifact import decode

    return executable_of(decode(artifact, "a pickled program"))


def _native(contents: Contents) -> Native:
    plan, kernels = contents.plan, contents.kernels
    if plan is None:
        return Native(contents.inputs, kernels, kernels[0], contents.result, contents.target)
    whole = program_of(plan, kernels, image_of(plan, contents.driver, contents.inputs))
    return Native(contents.inputs, kernels, whole, contents.result, contents.target)
