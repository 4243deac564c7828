"""Derivatives of tensor expressions: the adjoint of an input from those of the outputs.

local.py        one node: the adjoints of its operands
term.py         one body: what each of its reads adds to the adjoint of the tensor that it reads
linear.py       indices as sums, quotients and remainders as variables
inverse.py      who reads a position: index maps turned around
ranges.py       sums cut to where they have something to add
place.py        the terms of a tensor as one adjoint: gathered, or scattered by an update
reductions.py   what the elements of a reduction get
updates.py      what the statements of an update get
scans.py        scans backwards
parts.py        scans in parts
stages.py       the form that is differentiated
shared.py       factors that are read where data decides, stored
products.py     products over several axes, line by line
windows.py      extrema over overlapping windows, line by line
pull.py         all of it, tensor by tensor backwards
"""

from .parts import Recurrence, recurrence_of
from .pull import kind_of, pullback, zeros
from .stages import rebuilt

__all__ = ["Recurrence", "kind_of", "pullback", "rebuilt", "recurrence_of", "zeros"]
