"""The passes of LLVM that a module goes through: `Pipeline`, and `run`.

Only passes of LLVM's own default pipelines run: those that are off by default (NewGVN, for one) are hardly tested, and
a failed assertion inside LLVM ends the process.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import llvmlite.binding as llvm

from .unlocked import run_passes


class Pipeline(Enum):
    """How a module is optimised."""

    DIRECT = "direct"  # explicit vectors that stream through memory without branches: inline, tidy up
    LOOPS = "loops"  # explicit vectors with reuse: hoist what is invariant, keep sums in registers
    MIXED = "mixed"  # explicit vectors, and long scalar loops beside them
    AUTOMATIC = "automatic"  # scalar code: LLVM looks for vectors itself
    CHOICES = "choices"  # scalar code with many choices in one loop, where it would find none


def run(pipeline: Pipeline, module: Any, machine: Any) -> None:
    """Optimise `module` in place."""
    options = llvm.create_pipeline_tuning_options(3)
    options.loop_vectorization = pipeline in (Pipeline.AUTOMATIC, Pipeline.MIXED)
    options.slp_vectorization = pipeline in (Pipeline.AUTOMATIC, Pipeline.CHOICES)
    builder = llvm.create_pass_builder(machine, options)
    if pipeline in (Pipeline.MIXED, Pipeline.AUTOMATIC, Pipeline.CHOICES):
        run_passes(builder.getModulePassManager(), module, builder)
        return
    whole = llvm.create_new_module_pass_manager()
    whole.add_always_inliner_pass()
    whole.add_global_dead_code_eliminate_pass()
    run_passes(whole, module, builder)
    passes = _direct_passes() if pipeline is Pipeline.DIRECT else builder.getFunctionPassManager()
    for function in module.functions:
        if not function.is_declaration:
            run_passes(passes, function, builder)


def _direct_passes() -> Any:
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes
