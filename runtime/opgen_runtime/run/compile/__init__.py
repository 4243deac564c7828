"""The compiler: `pipeline.py`, its three tables of stages, and what the stages of a kernel do.

stage.py      a row of the tables; stage_texts.py: what there is to see of a program on its way
records.py    what stages of a kernel hand to one another; steps.py: the work of each
program_*     the same for programs: records, steps, contracts, oracles; cut.py: programs in sections
segment.py    a function of the graph IR -> tensor expressions, with the implementation chosen for each call
key.py        the front key of the caches; provenance.py: digests of functions that users write; sources.py: of ours
kernel.py     Kernel and its native form; pointers.py: addresses of arrays; buffers.py: memory of results
entry.py      calls of kernels without Python in between; entry_text.py, entry_fields.py: their machine code;
              trampoline.py: what calls them by vectorcall
footprint.py  the memory of compiled programs; specialisations.py: what was compiled at calls, within a bound of it
symbolic.py   kernels for all values of their dims; dims.py: which dims the types of a program have;
              bound_dims.py: parameters that bind all dims of a segment
parts.py      precompute and main: the kernels of a segment, and what constants alone decide
segments.py   the segments of a program: which of them are one kernel, and what each is called with
plan.py       how a program runs, as instructions over slots; planning.py makes plans, numbering.py
              numbers slots, arena.py lays them out in memory; donated.py: results in the memory of parameters;
              plan_contract.py, plan_places.py, plan_flow.py: its rules
driver.py     a plan as one native function; program.py: in memory, called like a kernel
artifact.py   a compiled program in one file; files.py: files read whole; c_library.py: as a C header and objects
store.py      compiled programs, kept for other processes
extern.py     kernels that call hand-written functions
interpret/    programs by Python and numpy, node by node: the oracle of passes, and how what is not compiled runs
written.py    schedules that users write, as they enter the table; scheduled.py: as functions of arrays
"""

from typing import TYPE_CHECKING

from ...base.lazy_imports import import_lazily
from .kernel.kernel import Kernel, Slot
from .native.entry import Entry
from .native.trampoline import Trampoline, VectorcallObject, entered

__all__ = ["Entry", "Kernel", "Slot", "Trampoline", "VectorcallObject", "entered", "front_key"]

if TYPE_CHECKING:
    from .kernel.key import front_key
else:  # it digests what is compiled: who loads programs needs none
    __getattr__ = import_lazily(__name__, {"front_key": "kernel.key"})
