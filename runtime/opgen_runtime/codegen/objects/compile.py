"""LLVM IR text to object code: parse, verify, optimise, generate code."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import llvmlite
import llvmlite.binding as llvm

from ...base import Target, architecture_of, ask, forks
from ...base.errors import CodegenError
from ...base.lazy import lazy
from ..llvm.passes import Pipeline, run
from .single_lanes import single_lanes

LLVM_VERSION: Final = ".".join(str(part) for part in llvm.llvm_version_info)
LLVMLITE_VERSION: Final[str] = llvmlite.__version__

forks.guard(llvm.ffi.lib._lock)  # held in every call of LLVM
_lock = forks.lock()


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
        return str(_optimised(self.text, self._target, self._pipeline)[0])

    @lazy
    def assembly(self) -> str:
        """The machine code as assembly language."""
        module, machine = _optimised(self.text, self._target, self._pipeline)
        return str(machine.emit_assembly(module))


def optimise_and_compile(text: str, target: Target, pipeline: Pipeline = Pipeline.AUTOMATIC) -> Compiled:
    """Optimise the module `text` for `target` and generate object code.

    Raises CodegenError with LLVM's message and the offending line where the text is not valid IR.
    """
    module, machine = _optimised(text, target, pipeline)
    return Compiled(machine.emit_object(module), text, target, pipeline)


def _optimised(text: str, target: Target, pipeline: Pipeline) -> tuple[Any, Any]:
    initialise()
    machine = _machine(target)
    module = _parse(text)
    module.data_layout = str(machine.target_data)
    run(pipeline, module, machine)
    mended = single_lanes(module)
    return (module if mended is None else _parse(mended)), machine


def _parse(text: str) -> Any:
    try:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
    except RuntimeError as error:
        raise CodegenError(f"LLVM refuses the module: {str(error).strip()}") from error
    return module


def _machine(target: Target) -> Any:
    with _lock:
        return _machine_of(target.triple, target.cpu, target.features)


@lru_cache(maxsize=8)
def _machine_of(triple: str, cpu: str, features: str) -> Any:
    problem = ask(triple, cpu, features).problem
    if problem is not None:
        raise CodegenError(f"target {triple}: {problem}")
    if architecture_of(triple) is not architecture_of(Target.host().triple):
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    try:
        found = llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise CodegenError(f"this LLVM does not compile for {triple}: {error}") from error
    return found.create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default")
