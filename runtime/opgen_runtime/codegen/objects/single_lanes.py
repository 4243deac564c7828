"""Vectors of which a masked store takes one lane, known when LLVM compiles, are stored as that element.

LLVM 22 for x86 makes one store of such a store and of the conversion to narrower integers before it, which is as wide
as before the conversion: the elements beside it are lost, and memory beyond an array is written (LLVM's issue 179489).
Masks are constant where LLVM has folded them, so that this is done to its optimised text.
"""

from __future__ import annotations

import re
from typing import Any, Final

# A vector of what integers are converted to (bfloat16 is: it is the upper half of a rounded float).
_DECLARED: Final = re.compile(r"llvm\.masked\.store\.v\d+(?:i8|i16|i32|f16|bf16)\.")
_STORE: Final = re.compile(
    r"^ +(?:tail |musttail |notail )?call void @llvm\.masked\.store\.v(?P<lanes>\d+)(?:i8|i16|i32|f16|bf16)\.[^(]*"
    r"\((?P<vector><\d+ x (?P<element>\w+)>) (?P<value>.+), ptr (?P<facts>[^%@,]*?)(?P<address>[%@][\w.\"$-]+),"
    r" <\d+ x i1> <(?P<mask>[^<>]*)>\)(?: #\d+)?(?P<metadata>.*)$",
    re.M,
)


def single_lanes(module: Any) -> str | None:
    """The text of an optimised module without such stores; None where it has none."""
    if not any(_DECLARED.match(function.name) for function in module.functions):
        return None
    text = str(module)
    mended = _STORE.sub(_element_alone, text)
    return mended if mended != text else None


def _element_alone(found: re.Match[str]) -> str:
    lanes = [lane for lane, flag in enumerate(found["mask"].split(",")) if flag.strip() == "i1 true"]
    if len(lanes) != 1:
        return found[0]
    element, (lane,) = found["element"], lanes
    own = f"%single.{found.start()}"
    align = re.search(r"align (\d+)", found["facts"])
    return (
        f"  {own} = extractelement {found['vector']} {found['value']}, i64 {lane}\n"
        f"  {own}.at = getelementptr {element}, ptr {found['address']}, i64 {lane}\n"
        f"  store {element} {own}, ptr {own}.at, align {_alignment(element, align)}{found['metadata']}"
    )


def _alignment(element: str, stated: re.Match[str] | None) -> int:
    """Of any element of a vector whose address has the alignment that is `stated`."""
    width = {"i8": 1, "i32": 4}.get(element, 2)
    return min(width, int(stated[1]) if stated else 1)
