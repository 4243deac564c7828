"""The face of a graph runtime: inputs are set by name, then the program runs, then its outputs are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike

import numpy as np

from ...base.errors import ExecutorError, did_you_mean
from ...ir import admit
from ..compile.interpret import Value
from .arrays.nesting import flat_arrays
from .executable import Executable


class GraphRuntime:
    """An executable with state: what inputs are set to, and what the last run gave.

    runtime = rt.GraphRuntime(rt.load("model.opgen"))
    runtime.set_input("image", image)
    runtime.run()
    runtime.get_output(0).numpy()
    """

    def __init__(self, executable: Executable) -> None:
        self.executable = executable
        self._inputs: dict[str, np.ndarray] = {}
        self._outputs: Sequence[np.ndarray] | None = None

    def set_input(self, key: str | int | None = None, value: object = None, **inputs: object) -> None:
        """Set an input, by name or position, and others by name.

        The array is taken as it is; what is written to it before `run` counts.  Raises ExecutorError for an input that
        there is not, and for arrays that do not fit.
        """
        self._set(inputs if key is None else {**inputs, self._name(key): value})

    def _set(self, inputs: Mapping[str, object]) -> None:
        slots = dict(zip(self.executable.inputs, self.executable.takes, strict=True))
        for name, each in inputs.items():
            slot = slots[self._name(name)]
            array = admit(each, f"input {name!r}")
            if not slot.takes(array.shape) or array.dtype.newbyteorder("=") != slot.dtype:
                raise ExecutorError(
                    f"input {name!r} must be {slot}, found {array.dtype.name}{list(array.shape)}"
                )
            self._inputs[name] = array

    def load_params(self, path: str | PathLike[str]) -> None:
        """Set the params of the executable that a file has, as `Executable.load_params` does."""
        self.executable.load_params(path)

    def run(self, **inputs: object) -> None:
        """Run the program on the inputs, once `inputs` are set. Raises ExecutorError where one was never set."""
        self._set(inputs)
        missing = [name for name in self.executable.inputs if name not in self._inputs]
        if missing:
            raise ExecutorError(f"input {missing[0]!r} was never set")
        self._outputs = list(flat_arrays(self.executable.run(self._inputs)))

    def get_output(self, index: int, out: np.ndarray | None = None) -> Value:
        """An output of the last run, in `out` where that is given; tuples are counted through.

        Raises ExecutorError before the first run, and for an index that is none.
        """
        if self._outputs is None:
            raise ExecutorError("nothing has run yet")
        if not 0 <= index < len(self._outputs):
            raise ExecutorError(f"there is no output {index}; there are {len(self._outputs)}")
        if out is not None:
            out[...] = self._outputs[index]
            return Value(out)
        return Value(self._outputs[index])

    def get_input(self, key: str | int) -> Value | None:
        """What an input is set to, None where it is not."""
        found = self._inputs.get(self._name(key))
        return None if found is None else Value(found)

    def get_input_index(self, name: str) -> int:
        """The position of an input, -1 where there is none of the name."""
        return self.executable.inputs.index(name) if name in self.executable.inputs else -1

    def get_input_info(self) -> tuple[Mapping[str, tuple[int, ...]], Mapping[str, str]]:
        """The shapes and the dtypes of the inputs, by name; symbolic dims are -1."""
        slots = list(zip(self.executable.inputs, self.executable.takes, strict=True))
        return {name: slot.shape for name, slot in slots}, {name: slot.dtype.name for name, slot in slots}

    def get_num_inputs(self) -> int:
        return len(self.executable.inputs)

    def get_num_outputs(self) -> int:
        """How many outputs the last run had. Raises ExecutorError before the first."""
        if self._outputs is None:
            raise ExecutorError("nothing has run yet")
        return len(self._outputs)

    def _name(self, key: str | int) -> str:
        names = self.executable.inputs
        if isinstance(key, int):
            if not 0 <= key < len(names):
                raise ExecutorError(f"there is no input {key}; there are {len(names)}")
            return names[key]
        if key not in names:
            raise ExecutorError(
                f"there is no input {key!r}{did_you_mean(key, names)} (there are {', '.join(names) or 'none'})"
            )
        return key
