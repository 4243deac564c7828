"""Generated files: their header, what has changed, and writing them.

header.py    the two lines that stand at the top of every generated file
keys.py      what a file depends on, as a digest
plan.py      compare what should be there with what is there
write.py     carry a plan out: atomic writes, removals
outputs.py   all files of a project, rendered
"""

from .header import Header, read_header, with_header
from .keys import emitter_digest, output_key
from .outputs import Output, render_op, render_project
from .plan import Change, Plan, PlanError, make_plan
from .write import apply

__all__ = [
    "Change",
    "Header",
    "Output",
    "Plan",
    "PlanError",
    "apply",
    "emitter_digest",
    "make_plan",
    "output_key",
    "read_header",
    "render_op",
    "render_project",
    "with_header",
]
