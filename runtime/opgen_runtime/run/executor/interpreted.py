"""Programs without a plan: their kernels are called from Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import ExecutorError
from ...base.lru_cache import Footprint
from ...ir import Call, Constant, Function, post_order
from ...operator import TensorType, TupleType
from ..compile import Slot
from ..compile.interpret import Arrays, bind, check_value, run
from ..compile.kernel.footprint import footprint_of
from ..compile.program.program_records import Prepared
from .arrays.nesting import copy_into
from .executable import Executable

if TYPE_CHECKING:
    from ...ir.drawing import Drawing
    from ..compile.store.artifact import Contents


class Interpreted(Executable):
    """A program without a plan, for a reason: its calls run node by node, each a kernel."""

    def __init__(self, prepared: Prepared, reason: str) -> None:
        super().__init__(prepared.inputs, prepared.kernels, prepared.names)
        self._reason = reason
        self._module = prepared.closed.module
        self._sites = prepared.sites

    def footprint(self) -> Footprint:
        yield from super().footprint()
        for site in self._sites.values():
            yield from footprint_of(site.precomputed)
        nodes = [node for function in self._module.functions.values() for node in post_order(function)]
        yield from footprint_of([node.data for node in nodes if isinstance(node, Constant)])

    @property
    def why_interpreted(self) -> str:
        return self._reason

    def _run(self, arrays: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None) -> Arrays:
        function = self._module["main"]
        values, dims = bind(function.params, dict(zip(function.params, arrays, strict=True)))
        result = run(function.body, values, self, self._module)
        check_value("the result", function.ret_type, result, dims)
        return copy_into(result, outputs)  # type: ignore[arg-type]  # a function as result was refused by its type

    @property
    def takes(self) -> tuple[Slot, ...]:
        found: list[Slot] = []
        for param in self._module["main"].params:
            type_ = param.checked_type
            if not isinstance(type_, TensorType) or not type_.is_static:
                return super().takes
            found.append(Slot(param.name_hint, type_.concrete_shape, type_.dtype.numpy))
        return tuple(found)

    def drawing(self) -> Drawing:
        return self._module.drawing()

    def _contents(self) -> Contents:
        by_hand = [kernel.why_of_python for kernel in self.compiled if kernel.why_of_python is not None]
        reason = f"{by_hand[0]}, which no artifact can hold" if by_hand else self._reason
        raise ExecutorError(f"the program cannot be saved: {reason}")

    def run_op(self, call: Call, args: Sequence[Arrays]) -> Arrays:
        raise ExecutorError(f"a call was left out of all segments: {call}")

    def run_segment(self, function: Function, args: Sequence[Arrays]) -> Arrays:
        flat = [array for arg in args for array in (arg if isinstance(arg, tuple) else (arg,))]
        site = self._sites[id(function)]
        taken = [*[flat[k] for k in site.operands], *site.precomputed]
        found = self.compiled[site.kernel].run(taken, None)  # type: ignore[arg-type]  # operands nest one level deep
        return tuple(found) if isinstance(function.body.checked_type, TupleType) else found[0]
