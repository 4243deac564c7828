"""The compiler: three tables of stages (`pipeline.py`), over rooms of which each imports those below it.

pipeline.py          the tables, and the ways through GRAPH and KERNEL; programs.py: the way through PROGRAM
stage.py             a row of the tables; stage_texts.py: what there is to see of a program on its way
scheduled.py         schedules that users write, as functions of arrays
specialisations.py   what was compiled at calls, within a bound of its memory
store/               a compiled program in one file (artifact, files), as a C library, kept for other processes (store)
program/             the stages of PROGRAM (program_steps, _records, _contracts, _oracles; cut: in sections), the plan
                     (plan; made by planning, tail_calls, numbering, arena, in_place, donated; its rules: plan_contract,
                     plan_places, plan_flow), and the program itself (driver: one native function; program)
kernel/              the stages of KERNEL (steps, records, written), kernels (kernel; symbolic: of open dims; extern: of
                     hand-written functions; parts: precompute and main), what they take and give (interface, sizes,
                     dims), keys (key, provenance, sources), and the object cache (disk_cache)
native/              calls without Python in between (entry, trampoline), memory of results (buffers)
interpret/           programs by Python and numpy, node by node: the oracle of passes, and how what is not compiled runs
tuning/              records of which values of the schedules' parameters are fastest, and the search
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
