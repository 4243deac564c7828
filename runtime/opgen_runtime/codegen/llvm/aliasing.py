"""Which memory accesses may touch the same bytes, told to LLVM as scoped alias metadata.

The kernel's operands never overlap (the runtime copies where they would) and temporaries are fresh, so that
every buffer is a scope of its own.  Inputs are never written, so that loads from them may move freely.
Where there are many buffers those of one sort share a scope: lists of all others would grow with their square.
"""

from __future__ import annotations

from typing import Final

from ...lower.tir.nodes.stmt import Allocate, Buffer, PrimFunc
from ...lower.tir.nodes.visit import statements
from ...lower.tir.phases.group_repetitions import MANY
from .text import ModuleText

_MAX_TEMPORARIES: Final = 64


class Aliasing:
    """Metadata suffixes of loads and stores for each buffer of a kernel."""

    def __init__(self, module: ModuleText, func: PrimFunc) -> None:
        self._inputs = frozenset(func.inputs)
        operands = (*func.inputs, *func.outputs)
        made = [s.buffer for s in statements(func.body) if isinstance(s, Allocate)]
        temporaries = tuple(dict.fromkeys(made))
        groups: list[tuple[Buffer, ...]] = []
        # A statement that stands for many accesses other operands of the same sort.
        is_shared = len(operands) >= MANY
        groups += (func.inputs, func.outputs) if is_shared else [(buffer,) for buffer in operands]
        groups += (
            [temporaries] if len(temporaries) > _MAX_TEMPORARIES else [(buffer,) for buffer in temporaries]
        )
        domain = module.metadata("distinct !{{self}}")
        scopes = [module.metadata(f"distinct !{{{{self}}, {domain}}}") for _ in groups]
        self._scopes: dict[Buffer, str] = {}
        for k, (group, scope) in enumerate(zip(groups, scopes, strict=True)):
            own = module.metadata(f"!{{{scope}}}")
            others = module.metadata(f"!{{{', '.join((*scopes[:k], *scopes[k + 1 :]))}}}")
            self._scopes.update(dict.fromkeys(group, f", !alias.scope {own}, !noalias {others}"))

    def metadata(self, buffer: Buffer) -> tuple[str, str]:
        """(suffix of loads, suffix of stores)."""
        scope = self._scopes[buffer]
        return f"{', !invariant.load !{}' if buffer in self._inputs else ''}{scope}", scope
