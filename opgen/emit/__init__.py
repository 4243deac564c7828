"""Generated files: their header, what has changed, and writing them.

header.py    the two lines that stand at the top of every generated file
plan.py      compare what should be there with what is there
write.py     carry a plan out: atomic writes, removals
own.py       the project's own emitters: where their views and templates are
emitters.py  what an emitter is; those that are built in, installed or of the project
outputs.py   the files of an op and of a project, rendered
origin.py    from a line of a generated file back to the key of the declaration
"""

from .header import Header, read_header, with_header
from .plan import Change, Plan, PlanError, make_plan
from .write import apply

__all__ = [
    "Change",
    "Header",
    "Plan",
    "PlanError",
    "apply",
    "make_plan",
    "read_header",
    "with_header",
]
