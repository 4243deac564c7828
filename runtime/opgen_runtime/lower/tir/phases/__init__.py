"""The phases that turn lowered loop IR into what code generation takes, in order.

After them buffers have one dim, vectors are Ramp and Splat, loops are serial or parallel, a Select may evaluate both
of its branches, and a LetStmt may bind a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ....base.contract import handed_in, verifying
from ....base.errors import LoweringError
from ..contract import verify_lowered
from ..stmt import PrimFunc
from .inject_double_buffer import inject_double_buffer
from .inject_prefetch import inject_prefetch
from .inject_virtual_thread import inject_virtual_thread
from .loop_fission import loop_fission
from .loop_partition import loop_partition
from .remove_no_op import remove_no_op
from .rewrite_unsafe_select import rewrite_unsafe_select
from .simplify import canonical_simplify, simplify
from .storage_flatten import storage_flatten
from .storage_rewrite import storage_rewrite
from .unroll_loop import unroll_loop
from .vectorize_loop import vectorize_loop

Phase = Callable[[PrimFunc], PrimFunc]

PHASES: Final[tuple[tuple[str, Phase], ...]] = (
    ("loop_fission", loop_fission),
    ("inject_prefetch", inject_prefetch),
    ("storage_flatten", storage_flatten),
    ("canonical_simplify", canonical_simplify),
    ("loop_partition", loop_partition),
    ("vectorize_loop", vectorize_loop),
    ("inject_virtual_thread", inject_virtual_thread),
    ("inject_double_buffer", inject_double_buffer),
    ("storage_rewrite", storage_rewrite),
    ("unroll_loop", unroll_loop),
    ("simplify", simplify),
    ("remove_no_op", remove_no_op),
    ("rewrite_unsafe_select", rewrite_unsafe_select),
)


def run_phases(
    func: PrimFunc,
    trace: Callable[[str, PrimFunc], None] | None = None,
    hooks: Mapping[str, Phase] | None = None,
) -> PrimFunc:
    """The function after every phase.

    `trace(name, func)` is called after each; a hook runs after the phase of its name.  Raises LoweringError for what a
    hook raises or gives that is no loop IR; under `OPGEN_VERIFY=1` what each phase gives is held to the contract, too.
    """
    for name, phase in PHASES:
        func = phase(func)
        if verifying():
            verify_lowered(func, name)
        if hooks and name in hooks:
            func = hooked(name, hooks[name], func)
        if trace is not None:
            trace(name, func)
    return func


def hooked(name: str, hook: Phase, func: PrimFunc) -> PrimFunc:
    """What a user's function makes of the loop IR after a stage.

    Raises LoweringError for what it raises, and where it gives what is no loop IR of the same parameters.
    """
    what = f"the hook after {name}"
    with handed_in(what, LoweringError):
        found = hook(func)
    if not isinstance(found, PrimFunc):
        raise LoweringError(f"{what} gave {found!r:.80}, expected a PrimFunc")
    same = zip((*func.inputs, *func.outputs), (*found.inputs, *found.outputs), strict=False)
    counts = (len(func.inputs), len(func.outputs)) == (len(found.inputs), len(found.outputs))
    if not counts or any(a is not b for a, b in same):
        raise LoweringError(f"{what} gave other parameters than those of {func.name}")
    verify_lowered(found, what)
    return found
