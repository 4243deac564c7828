"""Programs over arrays that are cut into chunks, of which each task needs a few.

chunks.py        how an array is cut
program.py       a function of the graph as one program of tensor expressions
partition.py     which of its tensors are stored in chunks, and how these are cut
labels.py        the names of ops that a stage computes
tasks.py         the tasks: blocks, and folds of partial results
parts.py         what a block computes, as tensor expressions of their own
blocks.py        one block: what is compiled for it
combining.py     folds
named.py         ops by name
memory.py        the most that a task has in memory
report.py        what the tasks cost, before any runs
streaming.py     the tasks in this process, one after the other, over arrays larger than memory
"""

from __future__ import annotations

from .named import op_function, op_names
from .partition import Partition, WholeAxisError, partition
from .program import ChunkedProgram, GraphCall, chunked_program, jitted, traced
from .report import Report, report
from .streaming import joined, stream

__all__ = [
    "ChunkedProgram",
    "GraphCall",
    "Partition",
    "Report",
    "WholeAxisError",
    "chunked_program",
    "jitted",
    "joined",
    "op_function",
    "op_names",
    "partition",
    "report",
    "stream",
    "traced",
]
