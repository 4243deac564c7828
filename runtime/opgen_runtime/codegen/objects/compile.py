"""LLVM IR text to object code: parse, verify, optimise, generate code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final

import llvmlite
import llvmlite.binding as llvm

from ...base import Target, architecture_of, ask
from ...base.errors import CodegenError
from ...base.lazy import lazy
from ..llvm.passes import Pipeline, run
from ..llvm.unlocked import emit_object, lane
from .single_lanes import single_lanes

LLVM_VERSION: Final = ".".join(str(part) for part in llvm.llvm_version_info)
LLVMLITE_VERSION: Final[str] = llvmlite.__version__

_MOST_MACHINES: Final = 8  # of a lane


@lru_cache(maxsize=1)
def initialise() -> None:
    """Prepare LLVM's native target, once a process; twice does no harm."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


class Compiled:
    """Object code of one module; `ir` and `assembly` are made when they are asked for."""

    def __init__(self, object_code: bytes, text: str, target: Target, pipeline: Pipeline) -> None:
        self.object_code = object_code
        self.text = text
        self._target = target
        self._pipeline = pipeline

    @lazy
    def ir(self) -> str:
        """The optimised IR."""
        with _own_machine(self._target) as machine:
            return str(_optimised(self.text, machine, self._pipeline))

    @lazy
    def assembly(self) -> str:
        """The machine code as assembly language."""
        with _own_machine(self._target) as machine:
            return str(machine.emit_assembly(_optimised(self.text, machine, self._pipeline)))


def optimise_and_compile(text: str, target: Target, pipeline: Pipeline = Pipeline.AUTOMATIC) -> Compiled:
    """Optimise the module `text` for `target` and generate object code; several threads may at once.

    Raises CodegenError with LLVM's message and the offending line where the text is not valid IR.
    """
    with _own_machine(target) as machine:
        code = emit_object(machine, _optimised(text, machine, pipeline))
    return Compiled(code, text, target, pipeline)


def _optimised(text: str, machine: Any, pipeline: Pipeline) -> Any:
    module = _parse(text)
    module.data_layout = str(machine.target_data)
    run(pipeline, module, machine)
    mended = single_lanes(module)
    return module if mended is None else _parse(mended)


def _parse(text: str) -> Any:
    try:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
    except RuntimeError as error:
        raise CodegenError(f"LLVM refuses the module: {str(error).strip()}") from error
    return module


@contextmanager
def _own_machine(target: Target) -> Iterator[Any]:
    """The machine of a target, which this thread has for itself in the block."""
    key = target.triple, target.cpu, target.features
    problem = ask(*key).problem  # may start a process, so before a fork would have to wait
    if problem is not None:
        raise CodegenError(f"target {target.triple}: {problem}")
    initialise()
    with lane() as machines:
        if key not in machines:
            if len(machines) == _MOST_MACHINES:
                machines.clear()
            machines[key] = _machine(*key)
        yield machines[key]


def _machine(triple: str, cpu: str, features: str) -> Any:
    if architecture_of(triple) is not architecture_of(Target.host().triple):
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    try:
        found = llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise CodegenError(f"this LLVM does not compile for {triple}: {error}") from error
    return found.create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default")
