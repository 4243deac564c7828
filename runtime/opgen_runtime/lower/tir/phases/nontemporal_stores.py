"""nontemporal_stores: large outputs that nobody reads are written by non-temporal stores, where callers' memory
allows it.

for i in range(n): y[ramp(i*16, 1, 16)] = ...
-->
if aligned(y; 64):
    for i in range(n): nontemporal y[ramp(i*16, 1, 16)] = ...
else:
    for i in range(n): y[ramp(i*16, 1, 16)] = ...

Which outputs these are says `streaming.py`.
"""

from __future__ import annotations

from dataclasses import replace

from ....base.vocabulary import BOOL
from ..analysis.nontemporal import is_nontemporal_candidate, nontemporal_outputs
from ..nodes.stmt import Aligned, Buffer, If, PrimFunc, Stmt, Store
from ..nodes.visit import StmtMutator


def nontemporal_stores(func: PrimFunc) -> PrimFunc:
    """The function twice, if it writes such outputs: with stores past the caches, and as it is."""
    nontemporal = nontemporal_outputs(func)
    if not nontemporal:
        return func
    aligned = Aligned(BOOL, tuple([b for b in func.outputs if b in nontemporal]), func.machine.line)
    return func.with_body(
        If(aligned, _Nontemporal(nontemporal, func.machine.line).stmt(func.body), func.body)
    )


class _Nontemporal(StmtMutator):
    def __init__(self, nontemporal: frozenset[Buffer], line: int) -> None:
        self._nontemporal, self._line = nontemporal, line  # bytes

    def store(self, s: Store) -> Stmt:
        if s.buffer not in self._nontemporal or not is_nontemporal_candidate(s, self._line):
            return s
        return replace(s, nontemporal=True)
