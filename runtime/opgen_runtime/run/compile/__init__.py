"""One segment of a program to one kernel.

segment.py    a function of the graph IR -> tensor expressions, with the implementation chosen for each call
key.py        the front key of the caches; provenance.py: digests of functions that users write
build.py      compile_segment: caches, schedule, lowering, code generation
kept.py       a bounded memory
kernel.py     Kernel and its native form; pointers.py: addresses of arrays
entry.py      calls of kernels without Python in between; entry_text.py: their machine code
extern.py     kernels that call hand-written functions
stages.py     every stage as text
"""

from .build import compile_segment, forget_kernels
from .entry import Entry
from .kept import Kept
from .kernel import Kernel, Slot
from .key import front_key
from .stages import stages

__all__ = ["Entry", "Kept", "Kernel", "Slot", "compile_segment", "forget_kernels", "front_key", "stages"]
