"""Memory that a kernel takes for one call; `objects/temporaries.py` has what it calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .text import FunctionText, ModuleText, fill

TAKE: Final = "opgen_temporary"  # (bytes) -> a block, or null
GIVE: Final = "opgen_temporary_end"  # (block or null)
ALIGNMENT: Final = 64  # of blocks: a cache line and the widest vector
_MAX_STACK_BYTES: Final = 8192  # of the stack, for all that a function takes of sizes that its dims decide


def taken(module: ModuleText, size: str) -> str:
    """The call that gives a block of `size` bytes."""
    result = f"noalias align {ALIGNMENT} ptr"
    return f"call {result} {module.declare(TAKE, result, 'i64')}(i64 {size})"


def give(f: FunctionText, pointer: str) -> None:
    """Give a block back."""
    f.call(GIVE, "void", (("ptr", pointer),))


def block_of(pointer: str, size: str) -> str:
    """What is to be given back of memory that was taken at a function's entry; null where it was on the stack."""
    return pointer if size.isdigit() else f"{pointer}.block"


def taken_at_entry(
    module: ModuleText, wanted: Sequence[tuple[str, str]], failed: str, done: str
) -> list[str]:
    """Lines that take memory for each (name, bytes) and end in a branch to `done`, or to `failed` if there is none.

    Of what the dims decide, little lies on the stack: taking a block and giving it back can take longer than a
    kernel on a few elements.
    """
    near = max(_MAX_STACK_BYTES // len(wanted) // ALIGNMENT, 1) * ALIGNMENT
    lines = [
        f"  {pointer}.near = alloca [{near} x i8], align {ALIGNMENT}"
        for pointer, size in wanted
        if not size.isdigit()
    ]
    any_failed = "false"
    for k, (pointer, size) in enumerate(wanted):
        if size.isdigit():
            lines.append(f"  {pointer} = {taken(module, size)}")
        else:
            call = taken(module, size)
            lines.append(
                fill(_STACK_OR_TAKEN, NAME=pointer, LABEL=f"take{k}", SIZE=size, MOST=near, TAKEN=call)
            )
        lines.append(f"  %none{k} = icmp eq ptr {pointer}, null")
        lines.append(f"  %any{k} = or i1 {any_failed}, %none{k}")
        any_failed = f"%any{k}"
    lines.append(f"  br i1 {any_failed}, label %{failed}, label %{done}")
    return lines


_STACK_OR_TAKEN: Final = """\
  br label %$LABEL.ask
$LABEL.ask:
  $NAME.fits = icmp ule i64 $SIZE, $MOST
  br i1 $NAME.fits, label %$LABEL.had, label %$LABEL.take
$LABEL.take:
  $NAME.taken = $TAKEN
  br label %$LABEL.had
$LABEL.had:
  $NAME.block = phi ptr [ null, %$LABEL.ask ], [ $NAME.taken, %$LABEL.take ]
  $NAME = phi ptr [ $NAME.near, %$LABEL.ask ], [ $NAME.taken, %$LABEL.take ]"""
