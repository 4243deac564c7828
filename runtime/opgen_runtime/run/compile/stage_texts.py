"""What there is to see of a program on its way through the compiler's tables."""

from __future__ import annotations

from collections.abc import Iterator

from ...base import Target
from ...ir import Function, IRModule
from ...transform import PassContext
from .kernel.segments import segments_of
from .pipeline import KERNEL, requested, texts_of, through_graph, through_kernel
from .program.program_records import Asked
from .programs import through_program


def texts(
    function: Function, target: Target | str | None = None, context: PassContext | None = None
) -> Iterator[tuple[str, str]]:
    """(stage, text) of a program on its way to machine code: the module after each pass, each kernel, the plan of them.

    Where there are several kernels, their stages have the kernel's name in front.  A segment that calls hand-written
    functions ends with the choice of the strategy: they run in Python.
    """
    context = (context or PassContext.current()).for_target(target)
    partitioned = IRModule.from_expr(function)
    for row, module in through_graph(partitioned, context):
        partitioned = module
        yield from () if row.texts is None else row.texts(module)
    segments = segments_of(*partitioned.functions.values()).functions
    for number, segment in enumerate(segments):
        prefix = f"kernel {number}: " if len(segments) > 1 else ""
        for name, text in kernel_texts(segment, target, context):
            yield prefix + name, text
    yield from program_texts(function, context)


def program_texts(program: IRModule | Function, context: PassContext) -> Iterator[tuple[str, str]]:
    """(stage, text) of the stages of PROGRAM, which compile what is not in the caches."""
    asked = Asked(program, None, context.target, context)
    for stage, record in through_program(asked):
        yield from texts_of(stage, record)


def kernel_texts(
    segment: Function, target: Target | str | None = None, context: PassContext | None = None
) -> Iterator[tuple[str, str]]:
    """(stage, text) of one segment; nothing is kept in the caches or loaded, so that any target will do."""
    request = requested(segment, target, context or PassContext.current())
    for stage, record in through_kernel(request, [stage for stage in KERNEL if stage.texts]):
        yield from texts_of(stage, record)
