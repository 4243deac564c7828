"""The phases that turn lowered loop IR into what code generation takes, in order.

After them buffers have one dim, vectors are Ramp and Splat, loops are serial or parallel, a Select may evaluate both
of its branches, and a LetStmt may bind a vector.  The last of them, from parallel_work on, make the nodes that
others do not know: code generation decides nothing of what they decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ....base.contract import Contract, Rule, When, handed_in
from ....base.errors import LoweringError
from ....base.kernel_options import PHASE_OPTIONS
from ....base.vocabulary import dataclass
from ...schedule.stages.kind import ForKind
from ..nodes.contract import COMMON, FLAT, LANES, LOWERED, SINGLE, View, check, no_loop
from ..nodes.stmt import PrimFunc
from .alias_outputs import alias_outputs
from .compaction import compaction
from .early_exit import early_exit
from .group_repetitions import group_repetitions
from .inject_double_buffer import inject_double_buffer
from .inject_prefetch import inject_prefetch
from .inject_virtual_thread import inject_virtual_thread
from .interleave_stores import interleave_stores
from .loop_fission import loop_fission
from .loop_fusion import loop_fusion
from .loop_partition import loop_partition
from .narrow_vectors import narrow_vectors
from .nontemporal_stores import nontemporal_stores
from .outline_loops import outline_loops
from .parallel_work import parallel_work
from .partition_edges import partition_edges
from .partition_masks import partition_masks
from .partition_selects import partition_selects
from .partition_tiles import partition_tiles
from .remove_no_op import remove_no_op
from .rewrite_unsafe_select import SAFE, rewrite_unsafe_select
from .simplify import canonical_simplify, simplify
from .storage_flatten import storage_flatten
from .storage_rewrite import storage_rewrite
from .transpose_loads import transpose_loads
from .unmask_accumulators import unmask_accumulators
from .unroll_loop import unroll_loop
from .vectorize_loop import vectorize_loop
from .wrap_vectors import wrap_vectors

Phase = Callable[[PrimFunc], PrimFunc]


@dataclass(frozen=True, slots=True)
class PhaseRow:
    """One row: the phase, and the contract of what it gives."""

    name: str
    run: Phase
    contract: Contract[View]


_Rules = tuple[Rule[View], ...]


def _rows(*phases: tuple[str, Phase, _Rules], ends: str) -> tuple[PhaseRow, ...]:
    """The rows of phases that promise a rule each; what one has promised holds after those behind it, too.

    That nodes are common ones holds until the phase that `ends` it.
    """
    made: list[PhaseRow] = []
    rules = LOWERED.rules
    for name, run, promised in phases:
        if name == ends:
            rules = tuple([rule for rule in rules if rule is not COMMON])
        rules = (*rules, *promised)
        when = When.ALWAYS if name == phases[-1][0] else When.TESTS
        made.append(PhaseRow(name, _optional(name, run), replace(LOWERED, when=when, rules=rules)))
    return tuple(made)


def _optional(name: str, run: Phase) -> Phase:
    """The phase, where the kernel's options do not leave it out."""
    option = PHASE_OPTIONS.get(name)
    return run if option is None else lambda func: run(func) if func.options[option] else func


PHASES: Final = _rows(
    ("loop_fission", loop_fission, ()),
    ("inject_prefetch", inject_prefetch, ()),
    ("storage_flatten", storage_flatten, (FLAT,)),
    ("canonical_simplify", canonical_simplify, ()),
    ("loop_fusion", loop_fusion, ()),
    ("compaction", compaction, ()),
    ("loop_partition", loop_partition, ()),
    ("narrow_vectors", narrow_vectors, ()),
    ("partition_selects", partition_selects, ()),
    ("partition_edges", partition_edges, ()),
    ("partition_tiles", partition_tiles, ()),
    ("partition_masks", partition_masks, ()),
    ("vectorize_loop", vectorize_loop, (no_loop(ForKind.VECTORIZED), LANES)),
    ("wrap_vectors", wrap_vectors, ()),
    ("unmask_accumulators", unmask_accumulators, ()),
    ("inject_virtual_thread", inject_virtual_thread, (no_loop(ForKind.VIRTUAL),)),
    ("inject_double_buffer", inject_double_buffer, (SINGLE,)),
    ("alias_outputs", alias_outputs, ()),
    ("storage_rewrite", storage_rewrite, ()),
    ("unroll_loop", unroll_loop, (no_loop(ForKind.UNROLLED),)),
    ("simplify", simplify, ()),
    ("remove_no_op", remove_no_op, ()),
    ("rewrite_unsafe_select", rewrite_unsafe_select, (SAFE,)),
    ("parallel_work", parallel_work, ()),
    ("group_repetitions", group_repetitions, ()),
    ("nontemporal_stores", nontemporal_stores, ()),
    ("outline_loops", outline_loops, ()),
    ("interleave_stores", interleave_stores, ()),
    ("transpose_loads", transpose_loads, ()),
    ("early_exit", early_exit, ()),
    ends="parallel_work",
)
FINAL: Final = PHASES[-1].contract
"""What code generation takes."""


def run_phases(func: PrimFunc, trace: Callable[[str, PrimFunc], None] | None = None) -> PrimFunc:
    """The function after every phase; `trace(name, func)` is called after each.

    Raises LoweringError where what it gives breaks a rule: at the end always, after each phase under `OPGEN_VERIFY=1`.
    """
    for row in PHASES:
        func = row.run(func)
        check(row.contract, func, row.name)
        if trace is not None:
            trace(row.name, func)
    return func


def hooked(name: str, hook: Phase, func: PrimFunc, contract: Contract[View]) -> PrimFunc:
    """What a user's function makes of the loop IR after a stage with that contract.

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
    check(contract, found, what, own=False)
    return found
