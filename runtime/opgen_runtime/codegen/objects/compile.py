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
from ...base.vocabulary import dataclass
from ..llvm.passes import Builders, Pipeline, run
from ..llvm.unlocked import emit_object, lane
from .single_lanes import single_lanes

LLVM_VERSION: Final = ".".join(str(part) for part in llvm.llvm_version_info)
LLVMLITE_VERSION: Final[str] = llvmlite.__version__

_MAX_MACHINES_PER_LANE: Final = 8  # of a lane


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
        with _own_bench(self._target) as bench:
            return str(_optimised(self.text, bench, self._pipeline))

    @lazy
    def assembly(self) -> str:
        """The machine code as assembly language."""
        with _own_bench(self._target) as bench:
            return str(bench.machine.emit_assembly(_optimised(self.text, bench, self._pipeline)))


def optimise_and_compile(text: str, target: Target, pipeline: Pipeline = Pipeline.AUTOMATIC) -> Compiled:
    """Optimise the module `text` for `target` and generate object code; several threads may at once.

    Raises CodegenError with LLVM's message and the offending line where the text is not valid IR.
    """
    with _own_bench(target) as bench:
        code = emit_object(bench.machine, _optimised(text, bench, pipeline))
    return Compiled(code, text, target, pipeline)


@dataclass(frozen=True, slots=True)
class _Bench:
    """What compiles for one target."""

    machine: Any
    builders: Builders


def _optimised(text: str, bench: _Bench, pipeline: Pipeline) -> Any:
    module = _parse(text)
    module.data_layout = str(bench.machine.target_data)
    run(pipeline, module, bench.builders)
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
def _own_bench(target: Target) -> Iterator[_Bench]:
    """The machine of a target and its pass builders, which this thread has for itself in the block."""
    key = target.triple, target.cpu, target.features
    problem = ask(*key).problem  # may start a process, so before a fork would have to wait
    if problem is not None:
        raise CodegenError(f"target {target.triple}: {problem}")
    initialise()
    with lane() as benches:
        if key not in benches:
            if len(benches) == _MAX_MACHINES_PER_LANE:
                benches.clear()
            machine = machine_for(*key)
            benches[key] = _Bench(machine, Builders(machine))
        yield benches[key]


def machine_for(triple: str, cpu: str, features: str, level: int = 3) -> Any:
    """LLVM's target machine, which `ask` has found possible.  Raises CodegenError for a triple that LLVM lacks."""
    if architecture_of(triple) is not architecture_of(Target.host().triple):
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    try:
        found = llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise CodegenError(f"this LLVM does not compile for {triple}: {error}") from error
    return found.create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="pic", codemodel="default"
    )
