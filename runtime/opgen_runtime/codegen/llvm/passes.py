"""The passes of LLVM that a module goes through: `Pipeline`, and `run`.

Only passes of LLVM's own default pipelines run: those that are off by default (NewGVN, for one) are hardly tested, and
a failed assertion inside LLVM ends the process.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

import llvmlite.binding as llvm

from .unlocked import passing, run_passes

_MODULES: Final = 16  # that a builder serves
_HOISTING: Final = 1  # of LLVM's levels of speed: the least that hoists, and keeps sums in registers
_WHOLE: Final = 3


class Pipeline(Enum):
    """How a module is optimised."""

    DIRECT = "direct"  # explicit vectors that stream through memory without branches: inline, tidy up
    LOOPS = "loops"  # explicit vectors with reuse: hoist what is invariant, keep sums in registers
    MIXED = "mixed"  # explicit vectors, and long scalar loops beside them
    AUTOMATIC = "automatic"  # scalar code: LLVM looks for vectors itself
    CHOICES = "choices"  # scalar code with many choices in one loop, where it would find none


class Builders:
    """The pass builders of one target machine, for one thread at a time.

    llvmlite leaves 1.5 KiB of each builder behind, and a run makes a builder a little larger: one serves few modules.
    """

    def __init__(self, machine: Any) -> None:
        self._machine = machine
        self._made: dict[tuple[bool, bool], tuple[Any, int]] = {}  # with how many modules each has served

    def of(self, pipeline: Pipeline) -> Any:
        """A builder for one module."""
        loops = pipeline in (Pipeline.AUTOMATIC, Pipeline.MIXED)
        straight = pipeline in (Pipeline.AUTOMATIC, Pipeline.CHOICES)
        builder, served = self._made.get((loops, straight), (None, _MODULES))
        if served == _MODULES:
            options = llvm.create_pipeline_tuning_options(_WHOLE if loops or straight else _HOISTING)
            options.loop_vectorization, options.slp_vectorization = loops, straight
            builder, served = llvm.create_pass_builder(self._machine, options), 0
        self._made[loops, straight] = builder, served + 1
        return builder


def run(pipeline: Pipeline, module: Any, builders: Builders) -> None:
    """Optimise `module` in place."""
    builder = builders.of(pipeline)
    if pipeline in (Pipeline.MIXED, Pipeline.AUTOMATIC, Pipeline.CHOICES):
        with passing(builder.getModulePassManager()) as passes:
            run_passes(passes, module, builder)
        return
    with passing(llvm.create_new_module_pass_manager()) as whole:
        whole.add_always_inliner_pass()
        whole.add_global_dead_code_eliminate_pass()
        run_passes(whole, module, builder)
    with passing(
        _direct_passes() if pipeline is Pipeline.DIRECT else builder.getFunctionPassManager()
    ) as passes:
        for function in module.functions:
            if not function.is_declaration:
                run_passes(passes, function, builder)


def _direct_passes() -> Any:
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes
