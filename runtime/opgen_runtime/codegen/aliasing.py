"""Which memory accesses may touch the same bytes, told to LLVM as scoped alias metadata.

The kernel's operands never overlap (the runtime copies where they would) and temporaries are fresh, so that
every buffer is a scope of its own.  Inputs are never written, so that loads from them may move freely.
"""

from __future__ import annotations

from ..tir.stmt import Allocate, Block, Buffer, For, If, LetStmt, PrimFunc, Stmt
from .text import ModuleText


class Aliasing:
    """Metadata suffixes of loads and stores for each buffer of a kernel."""

    def __init__(self, module: ModuleText, func: PrimFunc) -> None:
        buffers = (*func.inputs, *func.outputs, *_allocated(func.body))
        domain = module.metadata("distinct !{{self}}")
        scopes = {buffer: module.metadata(f"distinct !{{{{self}}, {domain}}}") for buffer in buffers}
        self._own = {buffer: module.metadata(f"!{{{scope}}}") for buffer, scope in scopes.items()}
        self._others = {
            buffer: module.metadata(
                f"!{{{', '.join(scope for b, scope in scopes.items() if b is not buffer)}}}"
            )
            for buffer in buffers
        }

    def metadata(self, buffer: Buffer, is_input: bool) -> tuple[str, str]:
        """(suffix of loads, suffix of stores)."""
        scope = f", !alias.scope {self._own[buffer]}, !noalias {self._others[buffer]}"
        return f"{', !invariant.load !{}' if is_input else ''}{scope}", scope


def _allocated(stmt: Stmt) -> list[Buffer]:
    found: list[Buffer] = []
    stack = [stmt]
    while stack:
        node = stack.pop()
        match node:
            case Block(body):
                stack.extend(reversed(body))
            case Allocate():
                found.append(node.buffer)
                stack.append(node.body)
            case For() | LetStmt():
                stack.append(node.body)
            case If():
                stack.append(node.then)
                if node.otherwise is not None:
                    stack.append(node.otherwise)
    return found
